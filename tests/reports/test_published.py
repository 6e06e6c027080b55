"""The article's rules on runs small enough to compute by hand."""

import numpy as np
import pytest

from openosce.errors import StudyError
from openosce.grading.record import Answer, Score
from openosce.reports.published import analyze_as_published
from openosce.reports.published_scores import published_estimate
from openosce.reports.published_sheets import published_sheets
from openosce.runs.folder import RunReader
from openosce.statistics import centred_bootstrap_p

PUBLISHED, PAPER, PREPRINT = "as_published@1", "paper@1", "preprint_2023@1"
GRADER = "builtin/lexicon"


@pytest.fixture
def make(records, tmp_path):
    """Make a run from {doctor: {arm: a row a case of a trial's marks, or of their mark by policy}}."""

    def run(marks, policy=PUBLISHED, **manifest):
        arms = list(next(iter(marks.values())))
        rows = next(iter(next(iter(marks.values())).values()))
        placed = manifest.pop("cases", [("Cardiology", "MedQA_USMLE")] * len(rows))
        cases = [records.case(f"case_{n}", *place) for n, place in enumerate(placed)]
        trials = [
            records.trial(doctor, case.id, t, [_answer(arm, of_arm[arm][c][t], policy) for arm in arms])
            for doctor, of_arm in marks.items()
            for c, case in enumerate(cases)
            for t in range(len(rows[0]))
        ]
        study = {"benchmark": "craft-md", "roles": {"grader": {"model": GRADER}}}
        about = records.manifest(list(marks), arms, len(rows[0]), policy=policy, **{"study": study} | manifest)
        return records.write(tmp_path / "run", about, cases, trials)

    return run


def _answer(arm, mark, policy):
    marks = mark if isinstance(mark, dict) else {policy: mark}
    signed = "options" if arm.endswith("_mcq") else GRADER
    scores = tuple(Score("accuracy", value, name, signed) for name, value in marks.items() if value is not None)
    if not scores:
        scores = (Score("accuracy", None, policy, signed, missing_reason="no_answer"),)
        return Answer(arm, None, "empty_reply", scores)
    return Answer(arm, "Gout", None, scores)


def analyze(folder):
    with RunReader(folder) as reader:
        return analyze_as_published(reader)


def test_a_case_without_a_valid_trial_scores_0_and_is_counted(make):
    marks = [[1, None], [None, None], [1, 0]]
    (everything, _) = analyze(make({"m": {"vignette_mcq": marks}})).estimates
    assert everything.estimate.mean == pytest.approx((1 + 0 + 0.5) / 3)
    assert (everything.n_missing, everything.n_scored_zero, everything.estimate.n_cases) == (3, 1, 3)
    assert everything.estimate.method.endswith("as published")


def test_the_interval_is_the_t_interval_over_cases():
    # t(0.975, 2) = 4.302653 from a printed table; sd of 0, 0.5, 1 is 0.5
    found = published_estimate(np.array([0.0, 0.5, 1.0]))
    assert (found.ci_high - found.mean) == pytest.approx(4.302653 * 0.5 / 3**0.5, abs=1e-6)


def test_cases_that_are_all_alike_have_an_interval_without_width():
    found = published_estimate(np.array([0.2, 0.2, 0.2]))
    assert (found.ci_low, found.mean, found.ci_high) == pytest.approx((0.2, 0.2, 0.2))


def test_mcq_is_scored_by_the_article_s_rule_and_frq_as_the_run_does(make):
    mcq = [[{PAPER: 0, PUBLISHED: 1}], [{PAPER: 0, PUBLISHED: 0}]]
    frq = [[{PAPER: 1, PUBLISHED: 0}], [{PAPER: 1, PUBLISHED: 0}]]
    found = analyze(make({"m": {"vignette_mcq": mcq, "vignette_frq": frq}}, policy=PAPER))
    means = {row.arm: row.estimate.mean for row in found.estimates if row.group.name == "all"}
    assert means == {"vignette_mcq": 0.5, "vignette_frq": 1.0}
    assert "MCQ: scores of as_published@1 by options" in found.notes
    assert "FRQ: scores of paper@1 by builtin/lexicon" in found.notes


