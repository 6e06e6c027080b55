"""The average of several means over the same cases, where some cases lack some of the parts."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from openosce.statistics.checks import NO_CASES, no_interval, numbers_or_nan, percent
from openosce.statistics.estimates import Estimate

NO_PART = "a part has no valid answer"


def mean_of_means(values: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    """Estimate the unweighted average of the parts' means with a t interval over cases.

    Every part has the mean of its own cases. A case moves the average by its distance from the means of the parts that
    it has, each over the number of cases of that part; the variance is the sum of these squares times n/(n-1).

    Args:
        values: Shape (n_cases, n_parts): NaN where a case lacks a part. All parts in one unit.
        confidence: Coverage of the interval, a fraction in (0, 1).

    Returns:
        Average and bounds in the unit of `values`. A part without any case: nothing but a reason. `n_cases` counts
        those that have any part. Where no part is missing, this is `mean_over_cases` of the cases' own averages.

    Raises:
        ValueError: `values` has another shape or holds infinity, or `confidence` is no such fraction.

    Source: linearization, as for any smooth function of means (Cochran 1977, Sampling Techniques, 6.4).
    """
    table = numbers_or_nan(values, "n_cases", "n_parts")
    method = f"{percent(confidence)} t interval over cases, average of parts"
    there = ~np.isnan(table)
    counts = there.sum(axis=0)
    if not table.size or not counts.all():
        return Estimate(None, None, None, 0, method, NO_PART if there.any() else NO_CASES)
    means = np.nanmean(table, axis=0)
    moved = _moved(table, there, means, counts)
    average, reason = float(means.mean()), no_interval(moved)
    if reason is not None:
        return Estimate(average, None, None, len(moved), method, reason)
    from scipy.special import stdtrit  # lazily: it is slow to import

    n = len(moved)
    half = float(stdtrit(n - 1, (1 + confidence) / 2) * np.sqrt((moved**2).sum() * n / (n - 1)))
    return Estimate(average, average - half, average + half, n, method)


def _moved(
    table: NDArray[np.float64], there: NDArray[np.bool_], means: NDArray[np.float64], counts: NDArray[np.intp]
) -> NDArray[np.float64]:
    """How far each case moves the average of the parts' means; cases without any part are left out."""
    distances = np.where(there, table - means, 0.0) / counts
    moved: NDArray[np.float64] = distances.mean(axis=1)[there.any(axis=1)]
    return moved
