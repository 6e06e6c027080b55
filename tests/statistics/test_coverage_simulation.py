"""The simulation behind docs/intervals.md, in small; the page must show what it writes."""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from openosce.statistics import clustering, mean_over_cases

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "intervals.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def simulation() -> ModuleType:
    """perf/interval_coverage.py by its path: another package is called coverage."""
    spec = importlib.util.spec_from_file_location("interval_coverage", ROOT / "perf" / "interval_coverage.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def written(name: str) -> list[list[str]]:
    """The rows of a table of the page, its head left out."""
    begin, end = f"<!-- {name}: written by perf/interval_coverage.py -->", f"<!-- end of {name} -->"
    text = re.search(f"{begin}\n(.*?){end}", PAGE, re.DOTALL)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text[1].splitlines()[2:]]


def test_the_simulated_answers_have_the_accuracy_and_the_correlation_asked_for(simulation):
    right = simulation.right_answers(simulation.Cell(0.2, 0.6, 4_000), 1, np.random.default_rng(1))[0]
    answers = np.arange(simulation.TRIALS) < right[:, None]
    assert answers.mean() == pytest.approx(0.2, abs=0.02)
    assert clustering(answers).icc == pytest.approx(0.6, abs=0.03)


def test_the_simulated_interval_is_the_one_we_print(simulation):
    means = simulation.right_answers(simulation.Cell(0.5, 0.3, 30), 3, np.random.default_rng(1)) / simulation.TRIALS
    low, high = simulation.t_bounds(means.mean(axis=1), means.std(axis=1, ddof=1), 30)
    for row, bounds in zip(means, zip(low, high, strict=True), strict=True):
        estimate = mean_over_cases(row)
        assert bounds == pytest.approx((estimate.ci_low, estimate.ci_high))


def test_intervals_over_cases_hold_and_the_naive_one_does_not(simulation):
    found = simulation.coverage(simulation.Cell(0.5, 0.6, 100), simulation.Runs(2_000, 200), np.random.default_rng(1))
    assert found.t == pytest.approx(0.95, abs=0.02)
    assert found.bootstrap == pytest.approx(0.95, abs=0.05)
    assert found.naive < 0.8
    assert found.no_interval == 0


def test_a_warning_leaves_few_wrong_intervals_unsaid(simulation):
    cell, rng = simulation.Cell(0.02, 0.6, 100), np.random.default_rng(1)
    found = simulation.coverage(cell, simulation.Runs(2_000, 200), rng)
    assert found.t < 0.9
    assert found.no_interval > 0.01
    assert found.wrong_unwarned < 0.01


def test_the_page_shows_every_cell(simulation):
    cells = [(f"{p:g}", f"{rho:g}") for p in simulation.ACCURACIES for rho in simulation.CORRELATIONS]
    table = written("coverage")
    assert [tuple(row[:2]) for row in table] == cells
    assert {len(row) for row in table} == {2 + 3 * len(simulation.CASES)}
    assert [row[0] for row in written("small counts")] == [str(count) for count in simulation.SMALL_COUNTS]


def test_the_page_bears_out_what_it_says():
    by_place = {(float(p), float(rho)): [float(share) for share in shares] for p, rho, *shares in written("coverage")}
    middle = [row for (p, _), row in by_place.items() if p == 0.5]
    assert all(abs(share - 95) < 1.5 for row in middle for share in row[0::3]), "t at an accuracy of one half"
    assert all(share < 85 for (_, rho), row in by_place.items() if rho for share in row[2::3]), "naive, correlated"
    for count, *figures in written("small counts"):
        unwarned = [float(share) for share in figures[2::3] if share != "–"]
        assert all(share < 7 for share in unwarned), count


def test_the_example_of_the_page_runs():
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {}
    exec(example, names)
    assert names["result"].differences[0, 1].n_cases == 5
