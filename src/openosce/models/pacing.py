"""As fast as the endpoint allows: how many calls are open, how often, and how a call is tried again.

The limit of open calls shrinks when the endpoint is busy or slow and grows back while it is not (additive increase,
multiplicative decrease). Roles that share an endpoint share it fairly: a free place goes to the waiting role that has
the fewest calls open.
"""

import asyncio
import logging
import time
from collections import deque
from dataclasses import dataclass, replace

from openosce.errors import AccessError, BusyError, ProviderError, RefusedError, UnreadableReplyError
from openosce.models.model import Model, Reply, Request

TRIES = 9
"""Tries of one call at the most; with the waits between them they outlast an outage of a minute."""
TRIES_UNREADABLE = 3
"""Tries of a call whose replies cannot be read."""
FIRST_WAIT, LONGEST_WAIT, ALL_WAITS = 0.5, 30.0, 300.0
"""Seconds before the second try, between two tries at the most, and for all tries of one call together."""
_SHRINK, _SHRINK_SLOW = 0.7, 0.9
_SLOW = 4.0
"""Recent latency over the usual one at which an endpoint counts as overloaded."""

# stamina logs every new try; where nobody has set up logging, that would be a line on the terminal each.
logging.getLogger("stamina").addHandler(logging.NullHandler())


class Gate:
    """Lets calls through to one endpoint, as many at once as it bears and not more than `most`."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.limit = float(most)
        self._open: dict[str, int] = {}
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._total = 0
        self._recent: float | None = None
        self._usual: float | None = None
        self._shrunk = 0.0

    async def enter(self, role: str) -> None:
        """Wait for a place for one call of `role`."""
        if self._total < int(self.limit) and not any(self._waiting.values()):
            self._take(role)
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue = self._waiting.setdefault(role, deque())
        queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave(role)  # the place came at the same moment as the cancellation
            elif turn in queue:
                queue.remove(turn)
            raise

    def _take(self, role: str) -> None:
        self._open[role] = self._open.get(role, 0) + 1
        self._total += 1

    def leave(self, role: str) -> None:
        """Give a place back, to the waiting role that has the fewest calls open."""
        self._open[role] -= 1
        self._total -= 1
        while self._total < int(self.limit):
            waiting = [name for name, queue in self._waiting.items() if queue]
            if not waiting:
                return
            chosen = min(waiting, key=lambda name: self._open.get(name, 0))
            turn = self._waiting[chosen].popleft()
            if not turn.done():
                self._take(chosen)
                turn.set_result(None)

    def answered(self, seconds: float) -> None:
        """Learn from an answer: grow by one place in as many answers as there are places, or shrink if it was slow."""
        self._recent = seconds if self._recent is None else 0.9 * self._recent + 0.1 * seconds
        self._usual = seconds if self._usual is None else 0.995 * self._usual + 0.005 * min(seconds, 2 * self._usual)
        if self._recent > _SLOW * self._usual:
            self._shrink(_SHRINK_SLOW)
        else:
            self.limit = min(float(self.most), self.limit + 1 / self.limit)

    def refused(self) -> None:
        """Learn that the endpoint is busy: shrink."""
        self._shrink(_SHRINK)

    def _shrink(self, factor: float) -> None:
        # Many calls fail together when an endpoint is busy: they are one signal, not many.
        now = time.monotonic()
        if now - self._shrunk > (self._recent or 0.1):
            self.limit = max(1.0, self.limit * factor)
            self._shrunk = now


class Rate:
    """Spreads units (requests, tokens) evenly over time, `per_minute` of them."""

    def __init__(self, per_minute: float) -> None:
        self._seconds = 60.0 / per_minute
        self._free = 0.0

    async def take(self, units: float) -> None:
        """Wait until these units may be used."""
        now = time.monotonic()
        start = max(now, self._free)
        self._free = start + units * self._seconds
        if start > now:
            await asyncio.sleep(start - now)


@dataclass
class Lane:
    """What all calls to one endpoint pass through."""

    gate: Gate
    overall: asyncio.Semaphore
    """The places of all endpoints together."""
    requests: Rate | None = None
    tokens: Rate | None = None

    async def call(self, model: Model, role: str, request: Request) -> Reply:
        """Make one call when the rates allow it and there is a place."""
        if self.requests is not None:
            await self.requests.take(1)
        if self.tokens is not None:
            await self.tokens.take(estimated_tokens(request))
        await self.gate.enter(role)
        try:
            async with self.overall:
                started = time.monotonic()
                reply = await model.complete(request)
                self.gate.answered(time.monotonic() - started)
                return reply
        except BusyError:
            self.gate.refused()
            raise
        finally:
            self.gate.leave(role)


@dataclass(frozen=True)
class PacedModel:
    """A model whose calls keep to a lane, and are tried again while that can help."""

    model: Model
    lane: Lane
    role: str

    async def complete(self, request: Request) -> Reply:
        """Ask; after a failure that may pass, ask again, within limits."""
        try:
            return await self.lane.call(self.model, self.role, request)
        except (RefusedError, AccessError):
            raise
        except ProviderError as failure:
            return await self._try_again(request, failure)

    async def _try_again(self, request: Request, first: ProviderError) -> Reply:
        """The tries after the first; all of their errors are kept."""
        import stamina

        failures = [first]

        def wait(error: Exception) -> bool | float:
            if not isinstance(error, ProviderError) or isinstance(error, RefusedError | AccessError):
                return False
            if error is not first:
                failures.append(error)
            if sum(isinstance(failure, UnreadableReplyError) for failure in failures) >= TRIES_UNREADABLE:
                return False
            retry_after = error.retry_after if isinstance(error, BusyError) else None
            # Not to wait at all would spend all tries at once.
            return min(retry_after, LONGEST_WAIT) if retry_after else True

        try:
            async for attempt in stamina.retry_context(
                on=wait, attempts=TRIES, timeout=ALL_WAITS, wait_initial=FIRST_WAIT, wait_max=LONGEST_WAIT
            ):
                with attempt:
                    if attempt.num == 1:
                        raise first
                    reply = await self.lane.call(self.model, self.role, request)
        except ProviderError as last:
            last.failed_tries = tuple(str(failure) for failure in failures if failure is not last)
            raise
        failed = tuple(str(failure) for failure in failures)
        return replace(reply, failed_tries=failed)


def estimated_tokens(request: Request) -> int:
    """Tokens of a prompt, by the rule of thumb of four characters each."""
    return sum(len(message.content) for message in request.messages) // 4
