"""Adjustment of p values for a family of tests: Holm and Hochberg for any error, Benjamini-Hochberg for their share."""

from collections.abc import Sequence


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust the p values of one family of m tests by Holm's step-down method.

    The i-th smallest p (i from 0) becomes the largest of (m - j)·p(j) over j ≤ i, at most 1. It bounds the chance of
    any false positive, however the tests depend on each other.

    Args:
        p_values: Shape (n_tests,), each in [0, 1]; None where a test gave no p. Those are no part of the family.

    Returns:
        The adjusted p values in the order given; None stays None.

    Raises:
        ValueError: A p value is NaN or outside [0, 1].

    Source: Holm (1979), Scandinavian Journal of Statistics 6:65-70.
    """
    family = _family(p_values)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(family):
        largest = max(largest, min(1.0, (len(family) - rank) * p))
        adjusted[place] = largest
    return adjusted


def hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust the p values of one family of m tests by Hochberg's step-up method.

    The i-th smallest p (i from 0) becomes the smallest of (m - j)·p(j) over j ≥ i. It bounds the chance of any false
    positive where the tests are independent or depend positively; it is never above Holm's.

    Args:
        p_values: Shape (n_tests,), each in [0, 1]; None where a test gave no p. Those are no part of the family.

    Returns:
        The adjusted p values in the order given; None stays None.

    Raises:
        ValueError: A p value is NaN or outside [0, 1].

    Source: Hochberg (1988), Biometrika 75:800-802.
    """
    m = len(_family(p_values))
    return _step_up(p_values, [float(m - rank) for rank in range(m)])


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust the p values of one family of m tests by Benjamini and Hochberg's step-up method.

    The i-th smallest p (i from 0) becomes the smallest of m/(j + 1)·p(j) over j ≥ i. It bounds the expected share of
    false positives among the positives, not the chance of one: do not call it Holm or Bonferroni.

    Args:
        p_values: Shape (n_tests,), each in [0, 1]; None where a test gave no p. Those are no part of the family.

    Returns:
        The adjusted p values in the order given; None stays None.

    Raises:
        ValueError: A p value is NaN or outside [0, 1].

    Source: Benjamini & Hochberg (1995), Journal of the Royal Statistical Society B 57:289-300.
    """
    m = len(_family(p_values))
    return _step_up(p_values, [m / (rank + 1) for rank in range(m)])


def _family(p_values: Sequence[float | None]) -> list[tuple[float, int]]:
    """The p values that there are, the smallest first, each with its place."""
    family = [(p, place) for place, p in enumerate(p_values) if p is not None]
    for p, _ in family:
        if not 0 <= p <= 1:
            raise ValueError(f"a p value must be between 0 and 1, got {p}")
    return sorted(family)


def _step_up(p_values: Sequence[float | None], factors: Sequence[float]) -> list[float | None]:
    """From the largest p down: the smallest product with its factor so far; `factors` is in the order of the ranks."""
    adjusted: list[float | None] = [None] * len(p_values)
    smallest = 1.0
    for (p, place), factor in zip(reversed(_family(p_values)), reversed(factors), strict=True):
        smallest = min(smallest, factor * p)
        adjusted[place] = smallest
    return adjusted
