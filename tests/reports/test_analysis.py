import json

import numpy as np
import pytest
from scipy import stats

from openosce.encounters import EndReason
from openosce.errors import RunFolderError
from openosce.reports import analyze_run
from openosce.reports.results import Group
from openosce.runs.folder import RunReader


def analyzed(run):
    with RunReader(run) as reader:
        return analyze_run(reader)


def refuse(constant):
    raise AssertionError(f"the document holds {constant}")


def test_a_case_is_the_mean_of_its_valid_trials_and_missing_is_not_wrong(simple_run):
    analysis = analyzed(simple_run({"d": {"frq": [[1, 0], [1, None], [None, None], [0, 0]]}}))
    row = analysis.find("d", "frq")
    values = [0.5, 1.0, 0.0]
    low, high = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert row.estimate.mean == pytest.approx(0.5)
    assert (row.estimate.ci_low, row.estimate.ci_high) == pytest.approx((low, high))
    assert (row.estimate.n_cases, row.n_planned, row.n_trials, row.n_missing) == (3, 4, 2, 3)
    assert [(c.reason, c.count) for c in analysis.missing] == [("refused", 3)]


def test_the_document_has_the_agreed_keys_and_no_nan(simple_run):
    run = simple_run({"a": {"x": [[1], [None]], "y": [[None], [None]]}, "b": {"x": [[1], [0]], "y": [[1], [1]]}})
    document = json.loads(json.dumps(analyzed(run).to_json(), allow_nan=False), parse_constant=refuse)
    estimate_keys = "model arm group metric n_cases n_trials n_missing mean ci_low ci_high method reason"
    further_keys = "icc design_effect n_effective clustering_reason warning"
    assert set(document["estimates"][0]) == set((estimate_keys + " " + further_keys).split())
    keys = "a b group metric n_cases difference ci_low ci_high p p_adjusted adjustment family test reason"
    assert set(document["comparisons"][0]) == set(keys.split())
    assert set(document["comparisons"][0]["a"]) == {"model", "arm"}
    assert document["comparisons"][0]["adjustment"] == "holm"


def test_with_everything_missing_nothing_is_claimed(simple_run):
    analysis = analyzed(simple_run({"d": {"x": [[None], [None]], "y": [[None], [None]]}}))
    assert analysis.n_missing == analysis.n_answers == 4
    assert all(row.estimate.mean is None and row.estimate.reason for row in analysis.estimates)
    assert analysis.comparisons[0].difference.difference is None
    assert analysis.comparisons[0].p_adjusted is None


def test_one_case_has_a_mean_without_an_interval(simple_run):
    estimate = analyzed(simple_run({"d": {"x": [[1, 0]]}})).find("d", "x").estimate
    assert (estimate.mean, estimate.ci_low) == (0.5, None)


def test_a_comparison_takes_the_cases_valid_in_both_arms(simple_run):
    x, y = [[1], [0], [1], [None]], [[0], [0], [None], [1]]
    found = analyzed(simple_run({"d": {"x": x, "y": y}})).comparisons[0].difference
    assert found.n_cases == 2
    assert found.difference == pytest.approx(0.5)


def test_every_estimate_says_how_alike_trials_are_and_what_the_answers_are_worth(simple_run):
    marks = {"same": [[1, 1], [0, 0], [1, 1], [0, 0]], "chance": [[1, 0], [0, 1], [1, 0], [0, 1]]}
    analysis = analyzed(simple_run({"d": marks}))
    same, chance = (analysis.find("d", arm).clustering for arm in marks)
    assert (same.icc, same.design_effect, same.n_effective) == pytest.approx((1, 2, 4))
    assert (chance.icc, chance.design_effect, chance.n_effective) == pytest.approx((-1, 1, 8))


def test_one_trial_a_case_tells_nothing_about_trials(simple_run):
    (row, *_) = analyzed(simple_run({"d": {"x": [[1], [0], [1]]}})).to_json()["estimates"]
    assert (row["icc"], row["design_effect"], row["n_effective"]) == (None, None, None)
    assert "no case has two answers" in row["clustering_reason"]


def test_an_interval_that_rests_on_few_wrong_answers_comes_with_a_warning(simple_run):
    nearly_all, half = [[1]] * 38 + [[0]] * 2, [[1], [0]] * 20
    analysis = analyzed(simple_run({"d": {"nearly_all": nearly_all, "half": half}}))
    assert "few cases right or few wrong" in analysis.find("d", "nearly_all").warning
    assert analysis.find("d", "half").warning is None


def test_turns_are_counted_by_how_the_conversation_ended(records, tmp_path):
    ends = (EndReason.DIAGNOSED, EndReason.MESSAGE_CAP)
    trials = [records.trial("d", "1", n, [], ended=ended) for n, ended in enumerate(ends)]
    analysis = analyzed(records.write(tmp_path / "run", records.manifest(["d"], ["x"], 2), [records.case("1")], trials))
    assert [(row.ended, row.turns, row.count) for row in analysis.turns] == [("diagnosed", 1, 1), ("message_cap", 1, 1)]


def test_what_was_never_asked_is_not_run(simple_run):
    analysis = analyzed(simple_run({"d": {"x": [[1], [0]]}}, planned_trials=3))
    assert [(c.reason, c.count) for c in analysis.missing] == [("not_run", 4)]
    assert analysis.find("d", "x").estimate.mean == pytest.approx(0.5)


