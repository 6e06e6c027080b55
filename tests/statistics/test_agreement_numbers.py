import numpy as np
import pytest
from scipy import stats

from openosce.statistics import count_agreement, kendall_tau_b, kendalls_w, pearson, spearman

NAN = np.nan
RNG = np.random.default_rng(7)
A = RNG.integers(0, 20, 60).astype(float)  # with ties
B = A + RNG.integers(-8, 9, 60)
C = A + RNG.normal(0, 6, 60)
PAIRWISE = [(pearson, stats.pearsonr), (spearman, stats.spearmanr), (kendall_tau_b, stats.kendalltau)]
BOTH = pytest.mark.parametrize(("ours", "theirs"), PAIRWISE)

ANXIETY = np.array(
    [list(row) for row in "332 361 344 464 523 542 221 346 531 231 221 632 133 533 221 221 113 233 432 342".split()],
    dtype=float,
)
"""Three raters of 20 people, distributed with the R package irr."""


def seeded(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@BOTH
def test_value_and_interval_agree_with_scipy(ours, theirs):
    reference = stats.bootstrap(
        (A, B),
        lambda a, b: theirs(a, b).statistic,
        paired=True,
        vectorized=False,
        method="percentile",
        n_resamples=4_000,
        rng=seeded(2),
    ).bootstrap_distribution
    for confidence in (0.8, 0.95):
        result = ours(A, B, rng=seeded(), n_resamples=8_000, confidence=confidence)
        assert result.value == pytest.approx(theirs(A, B).statistic)
        bounds = np.quantile(reference, [(1 - confidence) / 2, (1 + confidence) / 2])
        assert (result.ci_low, result.ci_high) == pytest.approx(tuple(bounds), abs=0.015)


@BOTH
def test_every_resample_has_the_value_that_scipy_gives_it(ours, theirs):
    drawn = seeded(5).integers(0, 12, size=(2, 12))  # the resamples of 12 cases that this seed draws
    values = sorted(theirs(A[:12][rows], C[:12][rows]).statistic for rows in drawn)
    result = ours(A[:12], C[:12], rng=seeded(5), n_resamples=2, confidence=1 - 1e-12)
    assert [result.ci_low, result.ci_high] == pytest.approx(values, abs=1e-9)


@BOTH
def test_raters_in_one_order_agree_fully_and_in_opposite_order_not_at_all(ours, theirs):
    assert ours(A, 3 * A + 1, rng=seeded()).value == pytest.approx(1)
    assert ours(A, -A, rng=seeded()).value == pytest.approx(-1)


@BOTH
def test_the_sides_may_be_swapped(ours, theirs):
    one, other = ours(A, B, rng=seeded()), ours(B, A, rng=seeded())
    assert (one.value, one.ci_low, one.ci_high) == pytest.approx((other.value, other.ci_low, other.ci_high))


def test_ranks_do_not_change_with_the_scale():
    for ours in (spearman, kendall_tau_b):
        assert ours(A, np.exp(B / 5), rng=seeded()).value == pytest.approx(ours(A, B, rng=seeded()).value)
    assert pearson(A, np.exp(B / 5), rng=seeded()).value != pytest.approx(pearson(A, B, rng=seeded()).value, abs=0.05)


@BOTH
def test_the_last_bit_of_a_rating_does_not_break_a_tie(ours, theirs):
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    parts = seeded(3).integers(0, 4, (60, 4)).astype(float)
    exact, rounded = (parts @ (10 * weights)).round() / 10, parts @ weights
    assert (exact != rounded).any()
    assert ours(rounded, A, rng=seeded()).value == pytest.approx(ours(exact, A, rng=seeded()).value)


@BOTH
def test_only_cases_that_both_rated_count(ours, theirs):
    a, b = A.copy(), B.copy()
    a[:5], b[3:9] = NAN, NAN
    result = ours(a, b, rng=seeded())
    assert result == ours(A[9:], B[9:], rng=seeded())
    assert result.n_cases == 51


@BOTH
@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        ([], [], "both sides"),
        ([NAN, 1], [1, NAN], "both sides"),
        ([1], [2], "one case alone"),
        ([3, 3, 3], [1, 2, 3], "the same rating"),
        ([1, 2, 3], [0.1 + 0.2, 0.3, 0.3], "the same rating"),
    ],
)
def test_without_two_orders_there_is_no_value_and_a_reason(ours, theirs, a, b, reason):
    result = ours(a, b, rng=seeded())
    assert (result.value, result.ci_low, result.ci_high) == (None, None, None)
    assert reason in result.reason


