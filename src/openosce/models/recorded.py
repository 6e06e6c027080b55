"""`builtin/recorded`: replies recorded earlier, found again by what was asked."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from openosce.errors import RefusedError, StudyError
from openosce.models.model import ChatMessage, Reply, Request


def messages_hash(messages: Iterable[ChatMessage]) -> str:
    """A fingerprint of the messages alone, whatever model answered them."""
    content = [(message.role, message.content, *message.images) for message in messages]
    return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()


class Recorded:
    """Replays the reply that the same messages had; several replies to the same messages are its repeats, in order."""

    def __init__(self, exchanges: Iterable[tuple[tuple[ChatMessage, ...], str]]) -> None:
        self._replies: dict[str, list[str]] = {}
        for messages, reply in exchanges:
            self._replies.setdefault(messages_hash(messages), []).append(reply)

    async def complete(self, request: Request) -> Reply:
        """Find the recorded reply."""
        replies = self._replies.get(messages_hash(request.messages), [])
        if request.repeat >= len(replies):
            raise RefusedError(
                f"no recorded reply for the step {request.step!r} (try {request.repeat + 1}); it ends with "
                f"{request.messages[-1].content[-60:]!r}"
            )
        return Reply(replies[request.repeat], finish_reason="stop", model_id="builtin/recorded")


def read_recorded(path: Path) -> Recorded:
    """Read recorded replies: JSON lines `{"messages": [{"role": ..., "content": ...}], "reply": ...}`.

    Raises:
        StudyError: The file cannot be read, or a line is no such object.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as failure:
        raise StudyError(f"{path}: cannot be read: {failure}") from None
    exchanges = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            exchanges.append(_exchange(json.loads(line)))
        except (ValueError, KeyError, TypeError):
            raise StudyError(f'{path}:{number}: expected {{"messages": [...], "reply": "..."}}') from None
    return Recorded(exchanges)


def _exchange(data: Any) -> tuple[tuple[ChatMessage, ...], str]:
    messages = tuple(ChatMessage(message["role"], message["content"]) for message in data["messages"])
    texts = [data["reply"], *(text for message in messages for text in (message.role, message.content))]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a role, a content or a reply is no text")
    return messages, data["reply"]
