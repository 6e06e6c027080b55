"""The journal: every call to a model under its address, so that a run that stopped never asks again."""

import asyncio
import time
from dataclasses import dataclass

from openosce.errors import AccessError, ProviderError, RunFolderError, RunStopped
from openosce.grading import TrialKey
from openosce.models import ChatMessage, Model, ModelSpec, PriceBook, Reply, Request, request_hash
from openosce.runs.folder import Call, RunWriter, call_address
from openosce.runs.study import Limits


class Budget:
    """The calls and dollars that a run may spend, earlier starts of it included."""

    def __init__(self, limits: Limits, calls: int, dollars: float) -> None:
        self._limits = limits
        self._calls, self._dollars = calls, dollars
        self._open = 0

    def open_call(self) -> None:
        """Count a call before it is made.

        Raises:
            RunStopped: It would go over a limit, as far as the calls that are open can be foreseen.
        """
        limits = self._limits
        if limits.calls is not None and self._calls + self._open >= limits.calls:
            raise RunStopped(f"the limit of {limits.calls} calls is reached; raise limits.calls to go on")
        if limits.dollars is not None:
            mean = self._dollars / self._calls if self._calls else 0.0
            if self._dollars + mean * self._open >= limits.dollars:
                raise RunStopped(f"the limit of ${limits.dollars:g} is reached; raise limits.dollars to go on")
        self._open += 1

    def close_call(self, dollars: float | None) -> None:
        """Count what it cost."""
        self._open -= 1
        self._calls += 1
        self._dollars += dollars or 0.0


class Journal:
    """All calls of a run: replayed, shared or made."""

    def __init__(self, writer: RunWriter, prices: PriceBook, limits: Limits) -> None:
        self._writer = writer
        self._prices = prices
        self._budget = Budget(limits, *writer.spent())
        self._prefixes = PrefixMeter()
        self._shared: dict[str, asyncio.Future[Reply]] = {}
        self._stopped: str | None = None

    async def ask(self, model: Model, role: str, spec: ModelSpec, address: str, request: Request) -> Reply:
        """Replay the reply of this address, or ask for it and write it down.

        Raises:
            RunFolderError: The address was asked something else before: the run is not the same study any more.
            RunStopped: A limit is reached, or no call of this model can succeed.
            ProviderError: The model gave no reply; the failure is in the journal.
        """
        asked = request_hash(spec, request)
        earlier = self._writer.replay(address)
        if earlier is not None:
            if earlier[0] != asked:
                raise RunFolderError(f"the journal holds another request at {address}; the run cannot go on from it")
            return Reply(earlier[1])
        if self._stopped is not None:
            raise RunStopped(self._stopped)
        self._budget.open_call()
        repeated = self._prefixes.share(spec.name, request.messages)
        started, dollars = time.perf_counter(), None
        try:
            reply = await model.complete(request)
            dollars = self._prices.dollars(spec.name, reply)
        except ProviderError as failure:
            self._note_failures(address, asked, role, (*failure.failed_tries, str(failure)))
            if isinstance(failure, AccessError):
                self._stopped = str(failure)  # nobody asks anything more: the run would only end later
                raise RunStopped(self._stopped) from None
            raise
        finally:
            self._budget.close_call(dollars)
        self._note_failures(address, asked, role, reply.failed_tries)
        milliseconds = round((time.perf_counter() - started) * 1000, 3)
        self._writer.write(
            Call(
                address=address,
                request_hash=asked,
                role=role,
                reply=reply.text,
                model_id=reply.model_id,
                tokens_in=reply.tokens_in,
                tokens_cached=reply.tokens_cached,
                tokens_out=reply.tokens_out,
                dollars=dollars,
                ms=milliseconds,
                repeated=round(repeated, 4),
            )
        )
        return reply

    def _note_failures(self, address: str, asked: str, role: str, errors: tuple[str, ...]) -> None:
        for error in errors:
            self._writer.write(Call(address, asked, role, None, error=error))

    async def ask_once(self, model: Model, role: str, spec: ModelSpec, address: str, request: Request) -> Reply:
        """Like `ask`, for an address that several trials share: whoever comes second takes the first one's reply."""
        if address not in self._shared:
            self._shared[address] = asyncio.ensure_future(self.ask(model, role, spec, address, request))
        call = self._shared[address]
        try:
            return await asyncio.shield(call)
        except ProviderError:
            if self._shared.get(address) is call:  # else somebody who waited as well has asked anew already
                del self._shared[address]
            raise


@dataclass(frozen=True)
class JournaledModel:
    """A model as one role of one trial uses it."""

    model: Model
    role: str
    spec: ModelSpec
    journal: Journal
    key: TrialKey | None
    """None for a grader, whose verdicts stand outside case and trial."""

    async def complete(self, request: Request) -> Reply:
        """Answer from the journal, or ask the model."""
        if self.key is None:
            address = call_address(TrialKey(self.spec.name, "", "", 0), request.step, request.repeat)
            return await self.journal.ask_once(self.model, self.role, self.spec, address, request)
        address = call_address(self.key, request.step, request.repeat)
        return await self.journal.ask(self.model, self.role, self.spec, address, request)


class PrefixMeter:
    """How much of each prompt repeats the start of an earlier one, as a prefix cache of the endpoint could use it."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def share(self, model: str, messages: tuple[ChatMessage, ...]) -> float:
        """The share of a prompt's characters that an earlier prompt, or its first message, begins with; 0 to 1."""
        texts = tuple([message.content for message in messages])
        repeated = 0
        for length in range(len(texts), 0, -1):
            if hash((model, texts[:length])) in self._seen:
                repeated = sum(map(len, texts[:length]))
                break
        self._seen.add(hash((model, texts)))
        self._seen.add(hash((model, texts[:1])))
        return repeated / (sum(map(len, texts)) or 1)
