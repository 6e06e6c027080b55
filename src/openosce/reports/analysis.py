"""From a run to its results: estimates, comparisons, and what is missing and why."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openosce.grading.record import ACCURACY, TrialKey
from openosce.reports.scores import COUNTED_EVIDENCE, Plan, ScoreTable, read_scores
from openosce.runs.folder import CallSums, CaseRow, RunReader
from openosce.statistics import Difference, Estimate, holm, mean_over_cases, paired_difference


@dataclass(frozen=True)
class Group:
    """Which cases an estimate is about: those of a specialty, of a data set, of both, or all."""

    specialty: str | None = None
    dataset: str | None = None

    @property
    def name(self) -> str:
        """The name in the JSON document: `all`, or `specialty=...&dataset=...`."""
        parts = [f"{key}={value}" for key, value in asdict(self).items() if value is not None]
        return "&".join(parts) or "all"


ALL = Group()


@dataclass(frozen=True)
class ArmEstimate:
    """How well one doctor did in one arm on one group of cases."""

    model: str
    arm: str
    group: Group
    n_planned: int
    """Cases of the group, valid or not."""
    n_trials: int
    n_missing: int
    """Planned answers without a score."""
    estimate: Estimate

    def to_json(self) -> dict[str, Any]:
        """One entry of `estimates`."""
        place = {"model": self.model, "arm": self.arm, "group": self.group.name, "metric": ACCURACY}
        return place | {"n_trials": self.n_trials, "n_missing": self.n_missing} | asdict(self.estimate)


@dataclass(frozen=True)
class Side:
    """One side of a comparison."""

    model: str
    arm: str


@dataclass(frozen=True)
class Comparison:
    """A minus B on the cases that are valid in both."""

    a: Side
    b: Side
    family: str
    """The tests that were adjusted together."""
    difference: Difference
    p_adjusted: float | None = None

    def to_json(self) -> dict[str, Any]:
        """One entry of `comparisons`."""
        place = {"a": asdict(self.a), "b": asdict(self.b), "group": ALL.name, "metric": ACCURACY}
        adjustment = {"p_adjusted": self.p_adjusted, "adjustment": "holm", "family": self.family}
        return place | asdict(self.difference) | adjustment


@dataclass(frozen=True)
class Count:
    """How often something happened to a doctor's answers in one arm."""

    model: str
    arm: str
    reason: str
    count: int


@dataclass(frozen=True)
class Ending:
    """How often a doctor's encounters ended this way."""

    model: str
    condition: str
    ended: str
    count: int


@dataclass(frozen=True)
class Failure:
    """An encounter that infrastructure ended."""

    key: TrialKey
    ended: str
    error: str | None


