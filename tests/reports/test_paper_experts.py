import csv
import gzip
import json
from collections import Counter

import numpy as np
import pytest

from openosce.cases.readers.craft_md import read_craft_md
from openosce.encounters import Encounter, EndReason
from openosce.grading.record import Answer, Rating, Score, Trial, TrialKey
from openosce.reports.analysis import analyze_run
from openosce.reports.expert_agreement import expert_agreements
from openosce.reports.experts import expert_sheets
from openosce.reports.grader_checks import grader_checks
from openosce.reports.papers.cells import Verdict
from openosce.reports.papers.craft_md_experts import cells
from openosce.reports.papers.typed import figure_cell, figures
from openosce.runs.folder import RunReader, RunWriter
from openosce.runs.imports.experts_craft_md import import_craft_md_experts

GPT4, GPT35 = "craft-md/gpt4_1106", "craft-md/gpt3_1106"
GRADER = "craft-md/grader"


def reviewed(marks, item="single_diagnosis_possible", doctor=GPT4):
    """Ratings from {case: {rater: value}}."""
    return [
        Rating(
            doctor, case_id, rater, item, value, "text", 1, missing_reason=None if value is not None else "not_rated"
        )
        for case_id, of_case in marks.items()
        for rater, value in of_case.items()
    ]


def counted(counts):
    return [
        Rating(GPT4, case_id, "dermatologist", "grader_count", value, "text", None, "vignette_frq")
        for case_id, value in counts.items()
    ]


@pytest.fixture
def expert_run(tmp_path, records):
    """Make a run from ratings and GPT-4's verdicts, {case: [of trial 0, 1, ...]}."""

    def make(ratings, verdicts=None):
        verdicts = verdicts or {}
        trials = [
            records.trial(GPT4, case_id, n, [Answer("vignette_frq", "x", None, (score(value),))])
            for case_id, values in verdicts.items()
            for n, value in enumerate(values)
        ]
        manifest = records.manifest([GPT4], ["vignette_frq"], 5, policy="as_published@1")
        manifest["study"]["roles"]["grader"] = {"model": GRADER}
        folder = records.write(tmp_path / "run", manifest, [records.case(case_id) for case_id in verdicts], trials)
        with RunWriter(folder) as writer:
            for rating in ratings:
                writer.write(rating)
        return RunReader(folder)

    return make


def score(value):
    return Score("accuracy", value, "as_published@1", GRADER, None, None if value is not None else "unreadable_verdict")


def find(reader, place):
    (found,) = [cell for cell in cells(reader) if cell.place.startswith(place)]
    return found


def test_a_third_rater_breaks_the_ties_of_two(expert_run):
    marks = {"c1": {"d1": 1, "d2": 0, "d3": 1}, "c2": {"d1": 0, "d2": 0}, "c3": {"d2": 0}}
    with expert_run(reviewed(marks)) as reader:
        assert find(reader, "GPT-4: ended").recomputed == pytest.approx(100 / 3)
        assert find(reader, "GPT-4: single_diagnosis_possible").recomputed == 1


def test_a_tie_that_nobody_breaks_and_a_blank_give_no_percentage(expert_run):
    marks = {"c1": {"d1": 1, "d2": 0, "d3": None}, "c2": {"d1": None}, "c3": {"d1": 1}}
    with expert_run(reviewed(marks)) as reader:
        found = find(reader, "GPT-4: ended")
        assert (found.verdict, found.recomputed) == (Verdict.NOT_RECOMPUTED, None)
        assert found.reason == "2 of 3 conversations have no verdict: blank, or a tie that nobody breaks"


def test_mcnemar_takes_the_cases_that_both_doctors_met(expert_run):
    of_a = {f"c{n}": {"d1": 1} for n in range(7)}
    of_b = {f"c{n}": {"d1": 0} for n in range(1, 7)} | {"c9": {"d1": 1}}
    with expert_run([*reviewed(of_a), *reviewed(of_b, doctor=GPT35)]) as reader:
        # Six cases of which A alone is right: p = 2 / 2^6.
        assert find(reader, "single_diagnosis_possible: GPT-4, GPT-3.5").recomputed == pytest.approx(2 / 64)


def test_the_graders_agreement_is_over_the_cases_that_both_counted(expert_run):
    verdicts = {"c1": [1, 1, 1, 1, 1], "c2": [0, 0, 0, 0, 1], "c3": [1, 1, 0, 0, None], "c4": [0] * 5}
    with expert_run(counted({"c1": 5, "c2": 0, "c3": 2, "c4": None}), verdicts) as reader:
        (check,) = grader_checks(reader)
        assert (check.case_ids, check.n_left_out) == (("c1", "c2"), 2)
        assert find(reader, "grader and dermatologist agree").recomputed == pytest.approx(90)
        found = expert_agreements(reader, n_resamples=50)
        (sheet,) = expert_sheets(found)
        assert sheet.title == f"The grader beside dermatologist: {GPT4}, vignette_frq"
        assert sheet.notes[-1].startswith("2 cases left out")
        rows = {row[0]: row[1:] for row in sheet.rows}
        assert rows["agreement"] == ("2", "0.900 [0.80, 1.00]")  # 1 and 0.8, drawn twice
        assert (rows["sensitivity"][0], rows["sensitivity"][1][:6]) == ("1", "1.000 ")
        assert (rows["specificity"][0], rows["specificity"][1][:6]) == ("1", "0.800 ")


