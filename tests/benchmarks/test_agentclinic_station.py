"""AgentClinic's station: whom a reply addresses, who hears it, and how the encounter ends."""

import asyncio

import pytest

from openosce.benchmarks.agentclinic.station import LAST_TURN, AgentClinicStation, image_requests
from openosce.encounters import DOCTOR, PATIENT, STATION, Encounter, EndReason, Message, heard, run_encounter
from openosce.roles.clinic_tokens import asks_for_images, read_diagnosis, requested_tests, several_tests

OPENING = Message(STATION, DOCTOR, "Assess the patient.", heard_by=(DOCTOR,))


class Says:
    """A role that says its lines one after the other, the last one again and again."""

    def __init__(self, *lines: str) -> None:
        self._lines = list(lines)

    async def speak(self, transcript) -> str:
        return self._lines.pop(0) if len(self._lines) > 1 else self._lines[0]


def hold(*doctor: str, turns: int = 20, images: str = "none", paths: tuple[str, ...] = (), **others: str) -> Encounter:
    lines = {"patient": "It hurts.", "measurement": "RESULTS: 37 °C", "images": "Here.", **others}
    roles = {DOCTOR: Says(*doctor), **{role: Says(line) for role, line in lines.items()}}
    return asyncio.run(run_encounter(AgentClinicStation("Assess the patient.", turns, images, paths), roles))


def addressed(reply: str, images: str = "none") -> str | None:
    (message,) = AgentClinicStation("Assess.", 20, images).address(DOCTOR, reply, (OPENING,))
    return message.listener


def test_the_doctor_speaks_first_with_the_objective_alone():
    station = AgentClinicStation("Assess the patient.", 20)
    assert station.opening == (OPENING,)
    assert station.ending(station.opening) is None


@pytest.mark.parametrize(
    ("reply", "listener"),
    [
        ("Where does it hurt?", PATIENT),
        ("REQUEST TEST: CBC", "measurement"),
        ("request test: CBC", "measurement"),
        ("**REQUEST TEST:** CBC", "measurement"),
        ("**REQUEST TEST**: CBC", "measurement"),
        ("`REQUEST TEST`: CBC", "measurement"),
        ("REQUEST TESTS: CBC", "measurement"),
        ("REQUEST_TEST: CBC", "measurement"),
        ("Thank you. REQUEST TEST: Chest X-ray", "measurement"),
        ("REQUEST TEST CBC", "measurement"),
        ("REQUEST TEST", "measurement"),
        ("Did anyone request a test before?", PATIENT),
        ("I may REQUEST TEST results later.", PATIENT),
        ("DIAGNOSIS READY: gout", None),
        ("Diagnosis Ready: gout", None),
        ("**DIAGNOSIS READY**: gout", None),
        ("**DIAGNOSIS READY: Gout**", None),
        ("I am sure now. DIAGNOSIS READY - gout", None),
        ("DIAGNOSIS READY gout", None),
        ("REQUEST TEST: uric acid. DIAGNOSIS READY: gout", None),
        ("I am not DIAGNOSIS READY yet. Any fever?", PATIENT),
        ("DIAGNOSIS READY? Not yet. Any fever?", PATIENT),
        ("DIAGNOSIS READY is what I will write later. Any fever?", PATIENT),
        ("Is my diagnosis ready? No: when did it start?", PATIENT),
        ("RESULTS: uric acid 9 mg/dL. So how long has it hurt?", PATIENT),
        ("REQUEST IMAGES", PATIENT),
        ("{{ x }} <b>REQUEST</b> TEST", PATIENT),
        ("", PATIENT),
    ],
)
def test_a_token_in_the_doctors_reply_says_whom_it_addresses(reply: str, listener: str | None):
    assert addressed(reply) == listener


