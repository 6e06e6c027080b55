"""The same conversations with every client, one after the other: `python perf/peers.py [--quick]`.

Each client runs in a process of its own against a fresh endpoint in another. Slow clients hold fewer conversations;
what is compared is CPU a call and wall time over the ideal. Peers come with the extra `perf`; those that are missing
are named, and the rest is measured.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from client import Measure, measure
from results import save, table

IN_FLIGHT, LATENCY_MS = 200, 200
QUICK_IN_FLIGHT, QUICK_LATENCY_MS = 100, 100


@dataclass(frozen=True)
class Peer:
    """A client and how many conversations it is given, in a full and in a quick run."""

    client: str
    what: str
    full: int
    quick: int
    needs: str | None = None
    """The package that has to be installed."""


OURS = Peer("openosce_run", "OpenOSCE, everything on", 2000, 200)
PEERS = (
    OURS,
    Peer("bare_aiohttp", "aiohttp and JSON, nothing else", 2000, 200),
    Peer("openosce_run", "OpenOSCE, as few as its peers", 400, 100),
    Peer("openai_sdk", "openai SDK", 400, 100, "openai"),
    Peer("inspect_tuned", "inspect-ai, tuned", 400, 100, "inspect_ai"),
    Peer("inspect_default", "inspect-ai, its defaults", 200, 50, "inspect_ai"),
    Peer("one_at_a_time", "one at a time, 1 s sleep a turn*", 2, 1, "openai"),
)


def main() -> None:
    """Measure, show, write down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="about a minute; nothing is written down")
    quick = parser.parse_args().quick
    measured = [found for peer in PEERS if (found := _measured(peer, quick=quick)) is not None]
    rows = _rows(measured)
    print(table(rows))
    print("* extrapolated to as many conversations as OpenOSCE held in the first row")
    if not quick:
        save("peers", rows)


def _measured(peer: Peer, *, quick: bool) -> tuple[Peer, Measure, float | None] | None:
    """The work, and the peak of a single conversation unless it is quick; None where the client is not installed."""
    if peer.needs and find_spec(peer.needs) is None:
        print(f"{peer.what}: left out, {peer.needs} is missing; pip install 'openosce[perf]'", flush=True)
        return None
    in_flight, latency = (QUICK_IN_FLIGHT, QUICK_LATENCY_MS) if quick else (IN_FLIGHT, LATENCY_MS)
    found = measure(peer.client, peer.quick if quick else peer.full, in_flight, latency_ms=latency)
    print(f"{peer.what}: {found.cpu_ms_per_call:.3f} ms of CPU a call, {found.seconds:.1f} s", flush=True)
    single = None if quick else measure(peer.client, 1, in_flight, latency_ms=latency).peak_mb
    return peer, found, single


def _rows(measured: Sequence[tuple[Peer, Measure, float | None]]) -> list[dict[str, object]]:
    """One line a client, with its CPU over that of OpenOSCE's first line."""
    ours = next(found for peer, found, _ in measured if peer == OURS)
    return [_row(peer, found, single, ours) for peer, found, single in measured]


def _row(peer: Peer, found: Measure, single: float | None, ours: Measure) -> dict[str, object]:
    alone = peer.client == "one_at_a_time"
    seconds = found.seconds * ours.work.conversations / found.work.conversations if alone else found.seconds
    ideal = ours.work.ideal_seconds if alone else found.work.ideal_seconds
    return {
        "client": peer.what,
        "conversations": found.work.conversations,
        "CPU ms/call": round(found.cpu_ms_per_call, 3),
        "CPU / ours": round(found.cpu_ms_per_call / ours.cpu_ms_per_call, 2),
        "calls/s": round(found.calls_per_second, 1),
        "wall s": round(seconds, 1),
        "x ideal": round(seconds / ideal, 2),
        "peak MB": round(found.peak_mb),
        **({} if single is None else {"MB, 1 conversation": round(single)}),
        "MB, imports": round(found.imports_mb),
    }


if __name__ == "__main__":
    main()
