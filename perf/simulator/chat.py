"""A chat-completions request as the endpoint reads it: its words, its identity and its prefixes."""

import json
from hashlib import blake2b
from itertools import chain
from typing import Any, NamedTuple


class BadRequestError(ValueError):
    """The request cannot be read; the message says what is wrong."""


Turn = tuple[str, str, str]
"""One message: its role, its text, and its content as JSON where it came in parts, of which some may be images."""


class Chat(NamedTuple):
    """One request."""

    model: str
    turns: list[Turn]
    seed: int | None
    limit: int | None
    """The most tokens a reply may have."""
    sizes: list[int]
    """Tokens of each message."""
    prefixes: list[int]
    """One fingerprint for each beginning of the conversation, good in this process only."""
    reply_key: int
    """Decides the reply: model, messages, seed and limit, and nothing else."""
    key: int
    """This very request, with all its settings."""

    @property
    def last_user(self) -> str:
        """What the user said last."""
        return next((text for role, text, _ in reversed(self.turns) if role == "user"), "")

    @property
    def system(self) -> str:
        """The system prompt; empty if there is none."""
        return next((text for role, text, _ in self.turns if role in {"system", "developer"}), "")


def token_count(text: str) -> int:
    """Four characters to a token, rounded up."""
    return -(-len(text) // 4)


def key_of(*parts: object) -> int:
    """A 64-bit number that is the same in every process."""
    return int.from_bytes(blake2b(repr(parts).encode("utf-8", "backslashreplace"), digest_size=8).digest())


def draw(*parts: object) -> float:
    """A number in (0, 1) that only the parts decide."""
    return ((key_of(*parts) >> 12) + 0.5) / 2**52


def read_chat(body: bytes) -> Chat:
    """Read a request.

    Raises:
        BadRequestError: It is no JSON object, or lacks a model or messages of the expected form.
    """
    fields = _json_object(body)
    turns = _turns(fields.pop("messages", None))
    model, seed = fields.get("model"), fields.get("seed")
    limit = fields.get("max_tokens") or fields.get("max_completion_tokens")
    if not isinstance(model, str):
        raise BadRequestError("expected 'model' to be a string")
    if fields.get("stream"):
        raise BadRequestError("'stream' is not supported")
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        raise BadRequestError(f"expected 'max_tokens' to be a positive number, got {limit!r}")
    conversation = _digest(turns)
    return Chat(
        model=model,
        turns=turns,
        seed=seed,
        limit=limit,
        sizes=[-(-len(text) // 4) for _, text, _ in turns],
        prefixes=_prefixes(turns),
        reply_key=key_of(model, conversation, seed, limit),
        key=key_of(conversation, sorted(fields.items())),
    )


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(body)
    except ValueError as problem:
        raise BadRequestError(f"the body is not JSON: {problem}") from None
    if not isinstance(fields, dict):
        raise BadRequestError("expected a JSON object")
    return fields


def _turns(messages: object) -> list[Turn]:
    if not isinstance(messages, list) or not messages:
        raise BadRequestError("expected 'messages' to be a list of at least one message")
    try:
        return [
            (message["role"], content, "")
            if type(content := message.get("content")) is str
            else (message["role"], *_text_of_parts(content))
            for message in messages
        ]
    except (TypeError, KeyError, AttributeError):
        raise BadRequestError("expected every message to be an object with a role") from None


def _text_of_parts(content: object) -> tuple[str, str]:
    """The text, and everything, of a message that is not plain text."""
    if content is None:
        return "", ""
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        raise BadRequestError("expected 'content' to be text or a list of parts")
    text = "\n".join(str(part["text"]) for part in content if part.get("type") == "text" and "text" in part)
    return text, json.dumps(content, sort_keys=True)


def _digest(turns: list[Turn]) -> bytes:
    try:
        text = "\0".join(chain.from_iterable(turns))
    except TypeError:
        raise BadRequestError("expected a message's role to be a string") from None
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _prefixes(turns: list[Turn]) -> list[int]:
    """Fingerprints of all beginnings, each message hashed once."""
    prefixes, before = [], 0
    for turn in turns:
        before = hash((before, turn))
        prefixes.append(before)
    return prefixes
