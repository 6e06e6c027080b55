"""One trial with the reference dialogue: what is handed in, what is marked, and what is missing and why."""

import asyncio
import json
from collections.abc import Callable, Mapping

import pytest

from openosce.benchmarks import Cast
from openosce.benchmarks.medqa_cs import BENCHMARK, mark, sections
from openosce.benchmarks.medqa_cs.rounds import read_rounds
from openosce.benchmarks.medqa_cs.settings import MedQACSSettings
from openosce.cases import STARTER, Case, read_cases
from openosce.encounters import EndReason
from openosce.errors import ProviderError, RefusedError, RoleError
from openosce.grading import Answer, Missing, Score
from openosce.grading.examiner import ExaminerContext, ExaminerPart
from openosce.grading.marks import Mark, differential_scores, missing_scores, scores_of
from openosce.grading.record_examiner import RecordExaminer
from openosce.grading.rubrics import METRICS
from openosce.grading.student_output import (
    CLOSURE,
    DIFFERENTIAL,
    INFO_GATHERING,
    PHYSICAL_EXAM,
    SECTIONS,
    AskedQuestion,
    ClosingWords,
    StudentOutput,
)
from openosce.roles.student import StudentTask

CASES = read_cases(STARTER)
CASE = next(case for case in CASES if case.id == "acute-pericarditis-01")
STATION = sections.station_of(CASE)
ROUNDS = len(STATION.dialogue) - 1

QUESTION = json.dumps({"symptom": "smoking", "reason": "risk", "question": "Do you smoke?"})
EXAMS = json.dumps({"exams": [{"physical exam": "Heart", "maneuver": "auscultation", "reason": "pain"}]})
CLOSING, REPLYING = json.dumps({"closure": "We will see."}), json.dumps({"answer": "I do not know yet."})
_ONE = {
    "diagnosis": "Acute pericarditis",
    "Historical Findings": ["sharp pain"],
    "Historical reasons": ["typical"],
    "Physical exam data": "N/A",
    "Physical exam data reasons": "N/A",
}
THREE = json.dumps({f"diagnosis{n}": _ONE for n in (1, 2, 3)})
REPLIES = {
    INFO_GATHERING: QUESTION, PHYSICAL_EXAM: EXAMS, CLOSURE: CLOSING, "challenge": REPLYING, DIFFERENTIAL: THREE,
}  # fmt: skip


class Says:
    """A student with one reply for each kind of task; an error is raised, a function asked."""

    def __init__(self, **other: object) -> None:
        self.replies: Mapping[str, object] = {**REPLIES, **other}
        self.tasks: list[StudentTask] = []

    async def hand_in(self, task: StudentTask) -> str:
        self.tasks.append(task)
        reply = self.replies[task.kind]
        reply = reply(task) if callable(reply) else reply
        if isinstance(reply, Exception):
            raise reply
        return str(reply)


class Marks:
    """An examiner that gives everything full marks, and keeps what it was shown."""

    name, is_rule = "test/examiner", False

    def __init__(self, points: Callable[[int], Score | float] = lambda number: 1.0) -> None:
        self.seen: list[tuple[str, StudentOutput, ExaminerContext]] = []
        self._points = points

    async def mark(
        self, section: str, output: StudentOutput, part: ExaminerPart, context: ExaminerContext, repeat: int = 0
    ) -> tuple[Score, ...]:
        self.seen.append((section, output, context))
        if section == DIFFERENTIAL:
            return differential_scores({name: Mark(0.0) for name in METRICS[section]}, part.maximum, self.name)
        if section != INFO_GATHERING:
            return scores_of(section, {name: Mark(0.0) for name in METRICS[section]}, self.name)
        points = self._points(len(context.dialogue))
        if isinstance(points, Score):
            return missing_scores(section, self.name, points.missing_reason or "")
        return scores_of(section, {"points": Mark(points, "so it is"), "repeated": Mark(1 - points)}, self.name)


def examine(
    student: Says | None = None, examiner: object | None = None, case: Case = CASE, arms: tuple[str, ...] = SECTIONS
) -> dict[str, Answer]:
    cast = Cast({"doctor": student or Says(), "examiner": examiner or RecordExaminer()})
    encounter, answers = asyncio.run(BENCHMARK.run_trial(case, cast, MedQACSSettings(), arms))
    assert (encounter.transcript, encounter.ended) == ((), EndReason.NOT_HELD)
    return {answer.arm: answer for answer in answers}


