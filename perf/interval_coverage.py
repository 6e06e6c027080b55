"""How often the 95% intervals hold the truth; this script writes the tables of docs/intervals.md.

Simulated doctors: every case has its own chance of a right answer, drawn from a beta distribution with mean p (the
accuracy) and intraclass correlation rho; TRIALS answers a case are drawn with it, so right answers a case are
beta-binomial. An interval covers if it holds p. The whole takes a few minutes; with `--quick` it runs a twentieth, in
about 10 s, and prints the tables only.
"""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from openosce.statistics import cluster_bootstrap, warns_about_small_counts

PAGE = Path(__file__).parents[1] / "docs" / "intervals.md"
TRIALS = 5
SEED = 20
ACCURACIES = (0.05, 0.2, 0.5, 0.8, 0.95)
CORRELATIONS = (0.0, 0.3, 0.6, 0.9)
CASES = (30, 100, 500)
SMALL_COUNTS = (1, 2, 3, 5, 7, 10, 15, 20, 30)
RESAMPLES = 2_000


@dataclass(frozen=True)
class Cell:
    """One process that draws answers: n cases, accuracy p, correlation rho of the trials of a case."""

    p: float
    rho: float
    n_cases: int


@dataclass(frozen=True)
class Runs:
    """How many studies are drawn a cell; the bootstrap is tried on the first of them."""

    t: int
    bootstrap: int


FULL, QUICK = Runs(20_000, 2_000), Runs(1_000, 200)


@dataclass(frozen=True)
class Coverage:
    """Shares of the intervals that hold the truth, among those that there are; NaN if there are none."""

    t: float
    bootstrap: float
    naive: float
    no_interval: float
    """Share of the studies whose cases all have the same value: they have no interval."""
    wrong_unwarned: float
    """Share of all studies whose t interval misses while `warns_about_small_counts` is silent."""