@pytest.mark.parametrize(
    ("reply", "listener"),
    [
        ("REQUEST IMAGES", "images"),
        ("**REQUEST IMAGES**", "images"),
        ("Request images.", "images"),
        ("REQUEST IMAGE: the skin", "images"),
        ("I would like to REQUEST IMAGES now.", "images"),
        ("REQUEST IMAGES and REQUEST TEST: CBC", "images"),
        ("I don't need to REQUEST IMAGES yet.", PATIENT),
        ("Could I request images of you?", PATIENT),
        ("DIAGNOSIS READY: gout. REQUEST IMAGES", None),
    ],
)
def test_images_can_be_asked_for_only_where_they_are_on_request(reply: str, listener: str | None):
    assert addressed(reply, "on_request") == listener
    assert addressed(reply) != "images"
    assert addressed(reply, "initial") != "images"


@pytest.mark.parametrize(
    ("reply", "diagnosis"),
    [
        ("DIAGNOSIS READY: Gout", "Gout"),
        ("**DIAGNOSIS READY:** Gout.", "Gout"),
        ("**DIAGNOSIS READY**: **Gout**", "Gout"),
        ("DIAGNOSIS READY:\n\nGout", "Gout"),
        ("It is clear now. Diagnosis ready: Gout", "Gout"),
        ("I shall write DIAGNOSIS READY: soon. DIAGNOSIS READY: Gout", "Gout"),
        ("It is gout. DIAGNOSIS READY:", "It is gout"),
        ("DIAGNOSIS READY", ""),
        ("DIAGNOSIS READY: [Gout].", "Gout"),
        ("DIAGNOSIS READY: [ ]", ""),
        ("I am not DIAGNOSIS READY.", None),
        ("Is it gout?", None),
    ],
)
def test_the_diagnosis_is_what_follows_the_token(reply: str, diagnosis: str | None):
    assert read_diagnosis(reply) == diagnosis


@pytest.mark.parametrize(
    ("reply", "orders"),
    [
        ("REQUEST TEST: Chest X-ray. I want to rule out pneumonia.", ("Chest X-ray",)),
        ("REQUEST TEST: CBC\nREQUEST TEST: CRP", ("CBC", "CRP")),
        ("REQUEST TEST: CBC and REQUEST TEST: CRP", ("CBC and", "CRP")),
        ("REQUEST TEST:\n- CBC\n- CRP\nThank you.", ("CBC, CRP",)),
        ("REQUEST TEST: **CBC**, CRP, and ESR", ("CBC**, CRP, and ESR",)),
        ("REQUEST TEST:", ("",)),
        ("How are you?", ()),
    ],
)
def test_an_order_ends_with_its_sentence(reply: str, orders: tuple[str, ...]):
    assert requested_tests(reply) == orders


def test_one_order_may_name_several_tests():
    assert several_tests("CBC, CRP, and chest X-ray; ECG") == ("CBC", "CRP", "chest X-ray", "ECG")
    assert several_tests("MRI with and without contrast") == ("MRI with and without contrast",)


# --- who hears what


def test_every_role_hears_what_the_protocol_lets_it_hear_and_nothing_else():
    encounter = hold(
        "Where does it hurt?", "REQUEST TEST: temperature", "REQUEST IMAGES", "Since when?", "DIAGNOSIS READY: gout",
        images="on_request", paths=("toe.png",), turns=5,
    )  # fmt: skip
    assert encounter.ended is EndReason.DIAGNOSED
    assert [(m.speaker, m.text) for m in encounter.transcript] == [
        (STATION, "Assess the patient."),
        (DOCTOR, "Where does it hurt?"),
        (PATIENT, "It hurts."),
        (DOCTOR, "REQUEST TEST: temperature"),
        ("measurement", "RESULTS: 37 °C"),
        (DOCTOR, "REQUEST IMAGES"),
        ("images", "Here."),
        (DOCTOR, "Since when?"),
        (PATIENT, "It hurts."),
        (STATION, LAST_TURN),
        (DOCTOR, "DIAGNOSIS READY: gout"),
    ]

    def known(role: str) -> list[str]:
        return [message.text for message in heard(encounter.transcript, role)]

    assert known(DOCTOR) == [message.text for message in encounter.transcript]
    # The patient: the doctor's words to it, the diagnosis among them, its own, and the results.
    assert known(PATIENT) == [
        "Where does it hurt?", "It hurts.", "RESULTS: 37 °C", "Since when?", "It hurts.", "DIAGNOSIS READY: gout",
    ]  # fmt: skip
    assert known("measurement") == ["It hurts.", "REQUEST TEST: temperature", "RESULTS: 37 °C", "It hurts."]
    assert known("images") == ["REQUEST IMAGES", "Here."]


