import csv
import json
from collections import Counter

import pytest
import typer
from typer.testing import CliRunner

from openosce.cases import Case, Diagnosis
from openosce.cli.import_experts import craft_md_experts, medqa_cs_experts
from openosce.encounters import Encounter, EndReason, Message
from openosce.errors import InputError
from openosce.grading.record import Trial, TrialKey
from openosce.runs.folder import RunReader, RunWriter
from openosce.runs.imports.experts_craft_md import import_craft_md_experts
from openosce.runs.imports.experts_medqa_cs import import_medqa_cs_experts

HEADER = ["case_id", "multi-turn conversation", "correct diagnosis", "Q1", "Q2", "Q3"]
ANSWERS = {"case_0": "Scabies", "case_100": "Vitiligo", "case_7": "Melasma"}
SOURCES = {"case_0": "dermatology_public", "case_100": "dermatology_private", "case_7": "MedQA_USMLE"}
GRADER_SHEET = [
    ["Question: how many of them are right?", "", "", ""],
    ["", "case_0", "case_200", "case_201"],
    ["trial_0", "scabies", "none", "melasma"],
    ["trial_1", "scabies", "vitiligo", "lentigo"],
    ["correct_ans", "Scabies", "Vitiligo", "Melasma"],
    ["dermatologist_accuracy", "2", "", "3"],
    ["", "", "", "a subtype"],
]
CASE_SHEET = [
    ["case_id", "only_possible_answer", "single_most_likely_answer"],
    ["public_case01", "Yes", ""],
    ["private_case01", "No", "perhaps"],
]
TALK = "Doctor-AI : What is it? \n Patient-AI : I itch\nat night."
ROWS = [["case_0.json", TALK, "Scabies", "Yes", "no", None], ["case_7.json", TALK, "Melasma ", "No", "Yes", "n/a"]]


