"""What an analysis finds: estimates, comparisons, and what is missing and why, as records and as JSON."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from openosce.grading.metric import Metric
from openosce.grading.record import ACCURACY, TrialKey
from openosce.reports.examiner_agreement import ExaminerAgreement
from openosce.reports.expert_agreement import Experts
from openosce.reports.plan import Plan
from openosce.reports.scores import Grading
from openosce.runs.folder import CallSums
from openosce.statistics import Clustering, Difference, Estimate, Ratio, warns_about_small_counts

if TYPE_CHECKING:
    from openosce.reports.corrected import Corrected

_FEW = "few cases right or few wrong: the interval holds the true value less often than 95%"
_NEAR_A_BOUND = "near an end of its scale: the interval may hold the true value less often than 95%"


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
    clustering: Clustering
    """How alike the trials of a case are, and what the answers are worth."""
    metric: Metric = field(default_factory=Metric)

    @property
    def warning(self) -> str | None:
        """Why the interval may be off, where it may."""
        mean, n_cases = self.estimate.mean, self.estimate.n_cases
        low, high = self.metric.low, self.metric.high
        if self.estimate.ci_low is None or mean is None or low is None or high is None:
            return None
        mean = (mean - low) / (high - low)
        if not 0 <= mean <= 1:
            return None
        words = _FEW if self.metric.name == ACCURACY else _NEAR_A_BOUND
        return words if warns_about_small_counts(mean, n_cases) else None

    def to_json(self) -> dict[str, Any]:
        """One entry of `estimates`."""
        place = {"model": self.model, "arm": self.arm, "group": self.group.name, "metric": self.metric.name}
        found = self.clustering
        worth = {"icc": found.icc, "design_effect": found.design_effect, "n_effective": found.n_effective}
        counts = {"n_trials": self.n_trials, "n_missing": self.n_missing}
        told = {"clustering_reason": found.reason, "warning": self.warning}
        return place | counts | asdict(self.estimate) | worth | told


@dataclass(frozen=True)
class GradedEstimate:
    """The accuracy of one doctor in one arm, all cases, under one way of grading."""

    model: str
    arm: str
    grading: Grading
    n_planned: int
    """Cases, valid or not."""
    estimate: Estimate
    metric: str = ACCURACY

    def to_json(self) -> dict[str, Any]:
        """One entry of `gradings`."""
        by = {"policy": self.grading.policy, "graders": sorted(self.grading.graders)}
        return {"model": self.model, "arm": self.arm, **by, "metric": self.metric} | asdict(self.estimate)


@dataclass(frozen=True)
class Average:
    """The headline's average over all parts of one examination, for one doctor under one condition."""

    model: str
    condition: str
    estimate: Estimate

    def to_json(self) -> dict[str, Any]:
        """One entry of `averages`."""
        return {"model": self.model, "condition": self.condition} | asdict(self.estimate)


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
    metric: str = ACCURACY

    def to_json(self) -> dict[str, Any]:
        """One entry of `comparisons`."""
        place = {"a": asdict(self.a), "b": asdict(self.b), "group": ALL.name, "metric": self.metric}
        adjustment = {"p_adjusted": self.p_adjusted, "adjustment": "holm", "family": self.family}
        return place | asdict(self.difference) | adjustment


@dataclass(frozen=True)
class Normalized:
    """How much of its value in the reference a metric keeps in another column, over the cases valid in both."""

    model: str
    arm: str
    reference: str
    metric: str
    found: Ratio

    def to_json(self) -> dict[str, Any]:
        """One entry of `normalized`."""
        place = {"model": self.model, "arm": self.arm, "reference": self.reference, "metric": self.metric}
        return place | asdict(self.found)


@dataclass(frozen=True)
class CostPerCorrect:
    """What one correct answer costs, in the unit of the metric: mean cost by mean accuracy, over the same cases."""

    model: str
    arm: str
    metric: str
    found: Ratio

    def to_json(self) -> dict[str, Any]:
        """One entry of `cost_per_correct`."""
        return {"model": self.model, "arm": self.arm, "metric": self.metric} | asdict(self.found)


@dataclass(frozen=True)
class Count:
    """How often something happened to a doctor's answers in one arm."""

    model: str
    arm: str
    reason: str
    count: int
    metric: str = ACCURACY


