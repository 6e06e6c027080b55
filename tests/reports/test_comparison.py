import json
import re
from itertools import count

import numpy as np
import pytest
from scipy import stats

from openosce.errors import InputError, RunFolderError, StudyError
from openosce.reports.comparison import compare_runs, comparison_sheets

ARMS = ["vignette_mcq", "multi_turn_mcq"]
DOCTOR = "vendor/doctor-1"


@pytest.fixture
def make(tmp_path, records):
    """Make a run: `marks` is {doctor: {arm: [[trial 0, ...] of case 0, ...]}}, None a refused answer."""
    numbers = count()

    def run(marks, cases=None, policy="paper@1", study=None, drop=()):
        doctors, arms = list(marks), list(next(iter(marks.values())))
        n_cases = len(next(iter(next(iter(marks.values())).values())))
        cases = cases or [records.case(f"case-{c:02}") for c in range(n_cases)]
        trials = []
        for doctor, by_arm in marks.items():
            for c, case in enumerate(cases):
                for t in range(len(by_arm[arms[0]][c])):
                    answers = [_answer(records, arm, rows[c][t], policy) for arm, rows in by_arm.items()]
                    trials.append(records.trial(doctor, case.id, t, answers))
        manifest = records.manifest(doctors, arms, max(len(row) for row in by_arm[arms[0]]), policy=policy)
        manifest["study"] |= {"prompts_hash": "aa11", "trials": manifest["plan"]["trials"], "rules_hash": None}
        manifest["study"]["roles"] |= {"patient": {"model": "vendor/patient", "base_url": None, "settings": {}}}
        manifest["study"] |= study or {}
        for key in drop:
            del manifest["study"][key]
        return records.write(tmp_path / f"run-{next(numbers)}", manifest, cases, trials)

    return run


def _answer(records, arm, value, policy):
    if value is None:
        return records.answer(arm, None, reason="no_answer", why_no_answer="refused: filter", policy=policy)
    return records.answer(arm, value, policy=policy)


def marks(n_cases=12, seed=1, p=0.5, doctor=DOCTOR, n_trials=3, arms=ARMS):
    rng = np.random.default_rng(seed)
    return {doctor: {arm: rng.binomial(1, p, (n_cases, n_trials)).astype(float).tolist() for arm in arms}}


def difference(found, arm=ARMS[0]):
    (one,) = [row for row in found.comparisons if row.a.arm == arm]
    return one


def test_two_runs_are_paired_by_case_as_scipy_pairs_them(make):
    first, second = marks(seed=1), marks(seed=2, p=0.8)
    found = compare_runs([make(first), make(second)])
    for arm in ARMS:
        a, b = (np.mean(one[DOCTOR][arm], axis=1) for one in (first, second))
        reference = stats.ttest_rel(a, b)
        row = difference(found, arm).difference
        assert row.difference == pytest.approx(a.mean() - b.mean())
        assert row.p == pytest.approx(reference.pvalue)
        assert (row.ci_low, row.ci_high) == pytest.approx(tuple(reference.confidence_interval(0.95)))


def test_swapping_the_runs_turns_the_sign_and_nothing_else(make):
    one, other = make(marks(seed=1)), make(marks(seed=2))
    there, back = (difference(compare_runs(pair)).difference for pair in ([one, other], [other, one]))
    assert (there.difference, there.ci_low, there.p) == pytest.approx((-back.difference, -back.ci_high, back.p))


def test_p_values_are_adjusted_over_the_arms_of_a_doctor(make):
    rows = compare_runs([make(marks(seed=1)), make(marks(seed=2, p=0.8))]).comparisons
    smaller, larger = sorted(rows, key=lambda row: row.difference.p)
    assert smaller.p_adjusted == pytest.approx(2 * smaller.difference.p)
    assert larger.p_adjusted == pytest.approx(max(larger.difference.p, smaller.p_adjusted))


