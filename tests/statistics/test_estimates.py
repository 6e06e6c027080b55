import numpy as np
import pytest
from scipy import stats

from openosce.statistics import mean_over_cases, paired_difference, warns_about_small_counts

RNG = np.random.default_rng(7)
MARKS = RNG.integers(0, 2, (60, 5)).astype(float)
OTHER_MARKS = RNG.integers(0, 2, (60, 5)).astype(float)
A, B = MARKS.mean(axis=1), OTHER_MARKS.mean(axis=1)


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_the_interval_of_the_mean_agrees_with_scipy(confidence):
    ours = mean_over_cases(A, confidence=confidence)
    reference = stats.ttest_1samp(A, 0).confidence_interval(confidence)
    assert (ours.ci_low, ours.ci_high) == pytest.approx((reference.low, reference.high), rel=1e-12)
    assert ours.mean == pytest.approx(A.mean())
    assert ours.n_cases == 60
    assert ours.reason is None


def test_the_paired_difference_agrees_with_scipy():
    ours = paired_difference(A, B)
    reference = stats.ttest_rel(A, B)
    interval = reference.confidence_interval(0.95)
    assert (ours.ci_low, ours.ci_high) == pytest.approx((interval.low, interval.high), rel=1e-12)
    assert ours.p == pytest.approx(reference.pvalue, rel=1e-12)
    assert ours.difference == pytest.approx(A.mean() - B.mean())


def test_swapping_the_sides_negates_the_difference_and_keeps_p():
    ab, ba = paired_difference(A, B), paired_difference(B, A)
    assert ba.difference == pytest.approx(-ab.difference)
    assert (ba.ci_low, ba.ci_high) == pytest.approx((-ab.ci_high, -ab.ci_low))
    assert ba.p == pytest.approx(ab.p)


def test_repeating_trials_adds_no_certainty():
    assert mean_over_cases(MARKS.repeat(10, axis=1).mean(axis=1)).ci_low == pytest.approx(mean_over_cases(A).ci_low)


def test_a_shift_of_all_values_shifts_the_interval():
    here, there = mean_over_cases(A), mean_over_cases(A + 3)
    assert (there.mean, there.ci_low, there.ci_high) == pytest.approx(
        (here.mean + 3, here.ci_low + 3, here.ci_high + 3)
    )


def test_without_cases_there_is_nothing_but_a_reason():
    estimate = mean_over_cases([])
    assert (estimate.mean, estimate.ci_low, estimate.ci_high, estimate.n_cases) == (None, None, None, 0)
    assert "no case" in estimate.reason
    difference = paired_difference([], [])
    assert (difference.difference, difference.p, difference.n_cases) == (None, None, 0)
    assert "both sides" in difference.reason


def test_one_case_has_a_mean_and_no_interval():
    estimate = mean_over_cases([0.4])
    assert (estimate.mean, estimate.ci_low, estimate.ci_high) == (0.4, None, None)
    assert "one case" in estimate.reason
    assert paired_difference([1.0], [0.0]).p is None


def test_cases_that_all_agree_are_not_shown_as_certain():
    estimate = mean_over_cases([1.0] * 12)
    assert (estimate.mean, estimate.ci_low, estimate.ci_high) == (1.0, None, None)
    assert "all 12 cases have the same value" in estimate.reason


def test_a_doctor_against_itself_differs_by_nothing_and_has_no_p():
    difference = paired_difference(A, A)
    assert (difference.difference, difference.ci_low, difference.p) == (0.0, None, None)
    assert "same difference" in difference.reason


def test_rounding_of_floats_does_not_pass_for_variance():
    difference = paired_difference([0.8, 0.6, 0.4, 1.0], [0.6, 0.4, 0.2, 0.8])  # 0.2, but for the last bits
    assert difference.difference == pytest.approx(0.2)
    assert difference.p is None


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_refused(bad):
    with pytest.raises(ValueError, match="1 of 3 values"):
        mean_over_cases([0.0, bad, 1.0])
    with pytest.raises(ValueError, match="1 of 2 values"):
        paired_difference([0.0, 1.0], [bad, 1.0])


def test_sides_of_different_length_are_refused():
    with pytest.raises(ValueError, match="A has 2, B has 3"):
        paired_difference([0, 1], [0, 1, 1])


def test_trials_that_were_not_averaged_are_refused():
    with pytest.raises(ValueError, match="shape"):
        mean_over_cases(MARKS)


@pytest.mark.parametrize("confidence", [0, 1, 95])
def test_a_confidence_that_is_no_fraction_is_refused(confidence):
    with pytest.raises(ValueError, match="between 0 and 1"):
        mean_over_cases(A, confidence=confidence)


@pytest.mark.parametrize(
    ("mean", "n_cases", "warns"),
    [(0.05, 99, True), (0.05, 100, False), (0.95, 30, True), (0.5, 9, True), (0.5, 10, False), (0, 5_000, True)],
)
def test_few_right_or_few_wrong_cases_are_warned_about(mean, n_cases, warns):
    assert warns_about_small_counts(mean, n_cases) is warns


def test_rare_errors_are_warned_about_as_rare_successes_are():
    for n_cases in (5, 25, 100):
        for right in range(n_cases + 1):
            one, other = (warns_about_small_counts(k / n_cases, n_cases) for k in (right, n_cases - right))
            assert one is other is (min(right, n_cases - right) < 5), (right, n_cases)


def test_what_is_no_accuracy_is_not_warned_about_but_refused():
    for bad in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="accuracy between 0 and 1"):
            warns_about_small_counts(bad, 10)
    with pytest.raises(ValueError, match="number of cases"):
        warns_about_small_counts(0.5, -1)
