"""Several calls of one trial at once."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

_T = TypeVar("_T")


async def together(calls: Iterable[Coroutine[Any, Any, _T]]) -> list[_T]:
    """Wait for all of them, also when one fails: calls that are open are paid for, and their replies are kept."""
    done = await asyncio.gather(*calls, return_exceptions=True)
    results = [result for result in done if not isinstance(result, BaseException)]
    for failure in done:
        if isinstance(failure, BaseException):
            raise failure
    return results
