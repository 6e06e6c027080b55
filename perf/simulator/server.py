"""The HTTP side: chat completions with latency and faults, and `/sim/` to steer and to count. Loopback only."""

import asyncio
import contextlib
import json
import math
import signal
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import NormalDist
from time import monotonic
from typing import Any, NamedTuple, NoReturn, TextIO

from aiohttp import web

from simulator.chat import BadRequestError, Chat, draw, read_chat, token_count
from simulator.faults import FaultPlan
from simulator.ledger import Ledger, Visit
from simulator.voices import MODELS, say
from simulator.wheel import Wheel

KEY = "Bearer sim-secret"
"""What the model `needs-key` expects as authorization."""
LOCKED = "needs-key"
LONG_REPLY = 100_000
"""Tokens of a `long` reply; it heeds no max_tokens."""
BACKLOG = 4096

_FILLER = "And that is not all there is to say about it. "
_JSON = {"Content-Type": "application/json"}
_NORMAL = NormalDist()


@dataclass(frozen=True)
class Settings:
    """How the endpoint behaves; a reset goes back to this."""

    latency_ms: float = 200
    """The mean of the time to a reply."""
    jitter: float = 0.1
    """Standard deviation of the logarithm of the latency."""
    questions: int = 10
    seed: int = 1
    rates: Mapping[str, float] = field(default_factory=dict)
    slow_seconds: float = 5
    retry_after: float = 1
    record: Path | None = None


class Answer(NamedTuple):
    """What goes back to the client; status 0 closes the connection instead."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = _JSON


def error(status: int, message: str, kind: str, code: str | None, **headers: str) -> Answer:
    """An error as OpenAI writes it."""
    body = json.dumps({"error": {"message": message, "type": kind, "param": None, "code": code}})
    return Answer(status, body.encode(), {**_JSON, **{name.replace("_", "-"): text for name, text in headers.items()}})


CLOSED = Answer(0)
OVERLOADED = error(503, "The server is overloaded; try again later", "server_error", "overloaded")
_LIMITED = ("Rate limit reached for requests", "rate_limit_exceeded", "rate_limit_exceeded")
_AT_ONCE = {
    "429": error(429, *_LIMITED),
    "filter-400": error(400, "The prompt was filtered", "invalid_request_error", "content_filter"),
    "bad": error(400, "The request cannot be processed", "invalid_request_error", None),
}
"""Refused before any model is asked."""
_AFTER_A_WHILE = {
    "500": error(500, "The server had an error", "server_error", None),
    # Gateways in front of an endpoint answer in their own format.
    "502": Answer(502, b"<html><body><h1>502 Bad Gateway</h1></body></html>", {"Content-Type": "text/html"}),
    "503": OVERLOADED,
    "reset": CLOSED,
}


class Endpoint:
    """Answers requests; all state is here and in its ledger."""

    def __init__(self, settings: Settings, record: TextIO | None = None) -> None:
        self._settings = settings
        self._record = record
        self._started = monotonic()
        self._wheel = Wheel()
        self._at_once = {**_AT_ONCE, "429-after": error(429, *_LIMITED, Retry_After=f"{settings.retry_after:g}")}
        self._routes: dict[tuple[str, str], Callable[[web.BaseRequest], Awaitable[web.Response]]] = {
            ("POST", "/v1/chat/completions"): self._complete,
            ("GET", "/v1/models"): self._list_models,
            ("GET", "/sim/counters"): self._show_counters,
            ("POST", "/sim/reset"): self._reset,
            ("POST", "/sim/outage"): self._start_outage,
            ("POST", "/sim/fault"): self._change_faults,
        }
        self._forget()

    async def handle(self, request: web.BaseRequest) -> web.Response:
        """Answer any request."""
        route = self._routes.get((request.method, request.path))
        if route is None:
            return _response(error(404, f"No route {request.method} {request.path}", "invalid_request_error", None))
        return await route(request)

    def _forget(self) -> None:
        # Requests still open stay with the ledger they arrived in.
        self._ledger = Ledger()
        self._faults = FaultPlan(self._settings.rates, self._settings.seed)
        self._outage_ends = 0.0

    async def _complete(self, request: web.BaseRequest) -> web.Response:
        """One chat completion, entered in the ledger however it ends."""
        body = await request.content.read()
        ledger = self._ledger
        visit = ledger.arrive()
        try:
            answer = await self._answer(ledger, visit, body, request.headers.get("Authorization"))
            visit.status = answer.status or None
        finally:
            ledger.leave(visit)
            if self._record:
                self._write_down(self._record, visit, body)
        if not answer.status and request.transport:
            request.transport.abort()
        return _response(answer)

    async def _answer(self, ledger: Ledger, visit: Visit, body: bytes, authorization: str | None) -> Answer:
        if monotonic() < self._outage_ends:
            return _refuse_in_outage(ledger, visit)
        try:
            chat = read_chat(body)
        except BadRequestError as problem:
            return error(400, str(problem), "invalid_request_error", None)
        if not chat.model.startswith(MODELS):
            message = f"The model {chat.model!r} does not exist"
            return error(404, message, "invalid_request_error", "model_not_found")
        if chat.model.startswith(LOCKED) and authorization != KEY:
            return error(401, "Incorrect API key provided", "invalid_request_error", "invalid_api_key")
        ledger.strike(visit, self._faults.decide(chat.key, ledger.recognise(visit, chat)))
        return await self._reply_or_fail(ledger, visit, chat)

    async def _reply_or_fail(self, ledger: Ledger, visit: Visit, chat: Chat) -> Answer:
        fault = visit.fault
        if fault in self._at_once:
            return self._at_once[fault]
        if fault == "hang":
            await _wait_until_the_client_goes()
        if fault in _AFTER_A_WHILE:
            await self._think(chat, fault)
            return _AFTER_A_WHILE[fault]
        prompt_tokens, cached = ledger.read_prompt(chat)
        text, finish_reason = self._words(chat, fault)
        await self._think(chat, fault)
        visit.completion_tokens = token_count(text)
        visit.answered = fault in {None, "slow", "long"}
        return _as_broken(_completion(chat, text, finish_reason, prompt_tokens, cached), text, fault)

    def _words(self, chat: Chat, fault: str | None) -> tuple[str, str]:
        """The reply's text and why it ends there."""
        if fault in {"empty", "filter"}:
            return "", "content_filter" if fault == "filter" else "stop"
        text = say(chat, self._settings.questions)
        if fault == "long":
            missing = 4 * LONG_REPLY - len(text) - 1
            return f"{text} {_FILLER * (missing // len(_FILLER) + 1)}"[: 4 * LONG_REPLY], "stop"
        if chat.limit is not None and token_count(text) > chat.limit:
            return text[: 4 * chat.limit], "length"
        return text, "stop"

    async def _think(self, chat: Chat, fault: str | None) -> None:
        """Wait as long as this request takes, which is the same each time."""
        settings = self._settings
        if fault == "slow":
            await self._wheel.sleep(settings.slow_seconds)
        elif settings.latency_ms:
            spread = settings.jitter * _NORMAL.inv_cdf(draw("latency", chat.key)) - settings.jitter**2 / 2
            await self._wheel.sleep(settings.latency_ms / 1000 * math.exp(spread))

    def _write_down(self, record: TextIO, visit: Visit, body: bytes) -> None:
        """One line of the record; no header, so no key gets into it."""
        try:
            asked = json.loads(body)
        except ValueError:
            asked = body.decode(errors="replace")
        at = round(visit.arrived - self._started, 4)
        line = {"n": visit.number, "at": at, "fault": visit.fault, "status": visit.status, "request": asked}
        record.write(json.dumps(line) + "\n")

    async def _list_models(self, _: web.BaseRequest) -> web.Response:
        models = [{"id": name, "object": "model", "created": 0, "owned_by": "simulator"} for name in MODELS]
        return web.json_response({"object": "list", "data": models})

    async def _show_counters(self, _: web.BaseRequest) -> web.Response:
        if self._record:
            self._record.flush()
        return web.json_response(self._ledger.as_json())

    async def _reset(self, _: web.BaseRequest) -> web.Response:
        self._forget()
        return web.json_response({})

    async def _start_outage(self, request: web.BaseRequest) -> web.Response:
        try:
            seconds = float(json.loads(await request.read())["seconds"])
        except (ValueError, TypeError, KeyError):
            return _response(error(400, 'expected {"seconds": number}', "invalid_request_error", None))
        self._outage_ends = monotonic() + seconds
        return web.json_response({"seconds": seconds})

    async def _change_faults(self, request: web.BaseRequest) -> web.Response:
        try:
            self._faults.change(dict(json.loads(await request.read())))
        except (ValueError, TypeError) as problem:
            return _response(error(400, str(problem), "invalid_request_error", None))
        return web.json_response(self._faults.rates)