def test_two_runs_of_one_doctor_each_are_paired_whatever_the_doctors_are_called(make):
    found = compare_runs([make(marks(doctor="vendor/v1")), make(marks(doctor="vendor/v2", seed=2))])
    assert {(row.a.model, row.b.model) for row in found.comparisons} == {("vendor/v1", "vendor/v2")}
    assert [one.factor for one in found.differs] == ["doctor"]
    assert found.without_partner == ()


def test_of_several_doctors_equal_names_are_paired_and_the_others_are_told(make):
    one = make(marks(doctor="a/x") | marks(doctor="a/y", seed=2))
    other = make(marks(doctor="a/y", seed=3) | marks(doctor="a/z", seed=4))
    found = compare_runs([one, other])
    assert {(row.a.model, row.b.model) for row in found.comparisons} == {("a/y", "a/y")}
    assert found.without_partner == (f"{one}: the doctor a/x", f"{other}: the doctor a/z")
    assert "no partner for" in " ".join(comparison_sheets(found)[-1].notes)


def test_doctors_that_have_nothing_in_common_are_refused(make):
    one = make(marks(doctor="a/x") | marks(doctor="a/y"))
    with pytest.raises(StudyError, match="no doctor in common"):
        compare_runs([one, make(marks(doctor="a/z"))])


def test_arms_that_not_every_run_has_are_told_and_runs_without_a_common_arm_are_refused(make):
    one = make(marks())
    arms = {"settings": {"arms": ["x"]}}
    other = make(marks(arms=ARMS[:1]), study=arms)
    found = compare_runs([one, other], ["settings"])
    assert found.without_partner == (f"{one}: the arm {ARMS[1]}",)
    with pytest.raises(StudyError, match="no arm in common"):
        compare_runs([one, make(marks(arms=["else"]), study=arms)], ["settings"])


@pytest.mark.parametrize(
    ("factor", "changed", "key", "values"),
    [
        ("prompts", {"prompts_hash": "bb22"}, "prompts_hash", "'aa11' in"),
        ("seed", {"seed": 7}, "seed", "1 in"),
        ("cases", {"cases_hash": "else"}, "cases_hash", "'0f3a' in"),
        ("settings", {"settings": {"cap": 30}}, "settings.cap", "not noted in"),
        ("grader", {"grader_repeats": 3}, "grader_repeats", "not noted in"),
        ("rules", {"rules_hash": "cc33"}, "", ""),
        ("curator", {"roles": {"curator": {"model": "x/y"}}}, "roles.", ""),
    ],
)
def test_what_differs_is_refused_by_name_unless_it_is_declared(make, factor, changed, key, values):
    base = {"rules_hash": "dd44"} if factor == "rules" else {}
    runs = [make(marks(), study=base), make(marks(), study=changed)]
    with pytest.raises(StudyError) as refused:
        compare_runs(runs)
    said = str(refused.value)
    assert key in said and values in said
    assert f"--factor {factor}" in said
    assert "\n" not in said
    declared = [factor, "patient"] if factor == "curator" else [factor]  # the curator's study has no patient
    found = compare_runs(runs, declared)
    assert factor in {one.factor for one in found.differs}
    assert json.dumps(found.to_json(), allow_nan=False)


def test_a_policy_that_differs_is_refused_and_told_once(make):
    runs = [make(marks()), make(marks(), policy="strict@1", study={"settings": {"policy": "strict"}})]
    with pytest.raises(StudyError, match=r"policy is 'paper@1' in .* and 'strict@1' in .*--factor policy$"):
        compare_runs(runs)
    assert [one.key for one in compare_runs(runs, ["policy"]).differs] == ["policy"]


def test_several_undeclared_things_are_all_named_with_every_flag(make):
    with pytest.raises(
        StudyError, match=r"1 more: seed.*--factor prompts --factor seed|1 more: prompts_hash"
    ) as refused:
        compare_runs([make(marks()), make(marks(), study={"prompts_hash": "bb22", "seed": 3})])
    assert "--factor prompts" in str(refused.value) and "--factor seed" in str(refused.value)


