"""The figures of the CRAFT-MD article, from its authors' released marks of every answer."""

import csv
import gzip
from functools import cache
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from openosce.statistics import benjamini_hochberg, centred_bootstrap_p, clustering, holm

MODEL, RELEASED_AS = "Mistral-v2-7b", "mistral-v2"
N_TRIALS = 5


@cache
def marks(folder: Path) -> dict[tuple[str, str], NDArray[np.float64]]:
    """The marks of every model and arm, shape (n_cases, N_TRIALS), cases in file order, NaN where invalid."""
    by_case: dict[tuple[str, str], dict[str, list[float]]] = {}
    with gzip.open(folder / "correctness_gpt4_gpt35_mistral-v2.csv.gz", "rt", newline="") as file:
        for row in csv.DictReader(file):
            arm = row["experiment"].replace("turn", "_turn")
            mark = float(row["correct"]) if row["valid"] == "1" else np.nan
            by_case.setdefault((row["model"], arm), {}).setdefault(row["case_id"], []).append(mark)
    return {
        place: np.array([trials + [np.nan] * (N_TRIALS - len(trials)) for trials in cases.values()])
        for place, cases in by_case.items()
    }


def published_case_means(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean over a case's valid trials, 0 where it has none: the article's rule, not ours."""
    return np.nan_to_num(scores, nan=0.0).sum(axis=1) / np.maximum(1, (~np.isnan(scores)).sum(axis=1))


def published_tests(folder: Path, table: str) -> list[dict[str, str]]:
    with (folder / "published" / "p_values.csv").open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["table"] == table]


@pytest.fixture
def craft_md(shared: Path) -> Path:
    return shared / "data" / "craft-md"


@pytest.mark.parametrize(("table", "question"), [("2", "mcq"), ("5", "frq")])
def test_the_published_p_are_reproduced_to_the_last_place(craft_md, table, question):
    tests = [row for row in published_tests(craft_md, table) if row["model"] == MODEL]
    assert len(tests) == 6
    for row in tests:
        a, b = (published_case_means(marks(craft_md)[RELEASED_AS, f"{row[side]}_{question}"]) for side in ("a", "b"))
        ours = centred_bootstrap_p(a, b, rng=np.random.RandomState(20), as_published=True)
        assert ours.n_cases == 2004
        assert round(ours.p, 4) == float(row["p"]), row


@pytest.mark.parametrize("table", ["2", "5"])
def test_what_the_article_calls_holm_is_benjamini_hochberg_over_the_table(craft_md, table):
    tests = published_tests(craft_md, table)
    assert len(tests) == 24
    adjusted = benjamini_hochberg([float(row["p"]) for row in tests])  # of rounded p, so the last place may differ
    assert adjusted == pytest.approx([float(row["p_adjusted"]) for row in tests], abs=1.01e-4)


@pytest.mark.parametrize("figure", ["fig2c", "fig3c"])
def test_the_preprint_did_use_holm_within_each_model(craft_md, figure):
    with (craft_md / "preprint_2023_statistics" / f"{figure}_stats.tsv").open(encoding="utf-8", newline="") as file:
        rows = sorted(csv.DictReader(file, delimiter="\t"), key=lambda row: row["GPT_model"])
    for _, family in groupby(rows, key=lambda row: row["GPT_model"]):
        tests = list(family)
        adjusted = holm([float(row["pvalue"]) for row in tests])
        assert adjusted == pytest.approx([float(row["corrected_pvalue"]) for row in tests])


@pytest.mark.parametrize(
    ("question", "icc", "design_effect"), [("frq", (0.43, 0.88), (2.7, 4.5)), ("mcq", (0.47, 1.00), (2.9, 5.0))]
)
def test_trials_of_one_case_are_as_alike_as_the_protocol_says(craft_md, question, icc, design_effect):
    arms = [clustering(scores) for (_, arm), scores in marks(craft_md).items() if arm.endswith(question)]
    assert len(arms) == 12
    correlations, effects = [arm.icc for arm in arms], [arm.design_effect for arm in arms]
    assert (min(correlations), max(correlations)) == pytest.approx(icc, abs=0.005)
    assert (min(effects), max(effects)) == pytest.approx(design_effect, abs=0.05)


def test_five_trials_that_never_differ_carry_the_information_of_one(craft_md):
    ours = clustering(marks(craft_md)[RELEASED_AS, "vignette_mcq"])
    assert (ours.icc, ours.n_answers, ours.n_effective) == pytest.approx((1, 10_020, 2_004))
