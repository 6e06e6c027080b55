import asyncio
import json

import pytest

from openosce.cases import read_cases
from openosce.grading.examinations import _does
from openosce.grading.examiner import ExaminerContext, ExaminerPart, examiner_part
from openosce.grading.marks import NO_TARGETS
from openosce.grading.record_examiner import RecordExaminer
from openosce.grading.rubrics import AS_PROMPTED, AS_PUBLISHED, METRICS, MarkingRules
from openosce.grading.student_output import SECTIONS, ClosingWords, ProposedExam, read_student

CASES = {case.id: case for case in read_cases("starter")}
CASE = CASES["acute-pericarditis-01"]
PART = examiner_part(CASE)
CONTEXT = ExaminerContext("Mr. Marcus Feld, chest pain", CASE.station.dialogue)


def marked(section, output, part=PART, context=CONTEXT, rules=None):
    scores = asyncio.run(RecordExaminer(rules).mark(section, output, part, context))
    assert {score.grader for score in scores} == {"builtin/examiner"}
    return {(score.metric, score.policy): score for score in scores}


def ask(question, rounds=1, part=PART, rules=None):
    output = read_student("info_gathering", json.dumps({"symptom": "", "reason": "", "question": question})).value
    context = ExaminerContext("chest pain", part.station.dialogue[:rounds])
    scores = marked("info_gathering", output, part, context, rules)
    return scores["points", "-"].value, scores["repeated", "-"].value


def plan(*exams, reason="-"):
    rows = [{"physical exam": e, "maneuver": m, "reason": reason} for e, m in exams]
    return read_student("physical_exam", json.dumps({"exams": rows})).value


def differential(*names, historical=(), physical=()):
    rows = {
        f"diagnosis{n}": {
            "diagnosis": name,
            "Historical Findings": list(historical),
            "Historical reasons": "N/A",
            "Physical exam data": list(physical),
            "Physical exam data reasons": "N/A",
        }
        for n, name in enumerate(names, 1)
    }
    return read_student("differential", json.dumps(rows)).value


def points(output, part=PART):
    scores = marked("differential", output, part)
    return tuple(scores[metric, "-"].value for metric in ("names", "historical", "physical", "order"))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_question_of_a_bank_has_its_point_when_new_and_none_when_repeated(case):
    part = examiner_part(case)
    for number, entry in enumerate(case.station.dialogue):
        assert ask(entry.question, number, part) == (1.0, 0.0), entry.question
        assert ask(entry.question, number + 1, part) == (0.0, 1.0), entry.question


@pytest.mark.parametrize(
    "question",
    ["Do you smoke cigarettes?", "What medicines are you taking?", "Have you had any recent fever or chills?"],
)
def test_a_question_in_other_words_has_its_point(question):
    assert ask(question) == (1.0, 0.0)


@pytest.mark.parametrize("question", ["What is your favourite colour?", "?", "Do you own a parrot?", "日本語"])
def test_a_question_outside_the_bank_has_none(question):
    assert ask(question) == (0.0, 0.0)


def test_a_question_that_is_like_one_of_the_bank_has_half_a_point_in_configuration_2_only():
    question = "Have you coughed up phlegm?"  # the bank asks for blood
    given = [ask(question, rules=MarkingRules(configuration=n))[0] for n in (1, 2, 3)]
    assert given == [0.0, 0.5, 0.0]


def test_the_target_examinations_themselves_cover_all():
    for case in CASES.values():
        rows = [(row.component, ", ".join(row.maneuvers)) for row in case.station.target_examinations]
        scores = marked("physical_exam", plan(*rows), examiner_part(case))
        assert scores["coverage", "-"].value == pytest.approx(60), case.id
        assert scores["extra_exams", "-"].value == 0
        assert scores["score", AS_PUBLISHED].value == pytest.approx(100)


def test_reasons_are_not_judged_and_the_total_says_so():
    scores = marked("physical_exam", plan(("Heart", "auscultation")))
    assert scores["reasons", "-"].value is None
    assert scores["reasons", "-"].missing_reason == "not_judged: builtin/examiner cannot judge reasons"
    assert "without reasons" in scores["score", AS_PROMPTED].evidence


@pytest.mark.parametrize(
    ("exams", "rows", "maneuvers"),
    [
        ([("Cardiovascular", "Listen to the heart sitting and leaning forward")], 1, 2),
        ([("CV", "auscultation")], 0.5, 1),
        ([("Heart", "")], 0.5, 0.5),
        ([("Lungs", "auscultate, percuss")], 1, 2),
        ([("Chest", "palpation of the chest wall, auscultation and percussion of the lungs")], 2, 3),
        ([("VS", "blood pressure and heart rate")], 0, 0),
        ([("Abdomen", "palpation")], 0, 0),
        ([], 0, 0),
    ],
)
def test_coverage_counts_rows_in_part_or_finer_by_maneuvers(exams, rows, maneuvers):
    output = plan(*exams)
    assert marked("physical_exam", output)["coverage", "-"].value == pytest.approx(60 * rows / 6)
    finer = marked("physical_exam", output, rules=MarkingRules(finer=True))
    assert finer["coverage", "-"].value == pytest.approx(60 * maneuvers / 10)


