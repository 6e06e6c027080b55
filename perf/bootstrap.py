"""What the cluster bootstrap costs, beside scipy's on a single pair: `python perf/bootstrap.py`.

Eight arms on 2,004 cases with every pair, 10,000 resamples: once complete, once with a tenth of the cases missing in
every arm. The peak is that of the whole process, numpy included, before scipy is imported.
"""

import resource
import time

import numpy as np
from numpy.typing import NDArray

from openosce.statistics import cluster_bootstrap

N_ARMS, N_CASES, N_TRIALS, N_RESAMPLES = 8, 2_004, 5, 10_000


def case_means(rng: np.random.Generator, missing: float) -> NDArray[np.float64]:
    """Shape (N_ARMS, N_CASES): means of trials that are alike within a case, NaN for the share `missing`."""
    means = rng.binomial(N_TRIALS, rng.beta(0.5, 0.5, (N_ARMS, N_CASES))) / N_TRIALS
    means[rng.random(means.shape) < missing] = np.nan
    return means


def seconds_of_ours(missing: float) -> float:
    rng = np.random.default_rng(1)
    values = case_means(rng, missing)
    started = time.perf_counter()
    result = cluster_bootstrap(values, rng=rng, n_resamples=N_RESAMPLES)
    seconds = time.perf_counter() - started
    assert len(result.differences) == N_ARMS * (N_ARMS - 1) // 2
    return seconds


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def compare_one_pair() -> None:
    """The same pair with both libraries: seconds and bounds, which agree but for the draws."""
    from scipy import stats

    a, b = case_means(np.random.default_rng(1), 0.0)[:2]
    started = time.perf_counter()
    reference = stats.bootstrap(
        (a - b,), np.mean, n_resamples=N_RESAMPLES, method="percentile", batch=500, rng=np.random.default_rng(2)
    ).confidence_interval
    scipys = time.perf_counter() - started
    started = time.perf_counter()
    ours = cluster_bootstrap([a, b], rng=np.random.default_rng(3), n_resamples=N_RESAMPLES).differences[0, 1]
    mine = time.perf_counter() - started
    print(f"one pair: scipy.stats.bootstrap {scipys:.2f} s [{reference.low:.4f}, {reference.high:.4f}]", end=", ")
    print(f"ours with both arms {mine:.2f} s [{ours.ci_low:.4f}, {ours.ci_high:.4f}]")


def main() -> None:
    before = peak_mb()
    print(f"{N_ARMS} arms, {N_CASES:,} cases, {N_RESAMPLES:,} resamples, all pairs:")
    for missing in (0.0, 0.1):
        print(f"  {missing:.0%} missing: {seconds_of_ours(missing):.2f} s")
    print(f"  peak memory {peak_mb():.0f} MB ({before:.0f} MB before)")
    compare_one_pair()


if __name__ == "__main__":
    main()