def total(rows: Iterable[Count], model: str, arm: str, reason: str) -> int:
    """How often it happened to one doctor in one arm."""
    return sum(row.count for row in rows if (row.model, row.arm, row.reason) == (model, arm, reason))


@dataclass(frozen=True)
class Ending:
    """How often a doctor's encounters ended this way."""

    model: str
    condition: str
    ended: str
    count: int


@dataclass(frozen=True)
class TurnCount:
    """How many of a doctor's encounters of a condition that ended this way had so many turns of the doctor."""

    model: str
    condition: str
    ended: str
    turns: int
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
    """Of every metric, the headline's first."""
    gradings: tuple[Grading, ...]
    """The headline first."""
    graded: tuple[GradedEstimate, ...]
    """All cases under every grading, the headline's included."""
    comparisons: tuple[Comparison, ...]
    missing: tuple[Count, ...]
    """Planned answers without the headline's score."""
    incorrect: tuple[Count, ...]
    """Answers that are wrong because they choose nothing, or too much."""
    endings: tuple[Ending, ...]
    turns: tuple[TurnCount, ...]
    failed: tuple[Failure, ...]
    calls: tuple[CallSums, ...]
    """What the calls of each role came to; none where only built-in roles took part."""
    shared_verdicts: tuple[int, int]
    """Answers that a model graded, and the distinct questions to the grader that this took."""
    normalized: tuple[Normalized, ...] = ()
    """The headline in every swept column against the same arm of the reference; none where nothing is swept."""
    cost_per_correct: tuple[CostPerCorrect, ...] = ()
    """None where no cost is measured."""
    unmeasured: tuple[Count, ...] = ()
    """Planned answers without a score of another metric than the headline."""
    corrected: "tuple[Corrected, ...]" = ()
    """Accuracies corrected for a grader that experts have checked; none where they have not."""
    experts: Experts = field(default_factory=Experts)
    """How far experts agree with each other, and a grader with them; none where the run has no ratings."""
    examiners: tuple[ExaminerAgreement, ...] = ()
    """Every two examiners of the same answers, and experts; none where there is but one."""
    averages: tuple[Average, ...] = ()
    """Over the arms, where they are parts of one examination."""

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The groups of cases that occur, in the order of the cases."""
        return tuple(dict.fromkeys(row.group for row in self.estimates))

    @property
    def n_answers(self) -> int:
        """Planned answers: doctors × columns in which the headline is measured × cases × trials."""
        plan = self.plan
        asked = sum(plan.trials_of(arm) for arm in plan.arms_of(plan.headline))
        return len(plan.doctors) * asked * self.n_cases

    @property
    def n_missing(self) -> int:
        """Planned answers without a score."""
        return sum(row.count for row in self.missing)

    def find(self, model: str, arm: str, group: Group = ALL, metric: str | None = None) -> ArmEstimate:
        """The estimate of one doctor in one arm on one group: the headline's, unless another metric is named."""
        return self._by_place[model, arm, group, metric or self.plan.headline.name]

    @cached_property
    def _by_place(self) -> dict[tuple[str, str, Group, str], ArmEstimate]:
        return {(row.model, row.arm, row.group, row.metric.name): row for row in self.estimates}

    def to_json(self) -> dict[str, Any]:
        """The document of `osce analyze --json`: what cannot be computed is null, with a reason; never NaN."""
        return {
            "policy": self.plan.policy,
            "n_cases": self.n_cases,
            "estimates": [row.to_json() for row in self.estimates],
            "averages": [row.to_json() for row in self.averages],
            "gradings": [row.to_json() for row in self.graded],
            "comparisons": [row.to_json() for row in self.comparisons],
            "normalized": [row.to_json() for row in self.normalized],
            "corrected": [row.to_json() for row in self.corrected],
            "cost_per_correct": [row.to_json() for row in self.cost_per_correct],
            "missing": [asdict(row) for row in self.missing],
            "unmeasured": [asdict(row) for row in self.unmeasured],
            "experts": self.experts.to_json(),
            "examiners": [row.to_json() for row in self.examiners],
            "incorrect": [asdict(row) for row in self.incorrect],
            "endings": [asdict(row) for row in self.endings],
            "turns": [asdict(row) for row in self.turns],
            "failed": [asdict(row.key) | {"ended": row.ended, "error": row.error} for row in self.failed],
            "calls": [asdict(row) for row in self.calls],
        }