def test_a_count_of_more_trials_than_there_are_is_left_out(expert_run):
    with expert_run(counted({"c1": 5, "c2": 7}), {"c1": [1] * 5, "c2": [1] * 5}) as reader:
        (check,) = grader_checks(reader)
    assert (check.case_ids, check.n_left_out) == (("c1",), 1)


def test_the_json_of_an_analysis_holds_the_experts_with_their_intervals(expert_run):
    marks = {f"c{n}": {"d1": n % 2, "d2": n % 3 == 0} for n in range(9)}
    verdicts = {f"c{n}": [n % 2] * 5 for n in range(9)}
    ratings = [*reviewed(marks), *counted({f"c{n}": 5.0 * (n % 2) for n in range(1, 9)})]
    with expert_run(ratings, verdicts) as reader:
        found = json.loads(json.dumps(analyze_run(reader).to_json(), allow_nan=False))["experts"]
    (question,), (grader,) = found["questions"], found["grader"]
    assert (question["item"], question["raters"], question["n_rated"]) == ("single_diagnosis_possible", ["d1", "d2"], 9)
    assert question["raw_agreement"]["value"] == pytest.approx(4 / 9)  # 2, 3, 4 and 8
    assert question["raw_agreement"]["ci_low"] < 4 / 9 < question["raw_agreement"]["ci_high"]
    assert (grader["n_cases"], grader["count_agreement"]["value"], grader["sensitivity"]["value"]) == (8, 1, 1)


def test_verdicts_of_another_grader_or_policy_take_no_part(expert_run, records):
    other = [Score("accuracy", 0.0, "as_published@1", "builtin/lexicon"), Score("accuracy", 0.0, "strict@1", GRADER)]
    reader = expert_run(counted({"c1": 5}), {"c1": [1] * 5})
    reader.__exit__(None, None, None)
    with RunWriter(reader.folder) as writer:
        for n in range(5):
            scores = (score(1.0), *other)
            writer.write(records.trial(GPT4, "c1", n, [Answer("vignette_frq", "x", None, scores)]))
    with RunReader(reader.folder) as again:
        assert grader_checks(again)[0].grader.tolist() == [5]


def test_a_run_without_ratings_has_no_expert_sheets_and_recomputes_nothing(expert_run):
    with expert_run([]) as reader:
        found = expert_agreements(reader)
        assert (expert_sheets(found), found.to_json()) == ((), {"questions": [], "grader": []})
        assert {cell.verdict for cell in cells(reader)} == {Verdict.NOT_RECOMPUTED}
        assert find(reader, "GPT-4: ended").reason == (
            f"the run holds no ratings of single_diagnosis_possible by {GPT4}"
        )


