"""The one seam to every language model: a request in, a reply out."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message as the model sees it."""

    role: Literal["system", "user", "assistant"]
    content: str
    images: tuple[str, ...] = ()
    """Images that go with the text, as data URLs."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a model, and where on the path."""

    messages: tuple[ChatMessage, ...]
    step: str
    """The place on the path: `talk/3`, `answer/vignette_mcq`, `grade/extract/...`. No endpoint ever sees it."""
    repeat: int = 0
    """Counts deliberate new tries after an unreadable reply."""
    schema: Mapping[str, Any] | None = None
    """A JSON schema that the reply should follow, where the endpoint supports it."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said, and what it took. Counts are None where the endpoint does not report them."""

    text: str
    finish_reason: str | None = None
    model_id: str | None = None
    """The model as the provider names it in the reply."""
    tokens_in: int | None = None
    tokens_cached: int | None = None
    """Those of `tokens_in` that the endpoint took from its prefix cache."""
    tokens_out: int | None = None
    failed_tries: tuple[str, ...] = ()
    """The errors of the tries before this one."""


class Model(Protocol):
    """A language model, or anything that answers like one."""

    async def complete(self, request: Request) -> Reply:
        """Answer a request.

        Raises:
            ProviderError: No reply could be had; RefusedError or AccessError where asking again cannot help.
        """
        ...


@runtime_checkable
class Closable(Protocol):
    """A model that holds connections."""

    async def close(self) -> None:
        """Let go of them."""
        ...


@dataclass(frozen=True)
class ModelSpec:
    """A model's name, `provider/name`, with the settings that change its replies."""

    name: str
    base_url: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Temperature, max_tokens, ... as the study gives them."""
    vision: bool | None = None
    """Whether it reads images, where the study says so."""

    @property
    def provider(self) -> str:
        """What stands before the first `/`."""
        return self.name.partition("/")[0]

    @cached_property
    def fingerprint(self) -> str:
        """Base URL, model and settings as one text."""
        return json.dumps([self.base_url, self.name, dict(self.settings)], sort_keys=True, ensure_ascii=False)


def request_hash(spec: ModelSpec, request: Request) -> str:
    """A fingerprint of everything that decides a reply: base URL, model, settings, messages, schema."""
    parts = [spec.fingerprint]
    for message in request.messages:
        parts += (message.role, str(len(message.content)), message.content, *message.images)
    if request.schema is not None:
        parts.append(json.dumps(request.schema, sort_keys=True))
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
