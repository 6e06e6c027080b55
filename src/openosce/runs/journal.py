"""The journal: every call to a model under its address, so that a run that stopped never asks again."""

import asyncio
import json
import time
from dataclasses import dataclass

from openosce.errors import ProviderError, RunFolderError
from openosce.grading import TrialKey
from openosce.models import Model, ModelSpec, Reply, Request, request_hash
from openosce.runs.folder import Call, RunWriter


class Journal:
    """All calls of a run: replayed, shared or made, at most `in_flight` at once."""

    def __init__(self, writer: RunWriter, in_flight: int) -> None:
        self._writer = writer
        self._open_calls = asyncio.Semaphore(in_flight)
        self._shared: dict[str, asyncio.Future[Reply]] = {}

    async def ask(self, model: Model, spec: ModelSpec, address: str, request: Request) -> Reply:
        """Replay the reply of this address, or ask for it and write it down.

        Raises:
            RunFolderError: The address was asked something else before: the run is not the same study any more.
            ProviderError: The model gave no reply; the failure is in the journal.
        """
        asked = request_hash(spec, request.messages)
        earlier = self._writer.replay(address)
        if earlier is not None:
            if earlier[0] != asked:
                raise RunFolderError(f"the journal holds another request at {address}; the run cannot go on from it")
            return Reply(earlier[1])
        async with self._open_calls:
            started = time.perf_counter()
            try:
                reply = await model.complete(request)
            except ProviderError as failure:
                self._writer.write(Call(address, asked, None, ms=_since(started), error=str(failure)))
                raise
        tokens = (reply.tokens_in, reply.tokens_cached, reply.tokens_out)
        self._writer.write(Call(address, asked, reply.text, *tokens, reply.dollars, _since(started)))
        return reply

    async def ask_once(self, model: Model, spec: ModelSpec, address: str, request: Request) -> Reply:
        """Like `ask`, for an address that several trials share: whoever comes second takes the first one's reply."""
        if address not in self._shared:
            self._shared[address] = asyncio.ensure_future(self.ask(model, spec, address, request))
        call = self._shared[address]
        try:
            return await asyncio.shield(call)
        except ProviderError:
            self._shared.pop(address, None)
            raise


@dataclass(frozen=True)
class JournaledModel:
    """A model as one role of one trial uses it."""

    model: Model
    spec: ModelSpec
    journal: Journal
    key: TrialKey | None
    """None for a grader, whose verdicts stand outside case and trial."""

    async def complete(self, request: Request) -> Reply:
        """Answer from the journal, or ask the model."""
        if self.key is None:
            address = _address(self.spec.name, "", "", 0, request)
            return await self.journal.ask_once(self.model, self.spec, address, request)
        key = self.key
        address = _address(key.doctor, key.condition, key.case_id, key.trial, request)
        return await self.journal.ask(self.model, self.spec, address, request)


def _address(doctor: str, condition: str, case_id: str, trial: int, request: Request) -> str:
    place = [doctor, condition, case_id, trial, request.step, request.repeat]
    return json.dumps(place, ensure_ascii=False)


def _since(started: float) -> float:
    """Milliseconds."""
    return round((time.perf_counter() - started) * 1000, 3)
