"""The built-in student: every section by rule, and nothing but what every student is told."""

import asyncio
import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from openosce.benchmarks.medqa_cs import sections
from openosce.cases import STARTER, Case, read_cases
from openosce.cases.record import Round
from openosce.grading.student_output import read_student, read_words
from openosce.roles.illness_scripts import script_names
from openosce.roles.record_student import LAST_QUESTION, RecordStudent
from openosce.roles.student import StudentTask

CASES = read_cases(STARTER)
BY_ID = {case.id: case for case in CASES}
COMPONENTS = set("Neck Chest Heart Abdomen Extremities VS CV Pulmonary Back Hips Neuro HEENT Skin".split())


def hand_in(task: StudentTask, seed: str = "1|c|0") -> str:
    return asyncio.run(RecordStudent(seed).hand_in(task))


def handed_in(task: StudentTask, seed: str = "1|c|0") -> Any:
    return json.loads(hand_in(task, seed))


def complaining(of: str) -> StudentTask:
    return StudentTask("physical_exam", "answer/physical_exam", "", (Round(question="What is it?", answer=of),))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_every_section_of_every_starter_case_has_the_asked_shape(case: Case):
    tasks = {
        "info_gathering": sections.question_task(case, 5, False),
        "physical_exam": sections.exam_task(case, False),
        "differential": sections.differential_task(case, False),
    }
    for section, task in tasks.items():
        read = read_student(section, hand_in(task))
        assert read.value is not None and read.repairs == (), read
    assert read_words(hand_in(sections.closure_task(case, False)), "closure").value
    assert read_words(hand_in(sections.challenge_task(case, "Well.", False)), "answer").value


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_question_is_not_one_that_the_dialogue_holds(case: Case):
    dialogue = sections.station_of(case).dialogue
    for number in (1, 8, len(dialogue) - 1):
        question = handed_in(sections.question_task(case, number, False))["question"]
        assert question not in [one.question for one in dialogue[:number]]
        assert "How old are you" not in question  # it stands on the door


def test_the_dialogue_takes_questions_off_the_checklist():
    task = sections.question_task(BY_ID["acute-pericarditis-01"], 1, False)
    asked = (*task.dialogue, Round(question="Have you had a fever, chills or sweats?", answer="No."))
    steps = [f"answer/info_gathering/{n:02}" for n in range(60)]
    before = Counter(handed_in(replace(task, step=step))["question"] for step in steps)
    after = Counter(handed_in(replace(task, step=step, dialogue=asked))["question"] for step in steps)
    assert before["Do you have any fever, chills or sweats?"] > 0
    assert after["Do you have any fever, chills or sweats?"] == 0
    assert LAST_QUESTION not in before or before[LAST_QUESTION] < 60


def test_the_same_seed_asks_the_same_and_trials_differ():
    tasks = [sections.question_task(CASES[0], number, False) for number in range(1, 12)]
    first, again, other = ([hand_in(task, seed) for task in tasks] for seed in ("1|a|0", "1|a|0", "1|a|1"))
    assert first == again
    assert first != other


def test_the_chief_complaint_decides_what_is_examined():
    itchy = {exam["physical exam"] for exam in handed_in(complaining("I have an itchy rash."))["exams"]}
    weak = {exam["physical exam"] for exam in handed_in(complaining("My legs are weak."))["exams"]}
    assert "Skin" in itchy - weak
    assert "Neuro" in weak - itchy
    assert itchy | weak <= COMPONENTS


def test_a_component_is_proposed_once_with_all_its_maneuvers():
    exams = handed_in(complaining("My chest hurts and my belly too."))["exams"]
    names = [exam["physical exam"] for exam in exams]
    assert len(names) == len(set(names))
    heart = next(exam["maneuver"] for exam in exams if exam["physical exam"] == "Heart")
    assert heart.split(", ").count("auscultation") == 1


def test_the_differential_names_three_diseases_with_what_was_told_and_found():
    task = sections.differential_task(BY_ID["acute-pericarditis-01"], False)
    rows = handed_in(task).values()
    assert len({row["diagnosis"] for row in rows} & set(script_names())) == 3
    first = next(iter(rows))
    assert first["diagnosis"] == "Acute pericarditis"
    told = [one.answer for one in task.dialogue]
    assert all(any(answer in finding for answer in told) for finding in first["Historical Findings"])
    assert any("scratching sound" in finding for finding in first["Physical exam data"])
    assert len(first["Historical Findings"]) == len(first["Historical reasons"]) <= 3


def test_the_closure_keeps_the_diagnosis_open_and_names_possibilities_and_tests():
    case = BY_ID["acute-pericarditis-01"]
    closure = handed_in(sections.closure_task(case, False))["closure"]
    assert "cannot say for certain" in closure
    assert "Acute pericarditis" in closure and "ECG" in closure


@pytest.mark.parametrize("answer", ["", "x" * 10_000, "{{ x }}", '"}], "exams": [', "\x00\x1b[31m", "Ça fait mal"])
def test_whatever_the_patient_says_the_reply_has_the_asked_shape(answer: str):
    dialogue = (Round.model_construct(question="What brings you in?", answer=answer, topic=None),) * 2
    for kind in ("info_gathering", "physical_exam", "differential"):
        task = StudentTask(kind, f"answer/{kind}", "", dialogue, examination=answer)
        assert read_student(kind, hand_in(task)).problem is None
