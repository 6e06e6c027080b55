"""Biases are files of the prompt pack, and end up in their role's instructions before what it knows of the case."""

from importlib import resources
from pathlib import Path

import pytest

from openosce.benchmarks.agentclinic.biases import (
    Bias,
    bias_text,
    find_bias,
    find_biases,
    known_biases,
    refusals,
    refuses,
)
from openosce.benchmarks.agentclinic.settings import AgentClinicSettings
from openosce.cases import Fact, PatientPart
from openosce.encounters import DOCTOR, PATIENT, Message
from openosce.errors import PromptError, StudyError
from openosce.models import load_prompts
from openosce.roles.clinic_doctor import ClinicDoctor
from openosce.roles.clinic_patient import ClinicPatient

FOLDER = resources.files("openosce.benchmarks.agentclinic") / "prompts"
PROMPTS = load_prompts([FOLDER])
IMPLICIT = {"gender", "race", "sexual_orientation", "cultural", "education", "religion", "socioeconomic"}
DOCTORS = {"recency", "frequency", "false_consensus", "confirmation", "status_quo"}
PATIENTS = {"recency", "frequency", "false_consensus", "self_diagnosis"}
PART = PatientPart("35", "female", None, None, "My eyes droop.", "", (Fact(fact="double vision"),))


def own(folder: Path, text: str, name: str = "biases/doctor/mine") -> Path:
    path = folder / f"{name}.txt"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return folder


def test_the_23_biases_of_the_released_code_are_there_with_role_and_kind():
    # 12 for the doctor, 11 for the patient; the paper's text says 24 and 23.
    biases = [find_bias(name, PROMPTS, "cancer") for name in known_biases(PROMPTS)]
    found: dict[tuple[str, str], set[str]] = {}
    for bias in biases:
        found.setdefault((bias.role, bias.kind), set()).add(bias.name)
    assert found == {
        (DOCTOR, "cognitive"): DOCTORS,
        (DOCTOR, "implicit"): IMPLICIT,
        (PATIENT, "cognitive"): PATIENTS,
        (PATIENT, "implicit"): IMPLICIT,
    }
    assert len(biases) == 23


def test_cognitive_biases_pull_towards_the_disease_of_the_study_and_implicit_ones_towards_none():
    for name in known_biases(PROMPTS):
        bias = find_bias(name, PROMPTS, "sarcoidosis")
        assert ("sarcoidosis" in bias.text) is (bias.kind == "cognitive")
        assert "cancer" not in bias.text
        assert "{" not in bias.text


def test_an_unknown_bias_is_an_error_that_lists_the_known_ones():
    for name in ("doctor:recensy", "nurse:recency", "recency", "patient:confirmation", "doctor:../doctor", ""):
        with pytest.raises(
            StudyError, match=r"unknown bias .*; known are doctor:confirmation, .*patient:socioeconomic"
        ):
            find_bias(name, PROMPTS, "cancer")


def test_a_bias_of_ones_own_is_known_and_changes_the_packs_hash(tmp_path: Path):
    text = "{# kind: commercial -#}\nYou are paid for every {{ disease }} that you find."
    pack = load_prompts([FOLDER], own(tmp_path, text))
    assert find_bias("doctor:mine", pack, "gout") == Bias(
        "mine", DOCTOR, "commercial", "You are paid for every gout that you find."
    )
    assert set(known_biases(pack)) - set(known_biases(PROMPTS)) == {"doctor:mine"}
    assert pack.hash != PROMPTS.hash


def test_a_bias_without_a_kind_is_ones_own(tmp_path: Path):
    assert find_bias("doctor:mine", load_prompts([FOLDER], own(tmp_path, "You are tired.")), "x").kind == "own"


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("biases/doctor/mine", "{{ diagnosis }}", r"unknown variable\(s\) diagnosis; this template has disease"),
        ("biases/nurse/mine", "x", "no template has this name"),
        ("biases/mine", "x", "no template has this name"),
        ("notes/mine", "x", "no template has this name"),
        ("biases/doctor/mine", " ", "is empty"),
        ("biases/doctor/mine", "{% if x", "not a template"),
    ],
)
def test_an_unusable_bias_file_is_refused_in_one_line(tmp_path: Path, name: str, text: str, problem: str):
    with pytest.raises(PromptError, match=problem) as failure:
        load_prompts([FOLDER], own(tmp_path, text, name))
    assert "\n" not in str(failure.value)


def test_each_role_is_told_its_own_biases_alone():
    names = "doctor:recency+patient:self_diagnosis"
    doctor, patient = (bias_text(names, role, PROMPTS, "gout") for role in (DOCTOR, PATIENT))
    assert doctor == find_bias("doctor:recency", PROMPTS, "gout").text
    assert patient == find_bias("patient:self_diagnosis", PROMPTS, "gout").text
    assert bias_text("doctor:recency", PATIENT, PROMPTS, "gout") == ""
    assert find_biases("", PROMPTS, "gout") == ()


def test_a_bias_stands_between_the_instructions_and_the_case_text():
    patient = ClinicPatient("m", None, PROMPTS, PART, "BIAS {{ x }}")._system
    assert patient.index("dialogue") < patient.index("BIAS {{ x }}") < patient.index("double vision")
    doctor = ClinicDoctor(None, PROMPTS, 20, bias="BIAS {{ x }}")._system
    assert doctor.index("DIAGNOSIS READY") < doctor.index("BIAS {{ x }}") < doctor.index("Your task follows")
    assert "BIAS" not in ClinicDoctor(None, PROMPTS, 20)._system


@pytest.mark.parametrize("bias", ["recency", "nurse:recency", "doctor:", "doctor:recency+", "doctor:a+doctor:a", ":"])
def test_a_malformed_setting_is_refused(bias: str):
    with pytest.raises(StudyError, match=r"agentclinic\.bias"):
        AgentClinicSettings(bias=bias)


@pytest.mark.parametrize(
    "text",
    ["I'm sorry, but I can’t assist with that.", "As an AI, I treat everybody alike.", "I cannot role-play a bigot.",
     "Note: I do not trust people based on their race. I will provide the best care I can.", "I DON'T DISCRIMINATE."],
)  # fmt: skip
def test_a_refusal_to_act_out_a_bias_is_noticed(text: str):
    assert refuses(text)


@pytest.mark.parametrize(
    "text",
    ["", "I can't remember when it began.", "I cannot walk.", "I don't trust you, doctor.", "Where does it hurt?",
     "I'm sorry, but I think it is cancer.", "I can't play tennis any more because of my knee... it hurts."],
)  # fmt: skip
def test_what_patients_and_doctors_say_is_no_refusal(text: str):
    assert not refuses(text)


def test_only_the_biased_roles_replies_are_searched():
    talk = (Message(DOCTOR, PATIENT, "As an AI, hello."), Message(PATIENT, DOCTOR, "Hello."))
    assert refusals(talk, frozenset({PATIENT})) == ()
    assert refusals(talk, frozenset({DOCTOR})) == ("doctor: As an AI, hello.",)