def write_csv(path, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


def write_book(path, rows=ROWS, sheet="GPT-4", header=HEADER):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = sheet
    for row in (["Instructions: yes or no."], [], header, *rows):
        book.active.append(row)
    book.save(path)


@pytest.fixture
def folder(tmp_path):
    sheets = tmp_path / "expert_annotations"
    sheets.mkdir()
    write_csv(sheets / "validation_graderai.csv", GRADER_SHEET)
    write_csv(sheets / "case_vignette_qc.csv", CASE_SHEET)
    write_book(sheets / "reviews_d1.xlsx")
    return sheets


def make_run(path, *more, benchmark="craft-md", cases=tuple(ANSWERS)):
    path.mkdir()
    study = {"study": {"benchmark": benchmark}, "plan": {"trials": 2}, "policy": "as_published@1", "notes": ["old"]}
    (path / "manifest.json").write_text(json.dumps(study))
    with RunWriter(path) as writer:
        for case_id in cases:
            diagnosis = Diagnosis(name=ANSWERS[case_id])
            case = Case(id=case_id, source=SOURCES[case_id], specialty="Dermatology", diagnosis=diagnosis)
            writer.write(case)
        for row in more:
            writer.write(row)
    return path


@pytest.fixture
def run(tmp_path):
    return make_run(tmp_path / "run")


def ratings(run):
    with RunReader(run) as reader:
        return {(r.item, r.case_id): r for r in reader.ratings()}


def test_the_graders_sheet_becomes_one_count_a_dermatology_case_in_the_order_of_the_run(folder, run):
    import_craft_md_experts(folder, run)
    found = {case_id: rating for (item, case_id), rating in ratings(run).items() if item == "grader_count"}
    assert [found[case_id].value for case_id in ANSWERS] == [2.0, None, None]
    first, blank, too_many = (found[case_id] for case_id in ANSWERS)
    place = (first.doctor, first.arm, first.trial, first.rater)
    assert place == ("craft-md/gpt4_1106", "vignette_frq", None, "dermatologist")
    assert blank.missing_reason == "not_rated: the cell is blank"
    assert (too_many.missing_reason, too_many.note) == ("unreadable_rating: '3'", "3; a subtype")


def test_the_cases_own_judgements_find_their_cases_by_number(folder, run):
    import_craft_md_experts(folder, run)
    found = ratings(run)
    only, likely = "only_possible_answer", "single_most_likely_answer"
    assert [found[only, case_id].value for case_id in ("case_0", "case_100")] == [1.0, 0.0]
    assert found[only, "case_0"].doctor == "case"
    reasons = [found[likely, case_id].missing_reason for case_id in ("case_0", "case_100")]
    assert reasons == ["not_rated: the cell is blank", "unreadable_rating: 'perhaps'"]


def test_a_workbook_gives_three_marks_a_conversation_and_every_blank_cell_has_a_reason(folder, run):
    found = {(r.item, r.case_id): r for r in import_craft_md_experts(folder, run).ratings if r.rater == "d1"}
    values = [found[item, "case_0"].value for item in ("single_diagnosis_possible", "history_complete")]
    assert values == [1.0, 0.0]
    assert found["history_complete", "case_0"].note == "no"
    assert found["medical_terms", "case_0"].missing_reason == "not_rated: the cell is blank"
    assert found["medical_terms", "case_7"].missing_reason == "unreadable_rating: 'n/a'"
    assert {(r.doctor, r.condition, r.trial, r.arm) for r in found.values()} == {
        ("craft-md/gpt4_1106", "text", 1, None)
    }


def test_a_header_may_put_the_question_behind_its_number(folder, run):
    write_book(folder / "reviews_d2.xlsx", header=[*HEADER[:3], "Q1: likely?", "Q2: all?", "Q3: terms?"])
    raters = Counter(rating.rater for rating in import_craft_md_experts(folder, run).ratings)
    assert raters["d1"] == raters["d2"] == 6


def test_importing_again_changes_nothing_and_the_manifest_says_it_once(folder, run):
    import_craft_md_experts(folder, run)
    before = ratings(run)
    import_craft_md_experts(folder, run)
    with RunReader(run) as reader:
        assert len(reader.ratings()) == len(before) == 13
        assert reader.manifest["notes"] == ["old", "13 expert ratings were imported: case-review, d1, dermatologist"]


def test_reviewed_conversations_are_held_against_those_of_the_run(folder, tmp_path):
    def trial(case_id, text):
        said = (Message("doctor", "patient", "What is it?"), Message("patient", "doctor", text))
        key = TrialKey("craft-md/gpt4_1106", "text", case_id, 1)
        return Trial(key, Encounter((*said, Message("doctor", None, "Final Diagnosis: x")), EndReason.DIAGNOSED), ())

    write_book(folder / "reviews_d1.xlsx", [*ROWS, ["case_100.json", TALK, "Vitiligo", "No", "No", "No"]])
    run = make_run(tmp_path / "run", trial("case_0", "I itch at night."), trial("case_7", "I do not."))
    found = import_craft_md_experts(folder, run).conversations
    assert found == {"the run's own": 1, "other words": 1, "not in the run": 1}


def without(name):
    return lambda folder: (folder / name).unlink()


def sheet(name, rows):
    return lambda folder: write_csv(folder / name, rows)


def book(*args, **kwargs):
    return lambda folder: write_book(folder / "reviews_d1.xlsx", *args, **kwargs)


def raw(name, content):
    return lambda folder: (folder / name).write_bytes(content)


GRADER, CASES = "validation_graderai.csv", "case_vignette_qc.csv"
SPOILED = {
    "no grader sheet": (without(GRADER), "validation_graderai.csv not found there"),
    "no workbook": (without("reviews_d1.xlsx"), "*.xlsx not found there"),
    "an empty sheet": (raw(CASES, b""), "case_vignette_qc.csv: is empty"),
    "other bytes than UTF-8": (raw(CASES, "case_id,ä".encode("latin-1")), "expected UTF-8 text"),
    "an open quote": (raw(CASES, b'case_id,a,b\n"public_case01,Yes,'), "not valid CSV"),
    "a row too short": (sheet(CASES, [*CASE_SHEET, ["public_case02", "Yes"]]), "qc.csv:4: expected 3 fields"),
    "other columns": (sheet(CASES, [["case_id", "a", "b"]]), "qc.csv:1: expected the columns case_id"),
    "a case twice": (sheet(CASES, [*CASE_SHEET, CASE_SHEET[1]]), "qc.csv:4: expected another public_caseNN"),
    "an odd case id": (sheet(CASES, [CASE_SHEET[0], ["case_1", "No", "No"]]), "found 'case_1'"),
    "a case of another run": (sheet(CASES, [CASE_SHEET[0], ["public_case08", "No", "No"]]), "is public_case08"),
    "no counts": (sheet(GRADER, GRADER_SHEET[:5]), "expected the rows trial_0"),
    "too few columns": (sheet(GRADER, [row[:3] for row in GRADER_SHEET]), "holds 3 dermatology cases, expected 2"),
    "another order": (sheet(GRADER, [[*row[:1], *row[:0:-1]] for row in GRADER_SHEET]), "is about 'Melasma'"),
    "no workbook's bytes": (raw("reviews_d1.xlsx", b"not a zip"), "expected an .xlsx workbook"),
    "a workbook of nobody": (lambda folder: write_book(folder / "reviews.xlsx"), "ends in the rater"),
    "a rater twice": (lambda folder: write_book(folder / "second_d1.xlsx"), "marks the same conversation in"),
    "an unknown sheet": (book(sheet="GPT-5"), "sheet 'GPT-5' is no model's"),
    "no header": (book(header=["id", *HEADER[1:]]), "expected a header row that starts with case_id"),
    "no question": (book(header=HEADER[:5]), "row 3: lacks the column(s) Q3"),
    "a conversation twice": (book([ROWS[0], ROWS[0]]), "row 5: case_0 stands here a second time"),
    "marks of no case": (book([[None, TALK, "x", "Yes"]]), "row 4: holds something, and no case_id"),
    "an unknown case": (book([["case_9.json", TALK, "x", "Yes"]]), "holds no case 'case_9'"),
    "another case": (book([["case_7.json", TALK, "Scabies", "Yes"]]), "is about 'Scabies', and case_7"),
}


@pytest.mark.parametrize("name", SPOILED)
def test_a_sheet_of_another_shape_is_refused_with_its_place_and_nothing_is_written(folder, run, name):
    spoil, said = SPOILED[name]
    spoil(folder)
    with pytest.raises(InputError) as failure:
        import_craft_md_experts(folder, run)
    assert said in str(failure.value)
    assert ratings(run) == {}


def test_a_run_of_another_benchmark_is_refused(folder, tmp_path):
    other = make_run(tmp_path / "run", benchmark="agentclinic")
    with pytest.raises(InputError, match="is no run of craft-md"):
        import_craft_md_experts(folder, other)


MARKS = {
    "physical_exam": {"1": [{"overall": 65, "s1": 35, "s1frac": 36, "s2": 40, "s3": -10}]},
    "closure": {"1": [{"overall": 75, "s1": 10, "s2": 15, "s3": 30, "s4": 10, "s5": 10}]},
    "diagnosis": {
        "1": [
            {
                "order": 0,
                "tot": 11,
                "max": 52,
                "pct": 21.15,
                "quality": 1,
                "parts": [["0", "0", "0"], ["10", "1", "N/A"], ["0", "?", "0"]],
                "sum": 11,
            }
        ]
    },
    "table33": {"1": [70.0, 58.0]},
    "table40": {"1": [70.0, 71.5]},
    "columns": ["Experts", "GPT-4"],
}


def write_marks(tmp_path, text=None):
    path = tmp_path / "marks.json"
    path.write_text(json.dumps(MARKS) if text is None else text, encoding="utf-8")
    return path


def test_marks_of_experts_and_examiners_become_a_run_of_their_own(tmp_path):
    import_medqa_cs_experts(write_marks(tmp_path), tmp_path / "run")
    with RunReader(tmp_path / "run") as reader:
        found = {(r.arm, r.rater, r.item): r for r in reader.ratings()}
        assert reader.manifest["study"]["benchmark"] == "medqa-cs"
        assert reader.manifest["plan"]["doctors"] == ["medqa-cs/GPT-4"]
    assert {r.doctor for r in found.values()} == {"medqa-cs/GPT-4"}
    coverage = found["physical_exam", "expert-1", "coverage"]
    assert (coverage.value, coverage.note) == (35.0, "its printed working comes to 36")
    assert found["closure", "expert-1", "total_printed"].value == 75.0
    assert found["differential", "expert-1", "diagnosis_2_name"].value == 10.0
    assert found["differential", "expert-1", "diagnosis_2_physical"].missing_reason == "not_applicable: printed as N/A"
    assert found["differential", "expert-1", "diagnosis_3_historical"].missing_reason == "unreadable_rating: '?'"
    assert found["closure", "experts", "overall"].value == 70.0
    assert found["closure", "GPT-4", "overall"].value == 71.5


def test_the_same_marks_may_be_imported_again_and_others_not_into_the_same_folder(tmp_path):
    first = import_medqa_cs_experts(write_marks(tmp_path), tmp_path / "run")
    import_medqa_cs_experts(write_marks(tmp_path), tmp_path / "run")
    with RunReader(tmp_path / "run") as reader:
        assert len(reader.ratings()) == len(first.ratings)
    other = write_marks(tmp_path, json.dumps({**MARKS, "table40": {"1": [70.0, 72.0]}}))
    with pytest.raises(InputError, match="holds another study"):
        import_medqa_cs_experts(other, tmp_path / "run")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "marks.json:1: not valid JSON"),
        (json.dumps(MARKS)[:200], "not valid JSON"),
        ("[]", "the whole: "),
        ('{"closure": {}, "closure": {}}', "holds 'closure' twice"),
        (json.dumps({**MARKS, "extra": 1}), "extra: "),
        (json.dumps({**MARKS, "columns": ["Experts"]}), "has 2 marks, expected 1"),
        (json.dumps(MARKS).replace("-10", "NaN"), "physical_exam.1.0.s3: "),
        (json.dumps(MARKS).replace('"s5"', '"s6"'), "closure.1.0.s5: "),
        (json.dumps({**MARKS, "closure": {"one": MARKS["closure"]["1"]}}), "closure.one"),
    ],
)
def test_marks_of_another_shape_are_refused_and_no_run_is_made(tmp_path, text, said):
    with pytest.raises(InputError) as failure:
        import_medqa_cs_experts(write_marks(tmp_path, text), tmp_path / "run")
    assert said in str(failure.value)
    assert not (tmp_path / "run").exists()


