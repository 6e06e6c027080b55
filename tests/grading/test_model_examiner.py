import asyncio
import json
from importlib import resources

import pytest

from openosce.cases import read_cases
from openosce.errors import ProviderError, RefusedError
from openosce.grading.examiner import ExaminerContext, ExaminerPart, examiner_part
from openosce.grading.marks import LONGEST_EVIDENCE, NO_TARGETS
from openosce.grading.model_examiner import TRIES, ModelExaminer
from openosce.grading.rubrics import AS_PROMPTED, AS_PUBLISHED, METRICS, MarkingRules
from openosce.grading.student_output import read_student
from openosce.models import Reply, Script, load_prompts

PROMPTS = load_prompts([resources.files("openosce.benchmarks") / "medqa_cs" / "prompts"])
CASE = next(case for case in read_cases("starter") if case.id == "acute-pericarditis-01")
PART = examiner_part(CASE)
CONTEXT = ExaminerContext("Mr. Marcus Feld, chest pain", CASE.station.dialogue[:3])

QUESTION = read_student(
    "info_gathering", '{"symptom": "s", "reason": "r", "question": "Does it spread anywhere?"}'
).value
PLAN = read_student(
    "physical_exam",
    json.dumps(
        {"exams": [{"physical exam": e, "maneuver": "auscultation", "reason": "pain"} for e in ("Heart", "Skin")]}
    ),
).value
NO_PLAN = read_student("physical_exam", '{"exams": []}').value
WORDS = read_student("closure", '{"closure": "It may be your heart.", "answer": "I see that you are afraid."}').value
DIFFERENTIAL = read_student(
    "differential",
    json.dumps(
        {
            f"diagnosis{n}": {
                "diagnosis": name,
                "Historical Findings": ["sharp pain"],
                "Historical reasons": ["typical"],
                "Physical exam data": "N/A",
                "Physical exam data reasons": "N/A",
            }
            for n, name in enumerate(("Pericarditis", "Pulmonary embolism", "Gout"), 1)
        }
    ),
).value
OUTPUTS = {"info_gathering": QUESTION, "physical_exam": PLAN, "closure": WORDS, "differential": DIFFERENTIAL}

EXAM_VERDICT = {f"score{n}": score for n, score in enumerate((36, 40, -10), 1)} | {
    f"explanation{n}": f"because {n}" for n in (1, 2, 3)
}
CLOSURE_VERDICT = {f"score{n}": score for n, score in enumerate((10, 15, 30, 10, 10), 1)} | {
    f"explanation{n}": f"because {n}" for n in range(1, 6)
}
ROWS = ((10, "target 1", 2, 1), (5, "additional", 0, "N/A"), (0, "none", 0, 0))
KEYS = ("name", "target", "historical finding", "physical finding")


def differential_verdict(rows=ROWS, order=10, quality=4):
    verdict = {"order": order, "quality score": quality, "reason": "well argued"}
    for number, row in enumerate(rows, 1):
        verdict |= {f"diagnosis {number} {key}": value for key, value in zip(KEYS, row, strict=True)}
    return verdict


VERDICTS = {
    "info_gathering": {"reason": "as in the bank", "score": 1, "repeated": False},
    "physical_exam": EXAM_VERDICT,
    "closure": CLOSURE_VERDICT,
    "differential": differential_verdict(),
}


class Listening:
    """A model that gives its replies one after the other and keeps the requests; errors are raised."""

    def __init__(self, *replies):
        self.replies = list(replies)
        self.requests = []

    async def complete(self, request):
        self.requests.append(request)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return Reply(reply if isinstance(reply, str) else json.dumps(reply))


def mark(model, section, output=None, part=PART, rules=None, repeat=0):
    examiner = ModelExaminer("m", model, PROMPTS, rules)
    return asyncio.run(examiner.mark(section, output or OUTPUTS[section], part, CONTEXT, repeat))


def values(scores, policy="-"):
    return {score.metric: score.value for score in scores if score.policy == policy}


def totals(scores):
    return values(scores, AS_PUBLISHED)["score"], values(scores, AS_PROMPTED)["score"]


def without_targets():
    return ExaminerPart(PART.station.model_copy(update={"target_examinations": ()}), PART.diagnosis)


def test_a_question_has_points_and_says_whether_it_repeats():
    scores = mark(Listening(VERDICTS["info_gathering"]), "info_gathering")
    assert values(scores) == {"points": 1.0, "repeated": 0.0}
    assert totals(scores) == (100.0, 100.0)
    assert {score.grader for score in scores} == {"m"}
    assert "Does it spread anywhere?" in scores[0].evidence and "as in the bank" in scores[0].evidence


