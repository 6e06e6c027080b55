"""The simulator in AgentClinic: who it is, the prompt says; what it says has the forms that real models use."""

import json
from importlib import resources

import pytest
from simulator import clinic
from simulator.chat import Chat, read_chat

from openosce.benchmarks.agentclinic.biases import refuses
from openosce.benchmarks.agentclinic.perception import ITEMS, read_rating
from openosce.errors import GraderError
from openosce.grading.moderator import read_yes_no
from openosce.models import load_prompts
from openosce.roles.clinic_tokens import asks_for_images, read_diagnosis, requested_tests

PROMPTS = load_prompts([resources.files("openosce.benchmarks.agentclinic") / "prompts"])
READINGS = "Vital signs: pulse: 72/min\nComplete blood count: Hemoglobin 13 g/dL"


def chat(*turns: tuple[str, str], model: str = "any-model") -> Chat:
    messages = [{"role": role, "content": text} for role, text in turns]
    return read_chat(json.dumps({"model": model, "messages": messages}).encode())


def doctor_says(used: int, model: str = "any-model", images: str = "none", bias: str = "", case: int = 0) -> str:
    system = PROMPTS.render("doctor", turns=20, images=images, bias=bias)
    talk = [("user", f"Case {case}."), *[("assistant", "Where?"), ("user", "Here.")] * used]
    said = clinic.reply(chat(("system", system), *talk, model=model), 10)
    assert said is not None
    return said


def test_a_doctor_asks_orders_and_commits():
    said = [doctor_says(used, "doctor-n0") for used in range(11)]
    assert [len(requested_tests(text)) for text in said] == [0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0]
    assert [read_diagnosis(text) is not None for text in said] == [False] * 10 + [True]
    assert len({doctor_says(10, "doctor-n0", case=n) for n in range(40)}) > 10


def test_a_doctor_commits_in_its_last_turn_however_many_questions_it_has():
    assert read_diagnosis(doctor_says(19, "doctor-q50-n0")) and not read_diagnosis(doctor_says(18, "doctor-q50-n0"))


def test_some_doctors_never_commit():
    never = [read_diagnosis(doctor_says(19, case=n)) is None for n in range(400)]
    assert 8 <= sum(never) <= 35
    assert read_diagnosis(doctor_says(19, "doctor-n100")) is None


def test_a_doctor_asks_for_images_where_it_is_told_that_it_may():
    assert asks_for_images(doctor_says(1, images="on_request"))
    assert not asks_for_images(doctor_says(1, images="initial"))


def test_some_doctors_refuse_a_prejudice_and_none_refuses_without_one():
    bias = PROMPTS.render("biases/doctor/gender", disease="cancer")
    assert 5 <= sum(refuses(doctor_says(0, bias=bias, case=n)) for n in range(400)) <= 40
    assert not any(refuses(doctor_says(0, case=n)) for n in range(400))


def test_a_measurement_agent_returns_what_is_asked_for_or_that_all_is_normal():
    system = PROMPTS.render("measurement", readings=READINGS)
    told = [
        clinic.reply(chat(("system", system), ("user", f"Doctor: Visit {n}. REQUEST TEST: {test}")), 10) or ""
        for n in range(100)
        for test in ("Complete blood count", "Chest X-ray")
    ]
    assert {"RESULTS: Complete blood count: Hemoglobin 13 g/dL", "RESULTS: NORMAL READINGS"} <= set(told)
    assert 5 <= sum("139 mmol/L" in text for text in told) <= 40  # what it makes up


def test_a_moderator_says_yes_or_no_in_many_forms_and_now_and_then_neither():
    said = [
        clinic.reply(chat(("user", PROMPTS.render("moderator", reference="Gout", answer=f"Disease {n}"))), 10) or ""
        for n in range(400)
    ]
    assert set(said) == {*clinic.VERDICTS, clinic.UNREADABLE}
    for text in set(said) - {clinic.UNREADABLE}:
        assert read_yes_no(text) is ("es" in text[:5])
    with pytest.raises(GraderError):
        read_yes_no(clinic.UNREADABLE)


def test_a_patient_rates_and_says_why_and_otherwise_talks():
    system = PROMPTS.render("patient", story="I am ill.", informant=None, bias="")
    for item in ITEMS:
        rating = clinic.reply(chat(("system", system), ("user", f"Bye.\n\n{PROMPTS.render(f'rate_{item}')}")), 10)
        assert 1 <= read_rating(rating or "") <= 10
    why = chat(("system", system), ("user", "x"), ("assistant", "8"), ("user", PROMPTS.render("rate_why")))
    assert clinic.reply(why, 10) == "The doctor listened to me."
    assert clinic.reply(chat(("system", system), ("user", "Where does it hurt?")), 10) is None


def test_prompts_of_other_systems_are_none_of_its_business():
    assert clinic.reply(chat(("system", "You are a doctor."), ("user", "My toe hurts.")), 10) is None
