"""Our rules beside the correctness and the verdicts that CRAFT-MD's authors released for 60 cases and three models."""

import asyncio
import csv
import gzip
import json

import pytest

from openosce.cases import grader_part, read_cases
from openosce.grading import POLICIES, LexiconGrader, match_option

MODELS = ("gpt4_1106", "gpt3_1106", "mistral-v2")
FORMATS = ("vignette", "multiturn", "singleturn", "summarized")


@pytest.fixture
def released(shared):
    return shared / "data" / "craft-md"


@pytest.fixture
def parts(released):
    return {case.id: grader_part(case) for case in read_cases(released / "cases.csv")}


def text_of(value):
    """Values are text, null, or a list of text or null with a cost."""
    return value[0] if isinstance(value, list) else value


def trials(released):
    for model in MODELS:
        for file in sorted((released / "results_sample" / model).glob("case_*.json")):
            results = json.loads(file.read_text(encoding="utf-8"))
            for trial in range(5):
                yield model, results["case_id"], str(trial), results.get(f"trial_{trial}") or {}


def correctness(released):
    with gzip.open(released / "correctness_gpt4_gpt35_mistral-v2.csv.gz", "rt", encoding="utf-8") as table:
        return {
            (row["model"], row["case_id"], row["experiment"], row["trial"]): row["correct"]
            for row in csv.DictReader(table)
            if row["valid"] == "1" and row["experiment"].endswith("_mcq")
        }


def test_the_published_rule_reproduces_the_released_correctness(released, parts):
    published = correctness(released)
    compared, stripped = [], []
    for model, case_id, trial, results in trials(released):
        for experiment in (f"{name}_mcq" for name in FORMATS):
            reply = text_of(results.get(experiment))
            right = published.get((model, case_id, experiment, trial))
            if reply is None or right is None:
                continue
            part = parts[case_id]
            compared.append(match_option(reply, part, POLICIES["as_published"]).value == float(right))
            if part.diagnosis.name != part.diagnosis.name.strip() and reply.strip() == part.diagnosis.name.strip():
                stripped.append((float(right), match_option(reply, part, POLICIES["paper"]).value))
    assert len(compared) > 3_500
    assert all(compared)
    assert stripped
    assert set(stripped) == {(0.0, 1.0)}


def test_the_lexicon_agrees_with_most_released_verdicts_and_is_seldom_the_more_lenient(released, parts):
    agreed, lenient, n = 0, 0, 0
    for _, case_id, _, results in trials(released):
        for name in FORMATS:
            reply, stored = (text_of(results.get(key)) for key in (f"{name}_frq", f"evaluation_{name}_frq"))
            if not reply or stored not in (0, 1):
                continue
            ours = asyncio.run(LexiconGrader().grade(reply, parts[case_id], POLICIES["paper"])).value
            n += 1
            agreed += ours == stored
            lenient += ours > stored
    assert n > 3_500
    assert agreed / n > 0.9
    assert lenient / n < 0.01
