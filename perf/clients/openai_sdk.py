"""The openai SDK in a plain asyncio loop: no retries, its own HTTP client with the limits on connections lifted."""

import asyncio
from typing import Any

import openai
from conversation import Work, talk_all

UNLIMITED = type(openai.DEFAULT_CONNECTION_LIMITS)(max_connections=None, max_keepalive_connections=None)


def run(work: Work) -> None:
    """Hold all conversations with one client."""
    asyncio.run(_run(work))


async def _run(work: Work) -> None:
    http = openai.DefaultAsyncHttpxClient(limits=UNLIMITED)
    async with openai.AsyncOpenAI(base_url=work.base_url, api_key="none", max_retries=0, http_client=http) as client:

        async def ask(model: str, messages: list[Any]) -> str:
            completion = await client.chat.completions.create(model=model, messages=messages)
            return completion.choices[0].message.content or ""

        await talk_all(work, ask)
