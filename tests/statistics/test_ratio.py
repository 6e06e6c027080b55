import numpy as np
import pytest
from scipy import stats

from openosce.statistics import paired_ratio


def correlated(n_cases, seed=1):
    """Accuracies of one doctor without and with a handicap, over the same cases of varying difficulty."""
    rng = np.random.default_rng(seed)
    chances = rng.beta(2, 2, n_cases)
    return rng.binomial(5, 0.8 * chances) / 5, rng.binomial(5, chances) / 5


def test_the_ratio_is_of_the_means_and_not_the_mean_of_ratios():
    assert paired_ratio([1, 0, 1], [1, 1, 0.5]).ratio == pytest.approx(2 / 2.5)


def test_at_the_bounds_a_t_test_of_a_minus_r_times_b_is_just_refused():
    a, b = correlated(40)
    found = paired_ratio(a, b)
    for bound in (found.ci_low, found.ci_high):
        assert stats.ttest_1samp(a - bound * b, 0).pvalue == pytest.approx(0.05)
    assert found.ci_low < found.ratio < found.ci_high


def test_another_confidence_moves_the_bounds_to_its_own_p():
    a, b = correlated(40)
    found = paired_ratio(a, b, confidence=0.8)
    assert stats.ttest_1samp(a - found.ci_low * b, 0).pvalue == pytest.approx(0.2)
    assert "80%" in found.method


def test_with_many_cases_it_agrees_with_scipys_bootstrap_of_the_ratio():
    a, b = correlated(800)
    found = paired_ratio(a, b)
    ratio = lambda x, y, axis=-1: x.mean(axis) / y.mean(axis)  # noqa: E731
    reference = stats.bootstrap((a, b), ratio, paired=True, method="BCa", rng=np.random.default_rng(1))
    assert found.ci_low == pytest.approx(reference.confidence_interval.low, abs=0.005)
    assert found.ci_high == pytest.approx(reference.confidence_interval.high, abs=0.005)


def test_the_interval_holds_the_true_ratio_as_often_as_it_says_even_with_few_cases():
    hits = []
    for seed in range(600):
        found = paired_ratio(*correlated(20, seed))
        hits.append(found.ci_low <= 0.8 <= found.ci_high)
    assert np.mean(hits) == pytest.approx(0.95, abs=0.025)


def test_a_ratio_of_something_to_itself_is_one_without_an_interval():
    _, b = correlated(30)
    found = paired_ratio(b, b)
    assert (found.ratio, found.ci_low, found.ci_high) == (pytest.approx(1), None, None)
    assert "same multiple" in found.reason


def test_a_scale_of_either_side_scales_the_ratio_and_its_bounds():
    a, b = correlated(30)
    one, scaled = paired_ratio(a, b), paired_ratio(3 * a, 2 * b)
    for before, after in ((one.ratio, scaled.ratio), (one.ci_low, scaled.ci_low), (one.ci_high, scaled.ci_high)):
        assert after == pytest.approx(1.5 * before)


def test_turned_over_the_bounds_are_the_inverse_of_each_other():
    a, b = correlated(60)
    one, other = paired_ratio(a, b), paired_ratio(b, a)
    assert (1 / other.ci_high, 1 / other.ci_low) == pytest.approx((one.ci_low, one.ci_high))


def test_cases_missing_on_either_side_are_left_out():
    found = paired_ratio([1, 0, np.nan, 1], [1, 1, 0.5, np.nan])
    assert (found.ratio, found.n_cases) == (0.5, 2)


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [([], [], "no case"), ([1.0, 0.0], [0.0, 0.0], "below the line is 0"), ([np.nan], [1.0], "no case")],
)
def test_where_nothing_can_be_divided_there_is_a_reason(a, b, words):
    found = paired_ratio(a, b)
    assert (found.ratio, found.ci_low, found.ci_high) == (None, None, None)
    assert words in found.reason


def test_a_mean_below_the_line_that_may_be_0_gives_no_bounds():
    found = paired_ratio([1, 0, 1, 0, 0, 1], [1, 0, 0, 0, 0, 0])
    assert (found.ratio, found.ci_low) == (pytest.approx(3), None)
    assert "cannot be told from 0" in found.reason


def test_one_case_has_a_ratio_without_bounds():
    found = paired_ratio([0.5], [1.0])
    assert (found.ratio, found.ci_low, found.reason) == (0.5, None, "one case alone gives no interval")


@pytest.mark.parametrize(("a", "b"), [([1, 2], [1]), ([np.inf], [1]), ([[1]], [[1]])])
def test_unusable_input_is_refused(a, b):
    with pytest.raises(ValueError, match=r"expected|needs|infinite"):
        paired_ratio(a, b)
