import re

import pytest

from openosce.errors import StudyError
from openosce.runs import default_folder, read_study, to_study
from openosce.runs.conditions import columns


def tables(**changes):
    return {"study": {"benchmark": "craft-md"}, **changes}


def test_a_role_that_nobody_names_falls_back_to_its_built_in_one_and_says_so():
    study = to_study(tables())
    assert [doctor.name for doctor in study.doctors] == ["builtin/interviewer"]
    assert study.roles["grader"].name == "builtin/lexicon"
    assert "patient: builtin/record" in study.fallbacks


def test_the_summarizer_is_the_patients_model_unless_it_is_named():
    patient = {"model": "builtin/script", "file": "p.yaml"}
    assert to_study(tables(roles={"patient": patient})).roles["summarizer"].name == "builtin/script"
    named = to_study(tables(roles={"patient": patient, "summarizer": {"model": "builtin/record"}}))
    assert named.roles["summarizer"].name == "builtin/record"


def test_student_and_moderator_are_other_names_of_doctor_and_grader():
    roles = {"student": {"models": ["a/b", "c/d"]}, "moderator": {"model": "builtin/lexicon"}}
    study = to_study(tables(roles=roles))
    assert [doctor.name for doctor in study.doctors] == ["a/b", "c/d"]
    assert not any(note.startswith(("doctor", "grader")) for note in study.fallbacks)


def test_settings_of_a_role_reach_its_model():
    study = to_study(tables(roles={"doctor": {"model": "a/b", "temperature": 0.7, "base_url": "http://h/v1"}}))
    assert dict(study.doctors[0].settings) == {"temperature": 0.7}
    assert study.doctors[0].base_url == "http://h/v1"


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"study": {}}, "study.benchmark"),
        ({"study": {"benchmark": "craftmd"}}, "unknown benchmark 'craftmd'; known are craft-md"),
        ({"study": {"benchmark": "craft-md", "trails": 2}}, "unknown key study.trails"),
        ({"study": {"benchmark": "craft-md", "trials": 0}}, "study.trials"),
        ({"study": "craft-md"}, "[study] expected a table"),
        ({"limit": {}}, "unknown table(s) [limit]"),
        ({"limits": {"in_flight": 0}}, "limits.in_flight"),
        ({"roles": {"nurse": {"model": "a/b"}}}, "unknown role 'nurse'"),
        ({"roles": {"doctor": {"modle": "a/b"}}}, "unknown key roles.doctor.modle"),
        ({"roles": {"doctor": {"temperature": 1.0}}}, "[roles.doctor] names no model"),
        ({"roles": {"doctor": {"models": ["a/b", "a/b"]}}}, "named twice"),
        ({"roles": {"patient": {"models": ["a/b", "c/d"]}}}, "only the doctor"),
        ({"roles": {"doctor": {"model": "a/b"}, "student": {"model": "c/d"}}}, "given twice"),
        ({"craft_md": {"arms": ["vignette_mqc"]}}, "unknown arm(s) 'vignette_mqc'"),
        ({"craft_md": {"policy": "lenient"}}, "unknown match policy 'lenient'"),
        ({"craft_md": {"cap": "many"}}, "craft_md.cap"),
    ],
)
def test_what_cannot_be_used_is_named_with_its_place(changed, expected):
    with pytest.raises(StudyError) as refused:
        to_study(tables(**changed))
    assert expected in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("content", [b"[study", b"\xff\xfe", b"benchmark = craft-md"])
def test_a_file_that_is_no_toml_is_refused_by_name(tmp_path, content):
    file = tmp_path / "study.toml"
    file.write_bytes(content)
    with pytest.raises(StudyError, match=r"study\.toml"):
        read_study(file)


def test_the_default_folder_is_the_same_for_the_same_doctors_and_safe_as_a_path():
    study = to_study(tables(roles={"doctor": {"models": ["vllm/../../etc", "openai/gpt-4o"]}}))
    folder = default_folder(study)
    assert folder == default_folder(study)
    assert folder.parent.name == "runs"
    assert "/" not in folder.name


SWEPT = {
    "study": {"benchmark": "craft-md"},
    "roles": {"doctor": {"models": ["openai/a", "openai/b"]}, "patient": {"model": "builtin/record"}},
    "craft_md": {"arms": ["vignette_mcq", "multi_turn_mcq"]},
}


def test_a_sweep_makes_a_condition_of_every_combination_and_asks_unswept_arms_once():
    sweep = {"craft_md.cap": [10, 20], "roles": {"patient": {"model": ["builtin/record", "openai/p"]}}}
    study = to_study({**SWEPT, "sweep": sweep}, environment={})
    assert [condition.name for condition in study.conditions] == [
        "cap=10, patient=builtin/record",
        "cap=10, patient=openai/p",
        "cap=20, patient=builtin/record",
        "cap=20, patient=openai/p",
    ]
    assert [condition.settings.cap for condition in study.conditions] == [10, 10, 20, 20]
    assert [c.roles["patient"].name for c in study.conditions] == ["builtin/record", "openai/p"] * 2
    assert [condition.arms for condition in study.conditions] == [
        ("vignette_mcq", "multi_turn_mcq"),
        *[("multi_turn_mcq",)] * 3,
    ]
    labels = [column.label for column in columns(study.conditions, study.benchmark)]
    assert labels == ["vignette_mcq", *(condition.name for condition in study.conditions)]
    assert ("patient", "openai/p") in [(role, spec.name) for role, spec in study.models]


def test_without_a_sweep_there_is_one_condition_and_columns_are_arms():
    study = to_study(SWEPT, environment={})
    assert [condition.name for condition in study.conditions] == ["text"]
    assert [c.label for c in columns(study.conditions, study.benchmark)] == ["vignette_mcq", "multi_turn_mcq"]


@pytest.mark.parametrize(
    ("sweep", "problem"),
    [
        ({}, "expected settings with their values"),
        ({"craft_md.cap": 10}, "expected a list of values, found 10"),
        ({"craft_md.cap": []}, "expected a list of values"),
        ({"craft_md.cap": [10, 10]}, "sweep.craft_md.cap: a value is named twice"),
        ({"craft_md.cups": [10]}, "unknown key craft_md.cups"),
        ({"craft_md.cap": ["many"]}, "craft_md.cap"),
        ({"roles.doctor.model": ["openai/a"]}, "several doctors stand in"),
        ({"study.trials": [1, 2]}, "sweep.study.trials: cannot be swept"),
        ({"roles.nurse.model": ["openai/a"]}, "unknown role 'nurse'"),
        ({"craft_md.cap": list(range(2, 2000))}, "amounts to 1998 conditions"),
    ],
)
def test_what_cannot_be_swept_is_refused(sweep, problem):
    with pytest.raises(StudyError, match=re.escape(problem)):
        to_study({**SWEPT, "sweep": sweep}, environment={})


@pytest.mark.parametrize(
    ("sweep", "problem"),
    [
        ({"agentclinic.arms": [["dialogue"], ["vignette_mcq"]]}, "arms stand side by side without a sweep"),
        ({"agentclinic.policy": ["moderator", "strict"]}, "the report shows others beside the headline's"),
    ],
)
def test_a_sweep_of_what_the_report_has_one_of_is_refused(sweep, problem):
    with pytest.raises(StudyError, match=re.escape(problem)):
        to_study({"study": {"benchmark": "agentclinic"}, "sweep": sweep}, environment={})
