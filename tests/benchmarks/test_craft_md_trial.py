"""One trial of CRAFT-MD with scripted roles: one conversation, every arm's answer, and what is missing and why."""

import asyncio
from collections import Counter

import pytest
from pydantic import ValidationError

from openosce.benchmarks import BENCHMARKS, Cast, find_benchmark
from openosce.benchmarks.craft_md.arms import ARMS, OWN, SUMMARY
from openosce.benchmarks.craft_md.settings import CraftMDSettings
from openosce.benchmarks.craft_md.trial import LEFTOVERS, run_trial
from openosce.cases import Case, Diagnosis, doctor_part, patient_part
from openosce.encounters import Encounter, EndReason
from openosce.errors import ProviderError, RefusedError, StudyError
from openosce.grading import Answer, LexiconGrader, ModelGrader, Score
from openosce.models import Model, Reply, Request, Script, load_prompts
from openosce.roles import ModelDoctor, ModelPatient, ModelSummarizer

PROMPTS = load_prompts(find_benchmark("craft-md").prompts)
CASE = Case(
    id="gout-1",
    source="test",
    specialty="Rheumatology",
    vignette="A 60-year-old man has a hot, swollen big toe.",
    question="What is the most likely diagnosis?",
    choices=("Gout", "Septic arthritis", "Pseudogout", "Cellulitis"),
    diagnosis=Diagnosis(name="Gout"),
)
TALK_ARMS = {arm for arm in ARMS if not arm.startswith("vignette")}
DOCTOR = {"talk/2": "Since when?", "talk/4": "**Final Diagnosis:** Gout", "answer/*": "Gout"}
PATIENT = {"talk/1": "My toe hurts.", "talk/3": "Since Monday."}
SUMMARIZER = {"summarize": "The patient's toe has hurt since Monday."}


class Counted:
    """A model that counts the calls of each step."""

    def __init__(self, model: Model) -> None:
        self.requests: list[Request] = []
        self._model = model

    async def complete(self, request: Request) -> Reply:
        self.requests.append(request)
        return await self._model.complete(request)

    @property
    def steps(self) -> Counter[str]:
        return Counter(request.step for request in self.requests)


class Failing:
    """A script that fails at one step."""

    def __init__(self, replies: dict[str, str], step: str, failure: Exception) -> None:
        self._script, self._step, self._failure = Script(replies), step, failure

    async def complete(self, request: Request) -> Reply:
        if request.step == self._step:
            raise self._failure
        return await self._script.complete(request)


def cast(
    doctor: Model | None = None,
    patient: Model | None = None,
    summarizer: Model | None = None,
    grader: Model | None = None,
    case: Case = CASE,
) -> Cast:
    return Cast(
        {
            "doctor": ModelDoctor(doctor or Script(DOCTOR), PROMPTS, doctor_part(case)),
            "patient": ModelPatient(patient or Script(PATIENT), PROMPTS, patient_part(case)),
            "summarizer": ModelSummarizer(summarizer or Script(SUMMARIZER), PROMPTS),
            "grader": ModelGrader("test/grader", grader, PROMPTS) if grader else LexiconGrader(),
        }
    )


def examine(
    roles: Cast, case: Case = CASE, settings: CraftMDSettings | None = None
) -> tuple[Encounter, dict[str, Answer]]:
    used = settings or CraftMDSettings()
    encounter, answers = asyncio.run(run_trial(case, roles, used, used.arms))
    assert len({answer.arm for answer in answers}) == len(answers)
    return encounter, {answer.arm: answer for answer in answers}


def accuracy(answer: Answer) -> Score:
    (score,) = (score for score in answer.scores if (score.metric, score.policy) == ("accuracy", "paper@1"))
    return score


def missing(answers: dict[str, Answer]) -> set[str]:
    """The arms without an answer; each says why, and its score says that there is none."""
    arms = {arm for arm, answer in answers.items() if answer.text is None}
    for arm in arms:
        assert answers[arm].missing_reason
    for arm in arms - {SUMMARY}:
        assert accuracy(answers[arm]).value is None
        assert accuracy(answers[arm]).missing_reason == "no_answer"
    return arms