def test_of_dozens_of_differences_a_refusal_names_a_few(make):
    sweeps = ({f"bias=b{n}": {"settings": {"bias": side}} for n in range(30)} for side in ("a", "b"))
    with pytest.raises(StudyError, match=r"29 more: .*--factor conditions") as refusal:
        compare_runs([make(marks(), study={"conditions": conditions}) for conditions in sweeps])
    assert str(refusal.value).count("conditions.bias") == 6


def test_whatever_a_refusal_offers_as_a_factor_is_one(make):
    studies = (
        {"conditions": {"b": {"settings": {"turns": n}}}, "images_hash": f"{n}", "data": {"prices": f"{n}"}}
        for n in (1, 2)
    )
    runs = [make(marks(), study=study) for study in studies]
    with pytest.raises(StudyError) as refusal:
        compare_runs(runs)
    offered = re.findall(r"--factor (\S+)", str(refusal.value))
    assert offered == ["conditions", "images_hash", "data"]
    assert [one.factor for one in compare_runs(runs, offered).differs] == offered


def test_another_benchmark_cannot_be_declared(make):
    with pytest.raises(StudyError, match="only runs of one benchmark"):
        compare_runs([make(marks()), make(marks(), study={"benchmark": "agentclinic"})])


def test_another_name_for_the_same_cases_is_no_difference(make):
    assert compare_runs([make(marks()), make(marks(), study={"cases": "elsewhere/starter"})]).differs == ()


def test_rules_that_only_a_built_in_doctor_brings_are_no_difference(make):
    built_in = make(marks(doctor="builtin/interviewer"), study={"rules_hash": "dd44"})
    assert {one.factor for one in compare_runs([built_in, make(marks())]).differs} == {"doctor"}


def test_other_settings_of_a_doctor_of_the_same_name_are_told(make):
    roles = {"doctor": [{"model": DOCTOR, "base_url": None, "settings": {"temperature": 1.0}}]}
    patient = {"patient": {"model": "vendor/patient", "base_url": None, "settings": {}}}
    found = compare_runs([make(marks()), make(marks(), study={"roles": roles | patient})])
    assert "'temperature': 1.0" in " ".join(comparison_sheets(found)[-1].notes)


def test_an_unknown_factor_is_refused_with_those_there_are(make):
    with pytest.raises(StudyError, match=r"--factor 'luck': unknown; known are prompts, .*patient"):
        compare_runs([make(marks()), make(marks())], ["luck"])


def test_different_cases_are_compared_on_the_common_ones_and_the_others_are_counted(make, records):
    cases = [records.case(f"case-{c:02}") for c in range(6)]
    changed = [*cases[1:4], records.case("case-04", "Dermatology"), records.case("case-99")]
    values = marks(6)
    shifted = {DOCTOR: {arm: rows[1:4] + rows[:2] for arm, rows in values[DOCTOR].items()}}
    runs = [make(values, cases=cases), make(shifted, cases=changed, study={"cases_hash": "else"})]
    found = compare_runs(runs, ["cases"])
    assert (found.n_cases, found.left_out) == (3, (3, 2))
    assert difference(found).difference.difference == 0
    assert found.to_json()["left_out"] == {str(runs[0]): 3, str(runs[1]): 2}


def test_a_run_of_fewer_cases_of_the_same_set_needs_the_factor_too(make):
    runs = [make(marks(6)), make(marks(4))]
    with pytest.raises(StudyError, match=r"6 in .*, 4 in .*; 4 in common.*--factor cases"):
        compare_runs(runs)
    assert compare_runs(runs, ["cases"]).left_out == (2, 0)


def test_runs_without_a_common_case_are_refused(make, records):
    other = make(marks(2), cases=[records.case("x"), records.case("y")])
    with pytest.raises(StudyError, match="no case in common"):
        compare_runs([make(marks(2)), other], ["cases"])


def test_a_case_that_is_missing_on_one_side_leaves_the_pairs_and_is_not_a_zero(make):
    first, second = marks(10, seed=1), marks(10, seed=2)
    first[DOCTOR][ARMS[0]][0] = [None] * 3
    found = difference(compare_runs([make(first), make(second)])).difference
    a, b = (np.mean(np.array(one[DOCTOR][ARMS[0]][1:]), axis=1) for one in (first, second))
    assert (found.n_cases, found.difference) == (9, pytest.approx((a - b).mean()))


