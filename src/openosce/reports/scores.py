"""The scores of a run as compact arrays: read once, and every table is made from them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openosce.errors import RunFolderError
from openosce.grading.record import ACCURACY, Missing
from openosce.runs.folder import MANIFEST, CaseRow, RunReader, ScoreRow

COUNTED_EVIDENCE = ("no_option", "ambiguous")
"""Codes of answers that are wrong because they choose nothing, or too much."""

_UNEXPLAINED = "no_reason_given"


@dataclass(frozen=True)
class Plan:
    """What the study planned to ask: every doctor, condition, case, trial and arm."""

    doctors: tuple[str, ...]
    conditions: tuple[str, ...]
    arms: tuple[str, ...]
    trials: int
    """Planned per case, condition and arm."""
    policy: str
    """The headline policy; scores of other policies stay out of the estimates."""


@dataclass(frozen=True)
class ScoreTable:
    """The planned answers' scores, arrays of shape (doctors, arms, cases, slots); a slot is a condition's trial."""

    plan: Plan
    cases: tuple[CaseRow, ...]
    values: NDArray[np.float64]
    """The score, NaN where it is missing."""
    reasons: NDArray[np.int16]
    """Why it is missing: an index into `reason_names`, -1 where it is not."""
    reason_names: tuple[str, ...]
    evidence: NDArray[np.int8]
    """Why it is wrong: an index into `COUNTED_EVIDENCE`, -1 for anything else."""

    def case_means(self) -> NDArray[np.float64]:
        """The mean over the valid trials, shape (doctors, arms, cases); NaN for a case without any."""
        valid = ~np.isnan(self.values)
        n_valid = valid.sum(axis=-1)
        total = np.where(valid, self.values, 0.0).sum(axis=-1)
        means = np.full(n_valid.shape, np.nan)
        np.divide(total, n_valid, out=means, where=n_valid > 0)
        return means


def read_plan(reader: RunReader) -> Plan:
    """Read from the manifest what was planned.

    Raises:
        RunFolderError: The manifest does not say it.
    """
    try:
        plan = reader.manifest["plan"]
        doctors, conditions, arms = (tuple(map(str, plan[key])) for key in ("doctors", "conditions", "arms"))
        return Plan(doctors, conditions, arms, int(plan["trials"]), str(reader.manifest["policy"]))
    except (KeyError, TypeError, ValueError):
        raise RunFolderError(
            f"{reader.folder / MANIFEST}: does not say what was planned: "
            "a plan with doctors, conditions, arms and trials, and a policy"
        ) from None


def read_scores(reader: RunReader, metric: str = ACCURACY) -> ScoreTable:
    """Read every planned answer's score under the headline policy: the mean over its grader's valid verdicts.

    Raises:
        RunFolderError: The run cannot be read, or does not say what was planned.
    """
    plan, cases = read_plan(reader), tuple(reader.cases())
    shape = (len(plan.doctors), len(plan.arms), len(cases), len(plan.conditions) * plan.trials)
    values = np.full(shape, np.nan)
    reasons = np.zeros(shape, dtype=np.int16)
    evidence = np.full(shape, -1, dtype=np.int8)
    n_verdicts = np.zeros(shape, dtype=np.int16)
    names = {Missing.NOT_RUN.value: 0}
    place_of = _Places(plan, cases)
    for row in reader.scores(metric):
        if row.score.policy != plan.policy or (place := place_of(row)) is None:
            continue
        value = row.score.value
        if value is not None:
            n_verdicts[place] += 1
            known = 0.0 if n_verdicts[place] == 1 else values[place]
            values[place] = known + (value - known) / n_verdicts[place]
            reasons[place] = -1
            evidence[place] = _evidence_code(row) if value == 0 else -1
        elif not n_verdicts[place]:
            reasons[place] = names.setdefault(_reason(row), len(names))
    return ScoreTable(plan, cases, values, reasons, tuple(names), evidence)


class _Places:
    """Where a score stands in the arrays; None for one that was not planned."""

    def __init__(self, plan: Plan, cases: tuple[CaseRow, ...]) -> None:
        self._trials = plan.trials
        self._doctors = {name: n for n, name in enumerate(plan.doctors)}
        self._arms = {name: n for n, name in enumerate(plan.arms)}
        self._cases = {case.id: n for n, case in enumerate(cases)}
        self._first_slots = {name: n * plan.trials for n, name in enumerate(plan.conditions)}

    def __call__(self, row: ScoreRow) -> tuple[int, int, int, int] | None:
        key = row.key
        doctor, arm = self._doctors.get(key.doctor), self._arms.get(row.arm)
        case, first_slot = self._cases.get(key.case_id), self._first_slots.get(key.condition)
        if doctor is None or arm is None or case is None or first_slot is None or not 0 <= key.trial < self._trials:
            return None
        return doctor, arm, case, first_slot + key.trial


def _reason(row: ScoreRow) -> str:
    """The kind of the reason, its detail left out; the answer's own where there is no answer to score."""
    reason = _kind(row.score.missing_reason)
    if reason == Missing.NO_ANSWER:
        reason = _kind(row.answer_missing_reason) or reason
    return reason or _UNEXPLAINED


def _kind(reason: str | None) -> str:
    return (reason or "").partition(":")[0].strip()


def _evidence_code(row: ScoreRow) -> int:
    code = _kind(row.score.evidence)
    return COUNTED_EVIDENCE.index(code) if code in COUNTED_EVIDENCE else -1
