"""The examiner's sheet of a clinical-skills station: what was asked and proposed, what was missed, and every mark.

It is made of a stored answer with its scores and, where the case is at hand, of what the case wanted. The text goes to
the terminal and to the page alike; both show it as text.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from openosce.cases.record import StationPart
from openosce.grading.criterion_names import ROUND
from openosce.grading.examinations import covered
from openosce.grading.record import Answer, Score
from openosce.grading.rubrics import DIAGNOSES, METRICS, RUBRICS, SCORE
from openosce.grading.student_output import (
    CLOSURE,
    DIFFERENTIAL,
    INFO_GATHERING,
    PHYSICAL_EXAM,
    SECTIONS,
    ExamPlan,
    ProposedDifferential,
    read_student,
)
from openosce.reports.sheets import NOTHING, Sheet
from openosce.runs.folder import RunReader

_BANK_COVERAGE, _VALID = "bank_coverage", "valid_output"


def is_section(arm: str) -> bool:
    """Whether an arm is a section that has such a sheet."""
    return arm in SECTIONS


def stations(reader: RunReader, case_ids: Iterable[str]) -> dict[str, StationPart]:
    """The stations of these cases, as far as the run holds readable ones."""
    wanted = set(case_ids)
    found = {}
    for case_id, text in reader.rows(
        "SELECT id, json_extract(record, '$.station') FROM cases WHERE json_valid(record)"
    ):
        if case_id in wanted and text:
            try:
                found[case_id] = StationPart.model_validate_json(text)
            except ValidationError:  # a damaged run: what was handed in can still be read
                continue
    return found


def handed_in(answer: Answer, station: StationPart | None = None) -> str:
    """What the student handed in at a section, beside what the case wanted; text that cannot be read, as it is."""
    if answer.text is None:
        return ""
    try:
        lines = list(_LINES[answer.arm](answer, station))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return answer.text
    return "\n".join(lines)


def criteria(answer: Answer) -> Sheet | None:
    """Every criterion's mark with the examiner's explanation, examiners one below the other; None without any."""
    order = (*METRICS[answer.arm], SCORE, _VALID)
    shown = [score for score in answer.scores if score.metric in order]
    shown.sort(key=lambda score: order.index(score.metric))
    rows = tuple(
        (_criterion(score), _mark(score, answer.arm), score.grader, _why(score)) for score in shown if _says_much(score)
    )
    if not rows:
        return None
    return Sheet(f"{answer.arm}: marks", ("criterion", "mark", "by", "because"), rows, prose=(0, 2, 3))


def _says_much(score: Score) -> bool:
    """Whether it is worth a line: a total that is missing for its criteria's reasons is not, nor a reply as asked."""
    if score.metric == _VALID:
        return score.value != 1 or score.evidence is not None
    return score.value is not None or score.metric != SCORE


def _criterion(score: Score) -> str:
    return f"{score.metric} {score.policy}" if score.metric == SCORE else score.metric


def _mark(score: Score, section: str) -> str:
    if score.value is None:
        return NOTHING
    value = f"{score.value:.4g}"
    if score.metric == SCORE:
        return f"{value} of 100"
    known = [c.high for c in RUBRICS[section].criteria if c.name == score.metric and section != INFO_GATHERING]
    return f"{value} of {known[0]:g}" if known and known[0] else value


def _why(score: Score) -> str:
    missing = f"missing: {score.missing_reason}" if score.missing_reason else None
    return "; ".join(part for part in (score.evidence, missing) if part) or NOTHING


def _info_gathering(answer: Answer, station: StationPart | None) -> Iterator[str]:
    marks: dict[int, list[Score]] = {}
    for score in answer.scores:
        if score.metric.startswith(ROUND) and score.metric.removeprefix(ROUND).isdigit():
            marks.setdefault(int(score.metric.removeprefix(ROUND)), []).append(score)
    for entry in json.loads(answer.text or ""):
        yield from _round(entry, marks.get(entry["round"], []))
    counted = [score for score in answer.scores if score.metric in (_BANK_COVERAGE, "repeated") and score.evidence]
    for score in counted:
        what = "Question bank" if score.metric == _BANK_COVERAGE else f"Repeated questions, by {score.grader}"
        yield f"{what}: {score.evidence}"


def _round(entry: Mapping[str, Any], marks: Iterable[Score]) -> Iterator[str]:
    reference = entry.get("reference") or {}
    topic = f" ({reference['topic']})" if reference.get("topic") else ""
    asked, why_not = entry.get("question"), entry.get("missing") or entry.get("problem") or "no reason given"
    said = f"“{asked}”" if asked else f"no question: {why_not}"
    yield f"Round {entry['round']}{topic}: {said}"
    if entry.get("reply"):
        yield f"  replied: {entry['reply']}"
    for score in marks:
        value = NOTHING if score.value is None else f"{score.value:.3g}"
        yield f"  {value} by {score.grader}: {_why(score)}"
    if reference.get("question"):
        yield f"  the reference: “{reference['question']}”"


def _physical_exam(answer: Answer, station: StationPart | None) -> Iterator[str]:
    plan = _read(answer, ExamPlan)
    for exam in plan.exams:
        yield f"Proposed: {exam}, because: {exam.reason or 'no reason given'}"
    if not plan.exams:
        yield "Proposed: nothing"
    if station is None:
        return
    if not station.target_examinations:
        yield "The case asks for no examination."
    for row in station.target_examinations:
        done, wanted = covered(row, plan.exams)
        if done < wanted:
            name = f"{row.component} ({', '.join(row.maneuvers)})" if row.maneuvers else row.component
            yield f"{'Not examined' if not done else f'Examined in part, {done:g} of {wanted}'}: {name}"
    if station.target_examinations:
        yield "What was not examined is told by the names of components and maneuvers, not by an examiner."


def _closure(answer: Answer, station: StationPart | None) -> Iterator[str]:
    said = json.loads(answer.text or "")
    if not {"closure", "problem"} & said.keys():
        raise ValueError("no closure")
    if station is not None and station.challenge is not None:
        said = {**said, "the patient's question": f"“{station.challenge.question}”"}
    order = ("closure", "the patient's question", "answer", "problem", "reply")
    yield from (f"{name.capitalize()}: {said[name]}" for name in order if name in said)


def _differential(answer: Answer, station: StationPart | None) -> Iterator[str]:
    for number, one in enumerate(_read(answer, ProposedDifferential).diagnoses, 1):
        yield f"{number}. {one.diagnosis}"
        yield f"   history: {'; '.join(one.historical) or 'N/A'}"
        yield f"   examination: {'; '.join(one.physical) or 'N/A'}"
    if station is not None:
        for number, target in enumerate(station.differential[:DIAGNOSES], 1):
            yield f"Target {number}: {target.diagnosis}"
            yield f"   history: {'; '.join(target.historical) or 'N/A'}"
            yield f"   examination: {'; '.join(target.physical) or 'N/A'}"


def _read(answer: Answer, shape: Any) -> Any:
    read = read_student(answer.arm, answer.text or "")
    if not isinstance(read.value, shape):
        raise ValueError(read.problem)
    return read.value


_LINES = {
    INFO_GATHERING: _info_gathering,
    PHYSICAL_EXAM: _physical_exam,
    CLOSURE: _closure,
    DIFFERENTIAL: _differential,
}