def test_all_nine_arms_come_from_one_conversation():
    doctor, patient, summarizer = Counted(Script(DOCTOR)), Counted(Script(PATIENT)), Counted(Script(SUMMARIZER))
    encounter, answers = examine(cast(doctor, patient, summarizer))
    assert encounter.ended is EndReason.DIAGNOSED
    assert len(encounter.transcript) == 5
    written = {f"answer/{arm}": 1 for arm in ARMS if arm != OWN}
    assert doctor.steps == Counter({"talk/2": 1, "talk/4": 1, **written})
    assert patient.steps == Counter({"talk/1": 1, "talk/3": 1})
    assert summarizer.steps == Counter({"summarize": 1})
    assert set(answers) == {*ARMS, SUMMARY}
    assert missing(answers) == set()
    assert all(accuracy(answers[arm]).value == 1 for arm in ARMS)


def test_each_arm_tells_the_doctor_what_it_should_and_no_more():
    doctor = Counted(Script(DOCTOR))
    examine(cast(doctor))
    told = {
        request.step.removeprefix("answer/"): " ".join(message.content for message in request.messages)
        for request in doctor.requests
        if request.step.startswith("answer/")
    }
    assert CASE.vignette is not None
    assert CASE.question is not None
    for arm, text in told.items():
        assert (CASE.vignette in text) == (CASE.question in text) == arm.startswith("vignette")
        assert ("My toe hurts." in text) == arm.startswith(("multi_turn", "single_turn"))
        assert ("Since Monday." in text) == arm.startswith("multi_turn")
        assert (SUMMARIZER["summarize"] in text) == arm.startswith("summarized")
        assert ("Pseudogout" in text) == arm.endswith("mcq")
        assert "**Final Diagnosis:** Gout" not in text


def test_only_the_arms_asked_for_are_examined_and_in_the_order_of_the_page():
    _, answers = examine(cast(), settings=CraftMDSettings(arms=("multi_turn_own", "vignette_frq")))
    assert list(answers) == ["vignette_frq", "multi_turn_own"]


def test_with_vignette_arms_alone_no_conversation_is_held():
    doctor, patient, summarizer = Counted(Script(DOCTOR)), Counted(Script({})), Counted(Script({}))
    settings = CraftMDSettings(arms=("vignette_mcq", "vignette_frq"))
    encounter, answers = examine(cast(doctor, patient, summarizer), settings=settings)
    assert encounter == Encounter((), EndReason.NOT_HELD)
    assert doctor.steps == Counter({"answer/vignette_mcq": 1, "answer/vignette_frq": 1})
    assert not patient.requests
    assert not summarizer.requests
    assert missing(answers) == set()


def test_without_a_summarized_arm_nothing_is_summarized():
    summarizer = Counted(Script({}))
    _, answers = examine(cast(summarizer=summarizer), settings=CraftMDSettings(arms=("single_turn_frq",)))
    assert not summarizer.requests
    assert set(answers) == {"single_turn_frq"}


# --- failures


@pytest.mark.parametrize(
    ("failure", "ended"),
    [
        (ProviderError("endpoint down"), EndReason.PROVIDER_FAILED),
        (RefusedError("filtered"), EndReason.REFUSED),
    ],
)
def test_when_the_patient_fails_at_its_first_turn_only_the_vignette_arms_are_left(failure: Exception, ended: EndReason):
    encounter, answers = examine(cast(patient=Failing(PATIENT, "talk/1", failure)))
    assert encounter.ended is ended
    assert missing(answers) == TALK_ARMS | {SUMMARY}
    for arm in TALK_ARMS:
        assert answers[arm].missing_reason == f"encounter_failed: {ended}: {failure}"


@pytest.mark.parametrize("step", ["talk/3", "doctor"])
def test_when_a_role_fails_later_the_single_turn_is_left_too(step: str):
    roles = (
        cast(doctor=Failing(DOCTOR, "talk/2", ProviderError("down")))
        if step == "doctor"
        else cast(patient=Failing(PATIENT, step, ProviderError("down")))
    )
    _, answers = examine(roles)
    assert missing(answers) == {arm for arm in TALK_ARMS if not arm.startswith("single_turn")} | {SUMMARY}


