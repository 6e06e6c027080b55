"""Illness scripts: what the built-in doctor knows of diseases, and how it weighs what was said."""

from importlib import resources

import pytest
import yaml

from openosce.cases.diseases import find_disease
from openosce.roles.illness_scripts import AGAINST, WRONG_AGE, WRONG_SEX, Findings, find_script, rank, script_names
from openosce.roles.language import clauses

SCRIPTS = yaml.safe_load((resources.files("openosce.roles") / "illness_scripts.yaml").read_text(encoding="utf-8"))


def fit(text: str, name: str, age: float | None = None, sex: str | None = None) -> float:
    return rank(Findings(clauses(text), age, sex), [name])[0][0]


def test_there_are_scripts_for_sixty_diseases_that_all_have_a_known_name():
    assert len(script_names()) >= 60
    assert len(SCRIPTS) == len(script_names())
    for name in script_names():
        disease = find_disease(name)
        assert disease is not None
        assert disease.name == name


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script["name"])
def test_a_script_is_well_formed(script: dict[str, object]):
    assert set(script) <= {"name", "age", "sex", "findings", "against"}
    youngest, oldest = script["age"]
    assert 0 <= youngest < oldest <= 120
    assert script["sex"] in {"any", "male", "female"}
    weights = [finding["weight"] for finding in script["findings"]]
    assert set(weights) <= {1, 2, 3}
    assert 3 in weights
    assert all(words and all(clauses(way) for way in words) for words in (f["words"] for f in script["findings"]))


def test_a_script_is_found_by_any_name_of_its_disease():
    assert find_script("coeliac sprue") == "Celiac disease"
    assert find_script("  CELIAC DISEASE ") == "Celiac disease"
    assert find_script("Broken heart of glass") is None
    assert find_script("") is None


def test_a_finding_said_adds_its_weight_once_however_often_it_is_said():
    assert fit("He has a herald patch.", "Pityriasis rosea") == 3
    assert fit("He has a herald patch. A herald patch, a mother patch.", "Pityriasis rosea") == 3


def test_a_finding_denied_takes_half_its_weight_away():
    assert fit("He has no herald patch.", "Pityriasis rosea") == -1.5


def test_a_finding_said_once_outweighs_its_denial():
    assert fit("There was a herald patch. He has no herald patch now.", "Pityriasis rosea") == 3


def test_a_finding_against_a_disease_counts_against_it_only_when_said():
    assert fit("A chancre was seen.", "Pityriasis rosea") == AGAINST
    assert fit("He never had a chancre.", "Pityriasis rosea") == 0


@pytest.mark.parametrize(("age", "expected"), [(None, 0), (10, 0), (35, 0), (36, WRONG_AGE), (9.9, WRONG_AGE)])
def test_an_age_outside_the_usual_counts_against_a_disease(age: float | None, expected: float):
    assert fit("", "Pityriasis rosea", age=age) == expected


def test_a_disease_of_the_other_sex_is_all_but_excluded():
    name = next(script["name"] for script in SCRIPTS if script["sex"] == "female")
    inside = float(next(script["age"][0] for script in SCRIPTS if script["name"] == name))
    assert fit("", name, inside, "male") == WRONG_SEX
    assert fit("", name, inside, "female") == 0
    assert fit("", name, inside) == 0


def test_nothing_said_fits_nothing_and_ties_stand_in_the_order_of_names():
    ranked = rank(Findings(()), script_names())
    assert {fit for fit, _ in ranked} == {0}
    assert [name for _, name in ranked] == sorted(script_names())
