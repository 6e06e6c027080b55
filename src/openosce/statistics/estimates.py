"""Means over cases and paired differences, with t intervals: the case is the unit of uncertainty.

Trials are averaged within a case before they come here, because a new study would draw new cases.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

PAIRED_T = "paired t over cases"

_NO_CASES = "no case has a valid answer"
_NO_COMMON_CASES = "no case has a valid answer on both sides"
_ONE_CASE = "one case alone gives no interval"


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
    array = _finite(values)
    method = f"{_percent(confidence)} t interval over case means"
    n = len(array)
    if n == 0:
        return Estimate(None, None, None, 0, method, _NO_CASES)
    mean = float(array.mean())
    reason = _no_interval(array)
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
    first, second = _finite(a), _finite(b)
    _percent(confidence)
    if len(first) != len(second):
        raise ValueError(f"a paired comparison needs the same cases: A has {len(first)}, B has {len(second)}")
    array = first - second
    n = len(array)
    if n == 0:
        return Difference(None, None, None, None, 0, PAIRED_T, _NO_COMMON_CASES)
    mean = float(array.mean())
    reason = _no_interval(array, "difference")
    if reason is not None:
        return Difference(mean, None, None, None, n, PAIRED_T, reason)
    half = _half_width(array, confidence)
    return Difference(mean, mean - half, mean + half, _p_of_zero_mean(array), n, PAIRED_T)


def _finite(values: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"expected one value a case, shape (n_cases,), got shape {array.shape}")
    n_bad = int((~np.isfinite(array)).sum())
    if n_bad:
        raise ValueError(f"{n_bad} of {len(array)} values are NaN or infinite; leave cases without a value out first")
    return array


def _percent(confidence: float) -> str:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be a fraction between 0 and 1, got {confidence}")
    return f"{100 * confidence:g}%"


def _no_interval(array: NDArray[np.float64], what: str = "value") -> str | None:
    """Why there is no t interval, or None where there is one."""
    if len(array) == 1:
        return _ONE_CASE
    # 0.8 - 0.6 and 0.6 - 0.4 differ in the last bit: without the tolerance that bit would pass for variance.
    if np.ptp(array) <= 1e-12 * max(1.0, float(np.abs(array).max())):
        return f"all {len(array)} cases have the same {what}, so the t interval has no width to offer"
    return None


def _standard_error(array: NDArray[np.float64]) -> float:
    return float(array.std(ddof=1) / np.sqrt(len(array)))


def _half_width(array: NDArray[np.float64], confidence: float) -> float:
    from scipy.special import stdtrit  # lazily: scipy.special is all of scipy that is needed, and it is slow to import

    return float(stdtrit(len(array) - 1, (1 + confidence) / 2)) * _standard_error(array)


def _p_of_zero_mean(array: NDArray[np.float64]) -> float:
    from scipy.special import stdtr

    t = float(array.mean()) / _standard_error(array)
    return float(2 * stdtr(len(array) - 1, -abs(t)))
