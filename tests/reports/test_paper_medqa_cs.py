from collections import Counter

import pytest

from openosce.errors import StudyError
from openosce.grading.record import Rating
from openosce.reports.expert_agreement import expert_agreements
from openosce.reports.experts import expert_sheets
from openosce.reports.papers.cells import Verdict
from openosce.reports.papers.medqa_cs import cells
from openosce.reports.papers.typed import figures
from openosce.runs.folder import RunReader, RunWriter
from openosce.runs.imports.experts_medqa_cs import import_medqa_cs_experts

DONE = (Verdict.SAME, Verdict.ROUNDING)


@pytest.fixture
def marks(shared, tmp_path):
    import_medqa_cs_experts(shared / "data/medqa-cs/expert_annotations.json", tmp_path / "run")
    with RunReader(tmp_path / "run") as reader:
        yield reader


def by_place(reader, table):
    found = [cell for cell in cells(reader) if cell.table == table]
    assert len({cell.place for cell in found}) == len(found)
    return {cell.place: cell for cell in found}


def pairs(found, section, statistic, reading):
    places = (f"{section}: {statistic} of {raters}, {reading}" for raters in PAIRS)
    return [found[place] for place in places]


PAIRS = ("expert-1, expert-2", "expert-1, expert-3", "expert-2, expert-3")


def test_the_closure_correlations_come_out_only_with_the_two_misprints_corrected(marks):
    found = by_place(marks, "Table 5")
    r, tau = (pairs(found, "closure", statistic, "marks corrected") for statistic in ("pearson", "kendall_tau_b"))
    assert [round(cell.recomputed, 3) for cell in r] == [0.893, 0.870, 0.865]
    assert [round(cell.recomputed, 3) for cell in tau] == [0.654, 0.676, 0.575]
    assert {cell.verdict for cell in (*r, *tau)} <= set(DONE)
    printed = pairs(found, "closure", "kendall_tau_b", "marks as printed")
    assert {cell.verdict for cell in printed} == {Verdict.DIFFERS}
    assert all("contradicts elsewhere" in cell.reason for cell in printed)


def test_the_physical_examination_correlates_as_printed_but_for_one_coefficient(marks):
    found = by_place(marks, "Table 5")
    r, tau = (pairs(found, "physical_exam", name, "marks as printed") for name in ("pearson", "kendall_tau_b"))
    assert [round(cell.recomputed, 3) for cell in r] == [0.936, 0.991, 0.926]
    assert [round(cell.recomputed, 3) for cell in tau] == [0.553, 0.950, 0.553]
    tau = pairs(found, "physical_exam", "kendall_tau_b", "marks corrected")
    assert [cell.verdict for cell in tau] == [Verdict.SAME] * 3
    r = pairs(found, "physical_exam", "pearson", "marks corrected")
    assert [cell.verdict for cell in r] == [Verdict.SAME, Verdict.SAME, Verdict.DIFFERS]


def test_the_differential_needs_the_maximum_of_case_seven_corrected(marks):
    found = by_place(marks, "Table 5")
    r = pairs(found, "differential", "pearson", "marks as printed")
    assert [round(cell.recomputed, 3) for cell in r] == [0.948, 0.912, 0.885]
    corrected = [
        cell
        for statistic in ("pearson", "kendall_tau_b")
        for cell in pairs(found, "differential", statistic, "marks corrected")
    ]
    assert [cell.verdict for cell in corrected] == [Verdict.SAME] * 6
    w = found["differential: kendalls_w of expert-1, expert-2, expert-3, marks as printed"]
    assert w.verdict is Verdict.SAME


def test_every_correction_is_a_cell_that_says_why(marks):
    corrections = figures("medqa_cs_corrections.csv")
    assert {row["why"] for row in corrections if row["item"] == "maximum_printed"} == {
        "49 leaves no room for the examination findings that all three credit, "
        "and all six coefficients of Table 5 need 52"
    }
    found = [cell for cell in cells(marks) if cell.place.endswith(", corrected")]
    assert [(cell.printed, cell.recomputed, cell.reason) for cell in found] == [
        (row["printed"], float(row["corrected"]), row["why"]) for row in corrections
    ]
    assert {cell.verdict for cell in found} == {Verdict.DIFFERS}


def test_five_printed_totals_are_no_sums_of_their_printed_parts(marks):
    found = [cell for cell in cells(marks) if cell.place.endswith("sum of its parts")]
    assert len(found) == 90
    wrong = {(cell.table, cell.place.partition(":")[0]) for cell in found if cell.verdict is Verdict.DIFFERS}
    assert wrong == {
        ("Tables 19-20", "case 10, expert-3"),
        ("Tables 21-23", "case 4, expert-2"),
        ("Tables 21-23", "case 7, expert-3"),
        ("Tables 21-23", "case 8, expert-1"),
        ("Tables 24-27", "case 10, expert-1"),
    }
    shares = [cell for cell in cells(marks) if cell.place.endswith("% of the maximum")]
    assert [cell.verdict for cell in shares] == [Verdict.SAME] * 30