def test_yes_and_no_get_kappa_and_the_pair_is_named(expert_run):
    # Cohen's kappa of 20 both yes, 15 both no, 5 and 10 apart is 0.4 (agreement 0.70, by chance 0.50).
    apart = [(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15
    marks = {f"c{n}": {"d1": a, "d2": b} for n, (a, b) in enumerate(apart)}
    with expert_run(reviewed(marks)) as reader:
        (sheet,) = expert_sheets(expert_agreements(reader, n_resamples=200))
    assert sheet.title == "Experts: yes or no"
    question, raters, n, raw, kappa, _ = sheet.rows[0]
    assert (question, raters, n) == ("single_diagnosis_possible", "d1, d2", "50")
    assert (raw[:5], kappa[:5]) == ("0.700", "0.400")


def test_numbers_get_correlations_of_pairs_and_one_w_of_all(expert_run):
    marks = {f"c{n}": {"e1": 10 * n, "e2": 20 * n, "e3": -n} for n in range(6)}
    with expert_run(reviewed(marks, item="coverage")) as reader:
        (sheet,) = expert_sheets(expert_agreements(reader, n_resamples=200))
    first = [row[3][:6].strip() for row in sheet.rows]
    assert [row[1] for row in sheet.rows] == ["e1, e2", "e1, e3", "e2, e3", "all 3"]
    assert first == ["1.000", "-1.000", "-1.000", "-"]
    # Ranks n, n and 7 - n add up to 7 + n: W = 12 * 17.5 / (9 * 210).
    assert sheet.rows[3][5].startswith("0.111")


def test_the_same_seed_gives_the_same_tables(expert_run):
    rng = np.random.default_rng(0)
    marks = {f"c{n}": {"e1": int(rng.integers(9)), "e2": int(rng.integers(9))} for n in range(12)}
    with expert_run(reviewed(marks, item="coverage")) as reader:
        first, again, other = (expert_agreements(reader, seed, 200) for seed in (3, 3, 4))
        assert first == again != other


@pytest.mark.parametrize(
    ("printed", "ours", "verdict", "reason"),
    [
        ("<0.0001", 0.00002, Verdict.SAME, None),
        ("<0.0001", 0.0001, Verdict.DIFFERS, None),
        ("<0.0001", None, Verdict.NOT_RECOMPUTED, None),
        ("35.55", 35.5556, Verdict.ROUNDING, "cut off in print, not rounded"),
        ("35.56", 35.5549, Verdict.ROUNDING, None),
        ("35.55", 35.65, Verdict.DIFFERS, None),
    ],
)
def test_bounds_and_figures_that_are_cut_off_are_told_apart(printed, ours, verdict, reason):
    found = figure_cell("Table", "place", printed, ours)
    assert (found.verdict, found.reason) == (verdict, reason)


_BUILT = {}


@pytest.fixture
def released_run(shared, tmp_path_factory):
    """The 317 dermatology cases with GPT-4's stored verdicts, and the released sheets; made once."""
    pytest.importorskip("openpyxl")
    if not _BUILT:
        data, folder = shared / "data/craft-md", tmp_path_factory.mktemp("experts") / "run"
        text = (data / "cases.csv").read_text(encoding="utf-8-sig")
        cases = [case for case in read_craft_md(text, data / "cases.csv") if case.specialty == "Dermatology"]
        with gzip.open(data / "correctness_gpt4_gpt35_mistral-v2.csv.gz", "rt") as file:
            wanted = ("gpt4_1106", "Dermatology", "vignette_frq")
            rows = [r for r in csv.DictReader(file) if (r["model"], r["category"], r["experiment"]) == wanted]
        with RunWriter(folder) as writer:
            for row in (*cases, *map(_released_trial, rows)):
                writer.write(row)
        (folder / "manifest.json").write_text(
            '{"study": {"benchmark": "craft-md", "roles": {"grader": {"model": "craft-md/grader"}}},'
            ' "plan": {"trials": 5}, "policy": "as_published@1"}'
        )
        found = import_craft_md_experts(data / "expert_annotations", folder)
        _BUILT.update(folder=folder, ratings=found.ratings)
    return _BUILT


def _released_trial(row):
    value = float(row["correct"]) if row["valid"] == "1" else None
    key = TrialKey(GPT4, "text", row["case_id"], int(row["trial"]))
    return Trial(key, Encounter((), EndReason.NOT_HELD), (Answer("vignette_frq", None, None, (score(value),)),))


def test_every_released_cell_is_a_rating(released_run):
    found = released_run["ratings"]
    rated = Counter(rating.item for rating in found if rating.value is not None)
    blank = Counter(rating.item for rating in found if rating.value is None)
    assert (rated["grader_count"], blank["grader_count"]) == (310, 7)
    # 4 models x 30 conversations x 2 raters, and the 19 that the third saw.
    questions = ("single_diagnosis_possible", "history_complete", "medical_terms")
    assert [rated[item] + blank[item] for item in questions] == [259] * 3
    assert {r.missing_reason for r in found if r.value is None} == {"not_rated: the cell is blank"}


def test_the_single_diagnosis_subset_is_79_public_and_99_private_cases(released_run):
    asked = ("only_possible_answer", "single_most_likely_answer")
    chosen = {r.case_id for r in released_run["ratings"] if r.item in asked and r.value == 1}
    numbers = sorted(int(case_id.removeprefix("case_")) for case_id in chosen)
    assert [sum(number < 100 for number in numbers), sum(number >= 100 for number in numbers)] == [79, 99]


def test_every_figure_that_rests_on_the_released_sheets_is_reproduced(released_run):
    with RunReader(released_run["folder"]) as reader:
        found = {cell.place: cell for cell in cells(reader)}
    assert len(found) == len(figures("craft_md_experts.csv"))
    counts = Counter(cell.verdict for cell in found.values())
    assert counts == {Verdict.SAME: 27, Verdict.ROUNDING: 7, Verdict.NOT_RECOMPUTED: 9}
    cut = {cell.printed for cell in found.values() if cell.verdict is Verdict.ROUNDING}
    assert cut == {"35.55", "8.88", "0.0573", "0.0009", "0.0635", "0.0212"}
    assert found["grader and dermatologist agree, %"].verdict is Verdict.SAME
    assert found["conversations in which the patient used medical terms, %"].recomputed == pytest.approx(1300 / 180)
    never = {cell.printed for cell in found.values() if cell.verdict is Verdict.NOT_RECOMPUTED}
    assert never == {"99.995", "94.25", "86", "87", "0.954", "0.936", "0.942", "0.924", "0.889"}


def test_on_unanimous_cases_the_grader_finds_966_of_1000_right_and_881_of_1000_wrong(released_run):
    with RunReader(released_run["folder"]) as reader:
        sheet = expert_sheets(expert_agreements(reader, n_resamples=200))[-1]
    rows = {row[0]: row[1:] for row in sheet.rows}
    assert (rows["agreement"][0], rows["agreement"][1][:5]) == ("310", "0.934")
    assert (rows["sensitivity"][1][:5], rows["specificity"][1][:5]) == ("0.966", "0.881")
    assert sheet.notes[-1].startswith("7 cases left out")
