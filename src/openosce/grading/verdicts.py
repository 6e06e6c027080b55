"""What an examiner that is a model must reply, and the marks in it; its own sums are not read.

Source: MedQA-CS 2024, Tables 9-10, with the paper's keys. Ours beside them: `repeated`, and which target a diagnosis
was matched with, so that a target is matched once.
"""

from typing import Literal

from pydantic import Field

from openosce.errors import GraderError
from openosce.grading.examiner import ExaminerPart
from openosce.grading.json_reply import Shape
from openosce.grading.marks import LONGEST_EVIDENCE, Mark, Marks, bounded
from openosce.grading.record import Missing
from openosce.grading.rubrics import (
    ADDITIONAL_POINTS,
    CLOSURE_RUBRIC,
    DIFFERENTIAL_RUBRIC,
    EXTRA_EXAM,
    INFO_RUBRIC,
    NAME_POINTS,
    ORDER_POINTS,
    PHYSICAL_RUBRIC,
    REPEATED,
    Criterion,
    Rubric,
)
from openosce.grading.student_output import (
    MOST_FINDINGS,
    AskedQuestion,
    ClosingWords,
    ExamPlan,
    ProposedDifferential,
)

_SHOWN = 160

Points = float | Literal["N/A"]
Target = Literal["target 1", "target 2", "target 3", "additional", "none"]


class QuestionVerdict(Shape):
    """On one question."""

    reason: str
    score: float
    repeated: bool | None = None

    def marks(self, output: AskedQuestion, configuration: int) -> Marks:
        """Points, and whether it repeats a question; one that does has no points.

        Raises:
            GraderError: A mark is out of range.
        """
        criterion = INFO_RUBRIC.criterion("points")
        unit = 0.5 if configuration == 2 else 1.0
        _check((Criterion(criterion.name, criterion.low, criterion.high, unit), self.score))
        evidence = f"{bounded(output.question, _SHOWN)!r}: {self.reason}"
        repeated = Mark(None, missing_reason=Missing.NOT_JUDGED.because("the verdict does not say"))
        if self.repeated is not None:
            repeated = Mark(float(self.repeated), evidence)
        return {"points": Mark(0.0 if self.repeated else self.score, evidence), REPEATED: repeated}


class ExamVerdict(Shape):
    """On a physical examination."""

    score1: float
    explanation1: str
    score2: float
    explanation2: str
    score3: float
    explanation3: str

    def marks(self, output: ExamPlan) -> Marks:
        """Coverage, reasons, and the penalty, which is no more than the examinations proposed.

        Raises:
            GraderError: A mark is out of range.
        """
        extra = PHYSICAL_RUBRIC.criterion("extra_exams")
        worst = EXTRA_EXAM * len(output.exams)
        _check((Criterion(extra.name, worst, extra.high, extra.unit), self.score3))
        proposed = "; ".join(map(str, output.exams))
        explained = (self.explanation1, self.explanation2, self.explanation3)
        return _marked(PHYSICAL_RUBRIC, (self.score1, self.score2, self.score3), explained, proposed)


class ClosureVerdict(Shape):
    """On a closure."""

    score1: float
    explanation1: str
    score2: float
    explanation2: str
    score3: float
    explanation3: str
    score4: float
    explanation4: str
    score5: float
    explanation5: str

    def marks(self, output: ClosingWords) -> Marks:
        """The five criteria.

        Raises:
            GraderError: A mark is out of range.
        """
        scores = (self.score1, self.score2, self.score3, self.score4, self.score5)
        explained = (self.explanation1, self.explanation2, self.explanation3, self.explanation4, self.explanation5)
        return _marked(CLOSURE_RUBRIC, scores, explained, f"{output.closure} / {output.answer}")