def test_the_experts_means_are_those_of_their_marks_once_corrected(marks):
    exams = by_place(marks, "Table 33")
    ninth = "case 9: mean of the experts, marks"
    assert exams[f"{ninth} as printed"].recomputed == pytest.approx(76)
    assert exams[f"{ninth} as printed"].verdict is Verdict.DIFFERS
    assert exams[f"{ninth} corrected"].verdict is Verdict.SAME
    assert exams["average: experts, marks corrected"].verdict is Verdict.SAME
    closures = by_place(marks, "Table 40")
    means = [cell for place, cell in closures.items() if "mean of the experts" in place]
    assert Counter(cell.verdict for cell in means) == {Verdict.SAME: 10, Verdict.DIFFERS: 2}
    assert closures["average: experts, marks corrected"].verdict is Verdict.SAME


def test_examiners_correlate_with_the_experts_mean_as_printed_in_closure(marks):
    found = by_place(marks, "Table 6")
    examiners = ("GPT-4", "GPT-4o", "Opus", "Sonnet", "Haiku", "GPT-3.5")
    closure = [found[f"closure: {name} of experts, {of}"] for of in examiners for name in ("pearson", "kendall_tau_b")]
    assert [round(cell.recomputed, 3) for cell in closure] == [
        *(0.469, 0.469, 0.761, 0.371, 0.754, 0.247, -0.086, -0.119, -0.023, 0.232, 0.251, 0.125)
    ]
    assert {cell.verdict for cell in closure} == {Verdict.SAME}
    exam = [found[f"physical_exam: {name} of experts, GPT-4"] for name in ("pearson", "kendall_tau_b")]
    assert [round(cell.recomputed, 3) for cell in exam] == [0.924, 0.529]
    assert found["differential: pearson of experts, GPT-4"].verdict is Verdict.NOT_RECOMPUTED
    assert found["closure: pearson of experts, ROUGE-1"].reason == "the paper prints no such marks case by case"


@pytest.mark.parametrize(
    ("table", "fits", "states"), [("Table 34", "0.5 score3", "caption"), ("Table 41", "0.4", "prompt")]
)
def test_overall_scores_follow_from_their_parts_within_a_hundredth_by_one_formula_and_not_by_the_other(
    marks, table, fits, states
):
    found = by_place(marks, table)
    stated = [cell for place, cell in found.items() if states in place]
    fitting = [cell for place, cell in found.items() if fits in place and states not in place]
    assert len(fitting) == len(stated) == 6
    assert {cell.verdict for cell in fitting} <= set(DONE)
    assert max(abs(float(cell.printed) - cell.recomputed) for cell in fitting) < 0.01
    assert {cell.verdict for cell in stated} == {Verdict.DIFFERS}


def test_two_means_of_table_7_disagree_with_table_34(marks):
    found = by_place(marks, "Table 7")
    wrong = {place.partition(",")[0]: cell.reason for place, cell in found.items() if cell.verdict is Verdict.DIFFERS}
    assert wrong == {"GPT4": "Table 34 prints 48.59", "GPT4o": "Table 34 prints 52.89"}


@pytest.mark.parametrize("doctor", [None, "openai/other"])
def test_a_run_without_the_printed_marks_is_refused(tmp_path, records, doctor):
    folder = records.write(tmp_path / "run", records.manifest(["openai/other"], [], 1), [], [])
    if doctor is not None:
        with RunWriter(folder) as writer:
            writer.write(Rating(doctor, "4", "expert-2", "compassion", 5.0, "text", 0, "closure"))
    with RunReader(folder) as reader, pytest.raises(StudyError, match=r"no marks of medqa-cs/GPT-4.*medqa-cs-experts"):
        cells(reader)


def test_marks_that_are_not_the_printed_ones_are_not_corrected(tmp_path, records):
    folder = records.write(tmp_path / "run", records.manifest(["medqa-cs/GPT-4"], [], 1), [], [])
    with RunWriter(folder) as writer:
        writer.write(Rating("medqa-cs/GPT-4", "8", "expert-1", "compassion", 7.0, "text", 0, "closure"))
    with RunReader(folder) as reader:
        assert [cell for cell in cells(reader) if cell.place.endswith(", corrected")] == []


def test_a_total_of_which_a_part_cannot_be_read_is_not_recomputed(tmp_path, records):
    folder = records.write(tmp_path / "run", records.manifest(["medqa-cs/GPT-4"], [], 1), [], [])
    parts = {"coverage": 60.0, "reasons": None, "extra_exams": 0.0, "total_printed": 60.0}
    with RunWriter(folder) as writer:
        for item, value in parts.items():
            missing = "unreadable_rating: 'x'" if value is None else None
            place = ("medqa-cs/GPT-4", "1", "expert-1", item, value, "text", 0, "physical_exam")
            writer.write(Rating(*place, missing_reason=missing))
    with RunReader(folder) as reader:
        (total,) = [cell for cell in cells(reader) if cell.place == "case 1, expert-1: total, sum of its parts"]
    assert (total.verdict, total.reason) == (Verdict.NOT_RECOMPUTED, "the run holds no mark of one of its parts")


def test_the_sheets_of_a_marked_run_hold_the_experts_and_the_examiners(marks):
    (sheet,) = expert_sheets(expert_agreements(marks, n_resamples=100))
    found = {row[:2]: row for row in sheet.rows}
    assert found["physical_exam overall", "experts, GPT-4"][3].startswith("0.924")
    assert found["differential percent_printed", "all 3"][5].startswith("0.911")
    assert found["closure language_accessibility", "expert-1, expert-2"][3].startswith("- (")
