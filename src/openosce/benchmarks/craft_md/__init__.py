"""CRAFT-MD: the same case as vignette and as conversation (README.md beside this file)."""

from importlib import resources

from openosce.benchmarks.benchmark import Benchmark
from openosce.benchmarks.craft_md.arms import ARMS, information_of, is_mcq
from openosce.benchmarks.craft_md.expectation import expect
from openosce.benchmarks.craft_md.roles import ROLES
from openosce.benchmarks.craft_md.settings import CraftMDSettings
from openosce.benchmarks.craft_md.trial import run_trial
from openosce.grading import find_policy


def _arms(settings: CraftMDSettings) -> tuple[str, ...]:
    return settings.arms


def _policy(settings: CraftMDSettings) -> str:
    return str(find_policy(settings.policy))


BENCHMARK = Benchmark(
    name="craft-md",
    settings=CraftMDSettings,
    roles=ROLES,
    prompts=(
        resources.files("openosce.benchmarks.craft_md") / "prompts",
        resources.files("openosce.grading") / "prompts",
    ),
    arms=_arms,
    is_mcq=is_mcq,
    policy=_policy,
    run_trial=run_trial,
    expect=expect,
    unswept_arms=frozenset(arm for arm in ARMS if information_of(arm) == "vignette"),
)
