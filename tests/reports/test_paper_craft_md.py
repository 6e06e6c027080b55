"""The CRAFT-MD article's Supplementary Tables, recomputed from the marks that its authors released."""

import csv
import shutil
from collections import Counter
from dataclasses import replace

import pytest

from openosce.errors import StudyError
from openosce.grading.record import Rating
from openosce.reports.papers import PaperComparison, compare_to_paper, paper_sheets
from openosce.reports.papers.cells import Verdict, compare_printed
from openosce.reports.papers.craft_md import PaperRun, cells, mean_cells, p_cells
from openosce.reports.papers.craft_md_figures import known, mean_figures, p_figures
from openosce.runs.folder import RunReader, RunWriter

SAME, ROUNDING, DIFFERS, NOT_RECOMPUTED = Verdict
RELEASED = ("GPT-4", "GPT-3.5", "Mistral-v2-7b")


@pytest.fixture(scope="module")
def paper_cells(shared, released_table, tmp_path_factory):
    """Every cell of the article beside the released marks and the reviewers' word on which diagnoses are single."""
    out = tmp_path_factory.mktemp("paper") / "craft-md"
    shutil.copytree(released_table, out)
    path = shared / "data" / "craft-md" / "expert_annotations" / "case_vignette_qc.csv"
    with path.open(encoding="utf-8", newline="") as file, RunWriter(out) as writer:
        for row in csv.DictReader(file):
            source, _, number = row.pop("case_id").partition("_case")
            case_id = f"case_{int(number) + {'public': -1, 'private': 99}[source]}"
            for item, word in row.items():
                writer.write(Rating("case", case_id, "reviewer", item, float(word == "Yes")))
    with RunReader(out) as reader:
        return cells(reader)


@pytest.fixture(scope="module")
def paper_run(released_table):
    with RunReader(released_table) as reader:
        return PaperRun(reader)


def of_released(found, table):
    """A table's cells of the models whose marks are released, by place."""
    name = f"Supplementary Table {table}"
    return {c.place: c for c in found if c.table == name and c.place.startswith(RELEASED)}


def verdicts(found, table):
    return Counter(cell.verdict for cell in of_released(found, table).values())


@pytest.mark.parametrize(
    ("table", "n"), [(1, 36), (6, 428), (8, 432), (10, 108), (12, 108)]
)  # 4 bounds of 6 cannot be read
def test_every_mean_and_interval_is_the_printed_one(paper_cells, table, n):
    assert verdicts(paper_cells, table) == {SAME: n}


# What the intervals of Table 4 should have been, by vignette, multi-turn, single-turn and summarized conversation.
TABLE_4 = {
    "GPT-4": ("0.466-0.506", "0.248-0.280", "0.120-0.146", "0.256-0.288"),
    "GPT-3.5": ("0.356-0.394", "0.155-0.182", "0.110-0.135", "0.161-0.187"),
    "Mistral-v2-7b": ("0.205-0.240", "0.057-0.074", "0.048-0.065", "0.048-0.063"),
}


def test_in_table_4_the_means_are_the_printed_ones_and_the_intervals_those_of_table_1(paper_cells):
    found, first = of_released(paper_cells, 4), of_released(paper_cells, 1)
    assert verdicts(paper_cells, 4) == {SAME: 12, DIFFERS: 24}
    for model, intervals in TABLE_4.items():
        for information, interval in zip(
            ("vignette", "multi_turn", "single_turn", "summarized"), intervals, strict=True
        ):
            for side, right in zip(("lower", "upper"), interval.split("-"), strict=True):
                cell = found[f"{model}, {information}_frq: {side} bound"]
                assert cell.printed == first[f"{model}, {information}_mcq: {side} bound"].printed
                assert compare_printed(right, cell.recomputed) is SAME
                assert cell.reason == "the printed intervals of this table are those of Supplementary Table 1"


@pytest.mark.parametrize(("table", "n"), [(2, 18), (3, 12), (5, 18), (7, 216), (9, 216), (11, 54), (13, 54)])
def test_every_p_and_adjusted_p_is_the_printed_one(paper_cells, table, n):
    assert verdicts(paper_cells, table) == {SAME: 2 * n}


@pytest.mark.parametrize(("table", "n"), [(14, 72), (16, 72), (17, 72)])
def test_the_single_diagnosis_tables_are_reproduced_where_the_flag_is_released(paper_cells, table, n):
    found = of_released(paper_cells, table)
    usmle = {cell.verdict for place, cell in found.items() if "MedQA-USMLE" in place}
    assert usmle == {NOT_RECOMPUTED}
    assert Counter(cell.verdict for place, cell in found.items() if "MedQA-USMLE" not in place) == {SAME: n}


def test_table_15_prints_the_p_of_table_11(paper_cells):
    rows = {table: [replace(f, table=0, known="") for f in p_figures() if f.table == table] for table in (11, 15)}
    assert rows[15] == rows[11]
    raw = [
        cell for place, cell in of_released(paper_cells, 15).items() if place.endswith(": p") and "USMLE" not in place
    ]
    assert Counter(cell.verdict for cell in raw) == {DIFFERS: 26, SAME: 10}  # that many are 0.0001 in both
    adjusted = [cell for place, cell in of_released(paper_cells, 15).items() if place.endswith("adjusted p")]
    assert {cell.verdict for cell in adjusted} == {NOT_RECOMPUTED}


