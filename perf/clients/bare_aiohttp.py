"""The floor: aiohttp and JSON, nothing else."""

import asyncio
import json
from typing import Any

import aiohttp
from conversation import Work, talk_all


def run(work: Work) -> None:
    """Hold all conversations over one session."""
    asyncio.run(_run(work))


async def _run(work: Work) -> None:
    url = f"{work.base_url}/chat/completions"
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask(model: str, messages: list[Any]) -> str:
            body = json.dumps({"model": model, "messages": messages}).encode()
            async with session.post(url, data=body, headers={"Content-Type": "application/json"}) as response:
                response.raise_for_status()
                text: str = json.loads(await response.read())["choices"][0]["message"]["content"]
                return text

        await talk_all(work, ask)
