"""Accuracies corrected for a grader that experts have checked."""

import sqlite3

import numpy as np
import pytest

from openosce.grading import Rating
from openosce.reports.corrected import corrected_accuracies, corrected_sheet
from openosce.runs.folder import RunReader, RunWriter
from openosce.statistics import rogan_gladen

N_CASES = 200
DOCTORS, ARMS = ["a/b"], ["vignette_mcq", "vignette_frq", "multi_turn_frq"]


def with_grader(manifest):
    manifest["study"]["roles"]["grader"] = {"model": "builtin/lexicon"}
    return manifest


@pytest.fixture
def run(tmp_path, records):
    """A grader that misses every tenth right answer and lets every fifth wrong one pass; half of the answers right."""
    cases = [records.case(f"case-{n:03}", "Dermatology") for n in range(N_CASES)]
    trials, ratings = [], []
    for n, case in enumerate(cases):
        right = n % 2 == 0
        verdict = (n // 2) % 10 != 0 if right else (n // 2) % 5 == 0
        answers = [records.answer(arm, float(verdict)) for arm in ARMS]
        trials.append(records.trial("a/b", case.id, 0, answers))
        count = 1.0 if right else 0.0
        ratings.append(Rating("a/b", case.id, "expert-1", "grader_count", count, arm="vignette_frq"))
    folder = records.write(tmp_path / "run", with_grader(records.manifest(DOCTORS, ARMS, 1)), cases, trials)
    return folder, ratings


def test_without_a_checked_grader_nothing_is_corrected(run):
    folder, _ = run
    with RunReader(folder) as reader:
        assert corrected_accuracies(reader) == ()
        assert corrected_sheet(()) is None


def test_the_truth_comes_back_in_free_responses_and_multiple_choice_stays_out(run):
    folder, ratings = run
    with RunWriter(folder) as writer:
        for rating in ratings:
            writer.write(rating)
    with RunReader(folder) as reader:
        rows = corrected_accuracies(reader)
        again = corrected_accuracies(reader)
    assert rows == again  # the same seed
    assert [row.arm for row in rows] == ["vignette_frq", "multi_turn_frq"]
    for row in rows:
        assert row.graded.mean == pytest.approx(0.55)
        assert row.corrected.mean == pytest.approx(rogan_gladen(0.55, 0.9, 0.8).value) == pytest.approx(0.5)
        assert row.corrected.ci_low < 0.5 < row.corrected.ci_high
        assert row.corrected.ci_high - row.corrected.ci_low > row.graded.ci_high - row.graded.ci_low
    sheet = corrected_sheet(rows)
    assert "checked on a/b, vignette_frq, 200 cases of Dermatology" in sheet.notes[0]
    assert np.isfinite(float(sheet.rows[0][3].split()[0]))


def test_a_grader_that_repeats_its_verdicts_is_checked_like_one_that_does_not(run):
    folder, ratings = run
    with RunWriter(folder) as writer:
        for rating in ratings:
            writer.write(rating)
    with RunReader(folder) as reader:
        once = corrected_accuracies(reader)
    connection = sqlite3.connect(folder / "run.db")
    with connection:
        connection.execute("INSERT INTO scores SELECT * FROM scores")
    connection.close()
    with RunReader(folder) as reader:
        assert corrected_accuracies(reader) == once != ()
