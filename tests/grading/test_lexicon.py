import asyncio

import pytest

from openosce.cases import Diagnosis, GraderPart, grader_part, read_cases
from openosce.grading import POLICIES, LexiconGrader

MYELOMA = Diagnosis(
    name="Multiple myeloma",
    synonyms=("plasmacytic marrow disease",),
    broader=("bone marrow disorder",),
    narrower=("IgG kappa multiple myeloma",),
    accepted=("MGUS",),
)
STARTER = {case.id: case for case in read_cases("starter")}


def grade(answer, reference, policy="paper"):
    diagnosis = reference if isinstance(reference, Diagnosis) else Diagnosis(name=reference)
    return asyncio.run(LexiconGrader().grade(answer, GraderPart(diagnosis, (), "x"), POLICIES[policy]))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("case", STARTER.values(), ids=STARTER)
def test_the_gold_answers_of_our_cases_are_right_and_their_other_choices_wrong(case, policy):
    def value(answer):
        return asyncio.run(LexiconGrader().grade(answer, grader_part(case), POLICIES[policy])).value

    names = (case.diagnosis.name, *case.diagnosis.synonyms)
    assert [name for name in names if value(name) != 1.0] == []
    assert [name for name in names if value(f"**Final Diagnosis:** {name.upper()}.") != 1.0] == []
    assert [choice for choice in case.choices if choice not in names and value(choice) != 0.0] == []
    assert [name for name in case.diagnosis.narrower if value(name) != 0.0] == []
    assert {value(name) for name in case.diagnosis.broader} <= {float(POLICIES[policy].broader)}


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        ("Multiple myeloma", "multiple Myeloma "),
        ("Plasma cell myeloma", "Multiple myeloma"),
        ("Kahler’s disease", "Multiple myeloma"),
        ("Coeliac disease", "Celiac disease"),
        ("MGUS", "Monoclonal gammopathy of undetermined significance"),
        ("Guillain Barre syndrome", "Guillain–Barré syndrome"),
        ("Oesophageal tumour", "Esophageal tumor"),
        ("β-thalassaemia", "Beta thalassemia"),
        ("Osteoarthritis", "Osteoarthritis (OA)"),
        ("Osteoarthritis (OA)", "Osteoarthritis (OA)"),
        ("Pressure bullae", "Pressure bullae (coma bullae)"),
        ("t(15;17)", "t(15;17)"),
        ("痛风", "痛风"),
        ("Anetoderma associated with lupus", "Anetoderma associated with lupus"),
        ("Attention-deficit/hyperactivity disorder", "Attention deficit/hyperactivity disorder"),
    ],
)
def test_another_spelling_or_name_of_one_disease_is_right(answer, reference):
    assert grade(answer, reference).value == 1.0


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        ("Osteoclastoma", "Osteoblastoma"),
        ("Hemophilia B", "Hemophilia A"),
        ("Hemophilia (B)", "Hemophilia A"),
        ("Hemophilia (B)", "Hemophilia (A)"),
        ("Hemophilia (B)", "Hemophilia"),
        ("Diabetes mellitus (type 2)", "Diabetes mellitus (type 1)"),
        ("t(8;14)", "t(15;17)"),
        ("α-thalassemia", "β-thalassemia"),
        ("麻疹", "痛风"),
        ("Multiple myelomas of the mind", "Multiple myeloma"),
        ("Myelom", "Multiple myeloma"),
        ("not multiple myeloma", "Multiple myeloma"),
        ("Multiple", "Multiple myeloma"),
        ("Multiple sclerosis", "Multiple myeloma"),
        ("Hypoparathyroidism", "Hyperparathyroidism"),
        ("", "Multiple myeloma"),
        ("None", "Multiple myeloma"),
        ("?!", "Multiple myeloma"),
        ("{{ reference }}", "Multiple myeloma"),
        (".*", "Multiple myeloma"),
    ],
)
@pytest.mark.parametrize("policy", POLICIES)
def test_a_similar_spelling_is_another_disease(answer, reference, policy):
    assert grade(answer, reference, policy).value == 0.0


def test_a_broader_answer_is_right_only_by_policy():
    right = {name for name in POLICIES if grade("bone marrow disorder", MYELOMA, name).value}
    assert right == {name for name, policy in POLICIES.items() if policy.broader}
    assert "strict" not in right
    assert grade("plasma cell dyscrasia", "Multiple myeloma").evidence == "broader: plasma cell dyscrasia"


@pytest.mark.parametrize("policy", POLICIES)
def test_a_more_specific_answer_is_never_right(policy):
    assert grade("IgG kappa multiple myeloma", MYELOMA, policy).value == 0.0
    assert grade("Multiple myeloma", "Plasma cell dyscrasia", policy).value == 0.0


def test_further_accepted_answers_are_right_only_by_policy():
    for answer in ("MGUS", "Monoclonal gammopathy of undetermined significance"):
        right = {name for name in POLICIES if grade(answer, MYELOMA, name).value}
        assert right == {"preprint_2023"}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "answer", ["Multiple myeloma or gout", "1. Gout\n2. Multiple myeloma", "Multiple myeloma; gout"]
)
def test_alternatives_are_several_diagnoses_whatever_the_policy(answer, policy):
    verdict = grade(answer, MYELOMA, policy)
    assert verdict.value == 0.0
    assert verdict.evidence.startswith("multiple")


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "answer", ["Multiple myeloma or plasma cell myeloma", "1. Plasmacytic marrow disease\n2. Kahler disease"]
)
def test_two_names_of_one_disease_are_one_diagnosis(answer, policy):
    assert grade(answer, MYELOMA, policy).value == 1.0


def test_a_concurrent_diagnosis_counts_as_the_policy_says():
    main = {name: grade("Multiple myeloma with kidney injury", MYELOMA, name).value for name in POLICIES}
    minor = {name: grade("Kidney injury with multiple myeloma", MYELOMA, name).value for name in POLICIES}
    assert {name for name, value in main.items() if not value} == {"strict"}
    assert {name for name, value in minor.items() if value} == {"released"}


def test_the_reference_s_own_regex_characters_and_templates_are_text():
    assert grade("{{ 7 * 7 }} disease", "{{ 7 * 7 }} disease").value == 1.0
    assert grade("49 disease", "{{ 7 * 7 }} disease").value == 0.0


def test_every_released_answer_that_is_a_name_is_accepted_and_no_other_choice_is_the_same(shared):
    refused, taken = [], []
    for case in read_cases(shared / "data" / "craft-md" / "cases.csv"):
        part, name = grader_part(case), case.diagnosis.name
        verdict = asyncio.run(LexiconGrader().grade(name, part, POLICIES["strict"]))
        if verdict.value != 1.0:
            refused.append(name)
        others = [choice for choice in case.choices if choice.strip().casefold() != name.strip().casefold()]
        verdicts = [asyncio.run(LexiconGrader().grade(choice, part, POLICIES["strict"])) for choice in others]
        taken += [case.id for verdict in verdicts if verdict.value]
    assert (refused, taken) == ([], [])
