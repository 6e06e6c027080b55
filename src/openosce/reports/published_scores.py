"""A run's stored scores as CRAFT-MD's articles used them, and their arithmetic: an interval, a p.

MCQ is scored by the article's rule, and a case without a valid trial scores 0, not nothing.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from openosce.errors import StudyError
from openosce.grading.grader import OPTIONS
from openosce.grading.policies import POLICIES
from openosce.reports.results import ALL, Group
from openosce.reports.scores import Grading, ScoreTable, mean_of_trials, read_scores
from openosce.runs.folder import CaseRow, RunReader
from openosce.statistics import Estimate, benjamini_hochberg, holm, mean_over_cases
from openosce.statistics.published import published_p_values

BENCHMARK = "craft-md"
SEED = 20
"""Of the article's generator, anew before each test."""
P_PLACES = 4
"""The article rounds p to so many places, and adjusts what is rounded."""
METHOD = "95% t interval over all case means, 0 for a case without a valid answer, as published"
INFORMATION = ("vignette", "multi_turn", "single_turn", "summarized")
"""In the order of the article's pairs of arms."""
QUESTIONS = ("mcq", "frq")

_DERMATOLOGY = "Dermatology"  # the one specialty that the article looks at by data set
_PREPRINT = str(POLICIES["preprint_2023"])


@dataclass(frozen=True)
class Article:
    """What differs between the two articles."""

    name: str
    adjustment: str
    adjust: Callable[[Sequence[float | None]], list[float | None]]
    within_model: bool
    """Whether the tests of one model are a family, or those of all."""
    remark: str = ""


ARTICLE_2025 = Article("CRAFT-MD 2025", "benjamini-hochberg", benjamini_hochberg, within_model=False)
PREPRINT_2023 = Article(
    "CRAFT-MD 2023, preprint",
    "holm",
    holm,
    within_model=True,
    remark="the preprint's marks are not released: that its p come about like those of 2025 cannot be checked",
)


ADJUSTMENTS = {"holm": holm, "benjamini-hochberg": benjamini_hochberg}


def adjusted_otherwise(article: Article, adjustment: str) -> Article:
    """An article's analysis with another adjustment for several tests.

    Raises:
        StudyError: Nobody knows it; the message lists those there are.
    """
    if adjustment not in ADJUSTMENTS:
        raise StudyError(f"--adjustment {adjustment!r}: unknown; known are {', '.join(ADJUSTMENTS)}")
    if adjustment == article.adjustment:
        return article
    otherwise = f"adjusted by {adjustment}, where the article has {article.adjustment}"
    remark = "; ".join(filter(None, (article.remark, otherwise)))
    return replace(article, adjustment=adjustment, adjust=ADJUSTMENTS[adjustment], remark=remark)


@dataclass(frozen=True)
class PublishedScores:
    """What the article's analysis starts from; arrays of shape (doctors, arms, cases)."""

    article: Article
    doctors: tuple[str, ...]
    arms: tuple[str, ...]
    """Those of the article that the run has, in its order."""
    cases: tuple[CaseRow, ...]
    values: NDArray[np.float64]
    """The mean over a case's valid trials, 0 where it has none."""
    n_missing: NDArray[np.int64]
    """Planned trials without a score."""
    n_trials: int
    """Planned per case."""
    scored_by: dict[str, str]
    """By question, under which policy these scores stand, and who gave them."""

    def of(self, doctor: str, arm: str) -> NDArray[np.float64]:
        """The values of one doctor in one arm, shape (cases,)."""
        found: NDArray[np.float64] = self.values[self.doctors.index(doctor), self.arms.index(arm)]
        return found


