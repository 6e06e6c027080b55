"""The rubrics of MedQA-CS: what each section is marked for, and how the marks make a total from 0 to 100.

Source: MedQA-CS 2024, Tables 9-10 and Appendix D (criteria), captions of Tables 35-37 and Appendix I.3.1 (the weights
under which the paper's figures come out; they are not those of its prompts). Totals are ours, never the examiner's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from openosce.cases.record import AdditionalDiagnosis, DifferentialItem
from openosce.grading.student_output import CLOSURE, DIFFERENTIAL, INFO_GATHERING, MOST_FINDINGS, PHYSICAL_EXAM

AS_PUBLISHED, AS_PROMPTED = "as_published@1", "as_prompted@1"
WEIGHTINGS = (AS_PUBLISHED, AS_PROMPTED)
"""The policies of a total: as in the paper's tables, and as in its prompts."""
WITHOUT_EXTRAS = "without_extra_exams@1"
"""The physical examination without penalty, under which the paper compares examiners with experts (Table 33)."""
NO_POLICY = "-"
"""The policy of a single criterion: there is nothing to weigh."""
SCORE = "score"
"""The metric of a section's total."""
REPEATED = "repeated"
"""Of a question: 1 if it was asked before in the dialogue."""

DIAGNOSES = 3
"""That a differential lists."""
NAME_POINTS, ADDITIONAL_POINTS, ORDER_POINTS, EXTRA_EXAM = 10, 5, 10, -10


@dataclass(frozen=True)
class Criterion:
    """One thing that is marked. Where `high` is 0, it takes points away."""

    name: str
    low: float
    high: float
    unit: float | None = None
    """Marks are multiples of it; None: any number in between."""

    def problem(self, mark: float) -> str | None:
        """What is wrong with a mark, in one line; None: nothing."""
        if not self.low <= mark <= self.high:
            return f"{self.name}: expected {self.low:g} to {self.high:g}, came {mark:g}"
        if self.unit is not None and mark % self.unit:
            return f"{self.name}: expected a multiple of {self.unit:g}, came {mark:g}"
        return None


@dataclass(frozen=True)
class Rubric:
    """What a section is marked for."""

    section: str
    criteria: tuple[Criterion, ...]
    weights: Mapping[str, Mapping[str, float]]
    """By weighting, the weight of each criterion in the total. Those of points given sum to 1."""

    def criterion(self, name: str) -> Criterion:
        """The criterion of this name."""
        return next(criterion for criterion in self.criteria if criterion.name == name)

    def total(self, marks: Mapping[str, float | None], weighting: str) -> float | None:
        """The section's total: 100 × the weighted mean of mark / `high`, plus the weighted penalties; not clipped.

        A criterion without a mark does not apply: the others' weights are scaled up. None where none of them applies.
        """
        weights = self.weights[weighting]
        given = {c: marks[c.name] for c in self.criteria if c.name in weights and marks.get(c.name) is not None}
        merits = {c: mark for c, mark in given.items() if c.high > 0 and mark is not None}
        weight = sum(weights[criterion.name] for criterion in merits)
        if not weight:
            return None
        merit = sum(weights[c.name] * mark * 100 / c.high for c, mark in merits.items()) / weight
        return merit + sum(weights[c.name] * mark for c, mark in given.items() if c.high == 0 and mark is not None)


_NEVER = -1000.0  # no answer holds a hundred examinations

