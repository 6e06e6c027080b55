"""Accuracies corrected for the grader's errors, where experts have checked the grader."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from openosce.grading.record import ACCURACY
from openosce.reports.grader_checks import GraderCheck, grader_checks
from openosce.reports.scores import ScoreTable, read_scores
from openosce.reports.sheets import NOTHING, Sheet, interval
from openosce.runs.folder import RunReader
from openosce.statistics import Estimate, corrected_accuracy, mean_over_cases

SEED = 1


@dataclass(frozen=True)
class Corrected:
    """One doctor's accuracy in one arm, as graded and corrected."""

    model: str
    arm: str
    checked_on: str
    """Whose answers the experts have checked, in words."""
    graded: Estimate
    corrected: Estimate

    def to_json(self) -> dict[str, Any]:
        """One entry of `corrected`."""
        place = {"model": self.model, "arm": self.arm, "metric": ACCURACY, "checked_on": self.checked_on}
        return place | {"graded": asdict(self.graded), "corrected": asdict(self.corrected)}


def corrected_accuracies(reader: RunReader, seed: int = SEED) -> tuple[Corrected, ...]:
    """Correct every arm that the checked grader graded; none where no expert has checked it.

    The grader's rates come from the cases on which the expert holds all trials right, or all wrong.

    Args:
        reader: The run.
        seed: Of every interval; the caller's choice.

    Raises:
        RunFolderError: The run cannot be read.
    """
    checks = grader_checks(reader)
    if not checks:
        return ()
    table = read_scores(reader)
    return tuple(row for check in checks for row in _corrected(table, check, seed))


def _corrected(table: ScoreTable, check: GraderCheck, seed: int) -> Iterator[Corrected]:
    verdicts, truth = check.unanimous
    places = {case.id: case for case in table.cases}
    kinds = sorted({places[case_id].specialty or "no specialty" for case_id in check.case_ids if case_id in places})
    checked_on = f"{check.doctor}, {check.arm}, {len(truth)} cases of {', '.join(kinds)}"
    means = table.case_means()
    for d, doctor in enumerate(table.plan.doctors):
        for a, column in enumerate(table.plan.columns):
            if column.arm.endswith("_mcq"):  # a rule reads the options; no grader takes part
                continue
            values = means[d, a][~np.isnan(means[d, a])]
            found = corrected_accuracy(values, verdicts, truth, rng=np.random.default_rng(seed))
            yield Corrected(doctor, column.label, checked_on, mean_over_cases(values), found)


def corrected_sheet(rows: tuple[Corrected, ...]) -> Sheet | None:
    """The corrected accuracies beside the graded ones; None where there are none."""
    if not rows:
        return None
    cells = tuple((row.model, row.arm, _told(row.graded), _told(row.corrected)) for row in rows)
    checked = tuple(dict.fromkeys(row.checked_on for row in rows))
    outside = any(row.corrected.mean is not None and not 0 <= row.corrected.mean <= 1 for row in rows)
    notes = (
        *(f"the grader was checked on {one}" for one in checked),
        "the correction takes the grader to err as often everywhere: on other specialties, models and arms nobody "
        "has checked it",
        "intervals of the correction carry the chance in the cases and in the checked ones",
        *(["a corrected accuracy below 0 or above 1 shows that it errs otherwise there"] if outside else []),
    )
    heads = ("doctor", "arm", "as graded\n[95% interval]", "corrected\n[95% interval]")
    return Sheet("Accuracy corrected for the grader", heads, cells, notes, prose=(0, 1))


def _told(found: Estimate) -> str:
    return interval(found.mean, found.ci_low, found.ci_high, found.n_cases) if found.mean is not None else NOTHING
