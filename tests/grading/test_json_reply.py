import json
from typing import Annotated

import pytest
from pydantic import Field

from openosce.grading.json_reply import LONGEST, Shape, read_object, schema_of
from openosce.grading.student_output import SHAPES, read_student, read_words


class Marks(Shape):
    score: float
    reason: str
    findings: Annotated[tuple[str, ...], Field(strict=False)] = ()


GOOD = '{"score": 0.5, "reason": "fits {so} \\"well\\"", "findings": ["a"]}'
QUESTION = {"symptom": "fever", "reason": "infection", "question": "Have you had a fever?"}
EXAM = {"physical exam": "Heart", "maneuver": "auscultation", "reason": "chest pain"}
DIAGNOSIS = {
    "diagnosis": "Gout",
    "Historical Findings": ["red toe"],
    "Historical reasons": ["typical"],
    "Physical exam data": "N/A",
    "Physical exam data reasons": ["N/A"],
}


def test_an_object_alone_is_read_without_repair():
    read = read_object(GOOD, Marks)
    assert (read.value, read.repairs, read.problem) == (
        Marks(score=0.5, reason='fits {so} "well"', findings=("a",)),
        (),
        None,
    )


@pytest.mark.parametrize(
    ("reply", "repairs"),
    [
        (f"```json\n{GOOD}\n```", ("code fence",)),
        (f"```\n{GOOD}", ("code fence",)),
        (f"Here is my verdict:\n{GOOD}", ("text before the object",)),
        (f"{GOOD}\nI hope this helps.", ("text after the object",)),
        (f"Sure!\n```json\n{GOOD}\n```\nBye.", ("code fence", "text before the object", "text after the object")),
        (f"\ufeff{GOOD}\n", ()),
    ],
)
def test_fences_and_text_around_the_object_are_mended_and_recorded(reply, repairs):
    read = read_object(reply, Marks)
    assert read.value == read_object(GOOD, Marks).value
    assert sorted(read.repairs) == sorted(repairs)


def test_keys_that_nobody_asked_for_are_left_aside_and_named():
    read = read_object('{"score": 1, "reason": "", "total": 99, "mood": {"deep": 1}}', Marks)
    assert read.value == Marks(score=1.0, reason="")
    assert read.repairs == ("ignored 'total', 'mood'",)


def test_ignored_keys_are_named_inside_lists_too():
    read = read_student("physical_exam", json.dumps({"exams": [EXAM | {"cost": 3}]}))
    assert read.repairs == ("ignored 'exams.cost'",)


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("I would ask about fever.", "I would ask about fever."),
        ('{"reason": "x"}', "score: Field required"),
        ('{"score": "1", "reason": "x"}', "score: Input should be a valid number, came '1'"),
        ('{"score": true, "reason": "x"}', "score"),
        ('{"score": null, "reason": "x"}', "score"),
        ('{"score": 1, "reason": ["x"]}', "reason"),
        ('{"score": 1, "reason": "x", "findings": "a"}', "findings"),
        ('{"score": 1, "reason": "x", "findings": [1]}', "findings.0"),
        ('{"score": 1, "reason": "x",}', "not JSON"),
        ("{'score': 1, 'reason': 'x'}", "not JSON"),
        ('{"score": 1, "reason": "x"', "cut off"),
        ('{"score": 1, "reason": "x", "findings": {"a": 1}', "not JSON"),
        ('{"score": NaN, "reason": "x"}', "NaN is no number"),
        ('{"score": Infinity, "reason": "x"}', "Infinity"),
        ('{"score": 1e999, "reason": "x"}', "too large"),
        ('{"score": 1' + "0" * 400 + ', "reason": "x"}', "too large"),
        ('{"score": 1' + "0" * 6000 + ', "reason": "x"}', "too large"),
        ('{"score": 1, "score": 0, "reason": "x"}', "'score' stands twice"),
        (f"[{GOOD}]", "list"),
        (f"[{GOOD}, {GOOD}]", "list"),
        (f"{GOOD} {GOOD}", "not JSON"),
        (json.dumps(GOOD), "not JSON"),
        ('{"score": 1, "reason": "\\ud800"}', "no character"),
        ('{"score": 1, "reason": ' + '{"a":' * 100_000 + "1" + "}" * 100_001, "characters"),
        ('{"score": 1, "reason": "x", "more": ' + "[" * 40_000 + "]" * 40_000 + "}", "nested too deep"),
        ('{"a":' * 1000 + "1" + "}" * 1000, ""),
        ('{"reason": "x", "score": ' + "[" * 900 + "]" * 900 + "}", "score: Input should be a valid number"),
        ("{" + ", ".join(f'"{n}": 0' for n in range(8000)) + ', "0": 1}', "'0' stands twice"),
        ("x" * 10_000_000, "10,000,000 characters"),
        ("}{", "cut off"),
    ],
)
def test_anything_else_is_invalid_with_a_reason_in_one_line(reply, says):
    read = read_object(reply, Marks)
    assert read.value is None
    assert says in read.problem
    assert read.problem and "\n" not in read.problem and len(read.problem) < 400