def published_scores(reader: RunReader) -> PublishedScores:
    """Read a run's scores as the article used them: MCQ by its rule, FRQ by the run's headline grader.

    Raises:
        StudyError: The run is of another benchmark, of several conditions, or lacks such scores.
        RunFolderError: The run cannot be read.
    """
    benchmark = benchmark_of(reader)
    if benchmark != BENCHMARK:
        raise StudyError(
            f"{reader.folder}: is a run of {benchmark}; only those of {BENCHMARK} have a published analysis"
        )
    table = read_scores(reader)
    arms = tuple(f"{information}_{question}" for question in QUESTIONS for information in INFORMATION)
    arms = tuple(arm for arm in arms if arm in table.plan.arms)
    if not arms or len(table.plan.conditions) > 1:
        raise StudyError(
            f"{reader.folder}: expected one condition with arms of the article (vignette_mcq, ...), "
            f"found {', '.join(table.plan.arms)} under {', '.join(table.plan.conditions)}"
        )
    preprint = table.plan.policy == _PREPRINT
    used = {"mcq": 0 if preprint else _as_published(reader, table, arms), "frq": 0}
    chosen = [table.under[used[question_of(arm)], :, table.plan.arms.index(arm)] for arm in arms]
    values = np.stack(chosen, axis=1)
    return PublishedScores(
        PREPRINT_2023 if preprint else ARTICLE_2025,
        table.plan.doctors,
        arms,
        table.cases,
        np.nan_to_num(mean_of_trials(values), nan=0.0),
        np.isnan(values).sum(axis=-1),
        values.shape[-1],
        {
            question: _words(table.gradings[used[question]], question)
            for question in dict.fromkeys(map(question_of, arms))
        },
    )


def benchmark_of(reader: RunReader) -> str | None:
    """The benchmark that a run's manifest names."""
    study = reader.manifest["study"]
    return study.get("benchmark") if isinstance(study, dict) else None


def _as_published(reader: RunReader, table: ScoreTable, arms: Iterable[str]) -> int:
    """The place of the article's rule among the gradings; 0 where no arm needs it."""
    places = [table.plan.arms.index(arm) for arm in arms if question_of(arm) == "mcq"]
    name = str(POLICIES["as_published"])
    for n, grading in enumerate(table.gradings):
        if grading.policy == name and grading.other_grader is None and np.isfinite(table.under[n][:, places]).any():
            return n
    if not places:
        return 0
    raise StudyError(
        f"{reader.folder}: no multiple-choice answer has a score under {name}, the article's rule; "
        "add them with `osce grade RUN --policy as_published`"
    )


def _words(grading: Grading, question: str) -> str:
    """Under which policy, and by whom: the rule that matches options decides no free response."""
    by_options = question == "mcq" and grading.policy != _PREPRINT
    graders = {OPTIONS} if by_options else grading.graders - {OPTIONS}
    return f"{grading.policy} by {' and '.join(sorted(graders))}"


def question_of(arm: str) -> str:
    """`mcq` or `frq`."""
    return arm.rpartition("_")[2]


def published_groups(cases: Sequence[CaseRow]) -> dict[Group, NDArray[np.intp]]:
    """The article's groups, each with the places of its cases: all, specialties, Dermatology's data sets."""
    places: dict[Group, list[int]] = {ALL: list(range(len(cases)))}
    for place, case in enumerate(cases):
        if case.specialty is not None:
            places.setdefault(Group(case.specialty), []).append(place)
    for place, case in enumerate(cases):
        if case.specialty == _DERMATOLOGY:
            places.setdefault(Group(case.specialty, case.dataset), []).append(place)
    return {group: np.array(members, dtype=np.intp) for group, members in places.items()}


def published_estimate(values: NDArray[np.float64]) -> Estimate:
    """Mean ± t(0.975, n-1)·sd/√n over cases, shape (n_cases,); an interval without width where all are alike."""
    found = replace(mean_over_cases(values), method=METHOD)
    if found.ci_low is None and found.n_cases > 1:
        return replace(found, ci_low=found.mean, ci_high=found.mean, reason=None)
    return found


def published_tests(
    scores: PublishedScores, tests: Sequence[tuple[str, str, str]], members: NDArray[np.intp]
) -> list[float]:
    """The article's p of each (doctor, arm a, arm b) on the cases at the places `members`, as printed: four digits."""
    a, b = (np.stack([scores.of(test[0], test[side])[members] for test in tests]) for side in (1, 2))
    found = published_p_values(a, b, rng=np.random.RandomState(SEED))
    return [round(float(p), P_PLACES) for p in found]