def test_where_all_is_missing_there_is_null_with_a_reason(make):
    nothing = {DOCTOR: {arm: [[None]] * 4 for arm in ARMS}}
    found = compare_runs([make(nothing), make(marks(4, n_trials=1))])
    for row in found.to_json()["comparisons"]:
        assert (row["difference"], row["ci_low"], row["p"], row["p_adjusted"], row["n_cases"]) == (None,) * 4 + (0,)
        assert row["reason"] == "no case has a valid answer on both sides"
    (sheet,) = comparison_sheets(found)
    assert any("no case has a valid answer on both sides: vignette_mcq, multi_turn_mcq" in note for note in sheet.notes)


def test_one_case_gives_a_difference_without_an_interval(make):
    found = difference(compare_runs([make(marks(1)), make(marks(1, seed=5))])).difference
    assert found.difference is not None
    assert (found.ci_low, found.p) == (None, None)
    assert "one case" in found.reason


def test_more_than_two_runs_make_a_trend_against_the_first(make):
    values = [marks(seed=n, p=0.3 + 0.2 * n) for n in range(3)]
    runs = [make(one) for one in values]
    found = compare_runs(runs)
    document = found.to_json()
    assert [row["arm"] for row in document["trend"]] == ARMS
    points = document["trend"][0]["points"]
    means = [np.mean(one[DOCTOR][ARMS[0]]) for one in values]
    assert [point["run"] for point in points] == [str(run) for run in runs]
    assert [point["mean"] for point in points] == pytest.approx(means)
    assert points[0]["to_first"] is None
    assert [p["to_first"]["difference"] for p in points[1:]] == pytest.approx([m - means[0] for m in means[1:]])
    assert len(document["comparisons"]) == 2 * len(ARMS)
    adjusted = sorted((row["p"], row["p_adjusted"]) for row in document["comparisons"])
    assert adjusted[0][1] == pytest.approx(min(1, 4 * adjusted[0][0]))  # one family: two arms, two later runs


def test_a_trend_shows_every_run_in_a_column(make):
    sheets = comparison_sheets(compare_runs([make(marks(seed=n)) for n in range(3)]))
    (sheet,) = sheets
    assert sheet.heads == ("arm", "A", "B", "C")
    assert [row[0] for row in sheet.rows] == ARMS
    assert len(sheet.rows[0][2].splitlines()) == 3


@pytest.mark.parametrize("n_runs", [0, 1])
def test_a_comparison_needs_two_runs(make, n_runs):
    with pytest.raises(StudyError, match="two runs or more"):
        compare_runs([make(marks(2)) for _ in range(n_runs)])


def test_a_run_is_not_compared_with_itself(make):
    run = make(marks(2))
    with pytest.raises(StudyError, match="named twice"):
        compare_runs([run, run / ".." / run.name])


@pytest.mark.parametrize("damage", ["gone", "manifest", "study", "database"])
def test_a_run_that_cannot_be_read_is_refused_with_one_line(make, damage):
    one, other = make(marks(2)), make(marks(2))
    if damage == "gone":
        other = other / "nothing"
    elif damage == "manifest":
        (other / "manifest.json").write_text("{")
    elif damage == "study":
        (other / "manifest.json").write_text('{"study": "craft-md"}')
    else:
        (other / "run.db").write_bytes((other / "run.db").read_bytes()[:4096])
    with pytest.raises(RunFolderError) as refused:
        compare_runs([one, other])
    assert str(other) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_runs_made_before_something_was_noted_can_still_be_compared(make):
    found = compare_runs([make(marks(), drop=["rules_hash"]), make(marks(), drop=["rules_hash"])])
    assert found.differs == ()
    with pytest.raises(InputError, match="not noted"):
        compare_runs([make(marks(), drop=["prompts_hash"]), make(marks())])
