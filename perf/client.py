"""One client in a process of its own, against a simulated endpoint in another.

`measure` starts both; the client's process is `python perf/client.py NAME WORK`, where NAME is a file of `clients/` and
WORK is `conversation.Work` as JSON. It prints its measures as JSON.
"""

import contextlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from conversation import Work, write_cases
from simulator import Simulator


@dataclass(frozen=True)
class Measure:
    """What one client took for its work; imports are left out of time and CPU."""

    client: str
    work: Work
    seconds: float
    cpu_seconds: float
    """User and system time of the client's process, all threads."""
    imports_mb: float
    """Peak memory once everything is imported."""
    peak_mb: float

    @property
    def cpu_ms_per_call(self) -> float:
        """CPU milliseconds a call."""
        return 1000 * self.cpu_seconds / self.work.calls

    @property
    def calls_per_second(self) -> float:
        """Calls a second of wall time."""
        return self.work.calls / self.seconds

    @property
    def times_ideal(self) -> float:
        """Wall time over what the endpoint's latency alone takes."""
        return self.seconds / self.work.ideal_seconds

    def to_json(self) -> dict[str, object]:
        """For `results.json`."""
        return {
            "client": self.client,
            "conversations": self.work.conversations,
            "calls": self.work.calls,
            "in_flight": self.work.in_flight,
            "latency_ms": self.work.latency_ms,
            "seconds": round(self.seconds, 2),
            "cpu_ms_per_call": round(self.cpu_ms_per_call, 3),
            "calls_per_second": round(self.calls_per_second, 1),
            "times_ideal": round(self.times_ideal, 3),
            "imports_mb": round(self.imports_mb, 1),
            "peak_mb": round(self.peak_mb, 1),
        }


def measure(
    client: str, conversations: int, in_flight: int, *, latency_ms: float = 200, questions: int = 10
) -> Measure:
    """Let a client do its work on a fresh endpoint.

    Raises:
        RuntimeError: It failed, or made other calls than the work's.
    """
    with tempfile.TemporaryDirectory() as folder, Simulator(latency=latency_ms) as simulator:
        cases = Path(folder) / "cases.jsonl"
        write_cases(cases, conversations)
        work = Work(simulator.base_url, str(cases), conversations, in_flight, latency_ms, questions)
        done = subprocess.run(
            [sys.executable, __file__, client, work.to_json()], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{client} failed: {done.stderr.strip()[-500:]}")
        replies = simulator.counters()["replies"]
        if replies != {"200": work.calls}:
            raise RuntimeError(f"{client}: {work.calls} calls were to be made, the endpoint counted {replies}")
    return Measure(client, work, **json.loads(done.stdout.splitlines()[-1]))


def peak_mb() -> float:
    """The most memory this process has held, in MB; Linux counts in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def allow_many_connections() -> None:
    """Raise the limit of open files as far as it goes: each call in flight holds a socket."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def main() -> None:
    """Import the client, run it, report."""
    name, given = sys.argv[1:]
    allow_many_connections()
    client = import_module(f"clients.{name}")
    work = Work(**json.loads(given))
    imported, started, cpu = peak_mb(), time.perf_counter(), time.process_time()
    client.run(work)
    measures = {
        "seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - cpu,
        "imports_mb": imported,
        "peak_mb": peak_mb(),
    }
    print(json.dumps(measures))


if __name__ == "__main__":
    main()
