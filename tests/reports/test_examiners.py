"""Examiners side by side: against values worked out by hand, and against those that the paper prints."""

import json
from itertools import pairwise

import numpy as np
import pytest

from openosce.cases import Case, Diagnosis
from openosce.encounters import Encounter, EndReason
from openosce.grading.record import Answer, Rating, Score, Trial, TrialKey
from openosce.reports.analysis import analyze_run
from openosce.reports.examiner_agreement import by_case, examiner_agreements
from openosce.reports.examiners import examiner_sheets
from openosce.reports.page import write_report
from openosce.reports.papers.medqa_cs import cells
from openosce.runs.folder import MANIFEST, RunReader, RunWriter
from openosce.runs.imports.experts_medqa_cs import import_medqa_cs_experts

PUBLISHED = "as_published@1"
CASES = ("c1", "c2", "c3", "c4")
DOCTOR = "test/doctor"


def total(grader, value, policy=PUBLISHED):
    return Score("score", value, policy, grader, missing_reason=None if value is not None else "not_judged")


def exam(grader, coverage, reasons, extra=0):
    """Criteria of a physical examination, and the total with the penalty."""
    published = coverage + reasons + 0.5 * extra
    marks = {"coverage": coverage, "reasons": reasons, "extra_exams": extra}
    return (*(Score(name, value, "-", grader) for name, value in marks.items()), total(grader, published))


