"""Putting a conversation before a model, seen from one role."""

from collections.abc import Mapping
from typing import Any

from openosce.encounters import Transcript, heard
from openosce.errors import RoleError
from openosce.models import ChatMessage, Model, Request

TRIES = 3
"""How often a role is asked before its empty replies count as missing."""


def chat(system: str, transcript: Transcript, speaker: str) -> tuple[ChatMessage, ...]:
    """What `speaker` heard of a conversation: its own words as the assistant's, all others' as the user's."""
    turns = [ChatMessage("assistant" if m.speaker == speaker else "user", m.text) for m in heard(transcript, speaker)]
    return (ChatMessage("system", system), *turns)


async def ask(
    model: Model, messages: tuple[ChatMessage, ...], step: str, role: str, schema: Mapping[str, Any] | None = None
) -> str:
    """Ask a model for a role's next words; `schema` is the JSON schema of the reply, where there is one.

    Raises:
        RoleError: Every reply is empty.
        ProviderError: The model gave no reply.
    """
    for repeat in range(TRIES):
        reply = await model.complete(Request(messages, step, repeat, schema))
        if reply.text.strip():
            return reply.text.strip()
    finish = f", finish reason {reply.finish_reason}" if reply.finish_reason else ""
    raise RoleError(f"the {role} gave an empty reply at {step} ({TRIES} tries{finish})")