def test_the_commands_say_what_was_rated_and_what_was_not(folder, run, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    app = typer.Typer()
    app.command("craft")(craft_md_experts)
    app.command("medqa")(medqa_cs_experts)
    said = CliRunner().invoke(app, ["craft", str(folder), "--out", str(run)])
    assert said.exit_code == 0, said.output
    assert "reviewed conversations: 2 not in the run" in said.output
    assert [line.split() for line in said.output.splitlines() if "grader_count" in line] == [
        ["vignette_frq", "grader_count", "dermatologist", "1", "1", "1"]
    ]
    said = CliRunner().invoke(app, ["medqa", str(write_marks(tmp_path)), "--out", str(tmp_path / "marks")])
    assert said.output.rstrip().endswith("28 ratings")


def test_the_released_medqa_cs_marks_are_read_whole(shared, tmp_path):
    found = import_medqa_cs_experts(shared / "data/medqa-cs/expert_annotations.json", tmp_path / "run").ratings
    experts = Counter(r.rater for r in found if r.rater.startswith("expert-"))
    # Four items of physical examination, six of closure, fourteen of the differential, ten cases.
    assert experts == {"expert-1": 240, "expert-2": 240, "expert-3": 240}
    assert Counter(r.rater for r in found if r.item == "overall") == dict.fromkeys(
        ("experts", "GPT-4", "GPT-3.5", "GPT-4o", "Opus", "Sonnet", "Haiku"), 20
    )
    assert not [r for r in found if (r.missing_reason or "").startswith("unreadable")]