def test_a_model_that_was_not_released_is_not_recomputed(paper_cells):
    rest = {(c.verdict, c.reason) for c in paper_cells if c.place.startswith(("LLaMA-2-7b", "Mistral-v1-7b"))}
    assert rest == {(NOT_RECOMPUTED, "the run does not hold this model")}


def test_no_difference_is_left_without_a_reason(paper_cells):
    assert [c for c in paper_cells if c.verdict is not SAME and c.reason is None] == []


def test_a_wrong_mean_is_found_out(paper_run):
    (figure,) = [f for f in mean_figures() if (f.table, f.model, f.arm) == (1, "GPT-4", "vignette_mcq")]
    found = list(mean_cells(paper_run, [replace(figure, mean="0.823", ci_low="0.805")]))
    assert [cell.verdict for cell in found] == [DIFFERS, ROUNDING, SAME]


def test_a_wrong_p_is_found_out(paper_run):
    rows = [f for f in p_figures() if f.table == 5]
    place = next(n for n, f in enumerate(rows) if f.p == "0.2743")
    rows[place] = replace(rows[place], p="0.2943", p_adjusted="0.2892")
    wrong = [cell.place for cell in p_cells(paper_run, rows) if cell.verdict is DIFFERS]
    place = "GPT-3.5, multi_turn_frq against summarized_frq"
    assert wrong == [f"{place}: p", f"{place}: adjusted p"]


def test_without_the_reviewers_word_the_single_diagnosis_tables_wait_for_it(paper_run):
    figures = [f for f in mean_figures() if f.table == 14 and f.model == "GPT-4" and f.group == "Derm-Public"]
    reasons = {cell.reason for cell in mean_cells(paper_run, figures)}
    assert reasons == {
        "which cases have a single diagnosis is not in the run; `osce import craft-md-experts` adds it",
    }


def test_part_of_the_cases_gives_no_figure_of_the_article(simple_run):
    run = simple_run({"craft-md/gpt4_1106": {"vignette_frq": [[1.0], [0.0]]}})
    with RunReader(run) as reader:
        found = compare_to_paper(reader)
    assert {(c.verdict, c.reason) for c in found.cells} == {(NOT_RECOMPUTED, "the run holds 2 of the 2,004 cases")}


def test_other_models_than_the_article_s_are_refused_by_name(simple_run):
    with (
        RunReader(simple_run({"openai/other": {"vignette_frq": [[1.0], [0.0]]}})) as reader,
        pytest.raises(StudyError, match=r"expected craft-md/gpt4_1106, .*found openai/other"),
    ):
        compare_to_paper(reader)


def test_a_benchmark_without_typed_figures_is_refused(simple_run):
    run = simple_run({"m": {"vignette_frq": [[1.0]]}}, study={"benchmark": "agentclinic"})
    with (
        RunReader(run) as reader,
        pytest.raises(StudyError, match="printed figures are at hand for craft-md, medqa-cs"),
    ):
        compare_to_paper(reader)


def test_tables_count_first_and_then_show_what_is_not_the_same(paper_cells):
    found = PaperComparison("article", tuple(paper_cells))
    summary, odd = paper_sheets(found)
    assert summary.rows[0] == ("Supplementary Table 1", "48", "36", "0", "0", "12")
    assert len(odd.rows) == sum(cell.verdict in (DIFFERS, ROUNDING) for cell in paper_cells)
    assert odd.rows[0][2:] == ("0.804", "0.4661", "differs (1)")
    assert odd.notes[0] == "(1) the printed intervals of this table are those of Supplementary Table 1"
    assert len(paper_sheets(found, every=True)[1].rows) == len(paper_cells)


def test_every_row_is_typed_once_and_every_code_is_known():
    means, tests = mean_figures(), p_figures()
    assert Counter(f.table for f in means) == {1: 16, 4: 16, 6: 192, 8: 192, 10: 48, 12: 48, 14: 48, 16: 48, 22: 16}
    assert Counter(f.table for f in tests) == {2: 24, 3: 16, 5: 24, 7: 288, 9: 288, 11: 72, 13: 72, 15: 72, 17: 72}
    assert len({(f.table, f.model, f.group, f.arm) for f in means}) == len(means)
    assert len({(f.table, f.model, f.group, f.a, f.b) for f in tests}) == len(tests)
    columns = ("mean", "ci_low", "p")
    assert all(any(known(f.known, column) for column in columns) for f in (*means, *tests) if f.known)


def test_typed_means_agree_with_another_transcription(shared):
    path = shared / "data" / "craft-md" / "published" / "means.csv"
    with path.open(encoding="utf-8", newline="") as file:
        other = {(int(r["table"]), r["model"], r["group"], r["arm"]): r for r in csv.DictReader(file)}
    compared = 0
    for f in mean_figures():
        row = other.get((f.table, f.model, f.group, f.arm))
        if row is not None:
            assert [float(row[k]) for k in ("mean", "ci_low", "ci_high")] == [
                *map(float, (f.mean, f.ci_low, f.ci_high))
            ]
            compared += 1
    assert compared == len(other)
