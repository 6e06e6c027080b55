"""What a student hands in at the four sections of a MedQA-CS station, and how it is read out of a reply.

Source: MedQA-CS 2024, Table 8. The examinations stand in one list, `exams`, where the paper numbers its keys.
"""

import re
from collections.abc import Mapping
from typing import Annotated, cast

from pydantic import BeforeValidator, Field, StringConstraints

from openosce.grading.json_reply import LONGEST, ReadReply, Shape, read_object

INFO_GATHERING, PHYSICAL_EXAM, CLOSURE, DIFFERENTIAL = "info_gathering", "physical_exam", "closure", "differential"
SECTIONS = (INFO_GATHERING, PHYSICAL_EXAM, CLOSURE, DIFFERENTIAL)

MOST_FINDINGS = 3
"""Of each kind, for one diagnosis."""


def _not_applicable(value: object) -> object:
    """`N/A`, alone or in a list, says that there is none."""
    if isinstance(value, str) and _is_none(value):
        return []
    return [one for one in value if not _is_none(one)] if isinstance(value, list) else value


def _is_none(value: object) -> bool:
    return isinstance(value, str) and value.strip().casefold().rstrip(".") in {"n/a", "na", "none", ""}


_Said = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
_Texts = Annotated[tuple[str, ...], Field(strict=False), BeforeValidator(_not_applicable)]
_Findings = Annotated[tuple[str, ...], Field(strict=False, max_length=MOST_FINDINGS), BeforeValidator(_not_applicable)]


class AskedQuestion(Shape):
    """`info_gathering`: one question to the patient."""

    symptom: str
    reason: str
    question: _Said


class ProposedExam(Shape):
    """One examination that the student proposes."""

    component: _Said = Field(alias="physical exam")
    maneuver: str
    reason: str

    def __str__(self) -> str:
        return f"{self.component} ({self.maneuver})" if self.maneuver.strip() else self.component


class ExamPlan(Shape):
    """`physical_exam`: the examinations proposed; none is an answer too."""

    exams: Annotated[tuple[ProposedExam, ...], Field(strict=False, max_length=100)]


class ClosingWords(Shape):
    """`closure`: what the student tells the patient at the end, and its answer to the challenging question."""

    closure: _Said
    answer: str


class ProposedDiagnosis(Shape):
    """One diagnosis of the student's differential, with what supports it."""

    diagnosis: _Said
    historical: _Findings = Field(alias="Historical Findings")
    historical_reasons: _Texts = Field(alias="Historical reasons")
    physical: _Findings = Field(alias="Physical exam data")
    physical_reasons: _Texts = Field(alias="Physical exam data reasons")


class ProposedDifferential(Shape):
    """`differential`: three diagnoses, the most probable first."""

    diagnosis1: ProposedDiagnosis
    diagnosis2: ProposedDiagnosis
    diagnosis3: ProposedDiagnosis

    @property
    def diagnoses(self) -> tuple[ProposedDiagnosis, ...]:
        """All three, in the student's order."""
        return self.diagnosis1, self.diagnosis2, self.diagnosis3


StudentOutput = AskedQuestion | ExamPlan | ClosingWords | ProposedDifferential

SHAPES: Mapping[str, type[Shape]] = {
    INFO_GATHERING: AskedQuestion,
    PHYSICAL_EXAM: ExamPlan,
    CLOSURE: ClosingWords,
    DIFFERENTIAL: ProposedDifferential,
}
"""By section."""


def read_student(section: str, reply: str) -> ReadReply[StudentOutput]:
    """Read a section's output; a closure may be plain text too, the answer under a heading `Answer:`."""
    if section == CLOSURE and not _tries_json(reply):
        return _read_plain(reply)
    read = read_object(reply, SHAPES[section])
    return ReadReply(cast(StudentOutput | None, read.value), read.repairs, read.problem)


def read_words(reply: str, key: str) -> ReadReply[str]:
    """Read one step of a closure that is asked in two: `{"closure": ...}`, then `{"answer": ...}`, or plain text."""
    if not _tries_json(reply):
        if not reply.strip() or len(reply) > LONGEST:
            return ReadReply(None, problem=f"expected the {key}; the reply has {len(reply):,} characters")
        return ReadReply(reply.strip(), ("plain text",))
    read = read_object(reply, _WORDS[key])
    return ReadReply(getattr(read.value, key) if read.value else None, read.repairs, read.problem)


class _OnlyClosure(Shape):
    closure: _Said


class _OnlyAnswer(Shape):
    answer: _Said


_WORDS: Mapping[str, type[_OnlyClosure] | type[_OnlyAnswer]] = {"closure": _OnlyClosure, "answer": _OnlyAnswer}
_CLOSURE = re.compile(r"^[*#\s]*(?:closure|part (?:1|one))\b[^\n:]{0,30}:[*\s]*", re.IGNORECASE | re.MULTILINE)
_ANSWER = re.compile(
    r"^[*#\s]*(?:(?:question )?answer|part (?:2|two))\b[^\n:]{0,30}:[*\s]*", re.IGNORECASE | re.MULTILINE
)


def _tries_json(reply: str) -> bool:
    """Whether a closure was meant as JSON; `[smiles] Mr. Feld, ...` was not."""
    return re.match(r"\s*(?:```\w*\s*)?(?:\{|\[\s*[{\"])", reply.lstrip("\ufeff")) is not None or bool(
        re.search(r"[{,]\s*\"(?:closure|answer)\"\s*:", reply)
    )


def _read_plain(reply: str) -> ReadReply[StudentOutput]:
    if not reply.strip() or len(reply) > LONGEST:
        return ReadReply(None, problem=f"expected a closure and an answer; the reply has {len(reply):,} characters")
    heading = _ANSWER.search(reply)
    closure, answer = (reply[: heading.start()], reply[heading.end() :].strip()) if heading else (reply, "")
    titled = _CLOSURE.search(closure)
    closure = closure[titled.end() if titled else 0 :].strip()
    if not closure:
        return ReadReply(None, problem="expected a closure and an answer; there is no closure")
    repairs = ("plain text",) if heading else ("plain text", "no heading parts the answer from it")
    return ReadReply(ClosingWords(closure=closure, answer=answer), repairs)
