"""CRAFT-MD's conversation: how it opens, and which of three rules ends it."""

import pytest

from openosce.benchmarks.craft_md.arms import (
    ARMS,
    information_of,
    is_mcq,
    last_words,
    multi_turn,
    single_turn,
    statements,
)
from openosce.benchmarks.craft_md.station import GREETING, CraftMDStation
from openosce.encounters import DOCTOR, PATIENT, Encounter, EndReason, Message, Transcript


def talk(*texts: str) -> Transcript:
    """The greeting, then patient and doctor by turns."""
    speakers = ((PATIENT, DOCTOR) if n % 2 == 0 else (DOCTOR, PATIENT) for n in range(len(texts)))
    said = (Message(speaker, listener, text) for (speaker, listener), text in zip(speakers, texts, strict=True))
    return (Message(DOCTOR, PATIENT, GREETING), *said)


def ending(reply: str, *, any_case: bool = True, cap: int = 60) -> EndReason | None:
    return CraftMDStation(cap, any_case).ending(talk("My knee hurts.", reply))


def test_the_doctor_opens_with_a_fixed_question_and_the_patient_speaks_first_in_substance():
    station = CraftMDStation(60, any_case=True)
    (greeting,) = station.opening
    assert (greeting.speaker, greeting.listener) == (DOCTOR, PATIENT)
    assert "?" in greeting.text
    assert station.ending(station.opening) is None


def test_each_speaks_to_the_other():
    station = CraftMDStation(60, any_case=True)
    assert station.address(DOCTOR, "Any fever?", station.opening) == (Message(DOCTOR, PATIENT, "Any fever?"),)
    assert station.address(PATIENT, "No.", station.opening) == (Message(PATIENT, DOCTOR, "No."),)


@pytest.mark.parametrize("any_case", [True, False])
@pytest.mark.parametrize(
    ("reply", "ended"),
    [
        ("Any fever?", None),
        ("**Final Diagnosis:** gout", EndReason.DIAGNOSED),
        ("I am sure. Final Diagnosis: gout", EndReason.DIAGNOSED),
        ("Final Diagnosis gout", EndReason.DIAGNOSED),
        ("Any fever? Patient: No. Final Diagnosis: gout", EndReason.DIAGNOSED_WITH_QUESTION),
        ("Final Diagnosis: gout. Any questions?", EndReason.DIAGNOSED_WITH_QUESTION),
        ("Thank you, that will do.", EndReason.NO_QUESTION),
        ("Before I give a final diagnosis, do you smoke?", None),
        ("What will the final diagnosis be?", None),
        ("", EndReason.NO_QUESTION),
    ],
)
def test_a_diagnosis_a_statement_and_a_question_are_told_apart(reply: str, ended: EndReason | None, any_case: bool):
    assert ending(reply, any_case=any_case) is ended


@pytest.mark.parametrize(
    "reply",
    ["final diagnosis: gout", "FINAL DIAGNOSIS: gout", "**final diagnosis**: gout", "Final diagnosis - gout",
     "Final diagnosis – gout", "My final diagnosis is gout.", "Final\ndiagnosis: gout"],
)  # fmt: skip
def test_another_spelling_of_the_marker_ends_it_as_a_diagnosis_unless_as_published(reply: str):
    assert ending(reply) is EndReason.DIAGNOSED
    assert ending(reply, any_case=False) is EndReason.NO_QUESTION


def test_a_lower_case_marker_with_a_question_goes_on_as_published():
    reply = "Any fever? final diagnosis: gout"
    assert ending(reply) is EndReason.DIAGNOSED_WITH_QUESTION
    assert ending(reply, any_case=False) is None


def test_asking_what_the_final_diagnosis_is_ends_nothing():
    assert ending("Did they tell you what the final diagnosis is?") is None


def test_what_the_patient_says_never_ends_it():
    station = CraftMDStation(60, any_case=True)
    assert station.ending(talk("They said Final Diagnosis: gout.")) is None
    assert station.ending(talk("It hurts.", "Where?", "No question here.")) is None


@pytest.mark.parametrize(("cap", "n_after_greeting"), [(2, 1), (3, 2), (4, 3), (5, 4)])
def test_the_cap_counts_the_greeting_and_every_message(cap: int, n_after_greeting: int):
    station = CraftMDStation(cap, any_case=True)
    texts = ["It hurts.", "Where?", "Here.", "Since when?"]
    assert station.ending(talk(*texts[: n_after_greeting - 1])) is None
    assert station.ending(talk(*texts[:n_after_greeting])) is EndReason.MESSAGE_CAP


def test_a_diagnosis_in_the_last_message_under_the_cap_is_a_diagnosis():
    assert ending("Final Diagnosis: gout", cap=3) is EndReason.DIAGNOSED
    assert ending("Goodbye.", cap=3) is EndReason.NO_QUESTION
    assert ending("Any fever?", cap=3) is EndReason.MESSAGE_CAP


# --- what the arms read from it

CLOSED = talk("My knee hurts.", "Since when?", "Two days.", "Final Diagnosis: gout")


@pytest.mark.parametrize("ended", [EndReason.DIAGNOSED, EndReason.DIAGNOSED_WITH_QUESTION, EndReason.NO_QUESTION])
def test_multi_turn_is_the_conversation_without_the_closing_message(ended: EndReason):
    assert multi_turn(Encounter(CLOSED, ended)) == CLOSED[:-1]


@pytest.mark.parametrize("n_messages", [2, 3, 4])
def test_multi_turn_is_all_of_a_conversation_that_the_cap_ended(n_messages: int):
    transcript = CLOSED[:n_messages]
    assert multi_turn(Encounter(transcript, EndReason.MESSAGE_CAP)) == transcript


def test_single_turn_is_the_greeting_and_the_first_reply():
    assert single_turn(Encounter(CLOSED, EndReason.DIAGNOSED)) == CLOSED[:2]
    assert single_turn(Encounter(CLOSED[:2], EndReason.ROLE_FAILED)) == CLOSED[:2]
    assert single_turn(Encounter(CLOSED[:1], EndReason.ROLE_FAILED)) is None
    assert single_turn(Encounter((), EndReason.NOT_HELD)) is None


def test_the_statements_are_the_patients_in_their_order():
    assert statements(Encounter(CLOSED, EndReason.DIAGNOSED)) == ["My knee hurts.", "Two days."]
    assert statements(Encounter((), EndReason.NOT_HELD)) == []


def test_the_last_words_are_the_doctors_and_the_greeting_is_none_of_them():
    assert last_words(Encounter(CLOSED, EndReason.DIAGNOSED)) == "Final Diagnosis: gout"
    assert last_words(Encounter(CLOSED[:4], EndReason.MESSAGE_CAP)) == "Since when?"
    assert last_words(Encounter(CLOSED[:2], EndReason.MESSAGE_CAP)) is None


def test_there_are_eight_arms_of_information_and_question_and_one_of_the_talk_itself():
    assert len(set(ARMS)) == 9
    assert {information_of(arm) for arm in ARMS} == {"vignette", "multi_turn", "single_turn", "summarized", "own"}
    assert sum(is_mcq(arm) for arm in ARMS) == 4