def test_a_question_that_repeats_has_no_points_whatever_the_examiner_gave():
    scores = mark(Listening({"reason": "asked", "score": 1, "repeated": True}), "info_gathering")
    assert values(scores) == {"points": 0.0, "repeated": 1.0}


def test_a_verdict_in_the_paper_s_two_keys_leaves_the_repetition_unjudged():
    scores = mark(Listening({"reason": "fits", "score": 1}), "info_gathering")
    assert values(scores) == {"points": 1.0, "repeated": None}
    assert scores[1].missing_reason.startswith("not_judged")


def test_half_a_point_is_given_in_configuration_2_only():
    half = {"reason": "slightly", "score": 0.5, "repeated": False}
    assert values(mark(Listening(half), "info_gathering", rules=MarkingRules(configuration=2)))["points"] == 0.5
    for configuration in (1, 3):
        scores = mark(Listening(*[half] * 3), "info_gathering", rules=MarkingRules(configuration=configuration))
        assert scores[0].missing_reason.startswith("unreadable_verdict: points: expected a multiple of 1, came 0.5")


def test_a_physical_examination_is_weighed_as_published_and_as_prompted():
    scores = mark(Listening(EXAM_VERDICT), "physical_exam")
    assert values(scores) == {"coverage": 36, "reasons": 40, "extra_exams": -10}
    assert totals(scores) == (pytest.approx(71), pytest.approx(66))
    assert "because 1" in scores[0].evidence and "Skin (auscultation)" in scores[0].evidence


def test_the_examiner_s_own_sum_is_never_read():
    sums = {"physical_exam": "overall score", "closure": "overall score", "differential": "total score"}
    for section, key in sums.items():
        honest = mark(Listening(VERDICTS[section]), section)
        assert mark(Listening(VERDICTS[section] | {key: 999, "total": "100/100"}), section) == honest


def test_a_closure_is_weighed_as_published_and_as_prompted():
    # MedQA-CS 2024, Table 21, case 1: 10, 15, 30, 10, 10 are 75 as prompted; Table 40 has 70 for the experts.
    assert totals(mark(Listening(CLOSURE_VERDICT), "closure")) == (pytest.approx(70), pytest.approx(75))


def test_a_differential_is_points_over_the_case_s_maximum():
    scores = mark(Listening(VERDICTS["differential"]), "differential")
    # two, one and no examination findings: 49 + 3
    assert values(scores) == {"names": 15, "historical": 2, "physical": 1, "order": 10, "points": 28, "quality": 4}
    assert totals(scores) == (pytest.approx(100 * 28 / 52),) * 2
    assert "28 of 52 points" in scores[-1].evidence
    assert "Pericarditis: name 10" in scores[0].evidence and "well argued" in scores[0].evidence


def test_findings_of_a_name_without_points_count_nothing():
    rows = ((10, "target 1", 2, 1), (0, "none", 3, 3), (0, "target 2", 1, 1))
    assert values(mark(Listening(differential_verdict(rows)), "differential"))["points"] == 23


@pytest.mark.parametrize(
    ("verdict", "says"),
    [
        (differential_verdict(((11, "target 1", 2, 1), *ROWS[1:])), "diagnosis 1 name: expected 0 to 10, came 11"),
        (differential_verdict((ROWS[0], (-1, "none", 0, 0), ROWS[2])), "diagnosis 2 name: expected 0 to 10, came -1"),
        (differential_verdict(((10, "target 1", 4, 1), *ROWS[1:])), "diagnosis 1 historical finding: expected 0 to 3"),
        (differential_verdict(((10, "target 1", 2.5, 1), *ROWS[1:])), "multiple of 1"),
        (differential_verdict(((10, "target 1", 2, 3), *ROWS[1:])), "diagnosis 1 physical finding: expected 0 to 2"),
        (differential_verdict((ROWS[0], (6, "additional", 0, 0), ROWS[2])), "expected 0 to 5, came 6"),
        (differential_verdict((ROWS[0], (5, "additional", 1, 0), ROWS[2])), "diagnosis 2 historical finding"),
        (differential_verdict((ROWS[0], (5, "none", 0, 0), ROWS[2])), "diagnosis 2 name: expected 0 to 0"),
        (differential_verdict((ROWS[0], (5, "target 1", 0, 0), ROWS[2])), "a target is matched once"),
        (differential_verdict(order=5), "order"),
        (differential_verdict(((10, "target 2", 2, 1), *ROWS[1:])), "order: expected 0"),
        (differential_verdict(((0, "none", 0, 0), *ROWS[1:])), "order: expected 0"),
        (differential_verdict(quality=0), "quality: expected 1 to 5"),
        (differential_verdict(quality=3.5), "quality"),
        (differential_verdict(tuple((10, None, 3, 3) for _ in range(3))), "physical findings: expected 0 to 3, came 9"),
    ],
)
def test_a_differential_out_of_range_is_a_failure_of_the_examiner(verdict, says):
    scores = mark(Listening(*[verdict] * TRIES), "differential")
    assert {score.value for score in scores} == {None}
    assert all(s.missing_reason.startswith("unreadable_verdict: ") and says in s.missing_reason for s in scores)


