"""Inspect AI's model interface in a plain asyncio loop, tuned: as many connections as calls, no retries, no events."""

import asyncio
from typing import Any

from conversation import Work, talk_all
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
    get_model,
)

KINDS = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}


def run(work: Work) -> None:
    """Hold all conversations with as many connections as may be in flight."""
    from inspect_ai.model._model import use_model_event_sink  # it has no public name

    with use_model_event_sink(_Dropped()):
        hold_all(work, GenerateConfig(max_connections=work.in_flight, max_retries=0))


def hold_all(work: Work, config: GenerateConfig) -> None:
    """Hold all conversations, with one model for the doctor and one for the patient."""
    asyncio.run(_hold_all(work, config))


async def _hold_all(work: Work, config: GenerateConfig) -> None:
    models: dict[str, Model] = {
        name: get_model(
            f"openai/{name}", config=config, base_url=work.base_url, api_key="none", memoize=False, responses_api=False
        )
        for name in (work.doctor, "patient")
    }

    async def ask(model: str, messages: list[Any]) -> str:
        return (await models[model].generate(messages)).completion

    await talk_all(work, ask, lambda role, text: KINDS[role](content=text))
    for model in models.values():
        await model.api.aclose()


class _Dropped:
    """Takes the events that Inspect would keep for its log."""

    def on_pending(self, event: object) -> None:
        """Drop it."""

    def on_complete(self, event: object) -> None:
        """Drop it."""
