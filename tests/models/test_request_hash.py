"""The fingerprint of everything that decides a reply."""

import json
from dataclasses import replace

import pytest

from openosce.models import ChatMessage, ModelSpec, Request, request_hash

SPEC = ModelSpec("openai/gpt-4o", "http://localhost/v1", {"temperature": 0.5, "max_tokens": 150})
REQUEST = Request((ChatMessage("system", "s"), ChatMessage("user", "Wo drückt’s?")), "talk/1")


@pytest.mark.parametrize(
    "other",
    [
        replace(SPEC, name="openai/gpt-4o-mini"),
        replace(SPEC, base_url=None),
        replace(SPEC, base_url="http://localhost/v2"),
        replace(SPEC, settings={"temperature": 0.7, "max_tokens": 150}),
        replace(SPEC, settings={"temperature": 0.5}),
        replace(SPEC, settings={}),
    ],
)
def test_another_model_endpoint_or_setting_is_another_request(other: ModelSpec):
    assert request_hash(other, REQUEST) != request_hash(SPEC, REQUEST)


@pytest.mark.parametrize(
    "messages",
    [
        (),
        REQUEST.messages[:1],
        REQUEST.messages[::-1],
        (ChatMessage("system", "s"), ChatMessage("assistant", "Wo drückt’s?")),
        (ChatMessage("system", "s"), ChatMessage("user", "Wo drückt's?")),
        (ChatMessage("system", "sWo drückt’s?"),),
        (ChatMessage("system", "s "), REQUEST.messages[1]),
    ],
)
def test_other_messages_are_another_request(messages: tuple[ChatMessage, ...]):
    assert request_hash(SPEC, replace(REQUEST, messages=messages)) != request_hash(SPEC, REQUEST)


def test_step_repeat_and_the_order_of_settings_do_not_count():
    reordered = replace(SPEC, settings={"max_tokens": 150, "temperature": 0.5})
    elsewhere = replace(REQUEST, step="answer/vignette_frq", repeat=2)
    assert request_hash(reordered, elsewhere) == request_hash(SPEC, REQUEST)


def test_a_spec_read_back_from_json_has_the_same_fingerprint():
    settings = json.loads(json.dumps(dict(SPEC.settings)))
    assert request_hash(ModelSpec(SPEC.name, SPEC.base_url, settings), REQUEST) == request_hash(SPEC, REQUEST)


@pytest.mark.parametrize(
    ("name", "provider"), [("openai/gpt-4o", "openai"), ("together/meta/llama", "together"), ("gpt", "gpt")]
)
def test_the_provider_stands_before_the_first_slash(name: str, provider: str):
    assert ModelSpec(name).provider == provider
