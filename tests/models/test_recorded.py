"""Replies recorded earlier."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from openosce.errors import ProviderError, StudyError
from openosce.models import ChatMessage, Recorded, Request, read_recorded

ASKED = (ChatMessage("system", "You are a doctor."), ChatMessage("user", "Where does it hurt?"))


def reply(model: Recorded, messages: tuple[ChatMessage, ...] = ASKED, repeat: int = 0, step: str = "talk/1") -> str:
    return asyncio.run(model.complete(Request(messages, step, repeat))).text


def written(path: Path, *lines: Any) -> Path:
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), encoding="utf-8")
    return path


def exchange(reply: Any = "In the chest.", **changes: Any) -> dict[str, Any]:
    return {"messages": [{"role": m.role, "content": m.content} for m in ASKED], "reply": reply} | changes


def test_the_same_messages_have_the_reply_they_had_whatever_the_step():
    model = Recorded([(ASKED, "In the chest.")])
    assert reply(model) == reply(model, step="answer/vignette_frq") == "In the chest."


def test_several_replies_to_the_same_messages_are_its_repeats_in_order():
    model = Recorded([(ASKED, "first"), (ASKED[:1], "other"), (ASKED, "second")])
    assert [reply(model, repeat=n) for n in (1, 0, 1)] == ["second", "first", "second"]
    with pytest.raises(ProviderError, match="try 3"):
        reply(model, repeat=2)


def test_other_messages_other_roles_and_another_order_are_unknown():
    model = Recorded([(ASKED, "x")])
    other_role = (ASKED[0], ChatMessage("assistant", ASKED[1].content))
    for messages in (ASKED[:1], ASKED[::-1], other_role, (*ASKED, ASKED[1])):
        with pytest.raises(ProviderError, match="no recorded reply for the step 'talk/1'"):
            reply(model, messages)


def test_recorded_replies_are_read_from_lines_and_blank_lines_count_for_nothing(tmp_path: Path):
    file = written(tmp_path / "replies.jsonl", exchange(), "", "  ", exchange("again"))
    model = read_recorded(file)
    assert [reply(model, repeat=n) for n in (0, 1)] == ["In the chest.", "again"]


def test_an_empty_file_knows_no_reply(tmp_path: Path):
    with pytest.raises(ProviderError):
        reply(read_recorded(written(tmp_path / "replies.jsonl")))


@pytest.mark.parametrize(
    "bad",
    [
        "{",
        "[]",
        "5",
        "null",
        '"text"',
        {},
        {"messages": [], "answer": "x"},
        exchange(None),
        exchange(5),
        exchange(["x"]),
        exchange(messages="abc"),
        exchange(messages=None),
        exchange(messages=[{"role": "user"}]),
        exchange(messages=[{"role": "user", "content": 5}]),
        exchange(messages=[["user", "x"]]),
    ],
    ids=repr,
)
def test_a_line_that_is_no_exchange_is_refused_with_its_number(tmp_path: Path, bad: Any):
    file = written(tmp_path / "replies.jsonl", exchange(), bad)
    with pytest.raises(StudyError) as failure:
        read_recorded(file)
    assert str(failure.value).startswith(f"{file}:2: ")


def test_a_file_that_is_missing_or_no_text_is_refused(tmp_path: Path):
    binary = tmp_path / "replies.jsonl"
    binary.write_bytes(b"\xff\xfe\x00")
    for path in (binary, tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(StudyError, match="cannot be read"):
            read_recorded(path)