def score(answer: Answer, metric: str = "score", policy: str | None = None) -> Score:
    wanted = policy or ("as_published@1" if metric == "score" else "-")
    (found,) = [one for one in answer.scores if (one.metric, one.policy) == (metric, wanted)]
    return found


def test_a_trial_leaves_one_answer_a_section_each_with_totals_under_both_weightings():
    answers = examine(examiner=Marks())
    assert tuple(answers) == SECTIONS
    for answer in answers.values():
        assert answer.missing_reason is None
        assert score(answer, "valid_output").value == 1
        for policy in ("as_published@1", "as_prompted@1"):
            assert score(answer, policy=policy).value is not None


def test_only_the_sections_of_the_study_are_asked():
    student = Says()
    assert tuple(examine(student, arms=(CLOSURE,))) == (CLOSURE,)
    assert [task.kind for task in student.tasks] == [CLOSURE, "challenge"]


# The rounds


def test_rounds_are_independent_each_is_asked_on_the_reference_dialogue_alone():
    student, examiner = Says(), Marks()
    examine(student, examiner, arms=(INFO_GATHERING,))
    assert sorted(len(task.dialogue) for task in student.tasks) == list(range(1, ROUNDS + 1))
    assert all(task.dialogue == STATION.dialogue[: len(task.dialogue)] for task in student.tasks)
    shown = sorted((context.dialogue for _, _, context in examiner.seen), key=len)
    assert shown == [STATION.dialogue[:n] for n in range(1, ROUNDS + 1)]


def test_what_the_student_asks_in_one_round_changes_no_other_round():
    def first_differs(task: StudentTask) -> str:
        return QUESTION if len(task.dialogue) > 1 else QUESTION.replace("Do you smoke?", "Any pets?")

    one, other = Says(), Says(info_gathering=first_differs)
    examine(one, Marks(), arms=(INFO_GATHERING,))
    examine(other, Marks(), arms=(INFO_GATHERING,))
    assert one.tasks == other.tasks


def test_the_score_of_the_history_is_points_by_rounds_times_100():
    answer = examine(examiner=Marks(lambda n: 1.0 if n <= 5 else 0.0))[INFO_GATHERING]
    assert score(answer, "points").value == 5
    assert score(answer).value == pytest.approx(100 * 5 / ROUNDS)
    assert score(answer, "repeated").value == pytest.approx((ROUNDS - 5) / ROUNDS)
    assert score(answer, "round_05").value == 1 and score(answer, "round_06").value == 0
    assert score(answer, "round_05").evidence == "so it is"


def test_every_round_is_kept_with_what_the_reference_asked_there():
    rounds = read_rounds(examine()[INFO_GATHERING].text or "")
    assert rounds is not None
    assert [one.round for one in rounds] == list(range(1, ROUNDS + 1))
    assert all(one.reference == STATION.dialogue[one.round] for one in rounds)
    assert {one.output for one in rounds} == {AskedQuestion(symptom="smoking", reason="risk", question="Do you smoke?")}


def test_a_round_that_is_no_json_is_counted_and_the_others_are_marked():
    def third_fails(task: StudentTask) -> str:
        return "Do you smoke?" if len(task.dialogue) == 3 else QUESTION

    answer = examine(Says(info_gathering=third_fails), Marks())[INFO_GATHERING]
    assert score(answer, "round_03").value is None
    assert (score(answer, "round_03").missing_reason or "").startswith("invalid_output: expected one JSON object")
    assert score(answer).value == 100
    assert score(answer).evidence == f"{ROUNDS - 1} points in {ROUNDS - 1} rounds; without a mark: round 3"
    valid = score(answer, "valid_output")
    assert valid.value == pytest.approx((ROUNDS - 1) / ROUNDS)
    assert "invalid: round 3" in (valid.evidence or "")


def test_a_student_without_one_valid_round_has_no_score_and_not_zero():
    answer = examine(Says(info_gathering="Do you smoke?"), Marks())[INFO_GATHERING]
    assert answer.text is not None and answer.missing_reason is None
    assert score(answer).value is None
    assert (score(answer).missing_reason or "").startswith("invalid_output")
    assert score(answer, "valid_output").value == 0


def test_a_round_whose_call_may_be_made_good_keeps_the_section_open():
    def fails(task: StudentTask) -> object:
        return ProviderError("no reply") if len(task.dialogue) == 7 else QUESTION

    answer = examine(Says(info_gathering=fails), Marks())[INFO_GATHERING]
    assert answer.missing_reason == "provider_failed: no reply"
    assert score(answer).missing_reason == "no_answer"


