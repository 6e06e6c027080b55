"""The average of several means over the same cases."""

import numpy as np
import pytest
from scipy import stats

from openosce.statistics import mean_of_means, mean_over_cases

NAN = float("nan")


def test_without_gaps_it_is_the_mean_of_the_cases_own_averages():
    values = np.random.default_rng(3).normal(60, 15, (12, 4))
    found, expected = mean_of_means(values), mean_over_cases(values.mean(axis=1))
    assert (found.mean, found.n_cases) == (pytest.approx(expected.mean), 12)
    assert (found.ci_low, found.ci_high) == (pytest.approx(expected.ci_low), pytest.approx(expected.ci_high))


def test_with_gaps_every_part_has_the_mean_of_its_own_cases():
    found = mean_of_means([[10, 40], [20, NAN], [30, 60], [NAN, NAN]])
    # By hand: means 20 and 50; a case moves their average by half of (-10/3 - 10/2), 0 and (10/3 + 10/2).
    half = stats.t.ppf(0.975, 2) * np.sqrt(2 * (25 / 6) ** 2 * 3 / 2)
    assert (found.mean, found.n_cases) == (35, 3)
    assert (found.ci_low, found.ci_high) == (pytest.approx(35 - half), pytest.approx(35 + half))


def test_with_gaps_the_interval_holds_the_truth_about_as_often_as_it_says():
    rng, held, n = np.random.default_rng(7), 0, 1_000
    for _ in range(n):
        ability = rng.normal(0, 10, (30, 1))
        values = np.array([50, 60, 70]) + ability + rng.normal(0, 10, (30, 3))
        values[rng.random((30, 3)) < 0.2] = NAN
        found = mean_of_means(values)
        held += found.ci_low <= 60 <= found.ci_high
    assert 0.93 <= held / n <= 0.97


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([[1, NAN], [2, NAN]], "a part has no valid answer"),
        ([[NAN, NAN]], "no case has a valid answer"),
        (np.empty((0, 2)), "no case has a valid answer"),
    ],
)
def test_a_part_without_any_case_leaves_no_average(values, reason):
    found = mean_of_means(values)
    assert (found.mean, found.n_cases, found.reason) == (None, 0, reason)


def test_one_case_or_cases_that_are_alike_have_no_interval():
    assert mean_of_means([[1, 3]]).ci_low is None
    alike = mean_of_means([[1, 3], [1, 3]])
    assert (alike.mean, alike.ci_low) == (2, None)
    assert "same value" in alike.reason


@pytest.mark.parametrize("values", [[1, 2], [[np.inf, 1]]])
def test_what_is_no_table_of_numbers_is_refused(values):
    with pytest.raises(ValueError, match=r"expected an array|infinite"):
        mean_of_means(values)
