"""What the student hands in at each section, kept as it wrote it, and how much of it has the asked shape."""

import json
from typing import Any, TypeVar

from openosce.benchmarks.medqa_cs import sections
from openosce.benchmarks.medqa_cs.rounds import BANK_COVERAGE, RULE, AskedRound, bank_coverage, read_round, write_rounds
from openosce.benchmarks.together import together
from openosce.cases import Case
from openosce.errors import EncounterError
from openosce.grading import Answer, Missing, Score, reason_for
from openosce.grading.json_reply import ReadReply, read_object
from openosce.grading.record import may_be_closed
from openosce.grading.rubrics import NO_POLICY
from openosce.grading.student_output import (
    CLOSURE,
    INFO_GATHERING,
    PHYSICAL_EXAM,
    AskedQuestion,
    StudentOutput,
    read_student,
    read_words,
)
from openosce.roles.student import Student

VALID = "valid_output"
"""The metric: the share of a section's replies that have the asked shape, 0 to 1. What was mended is its evidence."""

_T = TypeVar("_T")
_MOST_NAMED = 10


async def hand_in(section: str, case: Case, student: Student, schema: bool) -> Answer:
    """Ask for one section; the answer is not marked yet.

    Args:
        section: One of `SECTIONS`.
        case: The case; the student is told what a student knows at this section.
        student: The student.
        schema: Whether a JSON schema of the reply is sent.
    """
    reason = sections.lacking(case, section)
    if reason:
        return _nothing(section, reason)
    if section == INFO_GATHERING:
        return await _ask_rounds(case, student, schema)
    try:
        if section == CLOSURE:
            return await _ask_closure(case, student, schema)
        task = sections.exam_task if section == PHYSICAL_EXAM else sections.differential_task
        reply = await student.hand_in(task(case, schema))
    except EncounterError as failure:
        return _nothing(section, reason_for(failure))
    return Answer(section, reply, None, (_validity([read_student(section, reply)]),))


def _nothing(section: str, reason: str, text: str | None = None) -> Answer:
    """A section that is missing, and with it what would have been counted."""
    counted = (VALID, BANK_COVERAGE) if section == INFO_GATHERING else (VALID,)
    scores = (Score(name, None, NO_POLICY, RULE, missing_reason=Missing.NO_ANSWER.value) for name in counted)
    return Answer(section, text, reason, tuple(scores))


async def _ask_rounds(case: Case, student: Student, schema: bool) -> Answer:
    dialogue = sections.station_of(case).dialogue

    async def ask(number: int) -> AskedRound:
        try:
            reply = await student.hand_in(sections.question_task(case, number, schema))
        except EncounterError as failure:
            return AskedRound(round=number, missing=reason_for(failure), reference=dialogue[number])
        return read_round(number, dialogue[number], reply, read_object(reply, AskedQuestion))

    rounds = await together(ask(number) for number in range(1, len(dialogue)))
    gaps = [one for one in rounds if one.missing]
    # What a later try may close keeps the whole section open; what is final leaves the other rounds to be marked.
    reason = next((one.missing for one in gaps if may_be_closed(one.missing)), None)
    if reason is None and len(gaps) == len(rounds):
        reason = gaps[0].missing
    if reason:
        return _nothing(INFO_GATHERING, reason, write_rounds(rounds))
    counted = (_validity_of_rounds(rounds), bank_coverage(dialogue, rounds))
    return Answer(INFO_GATHERING, write_rounds(rounds), None, counted)


async def _ask_closure(case: Case, student: Student, schema: bool) -> Answer:
    """Two steps: the closure is written before the challenging question is shown."""
    first_reply = await student.hand_in(sections.closure_task(case, schema))
    first = read_words(first_reply, "closure")
    if first.value is None:
        return Answer(CLOSURE, _unreadable({}, first, first_reply), None, (_validity([first]),))
    second_reply = await student.hand_in(sections.challenge_task(case, first.value, schema))
    second = read_words(second_reply, "answer")
    said = {"closure": first.value}
    if second.value is None:
        return Answer(CLOSURE, _unreadable(said, second, second_reply), None, (_validity([first, second]),))
    text = json.dumps({**said, "answer": second.value}, ensure_ascii=False, indent=1)
    return Answer(CLOSURE, text, None, (_validity([first, second]),))


def _unreadable(said: dict[str, str], read: ReadReply[str], reply: str) -> str:
    return json.dumps({**said, "problem": read.problem, "reply": reply}, ensure_ascii=False, indent=1)


def read_back(section: str, text: str) -> ReadReply[StudentOutput]:
    """The output of a stored answer, of any section but `info_gathering`."""
    read = read_student(section, text)
    if section != CLOSURE or read.value is not None:
        return read
    try:
        problem = json.loads(text)["problem"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return read
    return ReadReply(None, problem=str(problem))


def _validity(read: list[ReadReply[Any]]) -> Score:
    """Whether all replies of a section can be read."""
    problem = next((one.problem for one in read if one.value is None), None)
    repairs = dict.fromkeys(repair for one in read for repair in one.repairs)
    evidence = problem or (f"mended: {', '.join(repairs)}" if repairs else None)
    return Score(VALID, float(problem is None), NO_POLICY, RULE, evidence)


def _validity_of_rounds(rounds: list[AskedRound]) -> Score:
    """The share of the rounds that came whose reply can be read."""
    came = [one for one in rounds if not one.missing]
    invalid = [f"round {one.round}: {one.problem}" for one in came if one.problem]
    mended = [f"round {one.round}: {', '.join(one.repairs)}" for one in came if one.repairs]
    told = [f"{len(came) - len(invalid)} of {len(came)} rounds"]
    for what, named in (("invalid", invalid), ("mended", mended)):
        more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
        told += [f"{what}: {'; '.join(named[:_MOST_NAMED])}{more}"] if named else []
    return Score(VALID, 1 - len(invalid) / len(came), NO_POLICY, RULE, "; ".join(told))


def invalid(problem: str | None) -> str:
    """The stored reason of a score whose answer has not the asked shape."""
    return Missing.INVALID_OUTPUT.because(problem or "it cannot be read")