def make_run(folder, answers, ratings=(), doctors=(DOCTOR,), development=()):
    """A run of {(section, case, trial): scores}."""
    trials = {}
    for (section, case_id, trial), scores in answers.items():
        trials.setdefault((case_id, trial), []).append(Answer(section, "{}", None, tuple(scores)))
    with RunWriter(folder) as writer:
        for case_id in CASES:
            writer.write(Case(id=case_id, source="ours", diagnosis=Diagnosis(name="Gout")))
        for doctor in doctors:
            for (case_id, trial), found in trials.items():
                key = TrialKey(doctor, "text", case_id, trial)
                writer.write(Trial(key, Encounter((), EndReason.NOT_HELD), tuple(found)))
        for rating in ratings:
            writer.write(rating)
    sections = sorted({section for section, _, _ in answers}) or ["closure"]
    manifest = {
        "study": {"benchmark": "medqa-cs", "seed": 1, "roles": {"examiner": {"model": "e/one"}}},
        "plan": {
            **{"doctors": list(doctors), "conditions": ["text"], "arms": sections, "trials": 2},
            "metrics": [{"name": "score", "policy": PUBLISHED, "role": "examiner", "low": None, "high": 100.0}],
            "development": list(development),
        },
        "policy": PUBLISHED,
        "fallbacks": [],
        "notes": [],
        "versions": {},
        "created": "2026-11-21T22:00:00Z",
    }
    (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    return folder


def found(folder, **how):
    with RunReader(folder) as reader:
        return {(row.section, row.raters): row for row in examiner_agreements(reader, n_resamples=200, **how)}


def closures(**marks):
    """One trial a case: by examiner, a total for each case."""
    return {
        ("closure", case_id, 0): [total(f"e/{name}", values[n]) for name, values in marks.items()]
        for n, case_id in enumerate(CASES)
    }


def test_three_examiners_are_compared_pair_by_pair_and_all_together(tmp_path):
    run = make_run(tmp_path, closures(one=[10, 20, 30, 40], two=[20, 30, 40, 50], three=[40, 20, 30, 10]))
    rows = found(run)
    assert len(rows) == 4
    same = rows["closure", ("e/one", "e/two")]
    assert (same.n_cases, same.difference) == (4, -10)
    assert same.pearson.value == pytest.approx(1) and same.tau_b.value == pytest.approx(1)
    # Of six pairs of cases one is in the same order (20, 30): (1 - 5) / 6; products of deviations: -400 of 500
    other = rows["closure", ("e/one", "e/three")]
    assert other.tau_b.value == pytest.approx(-4 / 6)
    assert other.pearson.value == pytest.approx(-0.8)
    # Sums of ranks 6, 6, 9, 9: 12 · 9 / (9 · 60)
    everyone = rows["closure", ("e/one", "e/two", "e/three")]
    assert everyone.w.value == pytest.approx(0.2)
    assert everyone.pearson is None and everyone.difference is None


def test_every_statistic_has_a_bootstrap_interval_over_cases_that_the_seed_repeats(tmp_path):
    run = make_run(tmp_path, closures(one=[10, 20, 30, 45], two=[20, 13, 47, 30]))
    (row,) = found(run).values()
    for statistic in (row.pearson, row.tau_b):
        assert statistic.ci_low <= statistic.value <= statistic.ci_high
        assert "percentile bootstrap over cases" in statistic.method
    assert found(run)["closure", row.raters] == row


def test_the_physical_examination_is_compared_without_the_penalty(tmp_path):
    answers = {
        ("physical_exam", case_id, 0): [*exam("e/one", 10 * n, 20), *exam("e/two", 10 * n, 20, extra=-10 * (n % 2))]
        for n, case_id in enumerate(CASES, 1)
    }
    (row,) = found(make_run(tmp_path, answers)).values()
    assert row.difference == 0
    assert row.pearson.value == pytest.approx(1)
    assert row.to_json()["policy"] == "without_extra_exams@1"


def test_a_case_without_target_examinations_stays_out(tmp_path):
    answers = {("physical_exam", c, 0): [*exam("e/one", 10, 20), *exam("e/two", 30, 40)] for c in CASES[:3]}
    lacking = [Score("coverage", None, "-", name, missing_reason="case_lacks_part") for name in ("e/one", "e/two")]
    answers["physical_exam", "c4", 0] = [*lacking, total("e/one", -15), total("e/two", -30)]
    (row,) = found(make_run(tmp_path, answers)).values()
    assert row.n_cases == 3 and row.difference == -40


def test_a_case_is_the_mean_over_the_trials_that_both_marked(tmp_path):
    answers = {
        ("closure", "c1", 0): [total("e/one", 10), total("e/two", 20)],
        ("closure", "c1", 1): [total("e/one", 30), total("e/two", 50)],
        ("closure", "c2", 0): [total("e/one", 50), total("e/two", 60)],
        ("closure", "c2", 1): [total("e/one", 99), total("e/two", None)],
        ("closure", "c3", 0): [total("e/one", 99), total("e/two", None)],
    }
    (row,) = found(make_run(tmp_path, answers)).values()
    assert row.n_cases == 2
    assert row.difference == pytest.approx(-12.5)  # (20 - 35 + 50 - 60) / 2


def test_several_markings_of_one_answer_count_as_their_mean(tmp_path):
    answers = {("closure", c, 0): [total("e/one", 10), total("e/one", 30), total("e/two", 0)] for c in CASES}
    (row,) = found(make_run(tmp_path, answers)).values()
    assert row.difference == 20


def test_cases_for_development_stay_out(tmp_path):
    run = make_run(tmp_path, closures(one=[1, 2, 3, 4], two=[4, 3, 2, 1]), development=["c4"])
    assert next(iter(found(run).values())).n_cases == 3


def rate(rater, case_id, item, value, section="closure", trial=None, condition=None):
    return Rating(DOCTOR, case_id, rater, item, value, condition, trial, section)


CLOSURE_ITEMS = {
    "diagnostic_impressions": 20,
    "management_plans": 30,
    "challenging_question": 30,
    "language_accessibility": 10,
    "compassion": 10,
}


def test_examiners_are_compared_with_the_mean_of_the_experts_and_experts_with_each_other(tmp_path):
    ratings = [
        rate(rater, case_id, item, most * share)
        for rater, shares in (("ada", (0.1, 0.2, 0.3, 0.4)), ("bob", (0.3, 0.4, 0.5, 0.6)))
        for case_id, share in zip(CASES, shares, strict=True)
        for item, most in CLOSURE_ITEMS.items()
    ]
    rows = found(make_run(tmp_path, closures(one=[10, 20, 30, 40]), ratings))
    assert rows["closure", ("ada", "bob")].difference == pytest.approx(-20)
    row = rows["closure", ("e/one", "mean of the experts")]
    assert row.kinds == ("examiner", "mean of the experts")
    assert row.difference == pytest.approx(25 - 35)
    assert row.pearson.value == pytest.approx(1)
    assert len(rows) == 2


def test_one_expert_alone_is_the_standard_and_parts_that_were_not_rated_give_no_total(tmp_path):
    ratings = [rate("ada", c, item, most) for c in CASES[:3] for item, most in CLOSURE_ITEMS.items()]
    ratings += [rate("ada", "c4", item, most) for item, most in list(CLOSURE_ITEMS.items())[1:]]
    rows = found(make_run(tmp_path, closures(one=[10, 20, 30, 40]), ratings))
    assert list(rows) == [("closure", ("e/one", "ada"))]
    assert rows["closure", ("e/one", "ada")].n_cases == 3
    assert rows["closure", ("e/one", "ada")].difference == pytest.approx(20 - 100)


def test_rounds_and_whole_marks_of_experts_make_totals_too(tmp_path):
    ratings = [rate("ada", c, f"round_{n:02}", float(n <= 1), "info_gathering", 0) for c in CASES for n in (1, 2)]
    ratings += [rate("bob", c, "overall", 80, "info_gathering", 0) for c in CASES]
    answers = {("info_gathering", c, 0): [total("e/one", 50)] for c in CASES}
    rows = found(make_run(tmp_path, answers, ratings))
    assert rows["info_gathering", ("ada", "bob")].difference == -30


def test_metrics_stand_beside_examiners_and_never_beside_each_other(tmp_path):
    answers = {
        ("closure", c, 0): [total("e/one", n), total("metric/rouge-1", 2 * n), total("metric/rouge-2", 3 * n)]
        for n, c in enumerate(CASES)
    }
    rows = found(make_run(tmp_path, answers))
    assert [row.raters for row in rows.values()] == [("metric/rouge-1", "e/one"), ("metric/rouge-2", "e/one")]


def test_every_doctor_has_tables_of_its_own(tmp_path):
    run = make_run(tmp_path, closures(one=[1, 2, 3, 4], two=[4, 3, 2, 1]), doctors=("a/x", "b/y"))
    with RunReader(run) as reader:
        titles = [sheet.title for sheet in examiner_sheets(examiner_agreements(reader, n_resamples=10))]
    assert titles == ["Examiners of a/x, closure", "Examiners of b/y, closure"]


def test_one_examiner_alone_has_no_table(tmp_path):
    run = make_run(tmp_path, closures(one=[1, 2, 3, 4]))
    assert found(run) == {}
    with RunReader(run) as reader:
        assert examiner_sheets(examiner_agreements(reader)) == ()


def test_what_cannot_be_computed_is_a_dash_with_its_reason_below(tmp_path):
    run = make_run(tmp_path, closures(one=[5, 5, 5, 5], two=[4, 3, 2, 1]))
    with RunReader(run) as reader:
        (sheet,) = examiner_sheets(examiner_agreements(reader, n_resamples=10))
    assert sheet.rows == (("e/one,\ne/two", "4", "+2.5", "- (1)", "- (1)"),)
    assert any("same rating" in note for note in sheet.notes)


def test_analysis_json_and_page_tell_the_agreement_and_hostile_names_are_escaped(tmp_path):
    run = make_run(tmp_path, closures(**{"one": [1, 2, 3, 4], "<script>alert(1)</script>": [1, 3, 2, 4]}))
    with RunReader(run) as reader:
        document = analyze_run(reader).to_json()
    (row,) = document["examiners"]
    assert [rater["name"] for rater in row["raters"]] == ["e/one", "e/<script>alert(1)</script>"]
    assert row["kendall_tau_b"]["value"] == pytest.approx(4 / 6)
    json.dumps(document, allow_nan=False)
    page = write_report(run).read_text(encoding="utf-8")
    assert "Examiners side by side" in page and "e/&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page


def test_marks_of_a_whole_case_hold_for_each_of_its_trials():
    values = by_case([{("a", 0): 10.0, ("a", 1): 20.0, ("b", 0): 5.0}, {("a", None): 30.0, ("b", None): 40.0}])
    assert values.tolist() == [[15.0, 30.0], [5.0, 40.0]]
    assert by_case([{("a", 0): 1.0}, {("b", 0): 1.0}]).shape == (0, 2)


PRINTED = {  # MedQA-CS, Tables 5 and 6: Pearson's r, tau-b; None where the printed marks do not give it
    ("physical_exam", "expert-1", "expert-2"): (0.94, 0.55),
    ("physical_exam", "expert-1", "expert-3"): (0.99, None),
    ("differential", "expert-1", "expert-2"): (0.95, None),
    ("differential", "expert-1", "expert-3"): (None, 0.82),
    ("differential", "expert-2", "expert-3"): (0.88, None),
    ("physical_exam", "GPT-4", "experts"): (0.92, 0.53),
    ("closure", "GPT-4", "experts"): (0.47, 0.47),
    ("closure", "GPT-4o", "experts"): (0.76, 0.37),
    ("closure", "Opus", "experts"): (0.75, 0.25),
    ("closure", "Sonnet", "experts"): (-0.09, -0.12),
    ("closure", "Haiku", "experts"): (-0.02, 0.23),
    ("closure", "GPT-3.5", "experts"): (0.25, 0.13),
}


@pytest.fixture
def of_paper(shared, tmp_path):
    import_medqa_cs_experts(shared / "data" / "medqa-cs" / "expert_annotations.json", tmp_path / "run")
    return tmp_path / "run"


def test_from_the_papers_marks_come_the_correlations_that_it_prints(of_paper):
    rows = found(of_paper)
    for (section, *raters), printed in PRINTED.items():
        row = rows[section, tuple(raters)]
        assert row.n_cases == 10
        for figure, ours in zip(printed, (row.pearson, row.tau_b), strict=True):
            assert figure is None or ours.value == pytest.approx(figure, abs=0.0051), (section, raters)
    assert rows["differential", ("expert-1", "expert-2", "expert-3")].w.value == pytest.approx(0.91, abs=0.005)


def test_every_pair_of_raters_agrees_as_the_reanalysis_of_the_paper_says(of_paper):
    rows = {(section, frozenset(raters)): row for (section, raters), row in found(of_paper).items()}
    with RunReader(of_paper) as reader:
        recomputed = {cell.place.removesuffix(", marks as printed"): cell.recomputed for cell in cells(reader)}
    compared = 0
    for place, value in recomputed.items():
        section, is_of, rest = place.partition(": ")
        statistic, has_raters, raters = rest.partition(" of ")
        row = rows.get((section, frozenset(raters.split(", "))))
        if value is not None and is_of and has_raters and row is not None:
            ours = {"pearson": row.pearson, "kendall_tau_b": row.tau_b, "kendalls_w": row.w}[statistic]
            assert ours.value == pytest.approx(value), place
            compared += 1
    assert compared == 18 + 24 + 3  # pairs of experts, six examiners in two sections, W of three sections


def test_differences_of_pairs_add_up(tmp_path):
    run = make_run(tmp_path, closures(one=[10, 25, 30, 45], two=[20, 30, 44, 50], three=[40, 20, 30, 10]))
    rows = found(run)
    names = ("e/one", "e/two", "e/three")
    steps = [rows["closure", pair].difference for pair in pairwise(names)]
    assert np.sum(steps) == pytest.approx(rows["closure", ("e/one", "e/three")].difference)
