"""How OpenOSCE's cost grows: with calls in flight, with turns, and with cases. `python perf/curves.py [--quick]`.

Everything is on, as in `peers.py`. The ten thousand cases are run at a latency of 20 ms, where the processor and not
the endpoint is the limit: there the ideal says little, CPU and memory are what is looked at.
"""

import argparse
from dataclasses import dataclass

from client import Measure, measure
from results import save, table


@dataclass(frozen=True)
class Point:
    """One measurement of a curve."""

    curve: str
    conversations: int
    in_flight: int = 200
    latency_ms: float = 200
    questions: int = 10


FULL = (
    Point("in flight", 1, 1),
    Point("in flight", 40, 10),
    Point("in flight", 200, 50),
    Point("in flight", 800, 200),
    Point("in flight", 2000, 500),
    Point("in flight", 4000, 1000),
    Point("turns", 400, questions=5),
    Point("turns", 400, questions=10),
    Point("turns", 400, questions=20),
    Point("turns", 400, questions=40),
    Point("cases", 100, 100),
    Point("cases", 1000),
    Point("cases", 10_000, latency_ms=20),
)
QUICK = (Point("in flight", 100, 50), Point("turns", 50, 50, questions=20), Point("cases", 500, latency_ms=20))


def main() -> None:
    """Measure, show, write down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few points only; nothing is written down")
    quick = parser.parse_args().quick
    rows = []
    for point in QUICK if quick else FULL:
        found = measure(
            "openosce_run",
            point.conversations,
            point.in_flight,
            latency_ms=point.latency_ms,
            questions=point.questions,
        )
        rows.append(_row(point, found))
        print(f"{point}: {found.cpu_ms_per_call:.3f} ms of CPU a call, {found.seconds:.1f} s", flush=True)
    print(table(rows))
    if not quick:
        save("curves", rows)


def _row(point: Point, found: Measure) -> dict[str, object]:
    return {
        "curve": point.curve,
        "cases": point.conversations,
        "in flight": point.in_flight,
        "doctor's questions": point.questions,
        "latency ms": point.latency_ms,
        "calls": found.work.calls,
        "CPU ms/call": round(found.cpu_ms_per_call, 3),
        "calls/s": round(found.calls_per_second, 1),
        "x ideal": round(found.times_ideal, 2),
        "peak MB": round(found.peak_mb),
        "MB over imports": round(found.peak_mb - found.imports_mb),
    }


if __name__ == "__main__":
    main()
