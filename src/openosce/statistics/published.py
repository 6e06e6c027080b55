"""The CRAFT-MD article's p values for many tests at once, to the last bit."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from openosce.statistics.checks import NO_COMMON_CASES, numbers_or_nan

_CHUNK_CELLS = 1 << 16
"""Draws held at once, for the cache. The draws are the same whatever it is."""


def published_p_values(
    a: ArrayLike, b: ArrayLike, *, rng: np.random.RandomState, n_resamples: int = 10_000
) -> NDArray[np.float64]:
    """Test pairs of arms as `centred_bootstrap_p(..., as_published=True)` does, each with a generator like `rng`.

    The article seeds its generator anew before each test, so that tests over as many cases draw the same ones: here
    they are drawn once for all tests.

    Args:
        a: Shape (n_tests, n_cases): one number a case, none missing.
        b: Shape (n_tests, n_cases): the same cases in the same order, in the same unit.
        rng: `numpy.random.RandomState(20)`; it goes on by one test.
        n_resamples: Resamples of the cases, 1 or more.

    Returns:
        Shape (n_tests,): p, two-sided, not rounded and not adjusted.

    Raises:
        ValueError: The shapes differ, a value is missing or infinite, there is no case or no resample.

    Source: CRAFT-MD 2025 (Nature Medicine), Methods; the order of operations decides its ties.
    """
    first, second = numbers_or_nan(a, "n_tests", "n_cases"), numbers_or_nan(b, "n_tests", "n_cases")
    _check(first, second, n_resamples)
    d = first - second
    n_cases = d.shape[1]
    means = np.abs([row.mean() for row in d])
    n_extreme = np.zeros(len(d), dtype=np.int64)
    step = max(1, _CHUNK_CELLS // n_cases)
    for start in range(0, n_resamples, step):
        draws = rng.randint(0, n_cases, (min(step, n_resamples - start), n_cases))
        for test, differences in enumerate(d):
            # mean((b + d*) - a), in this order and not simplified: rounding decides the published ties.
            moved = np.take(differences, draws)
            moved += second[test]
            moved -= first[test]
            n_extreme[test] += int((np.abs(moved.mean(axis=1)) >= means[test]).sum())
    found: NDArray[np.float64] = (n_extreme + 1) / (n_resamples + 1)
    return found


def _check(a: NDArray[np.float64], b: NDArray[np.float64], n_resamples: int) -> None:
    if a.shape != b.shape:
        raise ValueError(f"a paired comparison needs the same tests and cases: A is {a.shape}, B is {b.shape}")
    if a.shape[1] == 0:
        raise ValueError(NO_COMMON_CASES)
    n_missing = int((np.isnan(a) | np.isnan(b)).sum())
    if n_missing:
        raise ValueError(f"as published, no case may be missing, {n_missing} values are; score them 0")
    if n_resamples < 1:
        raise ValueError(f"expected 1 resample or more, got {n_resamples}")