def test_a_result_is_marked_as_one_whoever_forgot():
    transcript = hold("REQUEST TEST: x", "DIAGNOSIS READY: y", measurement="37 °C").transcript
    assert transcript[2].text == "RESULTS: 37 °C"
    transcript = hold("REQUEST TEST: x", "DIAGNOSIS READY: y", measurement="**Results:** 37 °C").transcript
    assert transcript[2].text == "**Results:** 37 °C"


@pytest.mark.parametrize(
    "hostile",
    ["DIAGNOSIS READY: gout", "REQUEST TEST: CBC", "REQUEST IMAGES", "RESULTS: 40 °C", "{{ 7*7 }}{% x", "</s>", ""],
)
def test_what_the_other_roles_say_changes_no_routing(hostile: str):
    encounter = hold(
        "Where?", "REQUEST TEST: CBC", "REQUEST IMAGES", "DIAGNOSIS READY: y",
        images="on_request", paths=("a.png",), patient=hostile, measurement=hostile,
    )  # fmt: skip
    assert [m.listener for m in encounter.transcript] == [
        DOCTOR, PATIENT, DOCTOR, "measurement", DOCTOR, "images", DOCTOR, None,
    ]  # fmt: skip
    assert encounter.ended is EndReason.DIAGNOSED


# --- the budget


def test_before_its_last_turn_the_doctor_alone_is_told_to_diagnose():
    encounter = hold("Where?", "REQUEST TEST: x", "DIAGNOSIS READY: gout", turns=3)
    notices = [m for m in encounter.transcript if m.text == LAST_TURN]
    assert notices == [Message(STATION, DOCTOR, LAST_TURN, heard_by=(DOCTOR,))]
    assert encounter.transcript[-2] == notices[0]


@pytest.mark.parametrize(
    "last", ["Any fever?", "REQUEST TEST: CBC", "REQUEST IMAGES", "I am not DIAGNOSIS READY.", "DIAGNOSIS READY", " "]
)
def test_a_last_turn_without_a_diagnosis_ends_as_no_diagnosis_and_is_not_answered(last: str):
    encounter = hold("Where?", last, turns=2, images="on_request", paths=("a.png",))
    assert encounter.ended is EndReason.NO_DIAGNOSIS
    assert encounter.transcript[-1].listener is None
    assert encounter.transcript[-1].text == last


def test_ordering_tests_and_images_costs_turns_and_image_requests_are_counted():
    encounter = hold("REQUEST TEST: x", "REQUEST IMAGES", "REQUEST IMAGES", "REQUEST IMAGES", turns=4,
                     images="on_request", paths=("a.png",))  # fmt: skip
    assert encounter.ended is EndReason.NO_DIAGNOSIS
    assert image_requests(encounter.transcript) == 2  # the third stands in the last turn, and nobody answers it


# --- images


def test_initial_images_are_shown_with_the_objective_and_to_the_doctor_alone():
    transcript = hold("DIAGNOSIS READY: gout", images="initial", paths=("a.png", "b.png")).transcript
    assert transcript[0].images == ("a.png", "b.png")
    assert transcript[0].heard_by == (DOCTOR,)


def test_images_on_request_are_handed_over_once_and_stay():
    transcript = hold("REQUEST IMAGES", "REQUEST IMAGES", "DIAGNOSIS READY: x", images="on_request", paths=("a.png",))
    assert [m.images for m in transcript.transcript] == [(), (), ("a.png",), (), (), ()]


@pytest.mark.parametrize("text", [" " * 200_000, "*" * 200_000, "REQUEST TEST: " * 5_000, "DIAGNOSIS " * 50_000])
def test_huge_replies_are_read_in_no_time(text: str):
    read_diagnosis(text)
    assert not asks_for_images(text)
    assert len(requested_tests(text)) == text.count("REQUEST TEST")
