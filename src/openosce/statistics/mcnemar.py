"""McNemar's test: two doctors, or two arms, marked right or wrong on the same cases."""

import math
import operator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from openosce.statistics.checks import NO_COMMON_CASES, pairs_or_nan

_NO_DISCORDANT = "no case is right on one side alone, so nothing tells the sides apart"


@dataclass(frozen=True)
class McNemar:
    """Two p values from the cases on which the sides disagree; what cannot be computed is None, `reason` says why."""

    n_only_a: int
    """Cases that are right in A alone."""
    n_only_b: int
    exact_p: float | None
    """Two-sided, binomial: never too small, and often too large."""
    mid_p: float | None
    """Two-sided, with half the weight on what was observed: closer to its level, which it may pass by a little."""
    n_cases: int | None
    """Cases compared; None where only the two counts were given."""
    reason: str | None = None


def mcnemar(n_only_a: int, n_only_b: int, *, n_cases: int | None = None) -> McNemar:
    """Test whether A and B are right equally often, from the numbers of cases on which they disagree.

    With n = n_only_a + n_only_b, k the smaller of the two and X binomial (n, 1/2): exact p = min(1, 2·P(X ≤ k));
    mid-p = exact p - P(X = k), or 1 - P(X = k)/2 where both counts are the same.

    Args:
        n_only_a: Cases that are right in A alone, 0 or more.
        n_only_b: Cases that are right in B alone, 0 or more.
        n_cases: Cases compared, agreements included, if they are known; they take no part in the test.

    Returns:
        Both p values; without any disagreement no p, and a reason.

    Raises:
        ValueError: A count is negative, or `n_cases` is smaller than both together.
        TypeError: A count is no whole number.

    Source: McNemar (1947), Psychometrika 12:153-157; mid-p: Fagerland, Lydersen & Laake (2013), BMC Medical Research
    Methodology 13:91.
    """
    a, b = operator.index(n_only_a), operator.index(n_only_b)
    if a < 0 or b < 0:
        raise ValueError(f"expected two counts of cases, 0 or more, got {a} and {b}")
    if n_cases is not None and n_cases < a + b:
        raise ValueError(f"the sides disagree on {a + b} cases, which is more than the {n_cases} compared")
    if a + b == 0:
        return McNemar(a, b, None, None, n_cases, NO_COMMON_CASES if n_cases == 0 else _NO_DISCORDANT)
    from scipy.special import bdtr  # lazily: it is slow to import

    n, k = a + b, min(a, b)
    exact = min(1.0, 2 * float(bdtr(k, n, 0.5)))
    observed = math.comb(n, k) / 2**n
    return McNemar(a, b, exact, 1 - observed / 2 if a == b else exact - observed, n_cases)


def mcnemar_of_cases(a: ArrayLike, b: ArrayLike) -> McNemar:
    """Test whether A and B are right equally often on the same cases.

    Args:
        a: Shape (n_cases,): 1 right, 0 wrong (or true and false), NaN missing.
        b: Shape (n_cases,): the same cases in the same order.

    Returns:
        The test over the cases that are marked on both sides; `n_cases` says how many.

    Raises:
        ValueError: The shapes differ, or a value is neither 0, 1 nor NaN: means over trials are no marks.

    Source: as `mcnemar`.
    """
    first, second = pairs_or_nan(a, b)
    both = ~(np.isnan(first) | np.isnan(second))
    for side in (first, second):
        odd = side[~np.isnan(side) & (side != 0) & (side != 1)]
        if len(odd):
            raise ValueError(
                f"expected 1 for right, 0 for wrong, NaN for missing; {len(odd)} are not, such as {odd[0]}"
            )
    n_only_a = int((first[both] > second[both]).sum())
    n_only_b = int((first[both] < second[both]).sum())
    return mcnemar(n_only_a, n_only_b, n_cases=int(both.sum()))
