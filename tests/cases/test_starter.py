"""Our own cases, and the disease names we ship."""

from collections import Counter
from importlib import resources

import pytest
import yaml

from openosce.cases import read_cases
from openosce.cases.checks import check_cases, missing_parts
from openosce.cases.diseases import find_disease, normal_name

SPECIALTIES = {
    "Dermatology", "Hematology and Oncology", "Neurology", "Gastroenterology", "Pediatrics and Neonatology",
    "Cardiology", "Infectious Disease", "Obstetrics and Gynecology", "Urology and Nephrology", "Endocrinology",
    "Rheumatology", "Other",
}  # fmt: skip
CASES = {case.id: case for case in read_cases("starter")}


def shipped(package, name):
    return yaml.safe_load((resources.files(package) / name).read_text(encoding="utf-8"))


def test_twelve_cases_cover_the_twelve_specialties():
    assert len(CASES) == 12
    assert {case.specialty for case in CASES.values()} == SPECIALTIES


def test_the_check_finds_nothing_wrong_or_risky():
    assert check_cases(list(CASES.values())) == []


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_each_case_has_what_the_benchmarks_need(case):
    assert case.synthetic
    assert case.license
    assert len(case.choices) == 4
    assert case.diagnosis.name in case.choices
    assert case.diagnosis.synonyms
    assert case.patient.opening
    assert len(case.patient.facts) >= 15
    assert all(fact.lay for fact in case.patient.facts)
    assert any(fact.key for fact in case.patient.facts)
    lacks = missing_parts(case)
    assert (lacks["craft-md"], lacks["agentclinic"]) == ([], [])


def test_the_right_choice_does_not_keep_to_one_place():
    places = Counter(case.choices.index(case.diagnosis.name) for case in CASES.values())
    assert set(places) == {0, 1, 2, 3}
    assert max(places.values()) <= 5


def test_every_choice_has_an_illness_script_and_is_a_known_disease():
    scripts = {normal_name(entry["name"]) for entry in shipped("openosce.roles", "illness_scripts.yaml")}
    choices = {choice for case in CASES.values() for choice in case.choices}
    assert [choice for choice in choices if normal_name(choice) not in scripts] == []
    assert [choice for choice in choices if find_disease(choice) is None] == []


def test_no_disease_has_another_s_name():
    owners = {}
    for entry in shipped("openosce.cases", "diseases.yaml"):
        assert set(entry) <= {"name", "synonyms", "broader"}
        for name in (entry["name"], *entry.get("synonyms", ())):
            assert normal_name(name)
            owners.setdefault(normal_name(name), set()).add(entry["name"])
    assert {name: diseases for name, diseases in owners.items() if len(diseases) > 1} == {}


def test_no_disease_is_broader_than_itself():
    for entry in shipped("openosce.cases", "diseases.yaml"):
        own = {normal_name(name) for name in (entry["name"], *entry.get("synonyms", ()))}
        assert not own & {normal_name(name) for name in entry.get("broader", ())}, entry["name"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Crohn's disease", "crohn disease"),
        ("Crohn’s disease", "Crohn´s  Disease"),
        ("Guillain–Barré syndrome", "guillain-barre syndrome"),
        ("Leukaemia", "leukemia"),
        ("Oesophageal tumour", "esophageal tumor"),
        ("Diarrhoea", "diarrhea"),
        ("β-thalassaemia", "Beta thalassemia"),
        ("The common cold", "common cold"),
        ("Sjögren's", "SJOGREN"),
    ],
)
def test_spellings_of_one_name_meet(one, other):
    assert normal_name(one) == normal_name(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Hemophilia A", "Hemophilia B"),
        ("α-thalassemia", "β-thalassemia"),
        ("Osteoclastoma", "Osteoblastoma"),
        ("ER+ breast cancer", "ER- breast cancer"),
        ("痛风", "麻疹"),
        ("Подагра", "Корь"),
        ("TSH ↑", "TSH ↓"),
        ("Type 1 diabetes", "Type 2 diabetes"),
    ],
)
def test_different_names_stay_different(one, other):
    assert normal_name(one) != normal_name(other)
