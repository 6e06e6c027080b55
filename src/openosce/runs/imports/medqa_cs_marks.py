"""What MedQA-CS's examiners said, as scores: their marks of the parts, and the totals that we make of them."""

import json
import re
from collections.abc import Mapping
from typing import Any

from openosce.cases.readers.native import parse_json
from openosce.errors import GraderError
from openosce.grading import Missing, Score, reason_for
from openosce.grading.examiner import ExaminerContext, ExaminerPart
from openosce.grading.json_reply import Shape, read_object
from openosce.grading.marks import (
    Marks,
    bounded,
    differential_scores,
    missing_scores,
    scores_of,
    scores_without_targets,
)
from openosce.grading.rubrics import MarkingRules
from openosce.grading.student_output import (
    CLOSURE,
    DIFFERENTIAL,
    INFO_GATHERING,
    PHYSICAL_EXAM,
    AskedQuestion,
    ClosingWords,
    ExamPlan,
    ProposedDifferential,
    StudentOutput,
)
from openosce.grading.verdicts import ClosureVerdict, DifferentialVerdict, ExamVerdict, QuestionVerdict
from openosce.runs.imports.irregular import Irregular, Tally

_SHAPES: Mapping[str, type[Shape]] = {
    INFO_GATHERING: QuestionVerdict,
    PHYSICAL_EXAM: ExamVerdict,
    CLOSURE: ClosureVerdict,
    DIFFERENTIAL: DifferentialVerdict,
}
_PARTS = {PHYSICAL_EXAM: 3, CLOSURE: 5}
"""Sections whose verdict is `score1`, `explanation1`, ..."""
_NUMBER = re.compile(r"\s*[+-]?\d{1,6}(?:\.\d{1,6})?\s*")
_AS_TEXT = re.compile(
    r"\W*score\W*:\W*(?P<score>[\d.]+)\W*(?:\n|,|;|$)\W*(?:reason\w*\W*:\s*)?(?P<reason>.*)", re.IGNORECASE | re.DOTALL
)

Verdicts = Mapping[tuple[str, int], str]
"""By section and turn (1 but for questions), what an examiner said of one student's output."""


class ReleasedExaminer:
    """An examiner whose verdicts are there already; it takes the place of one that is asked."""

    is_rule = True

    def __init__(self, name: str, verdicts: Verdicts, tally: Tally, place: str) -> None:
        """`place` says whose output on which case it is about, for the tally of what is irregular."""
        self.name = name
        self._verdicts = verdicts
        self._tally = tally
        self._place = place

    async def mark(
        self, section: str, output: StudentOutput, part: ExaminerPart, context: ExaminerContext, repeat: int = 0
    ) -> tuple[Score, ...]:
        """The scores of the released verdict; of a question, that of the round after the dialogue so far."""
        turn = len(context.dialogue) + 1 if section == INFO_GATHERING else 1
        said, place = self._verdicts.get((section, turn)), f"{self._place}, {section}, turn {turn}, by {self.name}"
        if said is None:
            self._tally.note(Irregular.VERDICT_MISSING, place)
            return missing_scores(section, self.name, Missing.NOT_RELEASED.because("no verdict of this examiner"))
        if reason := part.lacks(section):
            return missing_scores(section, self.name, reason, bounded(said))
        without_targets = isinstance(output, ExamPlan) and not part.station.target_examinations
        try:
            marks = _marks(section, said, output, part, self._tally, place)
        except GraderError as failure:
            self._tally.note(Irregular.UNREADABLE_VERDICT, f"{place}: {failure}")
            if without_targets:
                return scores_without_targets(output, None, self.name, reason_for(failure))  # type: ignore[arg-type]
            return missing_scores(section, self.name, reason_for(failure), bounded(said))
        if without_targets:
            return scores_without_targets(output, marks, self.name)  # type: ignore[arg-type]
        if section == DIFFERENTIAL:
            return differential_scores(marks, part.maximum, self.name)
        return scores_of(section, marks, self.name)


def _marks(section: str, said: str, output: StudentOutput, part: ExaminerPart, tally: Tally, place: str) -> Marks:
    """The marks of a verdict.

    Raises:
        GraderError: It cannot be read, or a mark is out of range.
    """
    data = _data(section, said, tally, place)
    read = read_object(said if data is None else json.dumps(data), _SHAPES[section])
    verdict = read.value
    match verdict, output:
        case QuestionVerdict(), AskedQuestion():
            return verdict.marks(output, MarkingRules().configuration)
        case ExamVerdict(), ExamPlan():
            marks = verdict.marks(output)
        case ClosureVerdict(), ClosingWords():
            marks = verdict.marks(output)
        case DifferentialVerdict(), ProposedDifferential():
            marks = verdict.marks(output, part)
        case _:
            raise GraderError(read.problem or f"a verdict on {section} about something else")
    _compare_total(data or {}, marks, tally, place)
    return marks


def _data(section: str, said: str, tally: Tally, place: str) -> dict[str, Any] | None:
    """The verdict's keys, mended where the authors' prompt lets a number be text; None where there is no object."""
    start, end = said.find("{"), said.rfind("}") + 1
    if start < 0 and section == INFO_GATHERING and (found := _AS_TEXT.match(said)):
        tally.note(Irregular.VERDICT_AS_TEXT, place)
        return {"score": _number(found["score"]), "reason": found["reason"].strip()}
    try:
        data = parse_json(said[start:end])
        if not isinstance(data, dict):
            return None
        mended = {key: _number(value) if _is_mark(key) else value for key, value in data.items()}
        if any(mended[key] != data[key] and mended[key] != "N/A" for key in data):
            tally.note(Irregular.NUMBER_AS_TEXT, place)
        return _explained(section, mended, tally, place)
    except (ValueError, RecursionError):
        return None


def _is_mark(key: str) -> bool:
    return key.startswith(("score", "diagnosis ")) or key in ("order", "quality score", "overall score", "total score")


def _number(value: Any) -> Any:
    """A number that is written as text, and every way of writing that there is none."""
    if value is None or (isinstance(value, str) and re.fullmatch(r"\s*(?:n/?a|none)\s*", value, re.IGNORECASE)):
        return "N/A"
    return float(value) if isinstance(value, str) and _NUMBER.fullmatch(value) else value


def _explained(section: str, data: dict[str, Any], tally: Tally, place: str) -> dict[str, Any]:
    """The verdict with a text for every explanation."""
    keys = [f"explanation{n}" for n in range(1, _PARTS[section] + 1)] if section in _PARTS else ["reason"]
    if any(key not in data for key in keys):
        tally.note(Irregular.NO_EXPLANATION, place)
    texts = {key: data.get(key, "") for key in keys}
    return data | {key: text if isinstance(text, str) else json.dumps(text) for key, text in texts.items()}


def _compare_total(data: Mapping[str, Any], marks: Marks, tally: Tally, place: str) -> None:
    """Count a total of the examiner's own that its parts do not make; `27/52` is one of 27 points."""
    told = data.get("overall score", data.get("total score"))
    told = _number(told.partition("/")[0]) if isinstance(told, str) else told
    if isinstance(told, bool) or not isinstance(told, int | float):
        return
    total = sum(mark.value or 0.0 for name, mark in marks.items() if name != "quality")
    if abs(total - told) > 1e-6:
        tally.note(Irregular.OTHER_TOTAL, f"{place}: {told:g}, and its parts make {total:g}")
