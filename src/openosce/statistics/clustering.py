"""How alike the trials of one case are, and how many independent answers they are worth."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from openosce.statistics.checks import NO_CASES, all_alike, numbers_or_nan

_ONE_CASE = "one case alone does not say how cases differ"
_ONE_TRIAL = "no case has two answers, so nothing tells chance within a case from differences between cases"


@dataclass(frozen=True)
class Clustering:
    """How much the case decides, against chance; what cannot be computed is None and `reason` says why."""

    icc: float | None
    """Correlation of two trials of one case: 1 if they never differ, 0 if the case decides nothing; may be negative."""
    design_effect: float | None
    """The factor by which the variance of the mean exceeds that of independent answers; 1 or more."""
    n_effective: float | None
    """Independent answers that the answers are worth."""
    n_cases: int
    """Cases with an answer."""
    n_trials: int
    """Trials planned a case."""
    n_answers: int
    """Answers that have a score, over all cases."""
    reason: str | None = None


def clustering(values: ArrayLike) -> Clustering:
    """Estimate the intraclass correlation ICC(1), the design effect and the effective number of answers.

    One-way random effects: with k cases, m answers of case i, N answers in all,
    n0 = (N - Σm²/N)/(k - 1), icc = (MSB - MSW)/(MSB + (n0 - 1)·MSW), where MSB has k - 1 and MSW N - k degrees of
    freedom; design effect = max(1, 1 + (n0 - 1)·icc); n_effective = N / design effect.

    Args:
        values: Shape (n_cases, n_trials): the scores, NaN where one is missing. Any unit.

    Returns:
        The three figures. A negative icc is reported as it is, but it is taken for chance: the design effect is not
        put below 1, for trials of one case are worth no more than independent answers. Fewer than two cases, no case
        with two answers, or answers that are all the same: a reason in place of the figures.

    Raises:
        ValueError: `values` has another shape or holds infinity.

    Source: Donner & Koval (1980), Biometrics 36:19-25; design effect: Kish (1965), Survey Sampling, section 5.4.
    """
    scores = numbers_or_nan(values, "n_cases", "n_trials")
    answered = ~np.isnan(scores)
    m = answered.sum(axis=1)
    kept = m > 0
    k, n_answers = int(kept.sum()), int(m.sum())
    reason = _no_correlation(scores[answered], k)
    if reason is not None:
        return Clustering(None, None, None, k, scores.shape[1], n_answers, reason)
    icc, n0 = _anova(scores[kept], answered[kept])
    design_effect = max(1.0, 1 + (n0 - 1) * icc)
    return Clustering(icc, design_effect, n_answers / design_effect, k, scores.shape[1], n_answers)


def _no_correlation(answers: NDArray[np.float64], n_cases: int) -> str | None:
    if n_cases == 0:
        return NO_CASES
    if n_cases == 1:
        return _ONE_CASE
    if len(answers) == n_cases:
        return _ONE_TRIAL
    if all_alike(answers):
        return f"all {len(answers)} answers have the same value, so there is no variance to divide"
    return None


def _anova(scores: NDArray[np.float64], answered: NDArray[np.bool_]) -> tuple[float, float]:
    """The correlation, and n0, the mean number of answers a case less what their inequality takes from it."""
    m = answered.sum(axis=1)
    k, n = len(m), int(m.sum())
    known = np.where(answered, scores, 0.0)
    case_means = known.sum(axis=1) / m
    between = float((m * (case_means - known.sum() / n) ** 2).sum()) / (k - 1)
    within = float((np.where(answered, scores - case_means[:, None], 0.0) ** 2).sum()) / (n - k)
    n0 = (n - float((m**2).sum()) / n) / (k - 1)
    return (between - within) / (between + (n0 - 1) * within), n0
