"""Where an expert counted how many of a case's trials are right: the grader's verdicts on the same answers."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openosce.grading.record import ACCURACY
from openosce.runs.folder import RunReader

GRADER_COUNT = "grader_count"
"""Item of a rating that says how many of a case's trials are right: what a grader is checked against."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class GraderCheck:
    """One doctor's arm as the grader and an expert count its right trials, case by case."""

    doctor: str
    arm: str
    rater: str
    case_ids: tuple[str, ...]
    expert: Array
    """Shape (n_cases,): right trials of `n_trials`."""
    grader: Array
    n_trials: int
    n_left_out: int
    """Cases that the expert did not rate from 0 to all trials, or of which the grader has not judged every trial."""

    @property
    def unanimous(self) -> tuple[Array, Array]:
        """Where the expert calls all trials of a case right, or all wrong: the share of them that the grader calls
        right, and the truth, 1 or 0; each of shape (n_unanimous,)."""
        is_known = (self.expert == 0) | (self.expert == self.n_trials)
        return self.grader[is_known] / self.n_trials, (self.expert[is_known] > 0).astype(float)


def grader_checks(reader: RunReader) -> list[GraderCheck]:
    """Every arm of a doctor of which an expert counted the right trials, beside the grader's headline verdicts.

    Raises:
        RunFolderError: The run cannot be read.
    """
    counts: dict[tuple[str, str, str], dict[str, float | None]] = defaultdict(dict)
    for rating in reader.ratings():
        if rating.item == GRADER_COUNT and rating.arm:
            counts[rating.doctor, rating.arm, rating.rater][rating.case_id] = rating.value
    found = (_check(reader, place, of_expert) for place, of_expert in counts.items())
    return [check for check in found if check.case_ids]


def _check(reader: RunReader, place: tuple[str, str, str], of_expert: Mapping[str, float | None]) -> GraderCheck:
    doctor, arm, rater = place
    n_trials = int(reader.manifest["plan"]["trials"])
    of_grader = _right_trials(reader, doctor, arm, n_trials)
    rated = {case_id: value for case_id, value in of_expert.items() if value is not None and 0 <= value <= n_trials}
    both = [(case_id, value) for case_id, value in rated.items() if case_id in of_grader]
    case_ids = tuple(case_id for case_id, _ in both)
    expert = np.array([value for _, value in both], dtype=float)
    grader = np.array([of_grader[case_id] for case_id in case_ids], dtype=float)
    return GraderCheck(doctor, arm, rater, case_ids, expert, grader, n_trials, len(of_expert) - len(both))


def _right_trials(reader: RunReader, doctor: str, arm: str, n_trials: int) -> dict[str, float]:
    """By case, how many trials the study's grader calls right under the study's policy, where it judged all of them."""
    # A grader that repeats its verdict counts as one: with the mean of its verdicts on a trial.
    sql = """SELECT case_id, SUM(verdict) FROM (
                 SELECT case_id, AVG(value) AS verdict FROM scores s JOIN answers a ON a.id = s.answer_id
                 JOIN encounters e ON e.id = a.encounter_id
                 WHERE doctor = ? AND arm = ? AND metric = ? AND policy = ? AND grader = ? GROUP BY a.id)
             GROUP BY case_id HAVING COUNT(verdict) = ?"""
    grader = reader.manifest["study"].get("roles", {}).get("grader", {}).get("model")
    return dict(reader.rows(sql, (doctor, arm, ACCURACY, reader.manifest["policy"], grader, n_trials)))