def test_a_round_that_was_refused_for_good_leaves_the_others_to_be_marked():
    def fails(task: StudentTask) -> object:
        return RefusedError("content filter") if len(task.dialogue) == 7 else QUESTION

    answer = examine(Says(info_gathering=fails), Marks())[INFO_GATHERING]
    assert answer.missing_reason is None
    assert score(answer).value == 100
    assert score(answer, "round_07").missing_reason == "refused: content filter"
    assert score(answer, "valid_output").value == 1
    every = examine(Says(info_gathering=RefusedError("content filter")), Marks())[INFO_GATHERING]
    assert every.missing_reason == "refused: content filter"


@pytest.mark.parametrize(
    ("reason", "total"), [("provider_failed: busy", None), ("unreadable_verdict: no JSON (3 tries)", 100.0)]
)
def test_a_verdict_that_failed_is_waited_for_or_counted(reason: str, total: float | None):
    failed = Score("points", None, "-", "test/examiner", missing_reason=reason)
    answer = examine(examiner=Marks(lambda n: failed if n == 4 else 1.0))[INFO_GATHERING]
    assert score(answer).value == total
    assert score(answer).missing_reason == (reason if total is None else None)
    assert score(answer, "round_04").missing_reason == reason


# The other sections


def test_the_closure_is_asked_in_two_steps_and_the_students_own_closure_goes_into_the_second():
    student, examiner = Says(), Marks()
    answer = examine(student, examiner, arms=(CLOSURE,))[CLOSURE]
    first, second = student.tasks
    assert (first.closure, first.challenge) == ("", "")
    assert STATION.challenge
    assert (second.closure, second.challenge) == ("We will see.", STATION.challenge.question)
    assert json.loads(answer.text or "") == {"closure": "We will see.", "answer": "I do not know yet."}
    assert examiner.seen[0][1] == ClosingWords(closure="We will see.", answer="I do not know yet.")


def test_a_closure_in_plain_text_is_taken_and_said():
    answer = examine(Says(closure="We will see.", challenge="I do not know."), Marks(), arms=(CLOSURE,))[CLOSURE]
    assert json.loads(answer.text or "") == {"closure": "We will see.", "answer": "I do not know."}
    assert score(answer, "valid_output").evidence == "mended: plain text"
    assert score(answer).value is not None


@pytest.mark.parametrize("step", [CLOSURE, "challenge"])
def test_a_step_of_a_closure_that_cannot_be_read_is_an_invalid_output_and_keeps_what_was_said(step: str):
    student = Says(**{step: '{"closure": 1, "answer": 2}'})
    answer = examine(student, Marks(), arms=(CLOSURE,))[CLOSURE]
    assert len(student.tasks) == (1 if step == CLOSURE else 2)
    assert (score(answer).missing_reason or "").startswith("invalid_output: ")
    kept = json.loads(answer.text or "")
    assert kept["reply"] == '{"closure": 1, "answer": 2}'
    assert kept.get("closure") == (None if step == CLOSURE else "We will see.")


@pytest.mark.parametrize("failure", [ProviderError("down"), RefusedError("filter"), RoleError("empty")])
@pytest.mark.parametrize("kind", [PHYSICAL_EXAM, CLOSURE, "challenge", DIFFERENTIAL])
def test_a_failed_call_is_a_missing_section_with_its_reason_and_the_others_stand(kind: str, failure: Exception):
    answers = examine(Says(**{kind: failure}), Marks())
    section = CLOSURE if kind == "challenge" else kind
    reason = answers[section].missing_reason or ""
    assert reason.partition(":")[0] in {"provider_failed", "refused", "empty_reply"}
    assert score(answers[section]).missing_reason == Missing.NO_ANSWER
    assert all(answers[other].missing_reason is None for other in SECTIONS if other != section)


def test_a_section_that_the_case_cannot_give_is_missing_and_nobody_is_asked():
    student = Says()
    station = STATION.model_copy(update={"challenge": None})
    answers = examine(student, Marks(), CASE.model_copy(update={"station": station}))
    assert answers[CLOSURE].missing_reason == "case_lacks_part: challenge"
    assert {one.missing_reason for one in answers[CLOSURE].scores} == {"no_answer"}
    assert {one.metric for one in answers[CLOSURE].scores} == {"score", "valid_output", *METRICS[CLOSURE]}
    assert {task.kind for task in student.tasks} == {INFO_GATHERING, PHYSICAL_EXAM, DIFFERENTIAL}


