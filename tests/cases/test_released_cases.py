"""The case files that CRAFT-MD's and MediQ's authors released."""

from collections import Counter

import pytest
from typer.testing import CliRunner

from openosce.cases import read_cases, tidy
from openosce.cases.checks import check_cases
from openosce.cli import app
from openosce.grading.options import named_options

SPECIALTIES = {
    "Dermatology", "Hematology and Oncology", "Neurology", "Gastroenterology", "Pediatrics and Neonatology",
    "Cardiology", "Infectious Disease", "Obstetrics and Gynecology", "Urology and Nephrology", "Endocrinology",
    "Rheumatology", "Other",
}  # fmt: skip


@pytest.fixture
def craft_md(shared):
    return shared / "data" / "craft-md" / "cases.csv"


def test_all_cases_of_craft_md_are_read_with_the_specialties_of_the_article(craft_md):
    cases = read_cases(craft_md)
    assert len(cases) == len({case.id for case in cases}) == 2004
    counts = Counter(case.specialty for case in cases)
    assert set(counts) == SPECIALTIES
    assert counts["Dermatology"] == 317
    assert all(len(case.choices) == 4 for case in cases)
    assert sum(case.question is None for case in cases) == 208


def test_the_check_finds_what_is_known_to_be_odd_in_craft_md(craft_md):
    problems = check_cases(read_cases(craft_md))
    kinds = Counter(problem.kind for problem in problems)
    assert kinds["answer equals no choice exactly"] == 7
    assert kinds["blank-padded answer"] == 11
    assert kinds["no question sentence"] == 208
    assert kinds["further question"] == 2
    wrong = [p.case_id for p in problems if p.severity == "wrong" and p.kind == "answer equals no choice exactly"]
    assert wrong == ["case_112"]


@pytest.mark.parametrize(("name", "n_cases"), [("icraft_md.jsonl", 140), ("imedqa_first150.jsonl", 150)])
def test_mediq_s_files_are_read_without_letting_the_patient_tell_findings(shared, name, n_cases):
    cases = read_cases(shared / "data" / "mediq" / name)
    assert len(cases) == n_cases
    assert all(case.diagnosis.name and len(case.choices) >= 4 and case.patient.facts for case in cases)
    found = [finding for case in cases for by in case.examination.values() for finding in by.values()]
    told = {fact.fact for case in cases for fact in case.patient.facts}
    assert found
    assert not told & set(found)


@pytest.mark.parametrize(
    ("path", "n_cases"),
    [("craft-md/cases.csv", 2004), ("mediq/icraft_md.jsonl", 140), ("mediq/imedqa_first150.jsonl", 150)],
)
def test_the_command_checks_the_released_files(shared, path, n_cases):
    source = str(shared / "data" / path)
    result = CliRunner().invoke(app, ["cases", "check", source])
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{source}: {n_cases} cases\n")
    assert f"{n_cases}  can serve craft-md" in result.stdout


def test_every_released_choice_is_read_back_as_itself_when_a_doctor_repeats_what_it_was_shown(shared):
    for case in read_cases(shared / "data" / "craft-md" / "cases.csv"):
        for index, choice in enumerate(case.choices):
            assert "\n" not in tidy(choice)
            assert named_options(tidy(choice), case.choices) == [index], case.id
