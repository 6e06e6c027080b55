"""The patient's ratings after the encounter are read strictly, asked for again, and then missing."""

import asyncio
from importlib import resources

import pytest

from openosce.benchmarks.agentclinic.perception import ITEMS, TRIES, perceive, read_rating
from openosce.cases import Fact, PatientPart
from openosce.encounters import DOCTOR, PATIENT, Message
from openosce.errors import GraderError, ProviderError
from openosce.models import Reply, load_prompts
from openosce.roles import RecordPatient
from openosce.roles.clinic_patient import ClinicPatient

PROMPTS = load_prompts([resources.files("openosce.benchmarks.agentclinic") / "prompts"])
PART = PatientPart("35", "female", None, None, "My eyes droop.", "", (Fact(fact="double vision"),))
TALK = (
    Message(DOCTOR, PATIENT, "What is wrong?", heard_by=(PATIENT,)),
    Message(PATIENT, DOCTOR, "My eyes droop.", heard_by=(DOCTOR, "measurement")),
    Message(DOCTOR, "measurement", "REQUEST TEST: EMG", heard_by=("measurement",)),
    Message("measurement", DOCTOR, "RESULTS: decrement", heard_by=(DOCTOR, PATIENT)),
    Message(DOCTOR, None, "DIAGNOSIS READY: myasthenia gravis", heard_by=(PATIENT,)),
)


class Lines:
    def __init__(self, *lines) -> None:
        self._lines = list(lines)
        self.requests = []

    async def complete(self, request):
        self.requests.append(request)
        line = self._lines.pop(0)
        if isinstance(line, Exception):
            raise line
        return Reply(line)


def ask(*lines, why: bool = False, bias: str = ""):
    model = Lines(*lines)
    patient = ClinicPatient("test/patient", model, PROMPTS, PART, bias)
    return asyncio.run(perceive(patient, TALK, why)), model.requests


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("8", 8), (" 8.\n", 8), ("8/10", 8), ("8 / 10", 8), ("8 out of 10", 8), ("**8**", 8), ("**8/10**", 8),
        ("1", 1), ("10", 10), ("10/10", 10), ("I would give it an 8.", 8), ("Confidence: 8", 8),
        ("Rating: **7** out of 10", 7),
        ("8 - she listened to me", 8), ("8, as she asked 3 times", 8), ("On a scale of 1 to 10, I would say 6.", 6),
        ("On a scale from 1-10: 6", 6), ("eight", 8), ("Eight.", 8), ("8 (quite sure)", 8),
    ],
)  # fmt: skip
def test_a_whole_number_from_1_to_10_is_read(reply: str, value: int):
    assert read_rating(reply) == value


@pytest.mark.parametrize(
    "reply",
    ["", " ", "between 7 and 8", "7-8", "7–8", "7 or 8", "7 to 8", "7.5", "7,5", "0", "11", "-3", "100", "80%", "12/10",
     "0/10", "high", "I'd say 7, maybe 8", "from 3 to 4", "1-10", "ten to one", "NaN", "²", "{{ 8 }} or 9",
     "3 out of 5", "4/5", "Rating: 4 of 5", "8/100"],
)  # fmt: skip
def test_anything_else_is_unreadable(reply: str):
    with pytest.raises(GraderError, match="expected one whole number from 1 to 10"):
        read_rating(reply)


def test_the_three_ratings_are_signed_by_the_patients_model():
    scores, requests = ask("8", "9/10", "**7**")
    assert [(s.metric, s.value, s.grader, s.policy) for s in scores] == [
        ("confidence", 8, "test/patient", "-"),
        ("compliance", 9, "test/patient", "-"),
        ("consultation", 7, "test/patient", "-"),
    ]
    assert [request.step for request in requests] == [f"rate/{item}" for item in ITEMS]


def test_the_patient_rates_with_its_bias_and_what_it_heard_the_diagnosis_among_it():
    _, requests = ask("8", "9", "7", bias="You mistrust the doctor.")
    system, *turns = requests[0].messages
    assert "You mistrust the doctor." in system.content
    assert [turn.role for turn in turns] == ["user", "assistant", "user"]
    assert "RESULTS: decrement" in turns[-1].content
    assert "myasthenia gravis" in turns[-1].content
    assert "REQUEST TEST" not in turns[-1].content
    assert turns[-1].content.endswith("with nothing else.")


def test_an_unreadable_rating_is_asked_for_again_and_then_missing_while_the_others_stand():
    scores, requests = ask("hm", "8", *["between 7 and 8"] * TRIES, "7")
    assert [s.value for s in scores] == [8, None, 7]
    assert scores[1].missing_reason == (
        "unreadable_verdict: expected one whole number from 1 to 10; the patient replied 'between 7 and 8' (3 tries)"
    )
    assert [request.repeat for request in requests] == [0, 1, 0, 1, 2, 0]


def test_a_failed_call_leaves_one_rating_missing_with_its_reason():
    scores, _ = ask("8", ProviderError("down"), "7")
    assert [s.value for s in scores] == [8, None, 7]
    assert scores[1].missing_reason == "provider_failed: down"


def test_the_reasons_are_asked_for_after_the_number_and_kept():
    scores, requests = ask("8", "She listened.", "9", "It helps.", "7", "Perhaps.", why=True)
    assert [s.evidence for s in scores] == ["She listened.", "It helps.", "Perhaps."]
    assert requests[1].step == "rate/confidence/why"
    assert [turn.role for turn in requests[1].messages[-3:]] == ["user", "assistant", "user"]
    assert requests[1].messages[-2].content == "8"


def test_the_built_in_patient_has_no_opinion_and_says_so():
    scores = asyncio.run(perceive(RecordPatient(PART), TALK))
    assert [s.metric for s in scores] == list(ITEMS)
    assert all(s.value is None and (s.missing_reason or "").startswith("no_answer: ") for s in scores)
