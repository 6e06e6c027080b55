"""From marks to scores: one score a criterion, and the section's total under every weighting."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from openosce.grading.record import Missing, Score
from openosce.grading.rubrics import AS_PROMPTED, AS_PUBLISHED, METRICS, NO_POLICY, RUBRICS, SCORE, WEIGHTINGS, Rubric
from openosce.grading.student_output import DIFFERENTIAL, PHYSICAL_EXAM, ExamPlan

NO_TARGETS = Missing.CASE_LACKS_PART.because("target examinations")
LONGEST_EVIDENCE = 600
"""Characters."""


@dataclass(frozen=True)
class Mark:
    """What one criterion got, and why."""

    value: float | None
    evidence: str | None = None
    missing_reason: str | None = None


Marks = Mapping[str, Mark]
"""By metric, those of one section."""


def not_judged(examiner: str, what: str) -> Mark:
    """The mark of a criterion that an examiner cannot judge."""
    return Mark(None, missing_reason=Missing.NOT_JUDGED.because(f"{examiner} cannot judge {what}"))


def bounded(text: str, longest: int = LONGEST_EVIDENCE) -> str:
    """The text on one line, not longer than this."""
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def missing_scores(section: str, grader: str, reason: str, evidence: str | None = None) -> tuple[Score, ...]:
    """A section's scores where nothing could be marked: all of them, none with a value."""
    return tuple(
        Score(metric, None, policy, grader, evidence, reason)
        for metric, policies in ((*((m, (NO_POLICY,)) for m in METRICS[section]), (SCORE, WEIGHTINGS)))
        for policy in policies
    )


def scores_of(section: str, marks: Marks, grader: str) -> tuple[Score, ...]:
    """The scores of a section whose total is weighed from its criteria."""
    return (
        *_criteria(section, marks, grader),
        *(_total(section, marks, grader, weighting) for weighting in WEIGHTINGS),
    )


def differential_scores(marks: Marks, maximum: int, grader: str) -> tuple[Score, ...]:
    """The scores of a differential: its points are over the case's maximum, alike under every weighting."""
    parts = {name: marks[name] for name in ("names", "historical", "physical", "order")}
    gaps = [mark.missing_reason or Missing.NOT_JUDGED.value for mark in parts.values() if mark.value is None]
    if gaps:  # a part that nobody marked is no 0
        totals = (Score(SCORE, None, weighting, grader, missing_reason=gaps[0]) for weighting in WEIGHTINGS)
        return (*_criteria(DIFFERENTIAL, {**marks, "points": Mark(None, None, gaps[0])}, grader), *totals)
    counted = {name: mark.value or 0.0 for name, mark in parts.items()}
    points = sum(counted.values())
    evidence = " + ".join(f"{name} {value:g}" for name, value in counted.items()) + f" = {points:g} of {maximum} points"
    return (
        *_criteria(DIFFERENTIAL, {**marks, "points": Mark(points, evidence)}, grader),
        *(Score(SCORE, 100 * points / maximum, weighting, grader, evidence) for weighting in WEIGHTINGS),
    )


def scores_without_targets(
    plan: ExamPlan, marks: Marks | None, grader: str, reason: str | None = None
) -> tuple[Score, ...]:
    """The scores of a physical examination at a case that asks for none.

    The criteria do not apply: it is right to propose nothing, what is proposed is named as unnecessary, and the case
    leaves the mean. `as_published` marks it all the same, with a coverage of 0: its total may be negative. Where the
    examiner gave no marks, `reason` says why.
    """
    proposed = "; ".join(map(str, plan.exams))
    evidence = bounded(f"unnecessary: {proposed}" if proposed else "none proposed, which is right")
    if marks is None:
        published = [s for s in missing_scores(PHYSICAL_EXAM, grader, reason or "") if s.policy != AS_PROMPTED]
        published = [replace(score, policy=AS_PUBLISHED) for score in published]
    else:
        marks = {**marks, "coverage": Mark(0.0, "the case has no target examinations")}
        published = [*_criteria(PHYSICAL_EXAM, marks, grader, AS_PUBLISHED)]
        published.append(_total(PHYSICAL_EXAM, marks, grader, AS_PUBLISHED))
    return (
        *(
            Score(score.metric, None, score.policy, grader, evidence, NO_TARGETS)
            for score in missing_scores(PHYSICAL_EXAM, grader, NO_TARGETS)
            if score.policy != AS_PUBLISHED
        ),
        *published,
    )


def _criteria(section: str, marks: Marks, grader: str, policy: str = NO_POLICY) -> Iterable[Score]:
    for metric in METRICS[section]:
        mark = marks[metric]
        evidence = bounded(mark.evidence) if mark.evidence else None
        yield Score(metric, mark.value, policy, grader, evidence, mark.missing_reason)


def _total(section: str, marks: Marks, grader: str, weighting: str) -> Score:
    rubric = RUBRICS[section]
    total = rubric.total({name: mark.value for name, mark in marks.items()}, weighting)
    if total is None:
        reasons = [mark.missing_reason for mark in marks.values() if mark.missing_reason]
        return Score(SCORE, None, weighting, grader, missing_reason=reasons[0] if reasons else Missing.NOT_JUDGED.value)
    return Score(SCORE, total, weighting, grader, _working(rubric, marks, weighting))


def _working(rubric: Rubric, marks: Marks, weighting: str) -> str:
    """How a total came about, and over which criteria."""
    parts, without = [], []
    for criterion in rubric.criteria:
        mark = marks[criterion.name].value
        if mark is None:
            without.append(criterion.name)
        elif criterion.name in rubric.weights[weighting]:
            of = f"/{criterion.high:g}" if criterion.high else ""
            parts.append(f"{criterion.name} {mark:g}{of} × {rubric.weights[weighting][criterion.name]:g}")
    left_out = f"; over what applies, without {', '.join(without)}" if without else ""
    return ", ".join(parts) + left_out