@pytest.mark.parametrize(
    ("section", "fault"),
    [
        ("physical_exam", {"score1": 61}),
        ("physical_exam", {"score1": -1}),
        ("physical_exam", {"score2": 30}),
        ("physical_exam", {"score3": 10}),
        ("physical_exam", {"score3": -5}),
        ("physical_exam", {"score3": -30}),  # two were proposed
        ("physical_exam", {"score1": "36"}),
        ("physical_exam", {"score1": [36]}),
        ("physical_exam", {"explanation2": None}),
        ("closure", {"score1": 21}),
        ("closure", {"score5": 11}),
        ("closure", {"score2": "N/A"}),
        ("info_gathering", {"score": 2}),
        ("info_gathering", {"score": "1"}),
        ("info_gathering", {"repeated": "no"}),
    ],
)
def test_a_faulty_verdict_is_asked_for_again_and_then_missing_with_its_reason(section, fault):
    faulty = VERDICTS[section] | fault
    model = Listening(faulty, VERDICTS[section])
    assert None not in totals(mark(model, section))
    assert [request.repeat for request in model.requests] == [0, 1]
    model = Listening(*[faulty] * TRIES)
    scores = mark(model, section)
    assert model.replies == []
    assert {score.value for score in scores} == {None}
    assert {score.missing_reason.partition(":")[0] for score in scores} == {"unreadable_verdict"}
    assert scores[0].missing_reason.endswith("(3 tries)")


@pytest.mark.parametrize(
    ("reply", "valid"),
    [
        ("```json\n{}\n```", True),
        ("{}\nIn sum, a good performance.", True),
        ("My verdict: {}", True),
        ("[{}]", False),
        ("{} {}", False),
        ("no", False),
    ],
)
def test_fences_and_prose_around_a_verdict_are_read_past(reply, valid):
    text = reply.replace("{}", json.dumps(EXAM_VERDICT))
    scores = mark(Listening(*[text] * TRIES), "physical_exam")
    assert (totals(scores)[1] is not None) == valid


def test_each_missing_key_of_each_verdict_is_a_failure_but_our_own_two():
    for section, verdict in VERDICTS.items():
        for key in verdict:
            lacking = {name: value for name, value in verdict.items() if name != key}
            scores = mark(Listening(*[lacking] * TRIES), section)
            ours = key == "repeated" or key.endswith("target")
            assert (scores[0].value is not None) == ours, (section, key)


@pytest.mark.parametrize(
    ("error", "reason"),
    [(ProviderError("down"), "provider_failed: down"), (RefusedError("filtered"), "refused: filtered")],
)
def test_a_model_that_fails_leaves_every_score_missing(error, reason):
    for section in OUTPUTS:
        scores = mark(Listening(error), section)
        assert {score.missing_reason for score in scores} == {reason}
        assert [score.metric for score in scores] == [*METRICS[section], "score", "score"]


def test_at_a_case_without_targets_nothing_is_scored_but_as_published():
    verdict = EXAM_VERDICT | {"score1": 0, "score2": 0, "score3": -20}
    scores = mark(Listening(verdict), "physical_exam", part=without_targets())
    default = [score for score in scores if score.policy != AS_PUBLISHED]
    assert {(score.value, score.missing_reason) for score in default} == {(None, NO_TARGETS)}
    assert default[0].evidence == "unnecessary: Heart (auscultation); Skin (auscultation)"
    assert values(scores, AS_PUBLISHED) == {"coverage": 0, "reasons": 0, "extra_exams": -20, "score": -10}


