"""Text metrics against what is worked out by hand, on the starter cases."""

import asyncio
import importlib.util
import json
import sys
from types import ModuleType, SimpleNamespace

import pytest

from openosce.cases import read_cases
from openosce.errors import StudyError
from openosce.grading.examiner import ExaminerContext, ExaminerPart, examiner_part
from openosce.grading.rubrics import AS_PROMPTED, AS_PUBLISHED
from openosce.grading.student_output import read_student
from openosce.grading.text_metrics import (
    MetricExaminer,
    TextMetric,
    exact_match,
    find_metric,
    reference_items,
    said_items,
)

CASE = next(case for case in read_cases("starter") if case.id == "acute-pericarditis-01")
PART = examiner_part(CASE)
CONTEXT = ExaminerContext("chest pain", CASE.station.dialogue)
HALF = TextMetric("half", lambda said, reference: 0.5)

needs_rouge = pytest.mark.skipif(importlib.util.find_spec("rouge_score") is None, reason="extra metrics")
needs_nltk = pytest.mark.skipif(importlib.util.find_spec("nltk") is None, reason="extra metrics")


def marked(metric, section, output, part=PART, context=CONTEXT):
    scores = asyncio.run(MetricExaminer(metric).mark(section, output, part, context))
    assert {score.grader for score in scores} == {f"metric/{metric.name}"}
    return {(score.metric, score.policy): score for score in scores}


def read(section, data):
    return read_student(section, json.dumps(data)).value


PLAN = read(
    "physical_exam", {"exams": [{"physical exam": "Heart", "maneuver": "auscultation", "reason": "the chest pain"}]}
)


def test_exact_match_is_the_share_of_reference_items_that_stand_there_in_any_case():
    assert exact_match(("HEART: auscultation", "Neck"), ("heart:  Auscultation", "back", "skin", "NECK")) == 0.5
    assert exact_match(("heart",), ("heart sounds",)) == 0.0


def test_reasons_are_no_part_of_the_text_that_is_compared():
    assert said_items(PLAN) == ("Heart: auscultation",)
    assert "Heart: auscultation" in reference_items("physical_exam", PART, CONTEXT)


def test_a_question_is_compared_with_the_one_that_comes_next_in_the_reference():
    context = ExaminerContext("chest pain", CASE.station.dialogue[:3])
    assert reference_items("info_gathering", PART, context) == (CASE.station.dialogue[3].question,)
    question = read("info_gathering", {"symptom": "", "reason": "", "question": CASE.station.dialogue[3].question})
    scores = marked(find_metric("exact-match"), "info_gathering", question, PART, context)
    assert scores["points", "-"].value == 1.0
    assert scores["repeated", "-"].value is None and scores["repeated", "-"].missing_reason.startswith("not_judged")


def test_a_total_is_a_hundred_times_the_metric_alike_under_every_weighting():
    scores = marked(HALF, "physical_exam", PLAN)
    assert {place: score.value for place, score in scores.items()} == {
        ("score", AS_PUBLISHED): 50.0,
        ("score", AS_PROMPTED): 50.0,
    }


def test_who_proposes_nothing_where_something_was_wanted_has_nothing():
    assert marked(HALF, "physical_exam", read("physical_exam", {"exams": []}))["score", AS_PUBLISHED].value == 0.0


def test_a_case_without_a_reference_is_missing_and_not_zero():
    part = ExaminerPart(CASE.station.model_copy(update={"target_examinations": ()}), CASE.diagnosis)
    score = marked(HALF, "physical_exam", PLAN, part)["score", AS_PUBLISHED]
    assert score.value is None and score.missing_reason.startswith("case_lacks_part")


def test_what_a_metric_does_not_define_is_missing_with_a_reason():
    score = marked(TextMetric("none", lambda said, reference: None), "physical_exam", PLAN)["score", AS_PUBLISHED]
    assert score.value is None and score.missing_reason.startswith("not_judged")


def test_an_unknown_metric_is_refused_with_the_names_of_those_there_are():
    with pytest.raises(StudyError, match=r"'bleu': unknown; there is rouge-1, .*exact-match.*umls=COMMAND"):
        find_metric("bleu")


def test_a_library_that_is_missing_is_told_with_the_extra_that_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "bert_score", None)
    with pytest.raises(StudyError, match=r"bert_score; pip install 'openosce\[metrics\]'"):
        find_metric("bertscore")


def test_bertscore_hands_student_and_reference_over_in_its_order_and_takes_f1(monkeypatch):
    asked = []

    def score(candidates, references):
        asked.append((candidates, references))
        return [0.1], [0.2], [0.75]

    module = ModuleType("bert_score")
    module.BERTScorer = lambda lang: SimpleNamespace(model_type=f"large-{lang}", score=score)
    monkeypatch.setitem(sys.modules, "bert_score", module)
    metric = find_metric("bertscore")
    assert metric.likeness(("a", "b"), ("c",)) == 0.75
    assert asked == [(["a\nb"], ["c"])]
    assert metric.identity["model"] == "large-en"


def test_a_bertscore_model_that_cannot_be_loaded_is_one_line(monkeypatch):
    def refuse(lang):
        raise OSError("no weights")

    module = ModuleType("bert_score")
    module.BERTScorer = refuse
    monkeypatch.setitem(sys.modules, "bert_score", module)
    with pytest.raises(StudyError, match="cannot be loaded: no weights"):
        find_metric("bertscore")


@needs_rouge
@pytest.mark.parametrize(
    ("name", "f1"),
    # said: the cat sat (3 words), reference: the cat was here (4): 2 words, 1 pair and a subsequence of 2 in common
    [("rouge-1", 4 / 7), ("rouge-2", 2 / 5), ("rouge-l", 4 / 7)],
)
def test_rouge_is_the_f1_that_its_definition_gives(name, f1):
    assert find_metric(name).likeness(("the cat sat",), ("the cat was here",)) == pytest.approx(f1)


@needs_nltk
def test_meteor_of_words_and_stems_is_what_its_definition_gives():
    # 3 of 3 words matched (one by its stem) in one chunk: F = 1, penalty 0.5 · (1/3)³
    assert find_metric("meteor-stem").likeness(("The cats sat.",), ("the cat sat",)) == pytest.approx(1 - 0.5 / 27)
    assert find_metric("meteor-stem").likeness(("...",), ("the cat",)) == 0.0