def test_an_examination_is_extra_if_neither_a_target_nor_related_to_the_dialogue():
    told = "Related to the fever he has had"
    scores = marked("physical_exam", plan(("Hips", "internal rotation")))
    assert scores["extra_exams", "-"].value == -10
    assert "Hips (internal rotation)" in scores["extra_exams", "-"].evidence
    assert marked("physical_exam", plan(("Abdomen", "palpation"), reason=told))["extra_exams", "-"].value == 0


def test_a_case_without_target_examinations_leaves_the_mean_and_is_negative_as_published():
    bare = ExaminerPart(PART.station.model_copy(update={"target_examinations": ()}), PART.diagnosis)
    scores = marked("physical_exam", plan(("Hips", "rotation"), ("Neuro", "reflexes")), bare)
    for key in (("coverage", "-"), ("extra_exams", "-"), ("score", AS_PROMPTED)):
        assert (scores[key].value, scores[key].missing_reason) == (None, NO_TARGETS)
        assert scores[key].evidence == "unnecessary: Hips (rotation); Neuro (reflexes)"
    assert scores["score", AS_PUBLISHED].value == pytest.approx(-10)


def test_a_closure_is_not_judged():
    scores = marked("closure", ClosingWords(closure="We will test.", answer="I hear you."))
    assert {score.value for score in scores.values()} == {None}
    assert all(score.missing_reason.startswith("not_judged: builtin/examiner") for score in scores.values())


def test_the_case_s_own_differential_has_every_point():
    for case in CASES.values():
        rows = {
            f"diagnosis{n}": {
                "diagnosis": item.diagnosis,
                "Historical Findings": list(item.historical),
                "Historical reasons": [],
                "Physical exam data": list(item.physical),
                "Physical exam data reasons": [],
            }
            for n, item in enumerate(case.station.differential, 1)
        }
        output = read_student("differential", json.dumps(rows)).value
        scores = marked("differential", output, examiner_part(case))
        held = [
            sum(len(getattr(item, kind)) for item in case.station.differential) for kind in ("historical", "physical")
        ]
        assert scores["names", "-"].value == 30, case.id
        assert [scores[kind, "-"].value for kind in ("historical", "physical")] == held, case.id
        assert scores["order", "-"].value == 10
        assert scores["quality", "-"].missing_reason.startswith("not_judged")


def test_names_are_exact_akin_additional_or_none():
    # a synonym 10; a broader name of the first target 5; an additional diagnosis 5
    assert points(differential("Acute inflammation of the pericardium", "Gout", "Mumps"))[0] == 10
    assert points(differential("Pericarditis", "Gout", "Mumps"))[0] == 5
    assert points(differential("Pulmonary embolism", "Gout", "Mumps"))[0] == 5
    assert points(differential("Gout", "Mumps", "Scurvy")) == (0, 0, 0, 0)


def test_a_target_is_matched_once_and_the_exact_name_has_it():
    assert points(differential("Pericarditis", "Acute pericarditis", "Acute pericarditis"))[0] == 10


def test_similar_spelling_is_no_similar_name():
    assert points(differential("Acute perihepatitis", "Acute myositis", "Gout"))[0] == 0


def test_the_order_counts_only_with_the_first_target_first():
    assert points(differential("Acute pericarditis", "Gout", "Mumps"))[3] == 10
    assert points(differential("Acute myocarditis", "Acute pericarditis", "Mumps"))[3] == 0


def test_findings_count_for_the_matched_target_only_and_each_once():
    sharp = "sharp pain, worse when lying flat"
    found = {"historical": [sharp, sharp], "physical": ["temperature 37.8 °C"]}
    assert points(differential("Acute pericarditis", "Gout", "Mumps", **found))[1:3] == (1, 1)
    assert points(differential("Pulmonary embolism", "Gout", "Mumps", **found))[1:3] == (0, 0)


def test_marks_depend_on_the_output_alone():
    output = differential("Pericarditis", "Acute myocarditis", "Pulmonary embolism")
    assert marked("differential", output) == marked("differential", output)


def test_every_section_s_scores_have_the_rubric_s_metrics():
    outputs = {
        "info_gathering": read_student("info_gathering", '{"symptom": "", "reason": "", "question": "Fever?"}').value,
        "physical_exam": plan(),
        "closure": ClosingWords(closure="a", answer="b"),
        "differential": differential("a", "b", "c"),
    }
    for section in SECTIONS:
        wanted = {*((metric, "-") for metric in METRICS[section]), ("score", AS_PUBLISHED), ("score", AS_PROMPTED)}
        assert set(marked(section, outputs[section])) == wanted


@pytest.mark.parametrize("maneuver", ["vital signs", "neurologic exam", "whole heart exam"])
def test_a_target_named_in_plain_words_is_covered_by_the_same_words(maneuver):
    assert _does(ProposedExam.model_validate({"physical exam": "Neuro", "maneuver": maneuver, "reason": "r"}), maneuver)
