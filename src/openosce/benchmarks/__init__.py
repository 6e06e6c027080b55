"""The published systems we host, by name."""

from openosce.benchmarks import craft_md
from openosce.benchmarks.benchmark import Benchmark, Cast, Measure, Place, RoleKind, Settings
from openosce.errors import StudyError

BENCHMARKS: dict[str, Benchmark] = {benchmark.name: benchmark for benchmark in (craft_md.BENCHMARK,)}


def find_benchmark(name: str) -> Benchmark:
    """The benchmark of this name.

    Raises:
        StudyError: There is none; the message lists those there are.
    """
    if name not in BENCHMARKS:
        raise StudyError(f"unknown benchmark {name!r}; known are {', '.join(BENCHMARKS)}")
    return BENCHMARKS[name]


__all__ = ["BENCHMARKS", "Benchmark", "Cast", "Measure", "Place", "RoleKind", "Settings", "find_benchmark"]
