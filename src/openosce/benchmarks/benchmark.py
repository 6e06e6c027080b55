"""What a benchmark is: its roles, its settings, its prompts, and how it examines one doctor on one case."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from typing import Any, Generic, TypeVar

from openosce.benchmarks.expectation import Expected
from openosce.cases import Case
from openosce.cases.record import Record
from openosce.encounters import Encounter
from openosce.errors import StudyError
from openosce.grading import Answer, Metric, TrialKey
from openosce.models import Model, PromptPack


class Settings(Record):
    """A benchmark's own settings: the table of its name in a study file. Unknown keys are refused."""


def known_names(place: str, kind: str, given: tuple[str, ...], known: tuple[str, ...]) -> tuple[str, ...]:
    """The names given, in the order of those known; for validators of settings that list arms or sections.

    Raises:
        StudyError: None is given, one is unknown, or one is named twice.
    """
    unknown = [name for name in given if name not in known]
    if unknown or not given:
        named = f"unknown {kind}(s) {', '.join(map(repr, unknown))}" if unknown else f"no {kind}"
        raise StudyError(f"{place}: {named}; known are {', '.join(known)}")
    if len(set(given)) < len(given):
        raise StudyError(f"{place}: {'an' if kind[0] in 'aeiou' else 'a'} {kind} is named twice")
    return tuple(name for name in known if name in given)


S = TypeVar("S", bound=Settings)


@dataclass(frozen=True)
class Place(Generic[S]):
    """Where a role is needed: which case and trial, under which settings, and what its chance depends on."""

    case: Case
    key: TrialKey
    seed: str
    settings: S
    prompts: PromptPack
    images: Mapping[str, str] = field(default_factory=dict)
    """The case's images as data URLs, by the path in its record."""


@dataclass(frozen=True)
class RoleKind:
    """The ways of filling a role: rules by name, or any model."""

    fallback: str
    """The built-in one that plays it where nobody is named."""
    builtins: Mapping[str, Callable[[Place[Any]], Any]]
    modelled: Callable[[str, Model, Place[Any]], Any] | None
    """Given the model's name; None for a role that no model can play."""
    outside_trials: bool = False
    """Whether its calls stand outside case and trial, and are shared by all that ask the same."""
    sees_images: bool = False
    """Whether its model is sent the case's images, where the settings want images shown."""
    policies: tuple[str, ...] = ()
    """Of a grader: the match policies that its models can follow; none named: all."""


@dataclass(frozen=True)
class Cast:
    """Everyone who takes part in one trial, by role."""

    roles: Mapping[str, Any]
    grader_repeats: int = 1
    """How often the grader decides on one answer."""


def _only_accuracy(settings: Any) -> tuple[Metric, ...]:
    return (Metric(),)


def _no_images(settings: Any) -> bool:
    return False


def _no_data(settings: Any) -> Mapping[str, str]:
    return {}


def _no_notes(settings: Any, models: Mapping[str, str]) -> tuple[str, ...]:
    return ()


def _nothing_to_check(settings: Any, prompts: PromptPack) -> None:
    return None


def _every_trial(settings: Any) -> Mapping[str, int]:
    return {}


@dataclass(frozen=True)
class Benchmark:
    """One system, as `runs` needs it."""

    name: str
    settings: type[Settings]
    roles: Mapping[str, RoleKind]
    """Who takes part, the doctor first."""
    prompts: tuple[Traversable, ...]
    """Folders of prompt templates."""
    arms: Callable[[Any], tuple[str, ...]]
    """The arms that these settings ask for."""
    is_mcq: Callable[[str], bool]
    """Whether an arm gives choices."""
    policy: Callable[[Any], str]
    """The match policy of the headline, `name@version`."""
    run_trial: Callable[[Case, Cast, Any, tuple[str, ...]], Awaitable[tuple[Encounter, tuple[Answer, ...]]]]
    """Examine one doctor on one case once, under these settings, in these arms. Failures are in what it returns; it
    raises only for unusable input."""
    expect: Callable[[Case, Any, tuple[str, ...], PromptPack], Expected]
    """What one trial is expected to take, for the dry run."""
    condition: str = "text"
    """The name of the one condition of a study that sweeps nothing."""
    measures: Callable[[Any], tuple[Metric, ...]] = _only_accuracy
    """What is measured under these settings, the headline first."""
    most_trials: Callable[[Any], Mapping[str, int]] = _every_trial
    """Arms that are asked in so many trials of a case at the most; those not named, in all that the study has."""
    unswept_arms: frozenset[str] = frozenset()
    """Arms that no sweep of the encounter changes: they are asked in the first condition, for all."""
    averages_arms: bool = False
    """Whether the arms are parts of one examination, whose mean is told, rather than ways to ask the same thing, which
    are compared with each other."""
    mark: Callable[[Answer, Case, Any, int], Awaitable[Answer]] | None = None
    """Have an examiner mark a stored answer so many times: the answer with the scores added. None: nobody examines."""
    shows_images: Callable[[Any], bool] = _no_images
    """Whether these settings show a case's images to a model."""
    data: Callable[[Any], Mapping[str, str]] = _no_data
    """Hashes of files that the settings name and the results depend on, for the manifest."""
    notes: Callable[[Any, Mapping[str, str]], tuple[str, ...]] = _no_notes
    """What a reader of the results must know, given the settings and the name of each role's model."""
    check: Callable[[Any, PromptPack], None] = _nothing_to_check
    """See that the prompt pack has what these settings name.

    Raises:
        StudyError: It lacks something.
    """
