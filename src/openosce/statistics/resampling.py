"""Intervals and tests that resample whole cases: the case, with all its trials and arms, is what a new study draws.

The caller owns the generator; the same seed and the same number of cases draw the same cases, whatever the values.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from openosce.statistics.checks import (
    NO_CASES,
    NO_COMMON_CASES,
    ONE_CASE,
    no_interval,
    numbers_or_nan,
    pairs_or_nan,
    percent,
)
from openosce.statistics.estimates import Difference, Estimate

CENTRED_BOOTSTRAP = "centred bootstrap over cases"
AS_PUBLISHED = "centred bootstrap over cases, as published"
SIGN_FLIP = "sign flips over cases"

_CHUNK_CELLS = 1 << 17
"""Draws held at once: 1 MB, which the cache keeps. Part of what a seed means, so it does not depend on the machine."""
_TIE = 1e-10
"""Two means that differ by less than this share of the largest difference are a tie: rounding must not decide."""
_NO_RESAMPLE = "no resample holds one of its cases; more resamples are needed"


@dataclass(frozen=True)
class BootstrapResult:
    """The mean of every arm and the difference of every pair, from the same resamples of whole cases."""

    arms: tuple[Estimate, ...]
    """In the order of the rows given."""
    differences: Mapping[tuple[int, int], Difference]
    """Row i minus row j under (i, j), over the cases valid in both."""
    n_resamples: int


@dataclass(frozen=True)
class ResamplingTest:
    """Whether A and B differ on the same cases; what cannot be computed is None and `reason` says why."""

    difference: float | None
    """Mean of A minus B, in the unit of the values."""
    p: float | None
    """Two-sided, not adjusted for other tests; never below 1/(n_resamples + 1)."""
    n_cases: int
    """Cases with a value on both sides."""
    n_resamples: int
    test: str
    reason: str | None = None


def cluster_bootstrap(
    case_means: ArrayLike,
    *,
    rng: np.random.Generator,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    pairs: Iterable[tuple[int, int]] | None = None,
) -> BootstrapResult:
    """Percentile intervals for every arm and every pair of arms, from joint resamples of whole cases.

    A resample draws n_cases cases with replacement, for all arms at once. An arm's mean is over its valid cases among
    them, a pair's difference over the cases valid in both; a resample without any such case is left out. The bounds
    are the (1 - confidence)/2 quantiles from both ends. A pair's p is that of `centred_bootstrap_p`, from the same
    resamples.

    Args:
        case_means: Shape (n_arms, n_cases): the mean over a case's valid trials, NaN where it has none. Any unit.
        rng: Source of randomness.
        n_resamples: Resamples of the cases, 1 or more.
        confidence: Coverage of the intervals, a fraction in (0, 1).
        pairs: Which rows to compare; by default every pair (i, j) with i < j.

    Returns:
        Means, differences and bounds in the unit of `case_means`. No valid case: nothing but a reason; one, or cases
        that are all alike: the mean without bounds and p, and a reason.
        It holds 8 bytes × n_resamples × (arms + pairs) while it works: name the pairs if there are many arms.

    Raises:
        ValueError: A wrong shape, infinity, a pair of rows that are not there, or no resamples.
        TypeError: `rng` is no `numpy.random.Generator`.

    Source: Efron & Tibshirani (1993), An Introduction to the Bootstrap, ch. 13; cases as clusters: Miller (2024),
    arXiv:2411.00640.
    """
    values = numbers_or_nan(case_means, "n_arms", "n_cases")
    check_resamples(n_resamples)
    method = f"{percent(confidence)} percentile bootstrap over cases, {n_resamples} resamples"
    compared = list(combinations(range(len(values)), 2)) if pairs is None else _checked(pairs, len(values))
    rows = np.concatenate([values, *(values[None, i] - values[None, j] for i, j in compared)])
    resampled = iter(_resampled_means(rows, checked_generator(rng), n_resamples))
    tail = (1 - confidence) / 2
    arms = tuple(_estimate(row, next(resampled), tail, method) for row in values)
    differences = [_difference(row, next(resampled), tail) for row in rows[len(values) :]]
    return BootstrapResult(arms, dict(zip(compared, differences, strict=True)), n_resamples)


def centred_bootstrap_p(
    a: ArrayLike,
    b: ArrayLike,
    *,
    rng: np.random.Generator | np.random.RandomState,
    n_resamples: int = 10_000,
    as_published: bool = False,
) -> ResamplingTest:
    """Test whether A and B differ on the same cases, with the bootstrap centred on no difference.

    p = (extreme + 1)/(n_resamples + 1), extreme = #{|mean(d*) - mean(d)| ≥ |mean(d)|}, d = a - b, d* a resample of
    its cases. Differences that tie but for rounding count as extreme.

    Args:
        a: Shape (n_cases,): one number a case, NaN where it has none.
        b: Shape (n_cases,): the same cases in the same order, in the same unit.
        rng: Source of randomness; as published, the old generator, `numpy.random.RandomState(20)` before each test.
        n_resamples: Resamples of the cases, 1 or more.
        as_published: Exactly as the CRAFT-MD article: float64 decides ties by |mean((b + d*) - a)| ≥ |mean(d)|, and
            cases that do not differ have a p, too. No value may be missing: the article scores such a case 0.

    Returns:
        p over the cases valid on both sides. No case: nothing but a reason; one, or differences that are all alike:
        no p, and a reason, for resampling cannot move their mean.

    Raises:
        ValueError: The lengths differ, a value is infinite (or NaN, as published), or there are no resamples.
        TypeError: The generator is not of the kind that is asked for.

    Source: Efron & Tibshirani (1993), section 16.4; CRAFT-MD 2025 (Nature Medicine), Methods.
    """
    check_resamples(n_resamples)
    first, second = pairs_or_nan(a, b)
    if as_published:
        return _published_test(first, second, rng, n_resamples)
    generator = checked_generator(rng)
    d = _complete(first - second)
    reason = no_interval(d, "difference") if len(d) else NO_COMMON_CASES
    if reason is not None:
        reason = reason if reason != ONE_CASE else "one case alone gives no p"
        return ResamplingTest(_mean(d), None, len(d), n_resamples, CENTRED_BOOTSTRAP, reason)
    p = _centred_p(d, _resampled_means(d[None, :], generator, n_resamples)[0])
    return ResamplingTest(_mean(d), p, len(d), n_resamples, CENTRED_BOOTSTRAP)


def sign_flip_p(a: ArrayLike, b: ArrayLike, *, rng: np.random.Generator, n_resamples: int = 10_000) -> ResamplingTest:
    """Test whether A and B differ on the same cases by exchanging the sides of each case at random.

    p = (extreme + 1)/(n_resamples + 1), extreme = #{|mean(s·d)| ≥ |mean(d)|}, d = a - b, s random signs, one a case.
    The test is exact if the sides are exchangeable where they do not differ. Ties but for rounding count as extreme.

    Args:
        a: Shape (n_cases,): one number a case, NaN where it has none.
        b: Shape (n_cases,): the same cases in the same order, in the same unit.
        rng: Source of randomness.
        n_resamples: Random draws of all signs, 1 or more.

    Returns:
        p over the cases valid on both sides, also where there is one case (p = 1) or no variance. No case: a reason.

    Raises:
        ValueError: The lengths differ, a value is infinite, or there are no resamples.
        TypeError: `rng` is no `numpy.random.Generator`.

    Source: Fisher (1935), The Design of Experiments, section 21; (extreme + 1)/(n + 1): Phipson & Smyth (2010),
    Statistical Applications in Genetics and Molecular Biology 9:39.
    """
    check_resamples(n_resamples)
    first, second = pairs_or_nan(a, b)
    d = _complete(first - second)
    n = len(d)
    if n == 0:
        return ResamplingTest(None, None, 0, n_resamples, SIGN_FLIP, NO_COMMON_CASES)
    generator, threshold, n_extreme = checked_generator(rng), _threshold(d), 0
    for start, stop in chunks(n_resamples, n):
        flipped = generator.integers(0, 2, size=(stop - start, n), dtype=np.int8).astype(np.float64)
        n_extreme += int((np.abs(d.sum() - 2 * (flipped @ d)) / n >= threshold).sum())
    return ResamplingTest(_mean(d), (n_extreme + 1) / (n_resamples + 1), n, n_resamples, SIGN_FLIP)


def _resampled_means(rows: NDArray[np.float64], rng: np.random.Generator, n_resamples: int) -> NDArray[np.float64]:
    """The mean of every row over its values in every resample, shape (n_rows, n_resamples); NaN where it has none."""
    n_rows, n_cases = rows.shape
    means = np.full((n_rows, n_resamples), np.nan)
    if n_cases == 0:
        return means
    valid = ~np.isnan(rows)
    columns = np.concatenate([np.where(valid, rows, 0.0), valid]).T
    for start, stop in chunks(n_resamples, n_cases):
        sums = (case_counts(rng, stop - start, n_cases) @ columns).T
        np.divide(sums[:n_rows], sums[n_rows:], out=means[:, start:stop], where=sums[n_rows:] > 0)
    return means


def case_counts(rng: np.random.Generator, n_resamples: int, n_cases: int) -> NDArray[np.float64]:
    """How often every case is drawn in every resample: shape (n_resamples, n_cases), each row adds up to n_cases."""
    draws = rng.integers(0, n_cases, size=(n_resamples, n_cases))
    draws += np.arange(n_resamples)[:, None] * n_cases
    counts = np.bincount(draws.ravel(), minlength=n_resamples * n_cases)
    return counts.reshape(n_resamples, n_cases).astype(np.float64)


def chunks(n_resamples: int, n_cases: int) -> Iterator[tuple[int, int]]:
    """The resamples from and up to which, as many at a time as the cache keeps; `n_cases` is 1 or more."""
    step = max(1, _CHUNK_CELLS // n_cases)
    for start in range(0, n_resamples, step):
        yield start, min(start + step, n_resamples)


def _estimate(row: NDArray[np.float64], resampled: NDArray[np.float64], tail: float, method: str) -> Estimate:
    known, means = _complete(row), _complete(resampled)
    if len(known) == 0:
        return Estimate(None, None, None, 0, method, NO_CASES)
    reason = no_interval(known) or (None if len(means) else _NO_RESAMPLE)
    if reason is not None:
        return Estimate(_mean(known), None, None, len(known), method, reason)
    low, high = np.quantile(means, [tail, 1 - tail])
    return Estimate(_mean(known), float(low), float(high), len(known), method)


def _difference(row: NDArray[np.float64], resampled: NDArray[np.float64], tail: float) -> Difference:
    known, means = _complete(row), _complete(resampled)
    if len(known) == 0:
        return Difference(None, None, None, None, 0, CENTRED_BOOTSTRAP, NO_COMMON_CASES)
    reason = no_interval(known, "difference") or (None if len(means) else _NO_RESAMPLE)
    if reason is not None:
        return Difference(_mean(known), None, None, None, len(known), CENTRED_BOOTSTRAP, reason)
    low, high = np.quantile(means, [tail, 1 - tail])
    p = _centred_p(known, means)
    return Difference(_mean(known), float(low), float(high), p, len(known), CENTRED_BOOTSTRAP)


def _centred_p(d: NDArray[np.float64], resampled: NDArray[np.float64]) -> float:
    n_extreme = int((np.abs(resampled - d.mean()) >= _threshold(d)).sum())
    return (n_extreme + 1) / (len(resampled) + 1)


def _threshold(d: NDArray[np.float64]) -> float:
    """From where on a resampled mean is as extreme as the mean of `d`."""
    return abs(float(d.mean())) - _TIE * float(np.abs(d).max())


def _published_test(a: NDArray[np.float64], b: NDArray[np.float64], rng: object, n_resamples: int) -> ResamplingTest:
    if not isinstance(rng, np.random.RandomState):
        raise TypeError(f"as published, the draws come from numpy.random.RandomState(20), got {type(rng).__name__}")
    d = a - b
    n = len(d)
    if np.isnan(d).any():
        raise ValueError(f"as published, no case may be missing, {int(np.isnan(d).sum())} of {n} are; score them 0")
    if n == 0:
        return ResamplingTest(None, None, 0, n_resamples, AS_PUBLISHED, NO_COMMON_CASES)
    mean = d.mean()
    # In this order of operations, and not simplified to mean(d*) - mean(d): rounding decides the published ties.
    n_extreme = sum(int(np.abs((b + d[rng.randint(0, n, n)] - a).mean()) >= np.abs(mean)) for _ in range(n_resamples))
    return ResamplingTest(_mean(d), (n_extreme + 1) / (n_resamples + 1), n, n_resamples, AS_PUBLISHED)


def checked_generator(rng: object) -> np.random.Generator:
    """The generator of the caller.

    Raises:
        TypeError: It is no `numpy.random.Generator`.
    """
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"expected a numpy.random.Generator, as default_rng(seed) makes it, got {type(rng).__name__}")
    return rng


def _checked(pairs: Iterable[tuple[int, int]], n_arms: int) -> list[tuple[int, int]]:
    compared = list(pairs)
    for i, j in compared:
        if not (0 <= i < n_arms and 0 <= j < n_arms):
            raise ValueError(f"expected pairs of rows from 0 to {n_arms - 1}, got ({i}, {j})")
    return compared


def check_resamples(n_resamples: int) -> None:
    """Refuse to resample never.

    Raises:
        ValueError: There is not one resample.
    """
    if n_resamples < 1:
        raise ValueError(f"expected 1 resample or more, got {n_resamples}")


def _complete(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values[~np.isnan(values)]


def _mean(values: NDArray[np.float64]) -> float | None:
    return float(values.mean()) if len(values) else None