def test_a_reply_is_read_up_to_the_longest_length():
    padding = LONGEST - len(GOOD)
    assert read_object(GOOD + " " * padding, Marks).value
    assert read_object(GOOD + " " * (padding + 1), Marks).value is None


@pytest.mark.parametrize("shape", SHAPES.values())
def test_the_schema_for_endpoints_requires_every_key_and_allows_no_other(shape):
    def objects(schema):
        found = [schema] if schema.get("type") == "object" else []
        inner = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()]
        inner += [schema["items"]] if "items" in schema else []
        return found + [one for part in inner for one in objects(part)]

    schema = schema_of(shape)
    assert objects(schema)
    assert all(one["required"] == list(one["properties"]) for one in objects(schema))
    assert all(one["additionalProperties"] is False for one in objects(schema))


def test_each_section_s_output_is_read_with_the_paper_s_keys():
    assert read_student("info_gathering", json.dumps(QUESTION)).value.question == "Have you had a fever?"
    plan = read_student("physical_exam", json.dumps({"exams": [EXAM]})).value
    assert [str(exam) for exam in plan.exams] == ["Heart (auscultation)"]
    differential = {f"diagnosis{n}": DIAGNOSIS for n in (1, 2, 3)}
    first = read_student("differential", json.dumps(differential)).value.diagnoses[0]
    assert (first.diagnosis, first.historical, first.physical, first.physical_reasons) == ("Gout", ("red toe",), (), ())


def test_proposing_no_examination_is_an_answer():
    assert read_student("physical_exam", '{"exams": []}').value.exams == ()


@pytest.mark.parametrize(
    ("section", "output"),
    [
        ("info_gathering", QUESTION | {"question": "  "}),
        ("physical_exam", [EXAM]),
        ("physical_exam", {"exams": EXAM}),
        ("physical_exam", {"exams": [EXAM | {"maneuver": ["a", "b"]}]}),
        ("differential", {"diagnosis1": DIAGNOSIS, "diagnosis2": DIAGNOSIS}),
        (
            "differential",
            {f"diagnosis{n}": DIAGNOSIS | {"Historical Findings": ["a", "b", "c", "d"]} for n in (1, 2, 3)},
        ),
        ("closure", {"closure": "Goodbye."}),
    ],
)
def test_an_output_of_another_shape_is_a_failure_to_follow_the_instructions(section, output):
    read = read_student(section, json.dumps(output))
    assert read.value is None
    assert read.problem


@pytest.mark.parametrize(
    ("reply", "expected", "repairs"),
    [
        ('{"closure": "We will test.", "answer": "I hear you."}', ("We will test.", "I hear you."), ()),
        ("Closure: We will test.\n\nAnswer: I hear you.", ("We will test.", "I hear you."), ("plain text",)),
        ("So:\n**Closure:** We test.\n**Question Answer:** I hear you.", ("We test.", "I hear you."), ("plain text",)),
        ('In JSON: {"closure": "We test.", "answer": "Yes."}', ("We test.", "Yes."), ("text before the object",)),
        ("[smiles] We test.\nAnswer: Yes.", ("[smiles] We test.", "Yes."), ("plain text",)),
        ("We will test.", ("We will test.", ""), ("plain text", "no heading parts the answer from it")),
    ],
)
def test_a_closure_may_be_plain_text(reply, expected, repairs):
    read = read_student("closure", reply)
    assert ((read.value.closure, read.value.answer), read.repairs) == (expected, repairs)


@pytest.mark.parametrize("reply", ["", "  ", "Closure:\nAnswer:", '```json\n{"closure": "cut', "x" * (LONGEST + 1)])
def test_no_closure_is_made_of_nothing_or_of_broken_json(reply):
    assert read_student("closure", reply).value is None


def test_a_closure_asked_in_two_steps_is_read_step_by_step():
    assert read_words('{"closure": "We will test."}', "closure").value == "We will test."
    assert read_words("I hear you.", "answer") == ("I hear you.", ("plain text",), None)
    assert read_words('{"answer": 3}', "answer").value is None
    assert read_words(" ", "answer").problem
