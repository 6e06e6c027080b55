"""What every statistic asks of its input, and why it may have nothing to offer: in one place, in the same words."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

NO_CASES = "no case has a valid answer"
NO_COMMON_CASES = "no case has a valid answer on both sides"
ONE_CASE = "one case alone gives no interval"

_ROUNDING = 1e-12
"""0.8 - 0.6 and 0.6 - 0.4 differ in the last bit: without a tolerance that bit would pass for variance."""


def finite_vector(values: ArrayLike) -> NDArray[np.float64]:
    """One number a case, none missing.

    Raises:
        ValueError: Another shape than (n_cases,), or a value that is NaN or infinite.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"expected one value a case, shape (n_cases,), got shape {array.shape}")
    n_bad = int((~np.isfinite(array)).sum())
    if n_bad:
        raise ValueError(f"{n_bad} of {len(array)} values are NaN or infinite; leave cases without a value out first")
    return array


def numbers_or_nan(values: ArrayLike, *shape: str) -> NDArray[np.float64]:
    """An array in which NaN stands for a missing value.

    Args:
        values: One axis for each name of `shape`.
        shape: What the axes are, as in `"n_cases", "n_trials"`.

    Raises:
        ValueError: Another number of axes, or a value that is infinite.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != len(shape):
        raise ValueError(f"expected an array of shape ({', '.join(shape)}), got shape {array.shape}")
    n_bad = int(np.isinf(array).sum())
    if n_bad:
        raise ValueError(f"{n_bad} of {array.size} values are infinite; a missing value is NaN")
    return array


def pairs_or_nan(a: ArrayLike, b: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two sides of the same cases, each of shape (n_cases,), NaN where a value is missing.

    Raises:
        ValueError: The sides are not of one length, or not such arrays.
    """
    first, second = numbers_or_nan(a, "n_cases"), numbers_or_nan(b, "n_cases")
    same_cases(first, second)
    return first, second


def same_cases(a: NDArray[np.float64], b: NDArray[np.float64]) -> None:
    """Refuse sides of different length.

    Raises:
        ValueError: The lengths differ.
    """
    if len(a) != len(b):
        raise ValueError(f"a paired comparison needs the same cases: A has {len(a)}, B has {len(b)}")


def percent(confidence: float) -> str:
    """A confidence as it is printed: 0.95 is `95%`.

    Raises:
        ValueError: It is no fraction in (0, 1).
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be a fraction between 0 and 1, got {confidence}")
    return f"{100 * confidence:g}%"


def all_alike(array: NDArray[np.float64]) -> bool:
    """Whether the values, at least one, differ by no more than rounding."""
    return bool(np.ptp(array) <= _ROUNDING * max(1.0, float(np.abs(array).max())))


def no_interval(array: NDArray[np.float64], what: str = "value") -> str | None:
    """Why the values, at least one, give no interval; None where they do."""
    if len(array) == 1:
        return ONE_CASE
    if all_alike(array):
        return f"all {len(array)} cases have the same {what}, so an interval has no width to offer"
    return None