@dataclass(frozen=True)
class Analysis:
    """Everything the tables, the figure and the page tell."""

    plan: Plan
    n_cases: int
    """Planned."""
    estimates: tuple[ArmEstimate, ...]
    comparisons: tuple[Comparison, ...]
    missing: tuple[Count, ...]
    incorrect: tuple[Count, ...]
    """Answers that are wrong because they choose nothing, or too much."""
    endings: tuple[Ending, ...]
    failed: tuple[Failure, ...]
    calls: tuple[CallSums, ...]
    """What the calls of each role came to; none where only built-in roles took part."""
    shared_verdicts: tuple[int, int]
    """Answers that a model graded, and the distinct questions to the grader that this took."""

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The groups of cases that occur, in the order of the cases."""
        return tuple(dict.fromkeys(row.group for row in self.estimates))

    @property
    def n_answers(self) -> int:
        """Planned answers: doctors × conditions × cases × trials × arms."""
        plan = self.plan
        return len(plan.doctors) * len(plan.conditions) * self.n_cases * plan.trials * len(plan.arms)

    @property
    def n_missing(self) -> int:
        """Planned answers without a score."""
        return sum(row.count for row in self.missing)

    def find(self, model: str, arm: str, group: Group = ALL) -> ArmEstimate:
        """The estimate of one doctor in one arm on one group."""
        return self._by_place[model, arm, group]

    @cached_property
    def _by_place(self) -> dict[tuple[str, str, Group], ArmEstimate]:
        return {(row.model, row.arm, row.group): row for row in self.estimates}

    def to_json(self) -> dict[str, Any]:
        """The document of `osce analyze --json`: what cannot be computed is null, with a reason; never NaN."""
        return {
            "policy": self.plan.policy,
            "n_cases": self.n_cases,
            "estimates": [row.to_json() for row in self.estimates],
            "comparisons": [row.to_json() for row in self.comparisons],
            "missing": [asdict(row) for row in self.missing],
            "incorrect": [asdict(row) for row in self.incorrect],
            "endings": [asdict(row) for row in self.endings],
            "failed": [asdict(row.key) | {"ended": row.ended, "error": row.error} for row in self.failed],
            "calls": [asdict(row) for row in self.calls],
        }


def analyze_run(reader: RunReader) -> Analysis:
    """Compute all results of a run under its headline policy; the scores are read once.

    Missing is not wrong: a case's value is the mean over its valid trials, and a case without any leaves the estimate
    and is counted.

    Raises:
        RunFolderError: The run cannot be read, or does not say what was planned.
    """
    table = read_scores(reader)
    means = table.case_means()
    return Analysis(
        plan=table.plan,
        n_cases=len(table.cases),
        estimates=tuple(_estimates(table, means)),
        comparisons=tuple(_comparisons(table.plan, means)),
        missing=tuple(_counts(table.plan, table.reasons, table.reason_names)),
        incorrect=tuple(_counts(table.plan, table.evidence, COUNTED_EVIDENCE)),
        endings=tuple(Ending(*row) for row in reader.endings()),
        failed=tuple(Failure(*row) for row in reader.failed()),
        calls=tuple(reader.calls()),
        shared_verdicts=reader.shared_verdicts(),
    )


def _estimates(table: ScoreTable, means: NDArray[np.float64]) -> Iterator[ArmEstimate]:
    n_trials = table.values.shape[-1]
    n_missing_of_case = np.isnan(table.values).sum(axis=-1)
    groups = _members(table.cases)
    for d, doctor in enumerate(table.plan.doctors):
        for a, arm in enumerate(table.plan.arms):
            for group, members in groups.items():
                case_values = means[d, a, members]
                estimate = mean_over_cases(case_values[~np.isnan(case_values)])
                n_missing = int(n_missing_of_case[d, a, members].sum())
                yield ArmEstimate(doctor, arm, group, len(members), n_trials, n_missing, estimate)


def _members(cases: tuple[CaseRow, ...]) -> dict[Group, NDArray[np.intp]]:
    """The groups that occur, each with the places of its cases: all, specialties, data sets, then both joined."""
    places: dict[Group, list[int]] = {ALL: list(range(len(cases)))}
    by_specialty = [Group(specialty=case.specialty) for case in cases]
    by_dataset = [Group(dataset=case.dataset) for case in cases]
    # Without a specialty, the joint group is the data set itself.
    jointly = [Group(case.specialty, case.dataset) if case.specialty is not None else ALL for case in cases]
    for groups in (by_specialty, by_dataset, jointly):
        for place, group in enumerate(groups):
            if group != ALL:
                places.setdefault(group, []).append(place)
    return {group: np.array(members, dtype=np.intp) for group, members in places.items()}


def _comparisons(plan: Plan, means: NDArray[np.float64]) -> Iterator[Comparison]:
    """Arm against arm within each doctor, then doctor against doctor within each arm."""
    for d, doctor in enumerate(plan.doctors):
        arms = [(Side(doctor, arm), means[d, a]) for a, arm in enumerate(plan.arms)]
        yield from _family(f"arms of {doctor}", arms)
    for a, arm in enumerate(plan.arms):
        doctors = [(Side(doctor, arm), means[d, a]) for d, doctor in enumerate(plan.doctors)]
        yield from _family(f"doctors in {arm}", doctors)


def _family(name: str, sides: Iterable[tuple[Side, NDArray[np.float64]]]) -> Iterator[Comparison]:
    """Every pair of the family, on the cases valid in both, adjusted together."""
    pairs = [Comparison(a, b, name, _paired(x, y)) for (a, x), (b, y) in combinations(sides, 2)]
    for pair, p_adjusted in zip(pairs, holm([pair.difference.p for pair in pairs]), strict=True):
        yield replace(pair, p_adjusted=p_adjusted)


def _paired(a: NDArray[np.float64], b: NDArray[np.float64]) -> Difference:
    both = ~np.isnan(a) & ~np.isnan(b)
    return paired_difference(a[both], b[both])


def _counts(plan: Plan, codes: NDArray[Any], names: tuple[str, ...]) -> Iterator[Count]:
    """Count the codes in every doctor's arm, most frequent first; -1 is none of them."""
    for d, doctor in enumerate(plan.doctors):
        for a, arm in enumerate(plan.arms):
            counts = Counter(codes[d, a][codes[d, a] >= 0].tolist())
            for code, count in counts.most_common():
                yield Count(doctor, arm, names[code], count)
