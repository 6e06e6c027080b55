"""Agreement of ratings that are categories, beyond what chance alone would give; and of verdicts with the truth.

A category is a number: 0 and 1 for wrong and right, 1 to 5 for a grade, any other code for a name.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from openosce.statistics.agreement_resampling import (
    CHANCE_ALONE,
    NO_TWO_RATINGS,
    Agreement,
    Array,
    Resamples,
    category_counts,
    levels,
    rated_by_both,
    ratings_or_nan,
    ratio,
    with_interval,
    without_value,
)
from openosce.statistics.checks import all_alike, pairs_or_nan

_FORCED = "a rater gives every case the same category, so kappa is 0 whatever the agreement"
_ONE_CATEGORY = (
    "only one category occurs, so chance is not known; say by n_categories how many there are to choose from"
)


@dataclass(frozen=True)
class Detection:
    """How often verdicts find what is there, and leave alone what is not."""

    sensitivity: Agreement
    """Over the cases that are truly positive."""
    specificity: Agreement
    """Over the cases that are truly negative."""


def raw_agreement(
    ratings: ArrayLike, *, rng: np.random.Generator, n_resamples: int = 2_000, confidence: float = 0.95
) -> Agreement:
    """The share of a case's pairs of raters who agree, as a mean over cases. Chance agreement is in it.

    Args:
        ratings: Shape (n_cases, n_raters), two raters or more: categories, NaN where a rater did not rate a case.
        rng: Source of randomness for the interval.
        n_resamples: Resamples of the cases, 1 or more.
        confidence: Coverage of the percentile interval, a fraction in (0, 1).

    Returns:
        A share in [0, 1] over the cases with two ratings or more, whose missing ratings do not matter.

    Raises:
        ValueError: Another shape, fewer than two raters, a rating is infinite, or there are no resamples.
        TypeError: `rng` is no `numpy.random.Generator`.

    Source: Fleiss (1971), Psychological Bulletin 76:378-382, the extent of agreement P_i, with each case's own raters.
    """
    counts, _ = category_counts(ratings_or_nan(ratings))
    shares = _agreeing_pairs(counts[counts.sum(axis=1) >= 2])
    return with_interval(
        "raw agreement",
        lambda weights: weights @ shares / len(shares),
        len(shares),
        Resamples(rng, n_resamples, confidence),
        undefined=NO_TWO_RATINGS,
    )


def cohens_kappa(
    a: ArrayLike,
    b: ArrayLike,
    weights: Literal["linear", "quadratic"] | None = None,
    *,
    rng: np.random.Generator,
    n_resamples: int = 2_000,
    confidence: float = 0.95,
) -> Agreement:
    """Cohen's kappa of two raters, 1 - d/e: d their disagreement, e that of raters with the same habits by chance.

    Args:
        a: Shape (n_cases,): the categories of one rater, NaN where there is none.
        b: Shape (n_cases,): those of the other, the same cases in the same order.
        weights: What a disagreement counts: 1 by default; `linear`, the difference of the two numbers; `quadratic`,
            its square. Of the numbers, not of their places: a grade that nobody gave still keeps its neighbours apart.
        rng: Source of randomness for the interval.
        n_resamples: Resamples of the cases, 1 or more.
        confidence: Coverage of the percentile interval, a fraction in (0, 1).

    Returns:
        Kappa, at most 1, over the cases that both rated. None and a reason if both gave all of them one category; 0
        and a reason if one rater did. Resamples where kappa is not defined are left out of the interval.

    Raises:
        ValueError: The lengths differ, a rating is infinite, the weights are others, or there are no resamples.
        TypeError: `rng` is no `numpy.random.Generator`.

    Source: Cohen (1960), Educational and Psychological Measurement 20:37-46; weighted: Cohen (1968), Psychological
    Bulletin 70:213-220.
    """
    if weights not in (None, "linear", "quadratic"):
        raise ValueError(f"expected weights None, 'linear' or 'quadratic', got {weights!r}")
    x, y, missing = rated_by_both(*pairs_or_nan(a, b))
    name, resamples = f"Cohen's kappa, {weights or 'no'} weights", Resamples(rng, n_resamples, confidence)
    if missing is not None:
        return without_value(name, 0, resamples, missing)
    (x, y), categories = levels(np.array([x, y]))
    costs = np.abs(categories[:, None] - categories[None, :])
    costs = {None: np.sign(costs), "linear": costs, "quadratic": costs**2}[weights]
    of_cases, against_a, by_b = costs[x, y], costs[x], np.eye(len(categories))[y]

    def statistic(drawn: Array) -> Array:
        by_chance = ((drawn @ against_a) * (drawn @ by_b)).sum(axis=1)
        return 1 - ratio(len(of_cases) * (drawn @ of_cases), by_chance)

    result = with_interval(name, statistic, len(of_cases), resamples, undefined=CHANCE_ALONE)
    forced = result.value is not None and len(x) > 1 and (all_alike(x) or all_alike(y))
    return replace(result, reason=_FORCED) if forced else result


def fleiss_kappa(
    ratings: ArrayLike, *, rng: np.random.Generator, n_resamples: int = 2_000, confidence: float = 0.95
) -> Agreement:
    """Fleiss' kappa, (P - P_e)/(1 - P_e): raters may change from case to case, but every case has as many.

    Args:
        ratings: Shape (n_cases, n_raters), two raters or more: categories, NaN where a rater did not rate a case.
        rng: Source of randomness for the interval.
        n_resamples: Resamples of the cases, 1 or more.
        confidence: Coverage of the percentile interval, a fraction in (0, 1).

    Returns:
        Kappa, at most 1, over the cases with any rating. None and a reason if these have different numbers of ratings
        (Krippendorff's alpha and Gwet's AC1 take that), fewer than two, or all the same category.

    Raises:
        ValueError, TypeError: As `raw_agreement`.

    Source: Fleiss (1971), Psychological Bulletin 76:378-382.
    """
    counts, _ = category_counts(ratings_or_nan(ratings))
    counts = counts[counts.any(axis=1)]
    n, n_ratings = len(counts), counts.sum(axis=1)
    name, resamples = "Fleiss' kappa", Resamples(rng, n_resamples, confidence)
    if n_ratings.max(initial=0) < 2:
        return without_value(name, 0, resamples, NO_TWO_RATINGS)
    if np.ptp(n_ratings) > 0:
        few, many = int(n_ratings.min()), int(n_ratings.max())
        return without_value(
            name, n, resamples, f"cases have {few} to {many} ratings, and every case must have as many"
        )
    shares, each = _agreeing_pairs(counts), n_ratings[0]

    def statistic(weights: Array) -> Array:
        by_chance = ((weights @ counts / (n * each)) ** 2).sum(axis=1)
        return ratio(weights @ shares / n - by_chance, 1 - by_chance)

    return with_interval(name, statistic, n, resamples, undefined=CHANCE_ALONE)


def gwet_ac1(
    ratings: ArrayLike,
    n_categories: int | None = None,
    *,
    rng: np.random.Generator,
    n_resamples: int = 2_000,
    confidence: float = 0.95,
) -> Agreement:
    """Gwet's AC1, (p - p_e)/(1 - p_e): unlike kappa it holds where nearly all cases are of one category.

    p is the raw agreement over the cases with two ratings or more, and p_e = Σ π(1 - π)/(q - 1) over the q categories,
    π a category's mean share of a case's ratings over the cases with any.

    Args:
        ratings: Shape (n_cases, n_raters), two raters or more: categories, NaN where a rater did not rate a case.
        n_categories: Categories the raters could choose from; by default those that occur.
        rng: Source of randomness for the interval.
        n_resamples: Resamples of the cases, 1 or more.
        confidence: Coverage of the percentile interval, a fraction in (0, 1).

    Returns:
        AC1, at most 1; `n_cases` are those with two ratings or more, though single ratings count for π. None and a
        reason if there are none, or if there is but one category.

    Raises:
        ValueError: As `raw_agreement`, or more categories occur than there are.
        TypeError: `rng` is no `numpy.random.Generator`.

    Source: Gwet (2008), British Journal of Mathematical and Statistical Psychology 61:29-48; missing ratings: Gwet
    (2014), Handbook of Inter-Rater Reliability, 4th ed., ch. 2.
    """
    counts, _ = category_counts(ratings_or_nan(ratings))
    counts = counts[counts.any(axis=1)]
    n_ratings = counts.sum(axis=1)
    q = counts.shape[1] if n_categories is None else n_categories
    if q < counts.shape[1]:
        raise ValueError(f"{counts.shape[1]} categories occur, which is more than n_categories = {q}")
    twice, resamples = n_ratings >= 2, Resamples(rng, n_resamples, confidence)
    if twice.any() and q < 2:
        return without_value("Gwet's AC1", int(twice.sum()), resamples, _ONE_CATEGORY)
    shares, prevalence = _agreeing_pairs(counts[twice]), counts / n_ratings[:, None]

    def statistic(weights: Array) -> Array:
        agreed = ratio(weights[:, twice] @ shares, weights[:, twice].sum(axis=1))
        pi = weights @ prevalence / len(counts)
        by_chance = (pi * (1 - pi)).sum(axis=1) / (q - 1)
        return np.asarray((agreed - by_chance) / (1 - by_chance))

    name, n = f"Gwet's AC1, {q} categories", int(twice.sum())
    return with_interval(name, statistic, len(counts), resamples, undefined=NO_TWO_RATINGS, n_cases=n)


def detection(
    verdicts: ArrayLike,
    truth: ArrayLike,
    *,
    rng: np.random.Generator,
    n_resamples: int = 2_000,
    confidence: float = 0.95,
) -> Detection:
    """Sensitivity and specificity of a grader's verdicts against the experts' truth.

    Args:
        verdicts: Shape (n_cases,): 1 positive, 0 negative, or the share of a case's trials that are called positive,
            in [0, 1]; NaN where there is none.
        truth: Shape (n_cases,): 1 positive, 0 negative, the same cases in the same order; NaN where it is not known.
        rng: Source of randomness for the intervals; all cases are resampled, once for each of the two.
        n_resamples: Resamples of the cases, 1 or more.
        confidence: Coverage of the percentile intervals, a fraction in (0, 1).

    Returns:
        Mean verdict over the truly positive cases, and 1 less that over the truly negative; each None and a reason
        without such a case. `n_cases` counts them alone. Where no verdict is wrong the bootstrap has no interval.

    Raises:
        ValueError: The lengths differ, a value is none of these, or there are no resamples.
        TypeError: `rng` is no `numpy.random.Generator`.

    Source: Yerushalmy (1947), Public Health Reports 62:1432-1449.
    """
    found, true = verdicts_and_truth(verdicts, truth)
    resamples, n_positive = Resamples(rng, n_resamples, confidence), int(true.sum())

    def rate(name: str, row: int, n_cases: int, what: str) -> Agreement:
        def statistic(weights: Array) -> Array:
            return detection_rates(weights, found, true)[row]

        undefined = f"no case of the validation sample is truly {what}"
        return with_interval(name, statistic, len(true), resamples, undefined=undefined, n_cases=n_cases)

    sensitivity = rate("sensitivity", 0, n_positive, "positive")
    return Detection(sensitivity, rate("specificity", 1, len(true) - n_positive, "negative"))


def verdicts_and_truth(verdicts: ArrayLike, truth: ArrayLike) -> tuple[Array, Array]:
    """The cases that have both, as `detection` asks for them.

    Raises:
        ValueError: The lengths differ, a verdict is no share in [0, 1], or a truth neither 0, 1 nor NaN.
    """
    found, true = pairs_or_nan(verdicts, truth)
    for side, is_odd, expected in (
        (found, (found < 0) | (found > 1), "verdicts from 0 to 1"),
        (true, (true != 0) & (true != 1) & ~np.isnan(true), "1 for truly positive, 0 for negative"),
    ):
        if is_odd.any():
            raise ValueError(f"expected {expected}, NaN for missing; {is_odd.sum()} are not, such as {side[is_odd][0]}")
    both = ~(np.isnan(found) | np.isnan(true))
    return found[both], true[both]


def detection_rates(weights: Array, found: Array, true: Array) -> tuple[Array, Array]:
    """Sensitivity and specificity in every resample, each of shape (n_resamples,); NaN without such a case."""
    false = 1 - true
    return ratio(weights @ (true * found), weights @ true), ratio(weights @ (false * (1 - found)), weights @ false)


def _agreeing_pairs(counts: Array) -> Array:
    """The share of a case's pairs of ratings that agree, shape (n_cases,); every case has two ratings or more."""
    n_ratings = counts.sum(axis=1)
    return np.asarray(((counts**2).sum(axis=1) - n_ratings) / (n_ratings * (n_ratings - 1)))
