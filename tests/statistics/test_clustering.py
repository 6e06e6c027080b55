import numpy as np
import pytest
from scipy import stats

from openosce.statistics import clustering

SHROUT_FLEISS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
RNG = np.random.default_rng(5)
SCORES = RNG.binomial(1, RNG.beta(0.6, 0.4, (80, 1)), (80, 5)).astype(float)
HOLED = np.where(RNG.random(SCORES.shape) < 0.3, np.nan, SCORES)


def test_the_example_of_shrout_and_fleiss():
    assert clustering(SHROUT_FLEISS).icc == pytest.approx(0.17, abs=0.005)


def test_the_correlation_follows_from_the_f_of_scipy_where_trials_are_missing():
    cases = [row[~np.isnan(row)] for row in HOLED if not np.isnan(row).all()]
    sizes = np.array([len(case) for case in cases])
    n0 = (sizes.sum() - (sizes**2).sum() / sizes.sum()) / (len(cases) - 1)
    f = stats.f_oneway(*cases).statistic
    ours = clustering(HOLED)
    assert ours.icc == pytest.approx((f - 1) / (f + n0 - 1), rel=1e-9)
    assert ours.design_effect == pytest.approx(1 + (n0 - 1) * ours.icc)
    assert ours.n_effective == pytest.approx(sizes.sum() / ours.design_effect)
    assert (ours.n_cases, ours.n_trials, ours.n_answers) == (len(cases), 5, sizes.sum())


def test_trials_that_never_differ_are_worth_one():
    ours = clustering(np.repeat(SCORES[:, :1], 5, axis=1))
    assert (ours.icc, ours.design_effect, ours.n_effective) == pytest.approx((1, 5, 80))


def test_the_correlation_of_a_known_process_is_found():
    rng = np.random.default_rng(6)
    scores = rng.binomial(1, rng.beta(0.5 * 0.4 / 0.6, 0.5 * 0.4 / 0.6, (4_000, 1)), (4_000, 5))
    assert clustering(scores).icc == pytest.approx(0.6, abs=0.02)


def test_unit_and_order_do_not_matter():
    shuffled = RNG.permuted(RNG.permutation(HOLED), axis=1)
    assert clustering(20 * shuffled - 3).icc == pytest.approx(clustering(HOLED).icc)


def test_cases_without_an_answer_are_left_out():
    with_blank = np.vstack([SCORES, np.full((3, 5), np.nan)])
    assert clustering(with_blank) == clustering(SCORES)


def test_a_negative_correlation_is_reported_and_gains_nothing():
    ours = clustering([[0, 1], [1, 0], [0, 1]])
    assert (ours.icc, ours.design_effect, ours.n_effective) == pytest.approx((-1, 1, 6))


@pytest.mark.parametrize(
    ("values", "n_cases", "reason"),
    [
        (np.empty((0, 5)), 0, "no case has a valid answer"),
        (np.full((3, 2), np.nan), 0, "no case has a valid answer"),
        ([[0, 1, 1]], 1, "one case alone"),
        ([[0, 1], [np.nan, np.nan]], 1, "one case alone"),
        ([[0], [1], [1]], 3, "no case has two answers"),
        ([[0, np.nan], [np.nan, 1]], 2, "no case has two answers"),
        ([[0.1, 0.1], [0.1, 0.1]], 2, "all 4 answers have the same value"),
    ],
)
def test_what_does_not_tell_cases_from_chance_has_a_reason(values, n_cases, reason):
    ours = clustering(values)
    assert (ours.icc, ours.design_effect, ours.n_effective, ours.n_cases) == (None, None, None, n_cases)
    assert reason in ours.reason


def test_other_shapes_and_infinity_are_refused():
    with pytest.raises(ValueError, match=r"shape \(n_cases, n_trials\), got shape \(3,\)"):
        clustering([0, 1, 1])
    with pytest.raises(ValueError, match="1 of 4 values are infinite"):
        clustering([[0, np.inf], [0, 1]])
