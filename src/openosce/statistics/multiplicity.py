"""Adjustment of p values for a family of tests."""

from collections.abc import Sequence


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust the p values of one family of m tests by Holm's step-down method.

    The i-th smallest p (i from 0) becomes the largest of (m - j)·p(j) over j ≤ i, at most 1.

    Args:
        p_values: Shape (n_tests,), each in [0, 1]; None where a test gave no p. Those are no part of the family.

    Returns:
        The adjusted p values in the order given; None stays None.

    Raises:
        ValueError: A p value is NaN or outside [0, 1].

    Source: Holm (1979), Scandinavian Journal of Statistics 6:65-70.
    """
    family = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(family):
        if not 0 <= p <= 1:
            raise ValueError(f"a p value must be between 0 and 1, got {p}")
        largest = max(largest, min(1.0, (len(family) - rank) * p))
        adjusted[place] = largest
    return adjusted