def test_at_a_case_without_targets_a_failing_examiner_is_missed_only_as_published():
    scores = mark(Listening(ProviderError("down")), "physical_exam", part=without_targets())
    reasons = {(score.policy == AS_PUBLISHED, score.missing_reason) for score in scores}
    assert reasons == {(False, NO_TARGETS), (True, "provider_failed: down")}
    assert {score.metric for score in scores if score.policy == AS_PUBLISHED} == {*METRICS["physical_exam"], "score"}


def test_at_a_case_without_targets_it_is_right_to_propose_none():
    scores = mark(Listening(), "physical_exam", NO_PLAN, without_targets())
    assert scores[0].evidence == "none proposed, which is right"
    assert values(scores, AS_PUBLISHED)["score"] == 0


def test_proposing_none_where_there_are_targets_is_marked_without_a_call():
    assert totals(mark(Listening(), "physical_exam", NO_PLAN)) == (0, 0)


@pytest.mark.parametrize(
    ("section", "part", "lacking"),
    [
        ("info_gathering", "dialogue", ()),
        ("closure", "closure", None),
        ("closure", "challenge", None),
        ("differential", "differential", ()),
    ],
)
def test_without_the_part_to_mark_against_nothing_is_asked(section, part, lacking):
    bare = ExaminerPart(PART.station.model_copy(update={part: lacking}), PART.diagnosis)
    scores = mark(Listening(), section, part=bare)
    assert {score.missing_reason for score in scores} == {f"case_lacks_part: {part}"}


def test_the_prompts_hold_what_is_compared_and_the_literal_keys():
    held = {
        "info_gathering": (QUESTION.question, "Does the pain go anywhere else?", '"reason"', '"score"', '"repeated"'),
        "physical_exam": ("- VS: pulsus paradoxus", "Skin", '"score1"', '"score2"', '"score3"', '"explanation3"'),
        "closure": (WORDS.closure, WORDS.answer, CASE.station.closure, CASE.station.challenge.answer, '"score5"'),
        "differential": ("target 1: Acute pericarditis", "Viral pleurisy", "Gout", '"order"', '"quality score"'),
    }
    held["differential"] += tuple(f'"diagnosis {n} {key}"' for n in (1, 2, 3) for key in KEYS)
    for section, texts in held.items():
        model = Listening(VERDICTS[section])
        mark(model, section)
        (message,) = model.requests[0].messages
        assert [text for text in texts if text not in message.content] == []
        assert model.requests[0].schema["type"] == "object"


def test_the_three_configurations_and_the_finer_count_are_three_and_two_prompts():
    def prompt(section, rules):
        model = Listening(*[VERDICTS[section]] * TRIES)
        mark(model, section, rules=rules)
        return model.requests[0].messages[0].content

    assert len({prompt("info_gathering", MarkingRules(configuration=n)) for n in (1, 2, 3)}) == 3
    assert "single maneuver" in prompt("physical_exam", MarkingRules(finer=True))
    assert "single maneuver" not in prompt("physical_exam", None)


def test_the_same_output_is_the_same_step_and_repetitions_are_numbered_on():
    first, again = Listening(EXAM_VERDICT), Listening(EXAM_VERDICT)
    mark(first, "physical_exam")
    mark(again, "physical_exam", repeat=2)
    assert first.requests[0].step == again.requests[0].step
    assert first.requests[0].step.startswith("examine/physical_exam/")
    assert (first.requests[0].repeat, again.requests[0].repeat) == (0, 2 * TRIES)


def test_a_scripted_model_examines_by_step():
    assert totals(mark(Script({"examine/closure/*": json.dumps(CLOSURE_VERDICT)}), "closure"))[1] == pytest.approx(75)


def test_what_the_student_writes_stays_text_in_the_prompt_and_evidence_stays_short():
    asked = {"symptom": "", "reason": "", "question": "{{ 7 * 7 }} " + "x" * 5000}
    hostile = read_student("info_gathering", json.dumps(asked)).value
    model = Listening({"reason": "y" * 5000, "score": 0, "repeated": False})
    scores = mark(model, "info_gathering", hostile)
    assert "{{ 7 * 7 }}" in model.requests[0].messages[0].content
    assert all(len(score.evidence) <= LONGEST_EVIDENCE for score in scores)


def test_an_endpoint_that_takes_no_schema_is_sent_none():
    model = Listening(VERDICTS["closure"])
    examiner = ModelExaminer("m", model, PROMPTS, schema=False)
    scores = asyncio.run(examiner.mark("closure", WORDS, PART, CONTEXT))
    assert model.requests[0].schema is None
    assert all(score.value is not None for score in scores)
