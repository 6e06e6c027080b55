"""Doctor, patient and summarizer on a language model: what exactly the model is sent."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from openosce.benchmarks import find_benchmark
from openosce.cases import STARTER, Case, DoctorPart, PatientPart, doctor_part, patient_part, read_cases
from openosce.encounters import DOCTOR, PATIENT, Message
from openosce.errors import RoleError
from openosce.models import Reply, Request, load_prompts
from openosce.roles import ModelDoctor, ModelPatient, ModelSummarizer, Question

PROMPTS = load_prompts(find_benchmark("craft-md").prompts)
CASE = next(case for case in read_cases(STARTER) if case.id == "kawasaki-disease-01")
TALK = (
    Message(DOCTOR, PATIENT, "Hello! What brings you here?"),
    Message(PATIENT, DOCTOR, "My boy has a fever."),
    Message(DOCTOR, PATIENT, "For how long?"),
    Message(PATIENT, DOCTOR, "Six days."),
)


class Recorder:
    """A model that keeps every request and says one thing."""

    def __init__(self, reply: str = "Any rash?", finish_reason: str | None = None) -> None:
        self.requests: list[Request] = []
        self._reply = Reply(reply, finish_reason=finish_reason)

    async def complete(self, request: Request) -> Reply:
        self.requests.append(request)
        return self._reply

    @property
    def request(self) -> Request:
        (request,) = self.requests
        return request

    @property
    def sent(self) -> str:
        return "\n".join(message.content for message in self.request.messages)


def run(role: Coroutine[Any, Any, str]) -> str:
    return asyncio.run(role)


def doctor(model: Recorder, part: DoctorPart | None = None) -> ModelDoctor:
    return ModelDoctor(model, PROMPTS, part or doctor_part(CASE))


def names_the_case(text: str, case: Case) -> bool:
    patient = case.patient
    facts = [fact.fact for fact in patient.facts] if patient else []
    hidden = [case.vignette or "", case.question or "", case.diagnosis.name, *case.choices, *facts]
    return any(part.lower() in text.lower() for part in hidden if part)


def test_while_talking_the_doctor_is_sent_its_specialty_and_the_conversation_and_nothing_of_the_case():
    model = Recorder()
    assert run(doctor(model).speak(TALK)) == "Any rash?"
    system, *turns = model.request.messages
    assert system.role == "system"
    assert CASE.specialty is not None
    assert CASE.specialty in system.content
    assert "Final Diagnosis:" in system.content
    assert [(turn.role, turn.content) for turn in turns] == [
        ("assistant", TALK[0].text),
        ("user", TALK[1].text),
        ("assistant", TALK[2].text),
        ("user", TALK[3].text),
    ]
    assert not names_the_case(model.sent, CASE)


def test_the_patient_is_sent_its_vignette_without_the_question_and_sees_the_doctor_as_the_user():
    model = Recorder("Six days.")
    assert run(ModelPatient(model, PROMPTS, patient_part(CASE)).speak(TALK[:3])) == "Six days."
    system, *turns = model.request.messages
    assert CASE.vignette is not None
    assert CASE.question is not None
    assert CASE.vignette in system.content
    assert CASE.question not in system.content
    assert CASE.diagnosis.name not in model.sent
    assert [turn.role for turn in turns] == ["user", "assistant", "user"]


def test_only_a_patient_with_an_informant_is_told_to_answer_as_one():
    for informant, told in (("mother", True), (None, False)):
        model = Recorder()
        part = PatientPart("3", "male", None, informant, None, "A boy has a fever.")
        run(ModelPatient(model, PROMPTS, part).speak(TALK[:1]))
        assert ("mother" in model.sent) is told
        assert "None" not in model.sent


@pytest.mark.parametrize(("n_messages", "step"), [(1, "talk/1"), (2, "talk/2"), (4, "talk/4")])
def test_a_turn_is_a_step_named_after_its_place_in_the_conversation(n_messages: int, step: str):
    for_doctor, for_patient = Recorder(), Recorder()
    run(doctor(for_doctor).speak(TALK[:n_messages]))
    run(ModelPatient(for_patient, PROMPTS, patient_part(CASE)).speak(TALK[:n_messages]))
    assert (for_doctor.request.step, for_patient.request.step) == (step, step)
    assert for_doctor.request.repeat == 0


def test_a_written_question_shows_the_text_its_question_and_the_lettered_choices():
    model = Recorder("Measles")
    question = Question("vignette_mcq", "A boy has a rash.", "What is it?", (" Measles ", "Rubella"))
    assert run(doctor(model).answer(question)) == "Measles"
    (message,) = model.request.messages
    assert message.role == "user"
    assert "Symptoms: A boy has a rash." in message.content
    assert "Question: What is it?" in message.content
    assert message.content.endswith("Choices:\nA. Measles\nB. Rubella")
    assert model.request.step == "answer/vignette_mcq"


def test_a_free_response_shows_no_choices_and_without_a_question_no_empty_line_for_one():
    model = Recorder("Measles")
    run(doctor(model).answer(Question("summarized_frq", "A boy has a rash.")))
    assert "Choices" not in model.sent
    assert "Question" not in model.sent
    assert "None" not in model.sent
    assert model.request.step == "answer/summarized_frq"


def test_after_a_talk_the_question_follows_the_conversation_that_the_doctor_led():
    talking, answering = Recorder(), Recorder("Measles")
    run(doctor(talking).speak(TALK))
    run(doctor(answering).answer(Question("multi_turn_mcq", TALK, None, ("Measles", "Rubella"))))
    *conversation, last = answering.request.messages
    assert tuple(conversation) == talking.request.messages
    assert last.role == "user"
    assert last.content.endswith("A. Measles\nB. Rubella")
    assert answering.request.step == "answer/multi_turn_mcq"


def test_the_summarizer_is_sent_the_statements_and_nothing_else_of_the_case():
    model = Recorder("A boy has had a fever.")
    assert run(ModelSummarizer(model, PROMPTS).summarize(["He is hot.", "For six days."])) == "A boy has had a fever."
    assert model.request.step == "summarize"
    assert model.sent.endswith("Answers: He is hot. For six days.")
    assert not names_the_case(model.sent, CASE)


def test_template_syntax_in_a_case_or_an_answer_stays_text():
    hostile = "{{ choices }} {% raw %} {# note #}"
    model = Recorder()
    part = PatientPart(None, None, None, None, None, hostile)
    run(ModelPatient(model, PROMPTS, part).speak((Message(DOCTOR, PATIENT, hostile),)))
    assert model.sent.count(hostile) == 2


@pytest.mark.parametrize("reply", ["", "  \n\t"])
def test_an_empty_reply_is_a_failure_of_its_role_at_its_step(reply: str):
    model = Recorder(reply, finish_reason="length")
    roles = {
        "doctor gave an empty reply at talk/4 (3 tries, finish reason length)": doctor(model).speak(TALK),
        "doctor gave an empty reply at answer/vignette_frq": doctor(model).answer(Question("vignette_frq", "x")),
        "patient gave an empty reply at talk/3": ModelPatient(model, PROMPTS, patient_part(CASE)).speak(TALK[:3]),
        "summarizer gave an empty reply at summarize": ModelSummarizer(model, PROMPTS).summarize(["x"]),
    }
    for message, role in roles.items():
        with pytest.raises(RoleError) as failure:
            run(role)
        assert message in str(failure.value)


def test_an_empty_reply_is_asked_for_again_before_it_counts_as_missing():
    class Hesitant(Recorder):
        async def complete(self, request: Request) -> Reply:
            self.requests.append(request)
            return Reply("" if request.repeat < 2 else "Any rash?")

    model = Hesitant("")
    assert run(doctor(model).speak(TALK)) == "Any rash?"
    assert [(request.step, request.repeat) for request in model.requests] == [("talk/4", n) for n in range(3)]


def test_blanks_around_a_reply_are_no_part_of_it():
    assert run(doctor(Recorder("\n Any rash? \n")).speak(TALK)) == "Any rash?"
