"""Means over cases and paired differences, with t intervals: the case is the unit of uncertainty.

Trials are averaged within a case before they come here, because a new study would draw new cases.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from openosce.statistics.checks import NO_CASES, NO_COMMON_CASES, finite_vector, no_interval, percent, same_cases

PAIRED_T = "paired t over cases"

SMALL_COUNT = 5
"""Below it the t interval misses far more often than it says; the simulation of docs/intervals.md led to it."""


@dataclass(frozen=True)
class Estimate:
    """A mean over cases with its interval; what cannot be computed is None and `reason` says why."""

    mean: float | None
    ci_low: float | None
    ci_high: float | None
    n_cases: int
    method: str
    reason: str | None = None


@dataclass(frozen=True)
class Difference:
    """The mean of A minus B over the same cases; what cannot be computed is None and `reason` says why."""

    difference: float | None
    ci_low: float | None
    ci_high: float | None
    p: float | None
    """Two-sided, not adjusted for other tests."""
    n_cases: int
    test: str
    reason: str | None = None


def mean_over_cases(values: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    """Estimate the mean over cases with its t interval, mean ± t(1-α/2, n-1)·sd/√n, sd with n-1 below.

    Args:
        values: Shape (n_cases,): one number a case, the mean over its valid trials. Any unit; accuracies in [0, 1].
        confidence: Coverage of the interval, a fraction in (0, 1).

    Returns:
        Mean and bounds in the unit of `values`. The bounds may pass 0 or 1; they are not cut. No case: nothing but a
        reason; one case, or cases that all have the same value: the mean without bounds, and a reason.

    Raises:
        ValueError: `values` has another shape or holds NaN or infinity, or `confidence` is no such fraction.

    Source: CRAFT-MD 2025 (Nature Medicine), Supplementary Table 1, reproduced with this formula.
    """
    array = finite_vector(values)
    method = f"{percent(confidence)} t interval over case means"
    n = len(array)
    if n == 0:
        return Estimate(None, None, None, 0, method, NO_CASES)
    mean = float(array.mean())
    reason = no_interval(array)
    if reason is not None:
        return Estimate(mean, None, None, n, method, reason)
    half = _half_width(array, confidence)
    return Estimate(mean, mean - half, mean + half, n, method)


def paired_difference(a: ArrayLike, b: ArrayLike, *, confidence: float = 0.95) -> Difference:
    """Estimate how much higher A is than B on the same cases: t interval of a - b, and the two-sided paired t test.

    Args:
        a: Shape (n_cases,): one number a case.
        b: Shape (n_cases,): the same cases in the same order, in the same unit.
        confidence: Coverage of the interval, a fraction in (0, 1).

    Returns:
        Mean difference and bounds in the unit of the values, and p, from t = mean·√n/sd with n-1 degrees of freedom.
        No case: nothing but a reason; one case, or a difference that is the same in all: no bounds and no p.

    Raises:
        ValueError: The shapes differ, a value is NaN or infinite, or `confidence` is no such fraction.

    Source: Student (1908); pairing by question as in Miller (2024), arXiv:2411.00640.
    """
    first, second = finite_vector(a), finite_vector(b)
    percent(confidence)
    same_cases(first, second)
    array = first - second
    n = len(array)
    if n == 0:
        return Difference(None, None, None, None, 0, PAIRED_T, NO_COMMON_CASES)
    mean = float(array.mean())
    reason = no_interval(array, "difference")
    if reason is not None:
        return Difference(mean, None, None, None, n, PAIRED_T, reason)
    half = _half_width(array, confidence)
    return Difference(mean, mean - half, mean + half, _p_of_zero_mean(array), n, PAIRED_T)


def warns_about_small_counts(mean: float, n_cases: int) -> bool:
    """Whether an accuracy is too close to 0 or 1, for its number of cases, to trust its interval.

    n·min(p, 1 - p) < 5: so few cases' worth of the rarer outcome leave the mean skewed and its spread badly known, and
    both the t interval and the bootstrap miss the truth more often than they say.

    Args:
        mean: The accuracy p, in [0, 1].
        n_cases: The cases n that it is over.

    Raises:
        ValueError: `mean` is no accuracy, or `n_cases` is negative.

    Source: the simulation of perf/interval_coverage.py, shown in docs/intervals.md.
    """
    if not 0 <= mean <= 1:
        raise ValueError(f"expected an accuracy between 0 and 1, got {mean}")
    if n_cases < 0:
        raise ValueError(f"expected a number of cases, 0 or more, got {n_cases}")
    return n_cases * min(mean, 1 - mean) < SMALL_COUNT - 1e-9  # 25 · (1 - 0.8) is 5 but for its last bit


def _standard_error(array: NDArray[np.float64]) -> float:
    return float(array.std(ddof=1) / np.sqrt(len(array)))


def _half_width(array: NDArray[np.float64], confidence: float) -> float:
    from scipy.special import stdtrit  # lazily: scipy.special is all of scipy that is needed, and it is slow to import

    return float(stdtrit(len(array) - 1, (1 + confidence) / 2)) * _standard_error(array)


def _p_of_zero_mean(array: NDArray[np.float64]) -> float:
    from scipy.special import stdtr

    t = float(array.mean()) / _standard_error(array)
    return float(2 * stdtr(len(array) - 1, -abs(t)))
