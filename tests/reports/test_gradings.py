import pytest

from openosce.grading.record import Answer, Score
from openosce.reports import analyze_run
from openosce.reports.sheets import gradings
from openosce.runs.folder import RunReader

STUDY = {"benchmark": "craft-md", "roles": {"grader": {"model": "openai/judge"}}}


def verdict(value, policy, grader, evidence=None, reason=None):
    return Score("accuracy", value, policy, grader, evidence, reason)


@pytest.fixture
def graded_run(records, tmp_path):
    """Make a run of one doctor, one answer a case and arm, from each arm's scores in every case."""

    def make(cases, **more):
        manifest = records.manifest(["d"], list(cases[0]), 1, **({"study": STUDY} | more))
        trials = [
            records.trial(
                "d", f"case-{n}", 0, [Answer(arm, "Gout", None, tuple(scores)) for arm, scores in arms.items()]
            )
            for n, arms in enumerate(cases)
        ]
        planned = [records.case(f"case-{n}") for n in range(len(cases))]
        with RunReader(records.write(tmp_path / "run", manifest, planned, trials)) as reader:
            return analyze_run(reader)

    return make


def means(analysis):
    return {(row.arm, row.grading.name): row.estimate.mean for row in analysis.graded}


def test_other_policies_stand_beside_the_headline_and_never_in_it(graded_run):
    case = {"x_frq": [verdict(0.0, "paper@1", "openai/judge"), verdict(1.0, "strict@1", "openai/judge")]}
    analysis = graded_run([case])
    assert analysis.find("d", "x_frq").estimate.mean == 0.0
    assert means(analysis) == {("x_frq", "paper@1"): 0.0, ("x_frq", "strict@1"): 1.0}
    assert gradings(analysis, "d").heads == ("arm", "paper@1", "strict@1")


def test_without_further_scores_there_is_no_such_table(graded_run):
    analysis = graded_run([{"x": [verdict(1.0, "paper@1", "openai/judge")]}])
    assert gradings(analysis, "d") is None


def test_another_graders_verdicts_stay_out_of_the_headline_and_have_a_column(graded_run):
    scores = [verdict(1.0, "paper@1", "openai/judge"), verdict(0.0, "paper@1", "builtin/lexicon")]
    analysis = graded_run([{"x_frq": scores, "x_mcq": [verdict(1.0, "paper@1", "options")]}])
    assert analysis.find("d", "x_frq").estimate.mean == 1.0
    assert means(analysis)["x_frq", "paper@1 by builtin/lexicon"] == 0.0
    assert means(analysis)["x_mcq", "paper@1 by builtin/lexicon"] == 1.0  # options are matched by rule, whoever grades
    assert gradings(analysis, "d").heads == ("arm", "paper@1", "paper@1\nby builtin/lexicon")


def test_a_policy_under_which_an_arm_was_not_graded_is_a_dash_not_a_zero(graded_run):
    case = {
        "x_mcq": [verdict(1.0, "paper@1", "options"), verdict(1.0, "strict@1", "options")],
        "x_frq": [verdict(1.0, "paper@1", "openai/judge")],
    }
    sheet = gradings(graded_run([case]), "d")
    assert dict(zip(sheet.heads, sheet.rows[1], strict=True)) == {"arm": "x_frq", "paper@1": "1.00", "strict@1": "-"}


def test_several_verdicts_of_the_study_grader_are_averaged(graded_run):
    scores = [verdict(value, "paper@1", "openai/judge") for value in (1.0, 0.0, 1.0, 1.0)]
    assert graded_run([{"x": scores}]).find("d", "x").estimate.mean == pytest.approx(0.75)


def test_where_the_study_names_no_grader_or_one_that_graded_nothing_whoever_graded_counts(graded_run):
    analysis = graded_run([{"x": [verdict(1.0, "paper@1", "as released")]}])
    assert analysis.find("d", "x").estimate.mean == 1.0
    assert analysis.gradings[0].graders == {"as released"}


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan"), "a lot"])
def test_a_score_that_is_no_number_is_missing(graded_run, value):
    analysis = graded_run(
        [{"x": [verdict(value, "paper@1", "openai/judge")]}, {"x": [verdict(1.0, "paper@1", "openai/judge")]}]
    )
    row = analysis.find("d", "x")
    assert (row.estimate.mean, row.estimate.n_cases, row.n_missing) == (1.0, 1, 1)


def test_a_case_whose_second_verdict_is_right_is_not_counted_as_choosing_nothing(graded_run):
    scores = [verdict(0.0, "paper@1", "openai/judge", "no_option: declined"), verdict(1.0, "paper@1", "openai/judge")]
    assert graded_run([{"x": scores}]).incorrect == ()


def test_the_document_holds_every_grading_with_its_interval(graded_run):
    case = {"x": [verdict(0.0, "paper@1", "openai/judge"), verdict(1.0, "strict@1", "openai/judge")]}
    (headline, other) = graded_run([case, case]).to_json()["gradings"]
    assert (headline["policy"], headline["mean"], other["policy"], other["mean"]) == ("paper@1", 0.0, "strict@1", 1.0)
    assert other["graders"] == ["openai/judge", "options"]
    assert "same value" in other["reason"]