def test_an_empty_reply_of_the_patient_is_a_failed_role():
    encounter, answers = examine(cast(patient=Script({**PATIENT, "talk/3": "  "})))
    assert encounter.ended is EndReason.ROLE_FAILED
    assert "the patient gave an empty reply at talk/3" in (answers["multi_turn_frq"].missing_reason or "")


def test_when_the_summarizer_fails_only_the_summarized_arms_are_missing():
    _, answers = examine(cast(summarizer=Failing({}, "summarize", ProviderError("down"))))
    assert missing(answers) == {"summarized_mcq", "summarized_frq", SUMMARY}
    assert answers[SUMMARY].missing_reason == "provider_failed: down"
    assert answers["summarized_mcq"].missing_reason == "summary_failed: provider_failed: down"


@pytest.mark.parametrize(
    ("doctor", "reason"),
    [
        (Script({**DOCTOR, "answer/*": " "}), "empty_reply: the doctor gave an empty reply at answer/"),
        (Failing(DOCTOR, "answer/vignette_mcq", RefusedError("filtered")), "refused: filtered"),
        (Failing(DOCTOR, "answer/vignette_mcq", ProviderError("down")), "provider_failed: down"),
    ],
)
def test_an_answer_that_is_empty_refused_or_failed_is_missing_and_not_wrong(doctor: Model, reason: str):
    _, answers = examine(cast(doctor))
    assert "vignette_mcq" in missing(answers)
    assert (answers["vignette_mcq"].missing_reason or "").startswith(reason)


def test_one_failed_answer_leaves_the_others_alone():
    _, answers = examine(cast(Failing(DOCTOR, "answer/multi_turn_frq", ProviderError("down"))))
    assert missing(answers) == {"multi_turn_frq"}


def test_an_unreadable_grader_leaves_free_responses_ungraded_and_choices_graded():
    grader = Counted(Script({"grade/extract/*": "Gout", "grade/compare/*": "perhaps"}))
    _, answers = examine(cast(grader=grader))
    assert missing(answers) == set()
    for arm in ARMS:
        score = accuracy(answers[arm])
        if arm.endswith("_mcq"):
            assert (score.value, score.grader) == (1, "options")
        else:
            assert score.value is None
            assert (score.missing_reason or "").startswith("unreadable_verdict: ")


# --- the conversation's own diagnosis


@pytest.mark.parametrize("closing", ["I cannot say what it is.", "Final Diagnosis: None"])
def test_a_talk_that_ends_without_a_diagnosis_scores_zero_in_its_own_arm(closing: str):
    encounter, answers = examine(cast(Script({**DOCTOR, "talk/4": closing})))
    assert not encounter.ended.is_failure
    score = accuracy(answers[OWN])
    assert (answers[OWN].text, score.value) == (closing, 0)
    assert (score.evidence or "").startswith("none")


def test_the_own_arm_grades_the_last_message_and_costs_no_call():
    doctor = Counted(Script({**DOCTOR, "talk/4": "Final Diagnosis: Cellulitis"}))
    _, answers = examine(cast(doctor), settings=CraftMDSettings(arms=(OWN,)))
    assert doctor.steps == Counter({"talk/2": 1, "talk/4": 1})
    assert (answers[OWN].text, accuracy(answers[OWN]).value) == ("Final Diagnosis: Cellulitis", 0)


def test_a_cap_that_leaves_the_doctor_no_message_leaves_its_own_arm_missing_with_a_reason():
    encounter, answers = examine(cast(), settings=CraftMDSettings(cap=2))
    assert encounter.ended is EndReason.MESSAGE_CAP
    assert missing(answers) == {OWN}
    assert (answers[OWN].missing_reason or "").startswith("no_answer: ")


def test_a_conversation_ended_by_the_cap_is_shown_whole():
    doctor = Counted(Script({**DOCTOR, "talk/4": "And before?"}))
    encounter, _ = examine(cast(doctor), settings=CraftMDSettings(cap=5))
    assert encounter.ended is EndReason.MESSAGE_CAP
    (request,) = (request for request in doctor.requests if request.step == "answer/multi_turn_frq")
    assert request.messages[-2].content == "And before?"


# --- the summary