def _response(answer: Answer) -> web.Response:
    return web.Response(status=answer.status or 500, body=answer.body, headers=answer.headers)


def _refuse_in_outage(ledger: Ledger, visit: Visit) -> Answer:
    """Every other connection is closed, the rest hear 503."""
    closes = visit.number % 2 == 0
    ledger.strike(visit, "outage-closed" if closes else "outage-503")
    return CLOSED if closes else OVERLOADED


async def _wait_until_the_client_goes() -> NoReturn:
    """The server cancels the handler of a connection that is gone."""
    while True:
        await asyncio.sleep(3600)


def _completion(chat: Chat, text: str, finish_reason: str, prompt_tokens: int, cached: int) -> dict[str, Any]:
    tokens = token_count(text)
    return {
        "id": f"chatcmpl-{chat.reply_key:016x}",
        "object": "chat.completion",
        "created": 0,
        "model": f"{chat.model}-2026",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish_reason},
        ],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": tokens,
            "total_tokens": prompt_tokens + tokens,
            "prompt_tokens_details": {"cached_tokens": cached},
        },
    }


def _as_broken(completion: dict[str, Any], text: str, fault: str | None) -> Answer:
    """A good reply, unless the fault spoils its form."""
    if fault == "schema":
        return Answer(200, json.dumps({"result": {"output": text}}).encode())
    body = json.dumps(completion).encode()
    return Answer(200, body[: len(body) // 2] if fault == "truncated" else body)


async def serve(settings: Settings, port: int, announce: Callable[[str], None]) -> None:
    """Serve on loopback until SIGTERM or SIGINT; `announce` hears the base URL once it listens."""
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    with contextlib.ExitStack() as files:
        record = files.enter_context(settings.record.open("w", encoding="utf-8")) if settings.record else None
        server = web.Server(Endpoint(settings, record).handle, handler_cancellation=True, access_log=None)
        runner = web.ServerRunner(server, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", port, backlog=BACKLOG)
        await site.start()
        announce(f"http://127.0.0.1:{runner.addresses[0][1]}/v1")
        await stopped.wait()
        await runner.cleanup()
