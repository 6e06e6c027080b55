"""The agreement of experts, and of graders with them, from the two articles' released data."""

import csv
import gzip
import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from openosce.statistics import (
    cohens_kappa,
    corrected_accuracy,
    count_agreement,
    detection,
    kendall_tau_b,
    kendalls_w,
    pearson,
)

CASES = [str(number) for number in range(1, 11)]
CLOSURE_MAXIMA = np.array([20, 30, 30, 10, 10])
CLOSURE_WEIGHTS = np.array([0.2, 0.4, 0.2, 0.1, 0.1])
CRITERIA = ["s1", "s2", "s3", "s4", "s5"]


def seeded() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.fixture
def sheets(shared: Path) -> dict:
    return json.loads((shared / "data" / "medqa-cs" / "expert_annotations.json").read_text(encoding="utf-8"))


def of_experts(sheet: dict, *columns: str) -> NDArray[np.float64]:
    """What the three experts gave: shape (10 cases, 3 experts, columns)."""
    return np.array([[[float(expert[name]) for name in columns] for expert in sheet[case]] for case in CASES])


def closure_total(parts: NDArray[np.float64]) -> NDArray[np.float64]:
    """As published, of parts on 0 to 100 each: the sum of the points does not give the printed correlations."""
    return 100 * parts / CLOSURE_MAXIMA @ CLOSURE_WEIGHTS


def corrected(parts: NDArray[np.float64]) -> NDArray[np.float64]:
    """The two misprints mended: case 4, expert 2, challenging question; case 8, expert 1, compassion."""
    mended = parts.copy()
    assert (mended[3, 1, 2], mended[7, 0, 4]) == (15, 5)
    mended[3, 1, 2], mended[7, 0, 4] = 25, 10
    return mended


def pairs(ratings: NDArray[np.float64], statistic) -> list[float]:
    """Expert 1 with 2, 1 with 3, 2 with 3: the order in which the article prints them."""
    return [statistic(ratings[:, i], ratings[:, j], rng=seeded()).value for i, j in combinations(range(3), 2)]


def test_the_closure_correlations_are_as_published_once_two_misprints_are_mended(sheets):
    parts = of_experts(sheets["closure"], *CRITERIA)
    total = closure_total(corrected(parts))
    assert pairs(total, pearson) == pytest.approx([0.893, 0.870, 0.865], abs=5e-4)
    assert pairs(total, kendall_tau_b) == pytest.approx([0.654, 0.676, 0.575], abs=5e-4)
    assert np.round(pairs(total, kendall_tau_b), 2) == pytest.approx([0.65, 0.68, 0.58])  # Table 5
    assert pairs(closure_total(parts), pearson) != pytest.approx([0.893, 0.870, 0.865], abs=0.1)
    assert pairs(corrected(parts).sum(axis=2), pearson) != pytest.approx([0.893, 0.870, 0.865], abs=0.05)


def test_the_physical_exam_correlations_are_of_coverage_and_reasons_without_the_deductions(sheets):
    total = of_experts(sheets["physical_exam"], "s1", "s2").sum(axis=2)
    assert pairs(total, pearson) == pytest.approx([0.936, 0.991, 0.926], abs=5e-4)
    assert pairs(total, kendall_tau_b) == pytest.approx([0.553, 0.950, 0.553], abs=5e-4)


def test_the_diagnosis_correlations_are_of_the_per_cent_of_the_maximum(sheets):
    total = of_experts(sheets["diagnosis"], "pct")[:, :, 0]
    assert pairs(total, pearson) == pytest.approx([0.948, 0.912, 0.885], abs=5e-4)


def test_the_concordance_of_diagnosis_is_as_published_with_ties_and_without(sheets):
    total = of_experts(sheets["diagnosis"], "pct")[:, :, 0]
    ours = kendalls_w(total, rng=seeded())
    assert round(ours.value, 2) == 0.91
    tied = sum(count**3 - count for column in total.T for count in np.unique(column, return_counts=True)[1])
    assert tied > 0
    assert ours.value * (1 - tied / (3 * (10**3 - 10))) == pytest.approx(0.909, abs=5e-4)  # as if no case were tied


@pytest.mark.parametrize(
    ("table", "examiner", "r", "tau"),
    [
        ("table33", "GPT-4", 0.924, 0.529),
        ("table40", "GPT-4", 0.469, 0.469),
        ("table40", "GPT-4o", 0.761, 0.371),
        ("table40", "Opus", 0.754, 0.247),
        ("table40", "Sonnet", -0.086, -0.119),
        ("table40", "Haiku", -0.023, 0.232),
        ("table40", "GPT-3.5", 0.251, 0.125),
    ],
)
def test_the_examiners_correlate_with_the_experts_as_the_protocol_says(sheets, table, examiner, r, tau):
    scores = np.array([sheets[table][case] for case in CASES], dtype=float)
    of_examiner = scores[:, sheets["columns"].index(examiner)]
    assert pearson(scores[:, 0], of_examiner, rng=seeded()).value == pytest.approx(r, abs=5e-4)
    assert kendall_tau_b(scores[:, 0], of_examiner, rng=seeded()).value == pytest.approx(tau, abs=5e-4)


@pytest.fixture
def dermatology(shared: Path) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The shares of right diagnoses in a case's trials by the grader and by the dermatologist, NaN where blank."""
    folder = shared / "data" / "craft-md"
    with (folder / "cases.csv").open(encoding="utf-8", newline="") as file:
        cases = [row["case_id"] for row in csv.DictReader(file) if row["category"] == "Dermatology"]
    with (folder / "expert_annotations" / "validation_graderai.csv").open(encoding="utf-8", newline="") as file:
        counts = next(row[1:] for row in csv.reader(file) if row and row[0] == "dermatologist_accuracy")
    marks: dict[str, list[float]] = {case: [] for case in cases}
    with gzip.open(folder / "correctness_gpt4_gpt35_mistral-v2.csv.gz", "rt", newline="") as file:
        for row in csv.DictReader(file):
            if (row["model"], row["experiment"]) == ("gpt4_1106", "vignette_frq") and row["case_id"] in marks:
                marks[row["case_id"]].append(float(row["correct"]))
    grader = np.array([np.mean(trials) for trials in marks.values()])
    expert = np.array([float(count) / 5 if count.strip() else np.nan for count in counts])
    return grader, expert


def test_the_grader_and_the_dermatologist_count_alike_as_the_article_prints(dermatology):
    found = count_agreement(*dermatology, 1, rng=seeded())
    assert (round(100 * found.value, 2), found.n_cases) == (93.35, 310)


def test_the_grader_finds_what_dermatologists_call_right_as_often_as_the_protocol_says(dermatology):
    grader, expert = dermatology
    unanimous = np.where((expert == 0) | (expert == 1), expert, np.nan)
    ours = detection(grader, unanimous, rng=seeded())
    assert (ours.sensitivity.value, ours.specificity.value) == pytest.approx((0.966, 0.881), abs=5e-4)
    assert ours.sensitivity.n_cases + ours.specificity.n_cases == (~np.isnan(unanimous)).sum()
    assert cohens_kappa(grader, expert, "linear", rng=seeded()).n_cases == 310


def test_the_corrected_accuracy_holds_what_the_dermatologists_found(dermatology):
    grader, expert = dermatology
    unanimous = np.where((expert == 0) | (expert == 1), expert, np.nan)
    ours = corrected_accuracy(grader, grader, unanimous, rng=seeded())
    assert ours.n_cases == 317
    assert ours.ci_low < np.nanmean(expert) < ours.ci_high