@pytest.fixture
def marks():
    """Two models, three arms of MCQ, one of FRQ."""
    drawn = np.random.default_rng(3).integers(0, 2, (2, 4, 12, 2)).tolist()
    arms = ("vignette_mcq", "multi_turn_mcq", "summarized_mcq", "vignette_frq")
    return {doctor: dict(zip(arms, rows, strict=True)) for doctor, rows in zip("ab", drawn, strict=True)}


def test_p_is_the_article_s_rounded_and_adjusted_over_all_models_and_pairs(make, marks):
    found = analyze(make(marks))
    family = [row for row in found.comparisons if row.family == "MCQ arms in all cases"]
    assert len(family) == 6
    for row in family:
        a, b = (np.mean(marks[row.a.model][side.arm], axis=1) for side in (row.a, row.b))
        alone = centred_bootstrap_p(a, b, rng=np.random.RandomState(20), as_published=True)
        assert row.p == round(alone.p, 4)
        assert row.difference == pytest.approx(alone.difference)
    ranked = sorted(family, key=lambda row: row.p)
    by_hand = [min(6 / (n + 1) * row.p for n, row in enumerate(ranked) if n >= rank) for rank in range(6)]
    assert [row.p_adjusted for row in ranked] == pytest.approx(by_hand)
    assert {(row.adjustment, row.family_size) for row in family} == {("benjamini-hochberg", 6)}


def test_the_preprint_s_runs_are_adjusted_by_holm_within_the_model(make, marks):
    found = analyze(make(marks, policy=PREPRINT))
    family = sorted((r for r in found.comparisons if r.family == "MCQ arms in all cases of a"), key=lambda r: r.p)
    by_hand = [min(1.0, max((3 - n) * family[n].p for n in range(rank + 1))) for rank in range(3)]
    assert [row.p_adjusted for row in family] == pytest.approx(by_hand)
    assert {(row.adjustment, row.family_size) for row in family} == {("holm", 3)}


def test_mcq_is_compared_with_frq_of_the_same_information(make, marks):
    across = [row for row in analyze(make(marks)).comparisons if row.family == "MCQ against FRQ"]
    assert [(row.a.arm, row.b.arm) for row in across] == [("vignette_mcq", "vignette_frq")] * 2


def test_groups_are_specialties_and_the_data_sets_of_dermatology(make):
    placed = [("Cardiology", "x"), ("Dermatology", "x"), ("Dermatology", "y"), ("Dermatology", "y")]
    found = analyze(make({"m": {"vignette_mcq": [[1], [0], [1], [0]], "multi_turn_mcq": [[0]] * 4}}, cases=placed))
    sizes = {row.group.name: row.estimate.n_cases for row in found.estimates if row.arm == "vignette_mcq"}
    assert sizes == {
        "all": 4,
        "specialty=Cardiology": 1,
        "specialty=Dermatology": 3,
        "specialty=Dermatology&dataset=x": 1,
        "specialty=Dermatology&dataset=y": 2,
    }
    families = {row.family: row.family_size for row in found.comparisons}
    assert families == {
        "MCQ arms in all cases": 1,
        "MCQ arms by specialty": 2,
        "MCQ arms by data set of Dermatology": 2,
    }


def test_a_run_of_another_benchmark_is_refused(make):
    folder = make({"m": {"vignette_mcq": [[1]]}}, study={"benchmark": "agentclinic"})
    with pytest.raises(StudyError, match="is a run of agentclinic; only those of craft-md"):
        analyze(folder)


def test_a_run_without_the_article_s_scores_is_refused_with_the_mend(make):
    with pytest.raises(StudyError, match=r"under as_published@1.*osce grade RUN --policy as_published"):
        analyze(make({"m": {"vignette_mcq": [[1]]}}, policy=PAPER))


def test_a_run_without_an_arm_of_the_article_is_refused(make):
    with pytest.raises(StudyError, match="expected one condition with arms of the article"):
        analyze(make({"m": {"multi_turn_own": [[1]]}}))


def test_tables_say_what_was_missing_and_how_p_was_adjusted(make, marks):
    sheets = published_sheets(analyze(make(marks)))
    titles = [sheet.title for sheet in sheets]
    assert titles[:3] == ["a, as published", "a by specialty, as published", "arms of a, as published"]
    assert "MCQ arms in all cases: 6 tests are adjusted together, by benjamini-hochberg" in sheets[2].notes
    assert any("benjamini-hochberg over the models" in row[0] for row in sheets[-1].rows)