def test_repeating_the_trials_adds_no_certainty(simple_run, tmp_path):
    marks = [[1, 0], [1, 1], [0, 0], [1, 0]]
    once = analyzed(simple_run({"d": {"x": marks}})).find("d", "x").estimate
    (tmp_path / "run").rename(tmp_path / "once")
    fivefold = analyzed(simple_run({"d": {"x": [row * 5 for row in marks]}})).find("d", "x").estimate
    assert (once.mean, once.ci_low, once.ci_high) == pytest.approx((fivefold.mean, fivefold.ci_low, fivefold.ci_high))


def test_families_are_the_arms_of_a_doctor_and_the_doctors_in_an_arm(simple_run):
    rng = np.random.default_rng(1)
    marks = {d: {a: rng.integers(0, 2, (8, 2)).tolist() for a in "xyz"} for d in ("d1", "d2")}
    rows = analyzed(simple_run(marks)).comparisons
    families = [row.family for row in rows]
    assert families == ["arms of d1"] * 3 + ["arms of d2"] * 3 + [f"doctors in {a}" for a in "xyz"]
    assert all(row.p_adjusted == row.difference.p for row in rows[6:])  # families of one
    assert all(row.p_adjusted >= row.difference.p for row in rows)


def test_groups_are_those_that_occur(records, tmp_path):
    cases = [
        records.case("1", "Cardiology", "usmle"),
        records.case("2", "Cardiology", "public"),
        records.case("3", None, "public"),
    ]
    trials = [records.trial("d", case.id, 0, [records.answer("x", n % 2)]) for n, case in enumerate(cases)]
    analysis = analyzed(records.write(tmp_path / "run", records.manifest(["d"], ["x"], 1), cases, trials))
    assert [group.name for group in analysis.groups] == [
        "all",
        "specialty=Cardiology",
        "dataset=usmle",
        "dataset=public",
        "specialty=Cardiology&dataset=usmle",
        "specialty=Cardiology&dataset=public",
    ]
    assert analysis.find("d", "x", Group(dataset="public")).estimate.n_cases == 2


def test_only_planned_answers_under_the_headline_policy_count(records, tmp_path):
    answers = [records.answer("x", 0.0), records.answer("summary", 1.0)]
    lenient = records.trial("d", "2", 0, [records.answer("x", 1.0, policy="lenient@1")])
    run = records.write(
        tmp_path / "run",
        records.manifest(["d"], ["x"], 1),
        [records.case("1"), records.case("2")],
        [records.trial("d", "1", 0, answers), lenient, records.trial("stranger", "1", 0, answers)],
    )
    analysis = analyzed(run)
    assert [(row.model, row.arm) for row in analysis.estimates if row.group.name == "all"] == [("d", "x")]
    assert (analysis.find("d", "x").estimate.mean, analysis.n_missing) == (0.0, 1)


def test_wrong_answers_that_choose_nothing_are_counted_and_stay_wrong(records, tmp_path):
    marks = [(0.0, "no_option: declined"), (0.0, "ambiguous: A, B"), (0.0, "named: C"), (1.0, "named: A")]
    cases = [records.case(str(n)) for n in range(4)]
    trials = [records.trial("d", str(n), 0, [records.answer("x", v, evidence=e)]) for n, (v, e) in enumerate(marks)]
    analysis = analyzed(records.write(tmp_path / "run", records.manifest(["d"], ["x"], 1), cases, trials))
    assert [(c.reason, c.count) for c in analysis.incorrect] == [("no_option", 1), ("ambiguous", 1)]
    assert analysis.find("d", "x").estimate.mean == pytest.approx(0.25)


def test_an_ungraded_answer_is_missing_for_the_graders_reason(records, tmp_path):
    ungraded = records.answer("x", None, reason="unreadable_verdict: no line 'Final grade'")
    run = records.write(
        tmp_path / "run",
        records.manifest(["d"], ["x"], 1),
        [records.case("1")],
        [records.trial("d", "1", 0, [ungraded])],
    )
    assert [(c.reason, c.count) for c in analyzed(run).missing] == [("unreadable_verdict", 1)]


def test_endings_and_failures_are_told(records, tmp_path):
    failed = records.trial("d", "1", 1, [], ended=EndReason.PROVIDER_FAILED, error="HTTP 503")
    trials = [records.trial("d", "1", 0, [records.answer("x", 1.0)]), failed]
    analysis = analyzed(records.write(tmp_path / "run", records.manifest(["d"], ["x"], 2), [records.case("1")], trials))
    assert {(row.ended, row.count) for row in analysis.endings} == {("diagnosed", 1), ("provider_failed", 1)}
    assert [(row.key.trial, row.error) for row in analysis.failed] == [(1, "HTTP 503")]


@pytest.mark.parametrize(
    "plan", [None, {}, {"doctors": ["d"], "conditions": ["text"], "arms": ["x"], "trials": "many"}]
)
def test_a_manifest_without_a_plan_is_refused_by_name(records, tmp_path, plan):
    run = records.write(tmp_path / "run", records.manifest(["d"], ["x"], 1, plan=plan), [], [])
    with pytest.raises(RunFolderError, match="does not say what was planned"):
        analyzed(run)
