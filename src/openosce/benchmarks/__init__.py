"""The published systems we host, by name."""

from openosce.benchmarks import agentclinic, craft_md, medqa_cs
from openosce.benchmarks.benchmark import Benchmark, Cast, Place, RoleKind, Settings
from openosce.errors import StudyError

_ALL = (craft_md.BENCHMARK, agentclinic.BENCHMARK, medqa_cs.BENCHMARK)
BENCHMARKS: dict[str, Benchmark] = {benchmark.name: benchmark for benchmark in _ALL}


def find_benchmark(name: str) -> Benchmark:
    """The benchmark of this name.

    Raises:
        StudyError: There is none; the message lists those there are.
    """
    if name not in BENCHMARKS:
        known = ", ".join(BENCHMARKS)
        raise StudyError(f"unknown benchmark {name!r}; known are {known}; or give a study file (*.toml)")
    return BENCHMARKS[name]


__all__ = ["BENCHMARKS", "Benchmark", "Cast", "Place", "RoleKind", "Settings", "find_benchmark"]
