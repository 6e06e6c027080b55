"""What MedQA-CS's students wrote, as the benchmark stores it.

The authors' program keeps of a reply the question alone (`qa`), or words the examinations and diagnoses in it as text:
these become the shapes that are asked for, and whether the reply itself had its shape is not released. A closure is
kept as it came.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from openosce.benchmarks.medqa_cs.handing_in import VALID
from openosce.benchmarks.medqa_cs.rounds import (
    BANK_COVERAGE,
    RULE,
    AskedRound,
    bank_coverage,
    read_round,
    write_rounds,
)
from openosce.cases.readers.medqa_cs_lists import read_differential, read_exams
from openosce.cases.record import Round
from openosce.grading import Answer, Missing, Score
from openosce.grading.json_reply import Shape, read_object
from openosce.grading.rubrics import NO_POLICY
from openosce.grading.student_output import (
    CLOSURE,
    DIFFERENTIAL,
    INFO_GATHERING,
    PHYSICAL_EXAM,
    SHAPES,
    AskedQuestion,
    read_student,
)
from openosce.runs.imports.irregular import Irregular, Tally, whole_text

NO_JSON = "No JSON found in text"
"""What the authors' program writes in the place of a question that it could not read."""
_NO_OUTPUT = Missing.NOT_RELEASED.because("the files hold no output of this student here")
_REPLY = Missing.NOT_RELEASED.because("the replies themselves, only what the authors' program read out of them")


def read_output(value: Any, tally: Tally, place: str) -> tuple[str | None, str | None]:
    """A released output: its text, or the reason why there is none."""
    if value is None:
        tally.note(Irregular.NO_OUTPUT, place)
        return None, _NO_OUTPUT
    if not isinstance(value, str):
        tally.note(Irregular.OTHER_TYPE, place)
        return None, Missing.NOT_RELEASED.because(f"the files hold no text but {type(value).__name__}")
    if not value.strip():
        tally.note(Irregular.BLANK, place)
        return None, Missing.EMPTY_REPLY.because("blank in the files")
    return whole_text(value, tally, place), None


def read_questions(outputs: Mapping[int, Any], dialogue: Sequence[Round], tally: Tally, place: str) -> Answer:
    """The questions of a case, a round each; the files count turns from 1, a round is counted from 0.

    Args:
        outputs: By turn, what the student wrote.
        dialogue: The case's reference dialogue.
        tally: Counts what is irregular.
        place: Where it stands.
    """
    for turn in sorted(outputs.keys() - set(range(1, len(dialogue) + 1))):
        tally.note(Irregular.OTHER_ROUND, f"{place}, turn {turn}")
    rounds = [
        _question(number, reference, outputs.get(number + 1), tally, f"{place}, turn {number + 1}")
        for number, reference in enumerate(dialogue)
    ]
    reasons = [one.missing for one in rounds if one.missing]
    if len(reasons) == len(rounds):
        reason = reasons[0] if reasons else Missing.CASE_LACKS_PART.because("dialogue")
        lost = tuple(_unknown(name, Missing.NO_ANSWER.value) for name in (VALID, BANK_COVERAGE))
        return Answer(INFO_GATHERING, None, reason, lost)
    counted = (_unknown(VALID, _REPLY), bank_coverage(dialogue, rounds))
    return Answer(INFO_GATHERING, write_rounds(rounds), None, counted)


def _question(number: int, reference: Round, value: Any, tally: Tally, place: str) -> AskedRound:
    text, reason = read_output(value, tally, place)
    if text is None:
        return AskedRound(round=number, missing=reason, reference=reference)
    if text.strip() == NO_JSON:
        tally.note(Irregular.NO_JSON, place)
        return AskedRound(round=number, problem="the authors' program found no JSON in it", reference=reference)
    if text.lstrip().startswith(("{", "```")):
        read = read_round(number, reference, text, read_object(text, AskedQuestion))
        if read.problem:
            tally.note(Irregular.OTHER_SHAPE, place)
        return read
    return AskedRound(round=number, question=text.strip(), reference=reference)


def read_section(section: str, value: Any, tally: Tally, place: str) -> Answer:
    """The answer of any other section; text of the authors' program becomes the asked shape."""
    text, reason = read_output(value, tally, place)
    if text is None:
        return Answer(section, None, reason, (_unknown(VALID, Missing.NO_ANSWER.value),))
    shaped = None if section == CLOSURE else _shaped(section, text)
    if shaped is not None:
        stored = shaped.model_dump_json(by_alias=True, indent=1)
        return Answer(section, stored, None, (_unknown(VALID, _REPLY),))
    read = read_student(section, text)
    if read.value is None:
        tally.note(Irregular.OTHER_SHAPE, place)
    evidence = read.problem or (f"mended: {', '.join(read.repairs)}" if read.repairs else None)
    score = Score(VALID, float(read.value is not None), NO_POLICY, RULE, evidence)
    return Answer(section, text, None, (score,))


def _shaped(section: str, text: str) -> Shape | None:
    """The asked shape of an output that the authors' program has worded; None where it is worded otherwise."""
    data = _exams(text) if section == PHYSICAL_EXAM else _diagnoses(text) if section == DIFFERENTIAL else None
    try:
        return SHAPES[section].model_validate(data) if data is not None else None
    except ValidationError:
        return None


def _exams(text: str) -> dict[str, Any] | None:
    exams = read_exams(text)
    if exams is None:
        return None
    names = ("physical exam", "maneuver", "reason")
    return {"exams": [dict(zip(names, exam, strict=True)) for exam in exams]}


def _diagnoses(text: str) -> dict[str, Any] | None:
    found, loose = read_differential(text)
    if loose:
        return None
    return {
        f"diagnosis{n}": {
            "diagnosis": one.diagnosis,
            "Historical Findings": one.findings["historical"],
            "Historical reasons": one.findings["why_historical"],
            "Physical exam data": one.findings["physical"],
            "Physical exam data reasons": one.findings["why_physical"],
        }
        for n, one in enumerate(found, 1)
    }


def _unknown(metric: str, reason: str) -> Score:
    return Score(metric, None, NO_POLICY, RULE, missing_reason=reason)
