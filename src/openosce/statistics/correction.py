"""Accuracy corrected for an imperfect grader: what experts would have found, from a sample that both have judged."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from openosce.statistics.agreement import detection_rates, verdicts_and_truth
from openosce.statistics.agreement_resampling import Array, Resamples
from openosce.statistics.checks import NO_CASES, ONE_CASE, numbers_or_nan
from openosce.statistics.estimates import Estimate
from openosce.statistics.resampling import case_counts, chunks

_ONE_SIDED = "the validation sample has no answer that is truly {}, so how the grader judges those is not known"
_UNSURE = (
    "in {} of {} resamples the validation sample does not tell the grader from chance, so no interval is honest; "
    "have the experts judge more answers"
)
_CERTAIN = "{} exactly 0 or 1 in the validation sample: the interval takes that as known and is too narrow"
_ROUNDING = 1e-12
"""Two rates that add up to 1 but for the last bit are no better than chance."""


@dataclass(frozen=True)
class Corrected:
    """A share corrected for an imperfect grader, as it comes out and not cut; `reason` says what is wrong with it."""

    value: float | None
    """None where there is no correction; outside [0, 1] where the three figures do not fit together."""
    reason: str | None = None


def rogan_gladen(apparent: float, sensitivity: float, specificity: float) -> Corrected:
    """The true share from the graded one, (apparent + specificity - 1)/(sensitivity + specificity - 1).

    Args:
        apparent: The share that the grader calls right, in [0, 1].
        sensitivity: The share of truly right answers that it calls right, in [0, 1].
        specificity: The share of truly wrong answers that it calls wrong, in [0, 1].

    Returns:
        The estimate as it comes out. A reason is with it if it lies outside [0, 1], or if the two rates add up to less
        than 1, so that a higher graded share means a lower true one; if they add up to 1 there is no estimate.

    Raises:
        ValueError: One of the three is no share in [0, 1].

    Source: Rogan & Gladen (1978), American Journal of Epidemiology 107:71-76.
    """
    for name, share in (("apparent", apparent), ("sensitivity", sensitivity), ("specificity", specificity)):
        if not 0 <= share <= 1:
            raise ValueError(f"expected {name} between 0 and 1, got {share}")
    value = float(_corrected(*(np.array([share]) for share in (apparent, sensitivity, specificity)))[0])
    rates = f"sensitivity {sensitivity:.3g} and specificity {specificity:.3g}"
    if np.isnan(value):
        return Corrected(None, f"{rates} add up to 1: the verdicts say nothing of the truth")
    if sensitivity + specificity < 1:
        return Corrected(value, f"{rates} add up to less than 1: the grader is worse than chance")
    if not 0 <= value <= 1:
        return Corrected(value, f"outside 0 to 1: a graded share of {apparent:.3g} does not fit {rates}")
    return Corrected(value)


def corrected_accuracy(
    values: ArrayLike,
    verdicts: ArrayLike,
    truth: ArrayLike,
    *,
    rng: np.random.Generator,
    n_resamples: int = 2_000,
    confidence: float = 0.95,
) -> Estimate:
    """Correct a graded accuracy for the grader's errors, in an interval that carries those of both samples.

    The cases and the validation sample are resampled each on its own, so the two should share few cases; the grader is
    taken to err as often on the one as on the other. Resamples without a truly right, or a truly wrong, answer in the
    validation sample are left out of the interval.

    Args:
        values: Shape (n_cases,): the graded accuracy of every case, in [0, 1], the mean over its valid trials; NaN
            where it has none.
        verdicts: Shape (n_validated,): the grader's verdict, 1 right, 0 wrong, or the share of a case's trials that it
            calls right; NaN where there is none.
        truth: Shape (n_validated,): the experts' verdict on the same, 1 right, 0 wrong; NaN where there is none.
        rng: Source of randomness.
        n_resamples: Resamples of both samples, 1 or more.
        confidence: Coverage of the percentile interval, a fraction in (0, 1).

    Returns:
        The corrected mean, which like its bounds may pass 0 or 1, with the reason of `rogan_gladen`. No mean where a
        sample is empty or the truth has one side. No bounds where too many resamples do not tell the grader from
        chance. A rate of exactly 1 (or 0) in the validation sample does not vary, and a reason says so.

    Raises:
        ValueError: Another shape, a value that is no share, or no resamples.
        TypeError: `rng` is no `numpy.random.Generator`.

    Source: Rogan & Gladen (1978), American Journal of Epidemiology 107:71-76; Efron & Tibshirani (1993), An
    Introduction to the Bootstrap, ch. 8 (two samples).
    """
    graded, (found, true) = _shares(values), verdicts_and_truth(verdicts, truth)
    resamples = Resamples(rng, n_resamples, confidence)
    point = _point(graded, found, true)
    method = f"Rogan-Gladen correction, {len(found)} validated; "
    if point.value is None or len(graded) == 1:
        return Estimate(point.value, None, None, len(graded), method + resamples.method(), point.reason or ONE_CASE)
    drawn, n_unsure = _resampled(graded, found, true, resamples)
    interval, reason = resamples.bounds(drawn)
    if n_unsure > (1 - confidence) / 2 * n_resamples:
        interval, reason = None, _UNSURE.format(n_unsure, n_resamples)
    low, high = interval or (None, None)
    reason = "; ".join(filter(None, (point.reason, reason))) or None
    return Estimate(point.value, low, high, len(graded), method + resamples.method(len(drawn)), reason)


def _shares(values: ArrayLike) -> Array:
    """The graded accuracies of the cases that have one."""
    array = numbers_or_nan(values, "n_cases")
    odd = array[(array < 0) | (array > 1)]
    if len(odd):
        raise ValueError(f"expected accuracies from 0 to 1, NaN for missing; {len(odd)} are not, such as {odd[0]}")
    return array[~np.isnan(array)]


def _point(graded: Array, found: Array, true: Array) -> Corrected:
    """The corrected mean of the samples themselves, and what there is to say of it."""
    if len(graded) == 0:
        return Corrected(None, NO_CASES)
    rates = [float(rate[0]) for rate in detection_rates(np.ones((1, len(true))), found, true)]
    for rate, side in zip(rates, ("right", "wrong"), strict=True):
        if np.isnan(rate):
            return Corrected(None, _ONE_SIDED.format(side))
    point = rogan_gladen(float(graded.mean()), *rates)
    certain = [name for name, rate in zip(("sensitivity", "specificity"), rates, strict=True) if rate in (0, 1)]
    if point.reason is None and certain:
        return Corrected(point.value, _CERTAIN.format(" and ".join(certain)))
    return point


def _resampled(graded: Array, found: Array, true: Array, resamples: Resamples) -> tuple[Array, int]:
    """The corrected means of the resamples that have one, and in how many the grader is no better than chance."""
    means, n_unsure = [], 0
    for start, stop in chunks(resamples.n, max(len(graded), len(found))):
        size = stop - start
        apparent = case_counts(resamples.rng, size, len(graded)) @ graded / len(graded)
        sensitivity, specificity = detection_rates(case_counts(resamples.rng, size, len(found)), found, true)
        means.append(_corrected(apparent, sensitivity, specificity))
        n_unsure += int((sensitivity + specificity <= 1 + _ROUNDING).sum())
    every = np.concatenate(means)
    return every[~np.isnan(every)], n_unsure


def _corrected(apparent: Array, sensitivity: Array, specificity: Array) -> Array:
    """The true shares, NaN where a rate is not known or the two add up to 1."""
    informative = sensitivity + specificity - 1
    values = np.full(len(informative), np.nan)
    np.divide(apparent + specificity - 1, informative, out=values, where=np.abs(informative) > _ROUNDING)
    return values
