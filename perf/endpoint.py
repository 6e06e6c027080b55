"""A simulated chat-completions endpoint on loopback: models that talk, latency, faults and counters.

    python perf/endpoint.py --latency 200 --fault 429=0.05 reset=0.01

It prints its base URL once it listens and ends on SIGTERM or Ctrl-C. Models: `doctor` (`doctor-q3` asks three
questions), `patient`, `summarizer`, `grader`, `student`, `examiner` (`student-f30` spoils the JSON of three replies in
ten), `any-model` (plays what the prompt asks for) and `needs-key`. To AgentClinic's prompts every one of them replies
as doctor, patient, measurement agent or moderator (`doctor-n100` never commits to a diagnosis).
A reply is a function of model, messages, seed and max_tokens; temperature, stop and response_format change nothing.

`GET /sim/counters`, `POST /sim/reset`, `POST /sim/outage {"seconds": 60}`, `POST /sim/fault {"429": 0.1}`.
"""

import argparse
import asyncio
import contextlib
import gc
import resource
from pathlib import Path

from simulator.faults import FINAL, TRANSIENT, FaultPlan
from simulator.server import Settings, serve


def fault_rate(text: str) -> tuple[str, float]:
    """Read `NAME=RATE`."""
    name, _, rate = text.partition("=")
    try:
        return name, float(rate)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected NAME=RATE, got {text!r}") from None


def parser() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--latency", type=float, default=200, help="mean milliseconds to a reply")
    parser.add_argument("--jitter", type=float, default=0.1, help="spread of the latency: sigma of its logarithm")
    parser.add_argument("--questions", type=int, default=10, help="how many questions a doctor asks")
    parser.add_argument("--seed", type=int, default=1, help="decides which requests meet a fault")
    parser.add_argument(
        "--fault",
        type=fault_rate,
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=RATE",
        help=f"by retry different: {', '.join(TRANSIENT)}; for good: {', '.join(FINAL)}",
    )
    parser.add_argument("--slow", type=float, default=5, help="seconds to the first byte of a `slow` reply")
    parser.add_argument("--retry-after", type=float, default=1, help="seconds that `429-after` asks for")
    parser.add_argument("--record", type=Path, help="write every request to this file, one JSON line each")
    return parser


def allow_many_connections() -> None:
    """Raise the limit of open files as far as it goes: each request in flight holds a socket."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def main() -> None:
    """Parse, serve."""
    options = parser()
    given = options.parse_args()
    rates = dict(given.fault)
    try:
        FaultPlan(rates, given.seed)
    except ValueError as problem:
        options.error(str(problem))
    allow_many_connections()
    gc.set_threshold(50_000, 20, 100)  # thousands of requests in flight are not garbage
    settings = Settings(
        latency_ms=given.latency,
        jitter=given.jitter,
        questions=given.questions,
        seed=given.seed,
        rates=rates,
        slow_seconds=given.slow,
        retry_after=given.retry_after,
        record=given.record,
    )
    asyncio.run(serve(settings, given.port, lambda url: print(url, flush=True)))


if __name__ == "__main__":
    main()