@BOTH
def test_resamples_without_an_order_are_left_out_and_counted(ours, theirs):
    result = ours([1, 1, 1, 1, 2, 3], [1, 1, 1, 2, 2, 1], rng=seeded(), n_resamples=1_000)
    lost = int(result.reason.split("not defined in ")[1].split(" of ")[0])
    assert 1_000 * (4 / 6) ** 6 < lost < 1_000 * 2 * (4 / 6) ** 6 + 60  # the first four, or the four that b calls 1
    assert f"{1_000 - lost} of 1000 resamples" in result.method
    assert -1 <= result.ci_low < result.ci_high <= 1


def test_large_and_lopsided_numbers_do_not_overflow():
    huge = pearson(A * 1e200, B * 1e-200, rng=seeded())
    assert (huge.value, huge.ci_low) == pytest.approx(
        (stats.pearsonr(A, B).statistic, pearson(A, B, rng=seeded()).ci_low)
    )
    lopsided = pearson(np.append(A, 1e9), np.append(B, 1e9), rng=seeded())
    assert lopsided.ci_low < 0.99 < lopsided.ci_high  # resamples without the outlier keep their own spread


def test_kendalls_w_corrected_for_ties_agrees_with_r():
    assert kendalls_w(ANXIETY, rng=seeded()).value == pytest.approx(0.540, abs=5e-4)


def test_kendalls_w_with_ties_computed_by_hand():
    # Ranks 1, 2, 3 and 1.5, 1.5, 3: rank sums 2.5, 3.5, 6 about 4, so S = 2.25 + .25 + 4 = 6.5; T = 0 and 2^3 - 2 = 6.
    assert kendalls_w([[1, 5], [2, 5], [3, 9]], rng=seeded()).value == pytest.approx(12 * 6.5 / (4 * 24 - 2 * 6))


def test_kendalls_w_is_the_mean_spearman_of_all_pairs():
    ratings = RNG.permuted(np.tile(np.arange(25.0), (4, 1)), axis=1).T
    ratings[:, 1] = ratings[:, 0] + RNG.normal(0, 9, 25)
    mean_rho = np.mean([spearman(ratings[:, i], ratings[:, j], rng=seeded()).value for i in range(4) for j in range(i)])
    assert kendalls_w(ratings, rng=seeded()).value == pytest.approx((1 + 3 * mean_rho) / 4)


def test_kendalls_w_is_friedmans_chi_square_in_disguise():
    chi_square = stats.friedmanchisquare(*ANXIETY).statistic  # ties corrected; people as treatments, raters as blocks
    assert kendalls_w(ANXIETY, rng=seeded()).value == pytest.approx(chi_square / (3 * 19))


def test_kendalls_w_is_over_the_cases_that_every_rater_rated():
    more = np.vstack([[[1, NAN, 2]], ANXIETY, [[NAN] * 3]])
    assert kendalls_w(more, rng=seeded()) == kendalls_w(ANXIETY, rng=seeded())
    nothing = kendalls_w([[1, NAN], [NAN, 1]], rng=seeded())
    assert (nothing.value, nothing.n_cases) == (None, 0)
    assert "every rater" in nothing.reason


def test_a_constant_rater_or_a_single_case_has_no_concordance():
    assert "the same rating" in kendalls_w([[1, 3], [1, 4], [1, 5]], rng=seeded()).reason
    assert "one case alone" in kendalls_w([[1, 3]], rng=seeded()).reason


def test_counts_agree_by_the_share_of_trials_on_which_they_meet():
    found = count_agreement([5, 0, 3, NAN], [5, 1, 1, 4], 5, rng=seeded())  # 0, 1 and 2 of 5 apart
    assert found.value == pytest.approx(1 - 3 / 15)
    assert (found.n_cases, found.reason) == (3, None)


def test_the_interval_of_counts_is_the_bootstrap_of_their_mean():
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 6, (2, 80))
    ours = count_agreement(a, b, 5, rng=seeded(), n_resamples=8_000)
    shares = (1 - np.abs(a - b) / 5,)
    bounds = stats.bootstrap(shares, np.mean, method="percentile", n_resamples=8_000, rng=seeded(2)).confidence_interval
    assert (ours.ci_low, ours.ci_high) == pytest.approx((bounds.low, bounds.high), abs=0.01)


def test_without_common_counts_there_is_a_reason_and_counts_beyond_the_most_are_refused():
    assert count_agreement([NAN, 1], [1, NAN], 5, rng=seeded()).reason == "no case has a valid answer on both sides"
    with pytest.raises(ValueError, match="expected counts from 0 to 5, got 6"):
        count_agreement([6], [1], 5, rng=seeded())
    with pytest.raises(ValueError, match="expected counts from 0 to 0"):
        count_agreement([0], [0], 0, rng=seeded())
