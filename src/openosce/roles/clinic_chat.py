"""A conversation of several roles as one of them is sent it: who spoke is said, and no two turns of a kind in a row."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from openosce.encounters import DOCTOR, Message, Transcript, heard
from openosce.errors import RoleError
from openosce.models import ChatMessage


def clinic_chat(
    system: str,
    transcript: Transcript,
    role: str,
    images: Mapping[str, str] | None = None,
    words: Callable[[Message, int], str] | None = None,
) -> tuple[ChatMessage, ...]:
    """What `role` heard of a conversation, as messages that only ever grow at their end: prefixes stay cacheable.

    Args:
        system: What it is told beforehand.
        transcript: The conversation.
        role: Whose view it is.
        images: By path, the images that a message may hand over, as data URLs.
        words: How a message of another role is put, given it and the doctor's turns so far; as it stands by default.

    Raises:
        RoleError: An image that a message hands over could not be had.
    """
    turns: list[ChatMessage] = [ChatMessage("system", system)]
    known = heard(transcript, role)
    for place, message in enumerate(known):
        if message.speaker == role:
            turns.append(ChatMessage("assistant", message.text))
            continue
        used = sum(earlier.speaker == DOCTOR for earlier in known[:place])
        text = words(message, used) if words else message.text
        said = ChatMessage("user", text, tuple(_picture(path, images or {}) for path in message.images))
        if turns[-1].role == "user":  # some endpoints refuse two of a kind in a row
            last = turns.pop()
            said = replace(said, content=f"{last.content}\n\n{text}", images=(*last.images, *said.images))
        turns.append(said)
    return tuple(turns)


def _picture(path: str, images: Mapping[str, str]) -> str:
    if path not in images:
        raise RoleError(f"the image {path!r} of the case could not be had, so that it cannot be shown")
    return images[path]
