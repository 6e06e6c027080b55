"""What every statistic of agreement shares: its result, its resamples of whole cases, and ranks in all of them at once.

A resample is a row of weights: how often it draws each case. A statistic takes all rows at once and answers with one
number a row, NaN where it is not defined; the data themselves are the row of ones.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from openosce.statistics.checks import NO_COMMON_CASES, ONE_CASE, all_alike, numbers_or_nan, percent
from openosce.statistics.resampling import case_counts, check_resamples, checked_generator, chunks

Array = NDArray[np.float64]
Statistic = Callable[[Array], Array]
"""From weights, shape (n_resamples, n_cases), to values, shape (n_resamples,)."""

NO_TWO_RATINGS = "no case has two ratings"
CHANCE_ALONE = "every rating is the same category, so chance alone would agree as often"

_FEW = 0.02
"""More resamples than this share left out of an interval are worth a word."""
_ROUNDING = 1e-12
"""Ratings that differ by less than this share of the largest are tied: the last bit of a mean must not break a tie."""


@dataclass(frozen=True)
class Agreement:
    """A statistic with its interval over cases; what cannot be computed is None and `reason` says why."""

    value: float | None
    ci_low: float | None
    ci_high: float | None
    n_cases: int
    """Cases that the statistic is over."""
    method: str
    reason: str | None = None


@dataclass(frozen=True)
class Resamples:
    """How to resample: whose generator, how often, and how much of the resampled values the interval covers."""

    rng: np.random.Generator
    n: int
    confidence: float

    def __post_init__(self) -> None:
        """Refuse what is no generator, no number of resamples, no coverage."""
        checked_generator(self.rng)
        check_resamples(self.n)
        percent(self.confidence)

    def method(self, n_defined: int | None = None) -> str:
        """How an interval was made, as the result names it; `n_defined` resamples had a value."""
        of_them = "" if n_defined in (None, self.n) else f"{n_defined} of "
        return f"{percent(self.confidence)} percentile bootstrap over cases, {of_them}{self.n} resamples"

    def values(self, statistic: Statistic, n_cases: int) -> Array:
        """The statistic in the resamples in which it is defined, shape (at most n,); 1 case or more."""
        spans = chunks(self.n, n_cases)
        every = [statistic(case_counts(self.rng, stop - start, n_cases)) for start, stop in spans]
        values = np.concatenate(every)
        return values[~np.isnan(values)]

    def bounds(self, values: Array) -> tuple[tuple[float, float] | None, str | None]:
        """The interval of the values in those resamples that have one, and what there is to say of it."""
        if len(values) == 0:
            return None, f"not defined in any of the {self.n} resamples, so there is no interval"
        if all_alike(values):
            return None, f"all {len(values)} resamples give the same value, so an interval has no width to offer"
        tail = (1 - self.confidence) / 2
        low, high = np.quantile(values, [tail, 1 - tail])
        n_lost = self.n - len(values)
        lost = f"not defined in {n_lost} of {self.n} resamples, which the interval leaves out"
        return (float(low), float(high)), lost if n_lost > _FEW * self.n else None


def with_interval(
    name: str,
    statistic: Statistic,
    n_resampled: int,
    resamples: Resamples,
    *,
    undefined: str,
    n_cases: int | None = None,
    value: float | None = None,
) -> Agreement:
    """A statistic and its percentile interval over resamples of whole cases.

    Args:
        name: What the result calls it.
        statistic: From the weights of the cases to its values.
        n_resampled: The cases to draw from, and as many are drawn.
        resamples: How.
        undefined: The reason if the cases themselves give no value.
        n_cases: The cases that count, as the result reports them; by default those drawn from.
        value: The value of the cases themselves, if another has computed it.
    """
    n_cases = n_resampled if n_cases is None else n_cases
    if value is None and n_cases:
        value = float(statistic(np.ones((1, n_resampled)))[0])
    if value is None or np.isnan(value):
        return without_value(name, n_cases, resamples, undefined)
    if n_resampled == 1:
        return Agreement(value, None, None, n_cases, f"{name}; {resamples.method()}", ONE_CASE)
    values = resamples.values(statistic, n_resampled)
    interval, reason = resamples.bounds(values)
    low, high = interval or (None, None)
    return Agreement(value, low, high, n_cases, f"{name}; {resamples.method(len(values))}", reason)


def without_value(name: str, n_cases: int, resamples: Resamples, reason: str) -> Agreement:
    """A statistic that the cases do not define."""
    return Agreement(None, None, None, n_cases, f"{name}; {resamples.method()}", reason)


def rated_by_both(a: Array, b: Array) -> tuple[Array, Array, str | None]:
    """The cases that both sides rated, and why there is nothing to compare if there are none."""
    both = ~(np.isnan(a) | np.isnan(b))
    return a[both], b[both], None if both.any() else NO_COMMON_CASES


def ratings_or_nan(ratings: ArrayLike) -> Array:
    """Ratings of shape (n_cases, n_raters), NaN where a rater did not rate a case; those equal but for rounding, equal.

    Raises:
        ValueError: Another shape, fewer than two raters, or a rating that is infinite.
    """
    array = numbers_or_nan(ratings, "n_cases", "n_raters")
    if array.shape[1] < 2:
        raise ValueError(f"agreement needs two raters or more, got {array.shape[1]}")
    rated = ~np.isnan(array)
    places, distinct = levels(array[rated])
    same = np.full_like(array, np.nan)
    same[rated] = distinct[places]
    return same


def levels(values: Array) -> tuple[NDArray[np.intp], Array]:
    """The place of every value among the distinct ones, 0 for the lowest, and the distinct ones in order.

    Values, none missing, that differ by rounding alone share a place. Shapes: that of `values`, and (n_levels,).
    """
    flat = values.ravel()
    order = np.argsort(flat, kind="stable")
    ordered = flat[order]
    is_new = np.diff(ordered, prepend=-np.inf) > _ROUNDING * np.abs(flat).max(initial=0.0)
    places = np.empty(len(flat), dtype=np.intp)
    places[order] = np.cumsum(is_new) - 1
    return places.reshape(values.shape), ordered[is_new]


def category_counts(ratings: Array) -> tuple[Array, Array]:
    """How many raters put a case into a category, shape (n_cases, n_categories), and the categories in order.

    `ratings` has shape (n_cases, n_raters), NaN where a rater did not rate a case.
    """
    rated = ~np.isnan(ratings)
    places, categories = levels(ratings[rated])
    counts = np.zeros((len(ratings), len(categories)))
    np.add.at(counts, (np.nonzero(rated)[0], places), 1)
    return counts, categories


def level_counts(weights: Array, places: NDArray[np.intp]) -> Array:
    """How many of the drawn cases are at each level, shape (n_resamples, n_levels); `places`, shape (n_cases,)."""
    order = np.argsort(places, kind="stable")
    starts = np.flatnonzero(np.diff(places[order], prepend=-1))
    return np.add.reduceat(weights[:, order], starts, axis=1)


def midranks(counts: Array) -> Array:
    """The mean rank of every level, shape (n_resamples, n_levels); tied cases share the mean of their ranks."""
    return np.cumsum(counts, axis=1) - (counts - 1) / 2


def ratio(numerator: Array, denominator: Array) -> Array:
    """The quotient, NaN where the denominator is not positive."""
    quotient = np.full(len(denominator), np.nan)
    np.divide(numerator, denominator, out=quotient, where=denominator > 0)
    return quotient