INFO_RUBRIC = Rubric(
    INFO_GATHERING,
    (Criterion("points", 0, 1, 0.5),),
    {weighting: {"points": 1.0} for weighting in WEIGHTINGS},
)
PHYSICAL_RUBRIC = Rubric(
    PHYSICAL_EXAM,
    (Criterion("coverage", 0, 60), Criterion("reasons", 0, 40, 20), Criterion("extra_exams", _NEVER, 0, -EXTRA_EXAM)),
    {
        AS_PUBLISHED: {"coverage": 0.6, "reasons": 0.4, "extra_exams": 0.5},
        AS_PROMPTED: {"coverage": 0.6, "reasons": 0.4, "extra_exams": 1.0},
        WITHOUT_EXTRAS: {"coverage": 0.6, "reasons": 0.4},
    },
)
CLOSURE_RUBRIC = Rubric(
    CLOSURE,
    (
        Criterion("impressions", 0, 20),
        Criterion("management", 0, 30),
        Criterion("challenge", 0, 30),
        Criterion("language", 0, 10),
        Criterion("compassion", 0, 10),
    ),
    {
        AS_PUBLISHED: {"impressions": 0.2, "management": 0.4, "challenge": 0.2, "language": 0.1, "compassion": 0.1},
        AS_PROMPTED: {"impressions": 0.2, "management": 0.3, "challenge": 0.3, "language": 0.1, "compassion": 0.1},
    },
)
DIFFERENTIAL_RUBRIC = Rubric(
    DIFFERENTIAL,
    (
        Criterion("names", 0, NAME_POINTS * DIAGNOSES),
        Criterion("historical", 0, MOST_FINDINGS * DIAGNOSES, 1),
        Criterion("physical", 0, MOST_FINDINGS * DIAGNOSES, 1),
        Criterion("order", 0, ORDER_POINTS, ORDER_POINTS),
        Criterion("quality", 1, 5, 1),
    ),
    {},
)
"""Its total is points over the case's `differential_maximum`; quality stands apart."""

RUBRICS: Mapping[str, Rubric] = {
    rubric.section: rubric for rubric in (INFO_RUBRIC, PHYSICAL_RUBRIC, CLOSURE_RUBRIC, DIFFERENTIAL_RUBRIC)
}
"""By section."""

METRICS: Mapping[str, tuple[str, ...]] = {
    INFO_GATHERING: ("points", REPEATED),
    PHYSICAL_EXAM: ("coverage", "reasons", "extra_exams"),
    CLOSURE: ("impressions", "management", "challenge", "language", "compassion"),
    DIFFERENTIAL: ("names", "historical", "physical", "order", "points", "quality"),
}
"""By section, the metrics of its criteria; the total, `score`, comes on top."""


@dataclass(frozen=True)
class MarkingRules:
    """The settings of an examination."""

    configuration: Literal[1, 2, 3] = 3
    """How a question that fits the bank only slightly is marked: 1: 0 points; 2: half a point; 3: the paper's choice,
    mostly consistent is 1, a mere follow-up or a question outside the bank 0 (Table 10)."""
    finer: bool = False
    """Whether coverage counts single maneuvers rather than rows (a component with its maneuvers)."""


def coverage(rows: Sequence[tuple[float, int]], finer: bool = False) -> float:
    """Points for coverage, 0 to 60, from the maneuvers covered and asked for of each target row.

    A row covered in part counts half, as with the experts (Table 19, case 1: 2.5 of 5 rows); `finer`: by single
    maneuvers.
    """
    high = PHYSICAL_RUBRIC.criterion("coverage").high
    if finer:
        return high * sum(covered for covered, _ in rows) / sum(asked for _, asked in rows)
    return high * sum(1.0 if covered == asked else 0.5 if covered else 0.0 for covered, asked in rows) / len(rows)


def differential_maximum(targets: Sequence[DifferentialItem], additional: Sequence[AdditionalDiagnosis] = ()) -> int:
    """The points that a differential can have: for each target 10, 3 for history, its examination findings; 10 order.

    At most 3 examination findings count, and a target without findings of a kind adds none. Three targets make 49 plus
    their examination findings where all have a history. A place without a target can earn 5 with an additional one.
    """
    each = [_worth(target) for target in targets[:DIAGNOSES]]
    spare = min(DIAGNOSES - len(each), len(additional))
    return sum(each) + ADDITIONAL_POINTS * spare + ORDER_POINTS


def _worth(target: DifferentialItem) -> int:
    historical = MOST_FINDINGS if target.historical else 0
    return NAME_POINTS + historical + min(MOST_FINDINGS, len(target.physical))
