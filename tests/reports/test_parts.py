"""The tables of an examination in parts: two sections, whose totals go to 100, and what they are made of."""

import json
import shutil

import pytest

from openosce.cases import Case, Diagnosis
from openosce.encounters import Encounter, EndReason
from openosce.grading.record import Answer, Score, Trial, TrialKey
from openosce.reports.analysis import analyze_run
from openosce.reports.comparison import compare_runs, comparison_sheets
from openosce.reports.parts import averages, part_sheets
from openosce.reports.scores import read_scores
from openosce.reports.sections import sections
from openosce.reports.sheets import cases
from openosce.runs.folder import MANIFEST, RunReader, RunWriter

BOTH = ("as_published@1", "as_prompted@1")
METRICS = [
    {"name": "score", "policy": BOTH[0], "role": "examiner", "low": None, "high": 100.0, "words": "section score"},
    {"name": "coverage", "policy": "-", "role": "examiner", "arms": ["exam"], "low": 0.0, "high": 60.0},
    {"name": "extra", "policy": "-", "role": "examiner", "arms": ["exam"], "low": None, "high": 0.0},
    {"name": "valid", "policy": "-", "role": "rule", "words": "share of readable replies"},
]


def exam(coverage: float, extra: float) -> tuple[Score, ...]:
    weights = zip(BOTH, (0.5, 1), strict=True)
    totals = (Score("score", coverage + weight * extra, policy, "e") for policy, weight in weights)
    return (*totals, Score("coverage", coverage, "-", "e"), Score("extra", extra, "-", "e"), VALID)


def closure(total: float | None) -> tuple[Score, ...]:
    reason = "invalid_output: no object" if total is None else None
    return (*(Score("score", total, policy, "e", None, reason) for policy in BOTH), VALID)


VALID = Score("valid", 1.0, "-", "rule")
MARKS = {"one": ((exam(30, -10), closure(40)), (exam(50, 0), closure(60))), "two": ((exam(20, 0), closure(None)),) * 2}


@pytest.fixture
def run(tmp_path):
    with RunWriter(tmp_path) as writer:
        for n in range(2):
            writer.write(Case(id=f"c{n}", source="ours", diagnosis=Diagnosis(name="Gout")))
        for doctor, by_case in MARKS.items():
            for n, scores in enumerate(by_case):
                answers = [Answer(arm, "{}", None, of) for arm, of in zip(("exam", "closure"), scores, strict=True)]
                key = TrialKey(doctor, "text", f"c{n}", 0)
                writer.write(Trial(key, Encounter((), EndReason.NOT_HELD), tuple(answers)))
    plan = {"doctors": list(MARKS), "conditions": ["text"], "arms": ["exam", "closure"], "trials": 1}
    study = {"benchmark": "medqa-cs", "roles": {"examiner": {"model": "e"}}}
    manifest = {"study": study, "plan": {**plan, "metrics": METRICS, "averages_arms": True}, "policy": BOTH[0]}
    (tmp_path / MANIFEST).write_text(json.dumps(manifest))
    return tmp_path


@pytest.fixture
def analysis(run):
    with RunReader(run) as reader:
        return analyze_run(reader)


def test_every_section_has_its_totals_under_both_weightings_and_its_criteria_with_intervals(analysis):
    of_exam, of_closure = part_sheets(analysis)
    assert (of_exam.title, of_exam.heads[2:]) == ("exam", ("one\n[95% interval]", "two\n[95% interval]"))
    # Two cases each, 25 and 50, 20 and 50: the half width is 12.7062 times half their distance.
    assert of_exam.rows[:2] == (
        ("score as_published@1", "to 100", "37.50 [-121.33, 196.33]", "20.00 [-] (1)"),
        ("score as_prompted@1", "to 100", "35.00 [-155.59, 225.59]", "20.00 [-] (1)"),
    )
    assert [row[:2] for row in of_exam.rows[2:]] == [("coverage", "0 to 60"), ("extra", "to 0"), ("valid", "0 to 1")]
    assert [row[0] for row in of_closure.rows] == ["score as_published@1", "score as_prompted@1", "valid"]
    assert of_closure.rows[0][3] == "- (1)"
    assert "valid: share of readable replies" in of_closure.notes


def test_the_average_of_the_sections_has_an_interval_and_none_where_a_section_has_no_mark(analysis):
    sheet = averages(analysis)
    # Case averages (25 + 40)/2 and (50 + 60)/2: mean 43.75, half width 12.706 · 11.25.
    assert sheet.rows == (("one", "43.750 [-99.19, 186.69]", "2"), ("two", "- (1)", "0"))
    assert analysis.to_json()["averages"][0]["mean"] == 43.75


def test_the_report_has_a_table_a_section_and_no_table_a_measure_and_no_endings(analysis):
    found = {section.name: section for section in sections(analysis)}
    assert len(found["parts"].sheets) == 2
    assert not found["measures"].sheets
    assert not found["endings"].sheets
    assert not [row for row in analysis.comparisons if row.a.arm != row.b.arm]


def test_the_list_of_cases_shows_means_where_marks_are_not_right_or_wrong(run):
    with RunReader(run) as reader:
        sheet = cases(read_scores(reader), "one", None, 10)
    assert sheet.rows == (("c0", "25.0", "40.0"), ("c1", "50.0", "60.0"))
    assert sheet.notes[0] == "mean score over valid answers; - where there is none"


def test_a_comparison_of_two_runs_names_what_it_compares(run, tmp_path_factory):
    other = tmp_path_factory.mktemp("other") / "run"
    shutil.copytree(run, other)
    for folder, seed in ((run, 1), (other, 2)):
        manifest = json.loads((folder / MANIFEST).read_text())
        manifest["study"] |= {"seed": seed, "trials": 1, "prompts_hash": None, "rules_hash": None, "settings": {}}
        (folder / MANIFEST).write_text(json.dumps(manifest))
    found = compare_runs([run, other], {"seed"})
    assert {row["metric"] for row in found.to_json()["comparisons"]} == {"score"}
    assert comparison_sheets(found)[0].title == "Score in two runs"


def test_in_a_sweep_every_section_is_compared_with_itself_in_the_reference(run):
    with RunWriter(run) as writer:
        for n, scores in enumerate(MARKS["one"]):
            answers = [Answer(arm, "{}", None, of) for arm, of in zip(("exam", "closure"), scores, strict=True)]
            writer.write(Trial(TrialKey("one", "warm", f"c{n}", 0), Encounter((), EndReason.NOT_HELD), tuple(answers)))
    manifest = json.loads((run / MANIFEST).read_text())
    columns = [
        {"label": f"{condition} {arm}", "condition": condition, "arm": arm, "trials": None}
        for condition in ("text", "warm")
        for arm in ("exam", "closure")
    ]
    manifest["plan"] |= {"conditions": ["text", "warm"], "columns": columns, "reference": "text exam"}
    (run / MANIFEST).write_text(json.dumps(manifest))
    with RunReader(run) as reader:
        analysis = analyze_run(reader)
    compared = {
        (row.a.arm, row.b.arm) for row in analysis.comparisons if row.a.model == row.b.model and row.metric == "score"
    }
    assert compared == {("warm exam", "text exam"), ("warm closure", "text closure")}
    assert [row[1] for row in averages(analysis).rows] == ["text", "warm", "text", "warm"]