def test_a_case_that_calls_for_no_examination_leaves_the_mean_and_what_is_proposed_is_unnecessary():
    station = STATION.model_copy(update={"target_examinations": ()})
    answer = examine(case=CASE.model_copy(update={"station": station}))[PHYSICAL_EXAM]
    prompted = score(answer, policy="as_prompted@1")
    assert (prompted.value, prompted.missing_reason) == (None, "case_lacks_part: target examinations")
    assert "unnecessary: Heart (auscultation)" in (prompted.evidence or "")


FAULTS = {
    "fenced": (f"```json\n{EXAMS}\n```", True),
    "with prose": (f"Here it is: {EXAMS} Good luck!", True),
    "missing key": (EXAMS.replace('"maneuver": "auscultation", ', ""), False),
    "number for text": (EXAMS.replace('"auscultation"', "7"), False),
    "list for the object": (f"[{EXAMS}]", False),
    "object for the list": ('{"exams": {"physical exam": "Heart", "maneuver": "", "reason": ""}}', False),
    "trailing comma": (EXAMS.replace('"pain"', '"pain",'), False),
    "single quotes": (EXAMS.replace('"', "'"), False),
    "cut off": (EXAMS[:-5], False),
    "NaN": ('{"exams": NaN}', False),
    "a key twice": ('{"exams": [], "exams": []}', False),
    "nested deep": ('{"exams": ' + "[" * 5_000 + "]" * 5_000 + "}", False),
    "huge": ('{"exams": "' + "x" * 200_000 + '"}', False),
    "prose alone": ("I would listen to the heart.", False),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_of_a_reply_ends_as_valid_or_as_an_invalid_output(fault: str):
    reply, is_valid = FAULTS[fault]
    answer = examine(Says(physical_exam=reply), Marks(), arms=(PHYSICAL_EXAM,))[PHYSICAL_EXAM]
    assert answer.text == reply
    assert score(answer, "valid_output").value == is_valid
    assert (score(answer).value is not None) == is_valid
    if is_valid:
        assert (score(answer, "valid_output").evidence or "").startswith("mended: ")
    else:
        reason = score(answer).missing_reason or ""
        assert reason.startswith("invalid_output: ") and "\n" not in reason and len(reason) < 500
    assert {one.value for one in answer.scores if one.grader == "test/examiner"} == ({0.0} if is_valid else {None})


# Marking what is stored


@pytest.mark.parametrize("section", SECTIONS)
def test_a_stored_answer_is_marked_by_another_examiner_as_a_fresh_one_is(section: str):
    fresh = examine(examiner=Marks(), arms=(section,))[section]
    stored = Answer(fresh.arm, fresh.text, fresh.missing_reason)
    again = asyncio.run(mark(stored, CASE, Marks()))
    assert again.scores == tuple(one for one in fresh.scores if one.grader == "test/examiner")
    both = asyncio.run(mark(fresh, CASE, RecordExaminer()))
    assert {one.grader for one in both.scores} == {"rule", "test/examiner", "builtin/examiner"}


def test_a_stored_answer_that_was_missing_or_invalid_stays_so():
    missing = asyncio.run(mark(Answer(CLOSURE, None, "refused: x"), CASE, Marks()))
    assert {one.missing_reason for one in missing.scores} == {"no_answer"}
    for section, text in ((INFO_GATHERING, "no list"), (CLOSURE, '{"problem": "not JSON", "reply": "x"}')):
        invalid = asyncio.run(mark(Answer(section, text), CASE, Marks()))
        assert all((one.missing_reason or "").startswith("invalid_output: ") for one in invalid.scores)


def test_rounds_beyond_the_dialogue_of_a_changed_case_do_not_end_the_marking():
    fresh = examine(examiner=Marks(), arms=(INFO_GATHERING,))[INFO_GATHERING]
    shorter = CASE.model_copy(update={"station": STATION.model_copy(update={"dialogue": STATION.dialogue[:3]})})
    assert score(asyncio.run(mark(Answer(fresh.arm, fresh.text), shorter, Marks()))).value == 100


def test_an_examiner_that_is_a_model_marks_as_often_as_the_study_says():
    examiner = Marks()
    cast = Cast({"doctor": Says(), "examiner": examiner}, grader_repeats=3)
    _, (answer,) = asyncio.run(BENCHMARK.run_trial(CASE, cast, MedQACSSettings(), (CLOSURE,)))
    assert len(examiner.seen) == 3
    assert sum(one.metric == "score" and one.policy == "as_published@1" for one in answer.scores) == 3
