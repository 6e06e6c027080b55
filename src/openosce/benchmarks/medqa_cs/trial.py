"""One trial of MedQA-CS with the reference dialogue: every section is asked for, and marked by the examiner."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from openosce.benchmarks.benchmark import Cast
from openosce.benchmarks.medqa_cs.handing_in import hand_in, invalid, read_back
from openosce.benchmarks.medqa_cs.rounds import AskedRound, read_rounds
from openosce.benchmarks.medqa_cs.sections import doorway_sheet, lacking, station_of
from openosce.benchmarks.medqa_cs.settings import MedQACSSettings
from openosce.benchmarks.together import together
from openosce.cases import Case
from openosce.encounters import Encounter, EndReason
from openosce.grading import Answer, Missing, Score
from openosce.grading.examiner import Examiner, ExaminerContext, ExaminerPart
from openosce.grading.marks import missing_scores
from openosce.grading.record import may_be_closed
from openosce.grading.rubrics import NO_POLICY, REPEATED, SCORE, WEIGHTINGS
from openosce.grading.student_output import INFO_GATHERING

POINTS = "points"


async def run_trial(
    case: Case, cast: Cast, settings: MedQACSSettings, arms: tuple[str, ...]
) -> tuple[Encounter, tuple[Answer, ...]]:
    """Ask for every section and mark it, all sections at once: none rests on what the student did in another."""
    student, examiner = cast.roles["doctor"], cast.roles["examiner"]
    repeats = 1 if examiner.is_rule else cast.grader_repeats

    async def examine(section: str) -> Answer:
        answer = await hand_in(section, case, student, settings.json_schema)
        return await mark(answer, case, examiner, repeats)

    answers = await together(examine(section) for section in arms)
    return Encounter((), EndReason.NOT_HELD), tuple(answers)


async def mark(answer: Answer, case: Case, examiner: Examiner, repeats: int = 1) -> Answer:
    """Mark a section's answer, fresh or stored: the examiner's scores are added to those that it has.

    Args:
        answer: The answer of one section.
        case: The case.
        examiner: Who marks.
        repeats: How often it does; every marking leaves scores of its own.
    """
    marked: list[Score] = []
    for repeat in range(repeats):
        marked += await _mark(answer, case, examiner, repeat)
    return replace(answer, scores=(*answer.scores, *marked))


async def _mark(answer: Answer, case: Case, examiner: Examiner, repeat: int) -> Sequence[Score]:
    section, name = answer.arm, examiner.name
    if answer.text is None or answer.missing_reason:
        return missing_scores(section, name, Missing.NO_ANSWER.value)
    if reason := lacking(case, section):  # a stored answer, to a case that has been changed since
        return missing_scores(section, name, reason)
    station = station_of(case)
    part = ExaminerPart(station, case.diagnosis)
    if section == INFO_GATHERING:
        rounds = read_rounds(answer.text)
        if rounds is None:
            return missing_scores(section, name, invalid("no list of rounds"))
        return await _mark_rounds(rounds, case, part, examiner, repeat)
    read = read_back(section, answer.text)
    if read.value is None:
        return missing_scores(section, name, invalid(read.problem))
    context = ExaminerContext(doorway_sheet(case), station.dialogue)
    return await examiner.mark(section, read.value, part, context, repeat)


async def _mark_rounds(
    rounds: Sequence[AskedRound], case: Case, part: ExaminerPart, examiner: Examiner, repeat: int
) -> list[Score]:
    """Mark every round by itself, on the reference dialogue before it; then the section: points by rounds."""
    opening = doorway_sheet(case)

    async def mark_round(one: AskedRound) -> tuple[Score, ...]:
        if one.output is None:
            return missing_scores(INFO_GATHERING, examiner.name, one.gap or invalid(None))
        context = ExaminerContext(opening, part.station.dialogue[: one.round])
        return await examiner.mark(INFO_GATHERING, one.output, part, context, repeat)

    marked = await together(mark_round(one) for one in rounds)
    points = {one.round: _named(POINTS, scores) for one, scores in zip(rounds, marked, strict=True)}
    repeated = [_named(REPEATED, scores) for scores in marked]
    by_round = [replace(score, metric=f"round_{number:02}") for number, score in points.items()]
    return [*_section_scores(points, repeated, examiner.name), *by_round]


def _section_scores(points: Mapping[int, Score], repeated: Sequence[Score], name: str) -> list[Score]:
    """Points, the rate of repeated questions, and 100 × points by rounds: over the rounds that have a mark.

    A round without one has left no question, or its verdict cannot be read; it is counted in the evidence. Where a
    later try may close the gap, the section is missing until then.
    """
    reasons = [score.missing_reason for score in points.values() if score.missing_reason]
    open_gap = next(filter(may_be_closed, reasons), None)
    given = [score.value for score in points.values() if score.value is not None]
    if open_gap or not given:
        reason = open_gap or next(iter(reasons), None)
        return list(missing_scores(INFO_GATHERING, name, reason or Missing.NOT_JUDGED.value))
    without = ", ".join(str(number) for number, score in points.items() if score.value is None)
    evidence = f"{sum(given):g} points in {len(given)} rounds{f'; without a mark: round {without}' if without else ''}"
    total = 100 * sum(given) / len(given)
    return [
        Score(POINTS, sum(given), NO_POLICY, name, evidence),
        _rate(repeated, name),
        *(Score(SCORE, total, weighting, name, evidence) for weighting in WEIGHTINGS),
    ]


def _rate(repeated: Sequence[Score], name: str) -> Score:
    judged = [score.value for score in repeated if score.value is not None]
    if not judged:
        reason = next((score.missing_reason for score in repeated if score.missing_reason), None)
        return Score(REPEATED, None, NO_POLICY, name, missing_reason=reason)
    evidence = f"{sum(judged):g} of {len(judged)} questions had been asked before"
    return Score(REPEATED, sum(judged) / len(judged), NO_POLICY, name, evidence)


def _named(metric: str, scores: Sequence[Score]) -> Score:
    return next(score for score in scores if score.metric == metric)
