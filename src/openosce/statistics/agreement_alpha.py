"""Krippendorff's alpha: for any number of raters, any ratings missing, and any level of measurement.

The four levels differ only in the distance of two ratings, and the ordinal one is that of their mid-ranks.
"""

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from openosce.statistics.agreement_resampling import (
    CHANCE_ALONE,
    NO_TWO_RATINGS,
    Agreement,
    Array,
    Resamples,
    Statistic,
    category_counts,
    midranks,
    ratings_or_nan,
    ratio,
    with_interval,
)

Level = Literal["nominal", "ordinal", "interval", "ratio"]


def krippendorff_alpha(
    ratings: ArrayLike,
    level: Level = "nominal",
    *,
    rng: np.random.Generator,
    n_resamples: int = 2_000,
    confidence: float = 0.95,
) -> Agreement:
    """Krippendorff's alpha, 1 - D_o/D_e: squared distances within a case against those among all ratings.

    Args:
        ratings: Shape (n_cases, n_raters), two raters or more: numbers, NaN where a rater did not rate a case.
        level: What the numbers mean. `nominal`: names, any two as far apart; `ordinal`: an order; `interval`:
            differences count; `ratio`: differences in proportion to the sum, numbers of 0 or more.
        rng: Source of randomness for the interval.
        n_resamples: Resamples of the cases, 1 or more.
        confidence: Coverage of the percentile interval, a fraction in (0, 1).

    Returns:
        Alpha, at most 1, over the cases with two ratings or more; a case's missing ratings do not matter, and single
        ratings do not count. None and a reason if no case is left, or all ratings are the same. Resamples of the same
        ratings alone are left out of the interval. It resamples cases, not pairs of ratings as Hayes & Krippendorff.

    Raises:
        ValueError: Another shape, fewer than two raters, an infinite rating, a negative one at the ratio level, a
            level that is none of these, or no resamples.
        TypeError: `rng` is no `numpy.random.Generator`.

    Source: Krippendorff (2011), Computing Krippendorff's Alpha-Reliability; Hayes & Krippendorff (2007),
    Communication Methods and Measures 1:77-89.
    """
    if level not in get_args(Level):
        raise ValueError(f"expected the level {', '.join(get_args(Level))}, got {level!r}")
    array = ratings_or_nan(ratings)
    if level == "ratio" and (array < 0).any():
        raise ValueError(f"at the ratio level a rating is 0 or more, got {np.nanmin(array)}")
    array = array[(~np.isnan(array)).sum(axis=1) >= 2]
    counts, categories = category_counts(array)
    statistic = _ordinal(counts) if level == "ordinal" else _of_fixed_distances(array, counts, categories, level)
    resamples = Resamples(rng, n_resamples, confidence)
    name, undefined = f"Krippendorff's alpha, {level}", CHANCE_ALONE if len(counts) else NO_TWO_RATINGS
    return with_interval(name, statistic, len(counts), resamples, undefined=undefined)


def _of_fixed_distances(ratings: Array, counts: Array, categories: Array, level: Level) -> Statistic:
    """Alpha where the distance of two ratings is the same in every resample."""
    to_categories = np.zeros_like(counts)
    for rater in ratings.T:
        to_categories += np.where(np.isnan(rater)[:, None], 0, _distances(rater[:, None], categories, level))
    n_ratings = counts.sum(axis=1)
    of_cases = (to_categories * counts).sum(axis=1) / (n_ratings - 1)

    def statistic(weights: Array) -> Array:
        of_all = ((weights @ to_categories) * (weights @ counts)).sum(axis=1)
        return 1 - ratio(weights @ of_cases, of_all / (weights @ n_ratings - 1))

    return statistic


def _ordinal(counts: Array) -> Statistic:
    """Alpha of the mid-ranks that the ratings have in the resample."""
    n_ratings = counts.sum(axis=1)

    def statistic(weights: Array) -> Array:
        drawn = weights @ counts
        n = drawn.sum(axis=1)
        ranks = midranks(drawn)
        by_chance = 2 * n * (drawn * (ranks - (n[:, None] + 1) / 2) ** 2).sum(axis=1) / (n - 1)
        squares = (((weights * n_ratings / (n_ratings - 1)) @ counts) * ranks**2).sum(axis=1)
        sums = (weights / (n_ratings - 1) * (ranks @ counts.T) ** 2).sum(axis=1)
        return 1 - ratio(2 * (squares - sums), by_chance)

    return statistic


def _distances(a: Array, b: Array, level: Level) -> Array:
    """The squared distance of two ratings."""
    if level == "nominal":
        return np.not_equal(a, b).astype(np.float64)
    if level == "interval":
        return np.square(a - b)
    return np.square((a - b) / np.where(a + b > 0, a + b, 1))