def test_the_summary_is_kept_as_an_answer_and_its_leftovers_are_counted():
    text = "According to the vignette and the paragraph, the toe hurts. As an AI language model I know no more."
    _, answers = examine(cast(summarizer=Script({"summarize": text})))
    (score,) = answers[SUMMARY].scores
    assert answers[SUMMARY].text == text
    assert (score.metric, score.value) == (LEFTOVERS, 3)


def test_a_clean_summary_has_no_leftovers():
    _, answers = examine(cast())
    (score,) = answers[SUMMARY].scores
    assert score.value == 0


# --- cases that lack a part


def test_without_choices_the_mcq_arms_are_missing_and_nobody_is_asked_for_them():
    case = CASE.model_copy(update={"choices": ()})
    doctor = Counted(Script(DOCTOR))
    _, answers = examine(cast(doctor, case=case), case)
    assert missing(answers) == {arm for arm in ARMS if arm.endswith("_mcq")}
    assert answers["vignette_mcq"].missing_reason == "case_lacks_part: choices"
    assert not any(step.endswith("_mcq") for step in doctor.steps)


def test_without_a_vignette_the_vignette_arms_are_missing():
    case = CASE.model_copy(update={"vignette": None})
    _, answers = examine(cast(case=case), case)
    assert missing(answers) == {"vignette_mcq", "vignette_frq"}
    assert answers["vignette_frq"].missing_reason == "case_lacks_part: vignette"


def test_a_vignette_that_is_its_own_question_is_shown_once():
    case = CASE.model_copy(update={"vignette": "What ails a man with a hot toe?"})
    case = case.model_copy(update={"question": case.vignette})
    doctor = Counted(Script(DOCTOR))
    examine(cast(doctor, case=case), case, CraftMDSettings(arms=("vignette_frq",)))
    (request,) = doctor.requests
    assert request.messages[0].content.count("What ails a man") == 1


def test_hostile_text_in_a_case_is_told_as_it_stands():
    hostile = "{{ 7*7 }} {% raw %} <b>Final Diagnosis: Gout?</b>"
    case = CASE.model_copy(update={"vignette": hostile, "choices": ("{{ a }}", "b", "c", "d")})
    doctor = Counted(Script(DOCTOR))
    examine(cast(doctor, case=case), case, CraftMDSettings(arms=("vignette_mcq",)))
    assert hostile in doctor.requests[0].messages[0].content
    assert "A. {{ a }}" in doctor.requests[0].messages[0].content


# --- settings


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"arms": ["vignette_mqc"]}, r"unknown arm\(s\) 'vignette_mqc'; known are vignette_mcq, .*multi_turn_own"),
        ({"arms": []}, "no arm; known are vignette_mcq"),
        ({"arms": ["vignette_mcq", "vignette_mcq"]}, "an arm is named twice"),
        ({"policy": "papier"}, "unknown match policy 'papier'; known are paper"),
    ],
)
def test_a_name_that_nobody_knows_is_refused_with_the_known_ones(settings: dict[str, object], problem: str):
    with pytest.raises(StudyError, match=problem):
        CraftMDSettings.model_validate(settings)


@pytest.mark.parametrize(
    "settings", [{"cap": 1}, {"cap": 0}, {"cap": "many"}, {"stop_rule": "never"}, {"arm": ["vignette_mcq"]}]
)
def test_a_setting_out_of_range_or_unknown_is_refused_by_name(settings: dict[str, object]):
    with pytest.raises(ValidationError, match=next(iter(settings))):
        CraftMDSettings.model_validate(settings)


def test_a_benchmark_is_found_by_name_or_the_known_ones_are_listed():
    assert find_benchmark("craft-md") is BENCHMARKS["craft-md"]
    for name in ("craftmd", "", "CRAFT-MD"):
        with pytest.raises(StudyError, match="known are craft-md"):
            find_benchmark(name)


def test_the_benchmark_names_its_arms_and_policy_from_its_settings():
    benchmark = find_benchmark("craft-md")
    settings = CraftMDSettings(arms=("vignette_frq",), policy="strict")
    assert benchmark.arms(settings) == ("vignette_frq",)
    assert benchmark.policy(settings).startswith("strict@")
    assert benchmark.arms(CraftMDSettings()) == ARMS


def test_the_same_trial_has_the_same_result():
    assert examine(cast()) == examine(cast())
