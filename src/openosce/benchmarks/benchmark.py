"""What a benchmark is: its roles, its settings, its prompts, and how it examines one doctor on one case."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from typing import Any

from openosce.benchmarks.expectation import Expected
from openosce.cases import Case
from openosce.cases.record import Record
from openosce.encounters import Encounter, Participant
from openosce.grading import Answer, Grader
from openosce.models import PromptPack
from openosce.roles import Doctor, Summarizer


@dataclass(frozen=True)
class Cast:
    """Everyone who takes part in one trial."""

    doctor: Doctor
    patient: Participant
    summarizer: Summarizer
    grader: Grader
    grader_repeats: int = 1
    """How often the grader decides on one answer."""


class Settings(Record):
    """A benchmark's own settings: the table of its name in a study file. Unknown keys are refused."""


@dataclass(frozen=True)
class Benchmark:
    """One system, as `runs` needs it."""

    name: str
    settings: type[Settings]
    prompts: tuple[Traversable, ...]
    """Folders of prompt templates."""
    arms: Callable[[Any], tuple[str, ...]]
    """The arms that these settings ask for."""
    is_mcq: Callable[[str], bool]
    """Whether an arm gives choices."""
    policy: Callable[[Any], str]
    """The match policy of the headline, `name@version`."""
    run_trial: Callable[[Case, Cast, Any], Awaitable[tuple[Encounter, tuple[Answer, ...]]]]
    """Examine one doctor on one case once. Failures are in what it returns; it raises only for unusable input."""
    expect: Callable[[Case, Any, PromptPack], Expected]
    """What one trial is expected to take, for the dry run."""
    conditions: tuple[str, ...] = ("text",)
