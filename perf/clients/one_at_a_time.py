"""AgentClinic's way: one conversation after the other on the openai SDK, and a second's sleep in every turn."""

import asyncio
import time
from dataclasses import replace
from typing import Any

import openai
from conversation import CLOSING, Work, talk_all

SLEEP = 1.0
"""Seconds in every turn that does not end the conversation, as its main loop has them."""


def run(work: Work) -> None:
    """Hold the conversations one by one; nothing here is concurrent."""
    client = openai.OpenAI(base_url=work.base_url, api_key="none", max_retries=0)

    async def ask(model: str, messages: list[Any]) -> str:
        completion = client.chat.completions.create(model=model, messages=messages)
        text = completion.choices[0].message.content or ""
        if model == work.doctor and CLOSING not in text:
            time.sleep(SLEEP)
        return text

    asyncio.run(talk_all(replace(work, in_flight=1), ask))