class DifferentialVerdict(Shape):
    """On a differential."""

    name1: float = Field(alias="diagnosis 1 name")
    target1: Target | None = Field(None, alias="diagnosis 1 target")
    historical1: Points = Field(alias="diagnosis 1 historical finding")
    physical1: Points = Field(alias="diagnosis 1 physical finding")
    name2: float = Field(alias="diagnosis 2 name")
    target2: Target | None = Field(None, alias="diagnosis 2 target")
    historical2: Points = Field(alias="diagnosis 2 historical finding")
    physical2: Points = Field(alias="diagnosis 2 physical finding")
    name3: float = Field(alias="diagnosis 3 name")
    target3: Target | None = Field(None, alias="diagnosis 3 target")
    historical3: Points = Field(alias="diagnosis 3 historical finding")
    physical3: Points = Field(alias="diagnosis 3 physical finding")
    order: float
    quality: float = Field(alias="quality score")
    reason: str

    def marks(self, output: ProposedDifferential, part: ExaminerPart) -> Marks:
        """Names, findings, order and quality; the findings of a name without points count 0.

        Raises:
            GraderError: A mark is out of range, a target is matched twice, or order and match contradict each other.
        """
        rows = (
            (self.name1, self.target1, self.historical1, self.physical1),
            (self.name2, self.target2, self.historical2, self.physical2),
            (self.name3, self.target3, self.historical3, self.physical3),
        )
        targets = [target for name, target, _, _ in rows if name > 0 and target and target.startswith("target")]
        if len(set(targets)) < len(targets):
            raise GraderError(f"a target is matched once; the verdict matches {', '.join(targets)}")
        if self.order > 0 and (self.name1 <= 0 or self.target1 not in (None, "target 1")):
            raise GraderError("order: expected 0 where the first diagnosis is not matched with the first target")
        findings = []
        for number, (name, target, historical, physical) in enumerate(rows, 1):
            most = _most(part, target if name > 0 else None)
            _check(
                (Criterion(f"diagnosis {number} name", 0, most[0]), name),
                (Criterion(f"diagnosis {number} historical finding", 0, most[1], 1), _number(historical)),
                (Criterion(f"diagnosis {number} physical finding", 0, most[2], 1), _number(physical)),
            )
            findings.append((_number(historical), _number(physical)) if name > 0 else (0.0, 0.0))
        _within(part, sum(name for name, *_ in rows), findings)
        values = (
            sum(name for name, *_ in rows),
            sum(pair[0] for pair in findings),
            sum(pair[1] for pair in findings),
            self.order,
            self.quality,
        )
        named = [
            f"{bounded(diagnosis.diagnosis, 60)}: name {name:g}, historical {pair[0]:g}, physical {pair[1]:g}"
            + (f" ({target})" if target else "")
            for diagnosis, (name, target, _, _), pair in zip(output.diagnoses, rows, findings, strict=True)
        ]
        return _marked(DIFFERENTIAL_RUBRIC, values, (self.reason,) * len(values), "; ".join(named), shown=400)


def _number(points: Points) -> float:
    return 0.0 if points == "N/A" else float(points)


def _most(part: ExaminerPart, target: str | None) -> tuple[int, int, int]:
    """The most that name, history and examination can get: where the verdict names the target, what it holds."""
    if target is None:
        return NAME_POINTS, MOST_FINDINGS, MOST_FINDINGS
    if target == "none":
        return 0, 0, 0
    if target == "additional":
        return ADDITIONAL_POINTS, 0, 0
    number = int(target.removeprefix("target "))
    if number > len(part.targets):
        raise GraderError(f"the verdict matches {target}; the case has {len(part.targets)}")
    item = part.targets[number - 1]
    return NAME_POINTS, min(MOST_FINDINGS, len(item.historical)), min(MOST_FINDINGS, len(item.physical))


def _within(part: ExaminerPart, names: float, findings: list[tuple[float, float]]) -> None:
    """Not more than the case's targets hold, also where the verdict does not name them."""
    held = sum(min(MOST_FINDINGS, len(item.physical)) for item in part.targets)
    physical = sum(pair[1] for pair in findings)
    points = names + physical + sum(pair[0] for pair in findings)
    _check(
        (Criterion("physical findings", 0, held, 1), physical),
        (Criterion("names and findings", 0, part.maximum - ORDER_POINTS), points),
    )


def _check(*marked: tuple[Criterion, float]) -> None:
    for criterion, mark in marked:
        if problem := criterion.problem(mark):
            raise GraderError(problem)


def _marked(
    rubric: Rubric, values: tuple[float, ...], explained: tuple[str, ...], on: str, shown: int = _SHOWN
) -> Marks:
    """A rubric's marks in its order, each with its explanation and what was marked."""
    _check(*zip(rubric.criteria, values, strict=True))
    basis = f"[on: {bounded(on, shown)}]"
    return {
        criterion.name: Mark(value, f"{bounded(why, LONGEST_EVIDENCE - 1 - len(basis))} {basis}")
        for criterion, value, why in zip(rubric.criteria, values, explained, strict=True)
    }