def right_answers(cell: Cell, n_runs: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Right answers of TRIALS, shape (n_runs, n_cases)."""
    size = (n_runs, cell.n_cases)
    chances = np.full(size, cell.p)
    if cell.rho > 0:
        spread = (1 - cell.rho) / cell.rho
        chances = rng.beta(cell.p * spread, (1 - cell.p) * spread, size)
    return rng.binomial(TRIALS, chances).astype(np.float64)


def t_bounds(
    means: NDArray[np.float64], sd: NDArray[np.float64], n: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """mean ± t·sd/√n of every study; a test holds it against `mean_over_cases`."""
    half = float(stdtrit(n - 1, 0.975)) * sd / np.sqrt(n)
    return means - half, means + half


def bootstrap_bounds(case_means: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """The bounds of `cluster_bootstrap` for every study, shape (2, n_runs); NaN where it has none.

    The studies stand as arms side by side and share the draws of cases; each has the interval it would have alone.
    """
    bounds = [
        (np.nan if arm.ci_low is None else arm.ci_low, np.nan if arm.ci_high is None else arm.ci_high)
        for block in np.array_split(case_means, max(1, len(case_means) // 200))
        for arm in cluster_bootstrap(block, rng=rng, n_resamples=RESAMPLES, pairs=()).arms
    ]
    return np.array(bounds).T


def coverage(cell: Cell, runs: Runs, rng: np.random.Generator) -> Coverage:
    """Draw the studies of a cell and count."""
    right = right_answers(cell, runs.t, rng)
    case_means = right / TRIALS
    means, sd = case_means.mean(axis=1), case_means.std(axis=1, ddof=1)
    exists = np.ptp(right, axis=1) > 0
    n_answers = cell.n_cases * TRIALS
    trial_sd = np.sqrt(means * (1 - means) * n_answers / (n_answers - 1))
    covers = _hold(cell.p, *t_bounds(means, sd, cell.n_cases))
    warned = np.array([warns_about_small_counts(mean, cell.n_cases) for mean in means])
    low, high = bootstrap_bounds(case_means[: runs.bootstrap], rng)
    return Coverage(
        t=_share(covers[exists]),
        bootstrap=_share(_hold(cell.p, low, high)[~np.isnan(low)]),
        naive=_share(_hold(cell.p, *t_bounds(means, trial_sd, n_answers))[trial_sd > 0]),
        no_interval=1 - _share(exists),
        wrong_unwarned=_share(exists & ~covers & ~warned),
    )


def _hold(p: float, low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.bool_]:
    return (low <= p) & (p <= high)


def _share(flags: NDArray[np.bool_]) -> float:
    return float(flags.mean()) if len(flags) else np.nan


def simulate(cells: list[Cell], runs: Runs) -> dict[Cell, Coverage]:
    """Every cell with a seed of its own, so that a table can be redone in part."""
    return {cell: coverage(cell, runs, np.random.default_rng([SEED, n])) for n, cell in enumerate(cells)}


def main_cells() -> list[Cell]:
    return [Cell(p, rho, n) for p, rho, n in product(ACCURACIES, CORRELATIONS, CASES)]


def small_cells() -> list[Cell]:
    """The accuracies at which n·p is one of SMALL_COUNTS."""
    return [Cell(count / n, rho, n) for count, rho, n in product(SMALL_COUNTS, CORRELATIONS, CASES) if count <= n / 2]


def main_table(results: dict[Cell, Coverage]) -> Iterator[str]:
    yield "| accuracy | ICC | " + " | ".join(f"{n} cases: t | bootstrap | naive" for n in CASES) + " |"
    yield "|---|---|" + "---:|" * (3 * len(CASES))
    for p, rho in product(ACCURACIES, CORRELATIONS):
        row = [results[Cell(p, rho, n)] for n in CASES]
        figures = [_percent(share) for one in row for share in (one.t, one.bootstrap, one.naive)]
        yield f"| {p:g} | {rho:g} | " + " | ".join(figures) + " |"


def small_table(results: dict[Cell, Coverage]) -> Iterator[str]:
    """The worst over the correlations: lowest coverage, most studies without an interval, most misses unwarned."""
    yield "| n·min(p, 1 - p) | " + " | ".join(f"{n} cases: t | none | wrong unwarned" for n in CASES) + " |"
    yield "|---:|" + "---:|" * (3 * len(CASES))
    for count in SMALL_COUNTS:
        figures = []
        for n in CASES:
            row = [results[cell] for rho in CORRELATIONS if (cell := Cell(count / n, rho, n)) in results]
            figures += [_worst(min, [one.t for one in row]), _worst(max, [one.no_interval for one in row])]
            figures += [_worst(max, [one.wrong_unwarned for one in row])]
        yield f"| {count} | " + " | ".join(figures) + " |"


def _percent(share: float) -> str:
    return "–" if np.isnan(share) else f"{100 * share:.1f}"


def _worst(which: Callable[[list[float]], float], shares: list[float]) -> str:
    known = [share for share in shares if not np.isnan(share)]
    return _percent(which(known)) if known else "–"


def write(name: str, lines: list[str]) -> None:
    """Put the lines between the two markers of that name on the page."""
    begin, end = f"<!-- {name}: written by perf/interval_coverage.py -->", f"<!-- end of {name} -->"
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(begin)
    after = rest.split(end)[1]
    PAGE.write_text(before + "\n".join([begin, *lines, end]) + after, encoding="utf-8")


def main() -> None:
    runs = QUICK if "--quick" in sys.argv[1:] else FULL
    started = time.perf_counter()
    tables = {
        "coverage": list(main_table(simulate(main_cells(), runs))),
        "small counts": list(small_table(simulate(small_cells(), runs))),
    }
    for name, lines in tables.items():
        print("\n".join([name, *lines]))
        if runs == FULL:
            write(name, lines)
    print(f"{runs.t:,} runs a cell, {runs.bootstrap:,} for the bootstrap: {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
