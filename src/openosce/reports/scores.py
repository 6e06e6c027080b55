"""The scores of a run as compact arrays: read once, and every table is made from them."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openosce.grading.grader import OPTIONS
from openosce.grading.metric import Metric
from openosce.grading.record import Missing
from openosce.reports.plan import Plan, read_plan
from openosce.runs.folder import CaseRow, RunReader

COUNTED_EVIDENCE = ("no_option", "ambiguous", "no_diagnosis")
"""Codes of answers that are wrong because they choose nothing, or too much."""

_UNEXPLAINED = "no_reason_given"


@dataclass(frozen=True)
class Grading:
    """One way of grading all answers: a match policy, and who applied it."""

    policy: str
    graders: frozenset[str]
    """Whose scores count: a grader, and the rule that matches options."""
    other_grader: str | None = None
    """The grader, where it is not the study's own."""

    @property
    def name(self) -> str:
        """The name of a column: the policy, and the grader where it is another."""
        return self.policy if self.other_grader is None else f"{self.policy} by {self.other_grader}"


@dataclass(frozen=True)
class ScoreTable:
    """The planned answers' scores, arrays of shape (doctors, arms, cases, trials); an arm is a column of the plan."""

    plan: Plan
    metric: Metric
    cases: tuple[CaseRow, ...]
    values: NDArray[np.float64]
    """The score, NaN where it is missing."""
    reasons: NDArray[np.int16]
    """Why it is missing: an index into `reason_names`, -1 where it is not."""
    reason_names: tuple[str, ...]
    evidence: NDArray[np.int8]
    """Why it is wrong: an index into `COUNTED_EVIDENCE`, -1 for anything else."""
    gradings: tuple[Grading, ...]
    """The headline first, then the other policies, then other graders."""
    under: NDArray[np.float64]
    """The scores under each grading, one more axis in front: (gradings, doctors, arms, cases, trials)."""

    def case_means(self) -> NDArray[np.float64]:
        """The mean over the valid trials, shape (doctors, arms, cases); NaN for a case without any."""
        return mean_of_trials(self.values)


def mean_of_trials(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean over the last axis, of what is not NaN; NaN where nothing is left."""
    valid = ~np.isnan(values)
    return _ratio(np.where(valid, values, 0.0).sum(axis=-1), valid.sum(axis=-1))


def read_scores(reader: RunReader, metric: Metric | None = None, absent: str = Missing.NOT_RUN) -> ScoreTable:
    """Read every planned answer's score: under the headline policy by the study's grader, and under each other grading.

    A score is the mean over the valid verdicts of one grading.

    Args:
        reader: The run.
        metric: Which scores to read; the plan's headline, unless another is named.
        absent: The reason of a planned answer of which there is no trace.

    Raises:
        RunFolderError: The run cannot be read, or does not say what was planned.
    """
    plan, cases, places = _planned(reader)
    return _table(reader, plan, cases, places, metric or plan.headline, absent)


def read_every_metric(reader: RunReader, absent: str = Missing.NOT_RUN) -> list[ScoreTable]:
    """Read the scores of every planned metric, the headline first, as `read_scores` does for one.

    Raises:
        RunFolderError: The run cannot be read, or does not say what was planned.
    """
    plan, cases, places = _planned(reader)
    return [_table(reader, plan, cases, places, metric, absent) for metric in plan.metrics]


def _planned(reader: RunReader) -> "tuple[Plan, tuple[CaseRow, ...], _Places]":
    plan = read_plan(reader)
    cases = tuple(case for case in reader.cases() if case.id not in plan.development)
    return plan, cases, _Places(reader, plan, cases)


def _table(
    reader: RunReader, plan: Plan, cases: tuple[CaseRow, ...], places: "_Places", metric: Metric, absent: str
) -> ScoreTable:
    signatures = _signatures(reader, metric.name)
    gradings = _gradings(reader, plan, metric, signatures)
    sums, counts = _verdicts(reader, metric.name, signatures, places)
    under = np.full((len(gradings), places.size), np.nan)
    for n, grading in enumerate(gradings):
        kept = [s for s, (policy, grader) in enumerate(signatures) if _belongs(grading, policy, grader)]
        under[n] = _ratio(sums[kept].sum(axis=0), counts[kept].sum(axis=0))
    reasons, names, evidence = _explanations(reader, metric.name, gradings[0], places, absent)
    reasons[~np.isnan(under[0])] = -1
    evidence[under[0] != 0] = -1
    under = under.reshape(len(gradings), *places.shape)
    reasons = reasons.reshape(places.shape)
    for a, arm in enumerate(plan.arms):
        reasons[:, a, :, plan.trials_of(arm) :] = -1  # not asked, so nothing is missing
    arrays = under[0], reasons, names, evidence.reshape(places.shape)
    return ScoreTable(plan, metric, cases, *arrays, gradings, under)


class _Places:
    """Where an answer stands in the flattened arrays; answers that were not planned have no place."""

    def __init__(self, reader: RunReader, plan: Plan, cases: tuple[CaseRow, ...]) -> None:
        self.shape = (len(plan.doctors), len(plan.columns), len(cases), plan.trials)
        self.size = int(np.prod(self.shape))
        encounters = self._encounters(reader, plan, cases)
        step = len(cases) * plan.trials
        columns = {(column.condition, column.arm): n * step for n, column in enumerate(plan.columns)}
        found = []
        for answer_id, encounter_id, arm in reader.rows("SELECT id, encounter_id, arm FROM answers ORDER BY id"):
            first, condition = encounters.get(encounter_id, (-1, ""))
            if first >= 0 and (condition, arm) in columns:
                found.append((answer_id, first + columns[condition, arm]))
        self._answers, self._places = np.array(found, dtype=np.int64).reshape(-1, 2).T

    def _encounters(self, reader: RunReader, plan: Plan, cases: tuple[CaseRow, ...]) -> dict[int, tuple[int, str]]:
        """Of every planned encounter, where its answer would stand in the first column; and its condition."""
        _, n_columns, n_cases, n_trials = self.shape
        doctors = {name: n * n_columns * n_cases * n_trials for n, name in enumerate(plan.doctors)}
        rows = {case.id: n * n_trials for n, case in enumerate(cases)}
        return {
            encounter_id: (doctors[doctor] + rows[case_id] + trial, condition)
            for encounter_id, doctor, condition, case_id, trial in reader.rows(
                "SELECT id, doctor, condition, case_id, trial FROM encounters"
            )
            if doctor in doctors and case_id in rows and 0 <= trial < n_trials
        }

    def __call__(self, answer_ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place of each answer, -1 for one without."""
        if not len(self._answers):
            return np.full(answer_ids.shape, -1)
        at = np.searchsorted(self._answers, answer_ids).clip(max=len(self._answers) - 1)
        return np.where(self._answers[at] == answer_ids, self._places[at], -1)


def _signatures(reader: RunReader, metric: str) -> list[tuple[str, str]]:
    """The policies with those who applied them, in the order in which they first did."""
    sql = "SELECT DISTINCT policy, grader FROM scores WHERE metric = ?"
    return [(policy, grader) for policy, grader in reader.rows(sql, (metric,))]


def _gradings(
    reader: RunReader, plan: Plan, metric: Metric, signatures: Iterable[tuple[str, str]]
) -> tuple[Grading, ...]:
    """The headline, the study's grader under other policies, and others' gradings of the same answers."""
    policy_of_headline = metric.policy or plan.policy
    graders = {grader for policy, grader in signatures if policy == policy_of_headline}
    own = {_in_role(reader, metric.role), OPTIONS}
    headline = frozenset(graders & own or graders)
    own_graders = headline if not headline <= own else frozenset(grader for grader in own if grader is not None)
    found = [Grading(policy_of_headline, headline)]
    found += [Grading(policy, own_graders) for policy, grader in signatures if grader in own_graders]
    found += [
        Grading(policy, frozenset({grader, OPTIONS}), grader)
        for policy, grader in signatures
        if grader not in own_graders
    ]
    unique = {grading.name: grading for grading in reversed(found)}
    return tuple(unique[name] for name in dict.fromkeys(grading.name for grading in found))


def _in_role(reader: RunReader, role: str) -> str | None:
    """The model or rule that the study named in a role."""
    found: object = reader.manifest
    for key in ("study", "roles", role, "model"):
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, str) else None


def _belongs(grading: Grading, policy: str, grader: str) -> bool:
    return policy == grading.policy and grader in grading.graders


def _verdicts(
    reader: RunReader, metric: str, signatures: list[tuple[str, str]], places: _Places
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The sum and the number of the valid verdicts, each of shape (signatures, places)."""
    shape = (len(signatures), places.size)
    if not signatures:
        return np.zeros(shape), np.zeros(shape, dtype=np.int64)
    codes = " ".join(f"WHEN policy = ? AND grader = ? THEN {n}" for n in range(len(signatures)))
    sql = f"""SELECT answer_id, CASE WHEN typeof(value) IN ('real', 'integer') THEN value END, CASE {codes} END
              FROM scores WHERE metric = ?"""
    rows = reader.rows(sql, (*(name for signature in signatures for name in signature), metric))
    answers, values, signed = np.array(rows, dtype=np.float64).T
    found = places(answers.astype(np.int64))
    valid = (found >= 0) & np.isfinite(values)
    at = signed[valid].astype(np.int64) * places.size + found[valid]
    sums = np.bincount(at, weights=values[valid], minlength=shape[0] * shape[1]).astype(np.float64)
    counts = np.bincount(at, minlength=shape[0] * shape[1]).astype(np.int64)
    return sums.reshape(shape), counts.reshape(shape)


def _explanations(
    reader: RunReader, metric: str, headline: Grading, places: _Places, absent: str
) -> tuple[NDArray[np.int16], tuple[str, ...], NDArray[np.int8]]:
    """By place: why there is no score (an index into the names), and why it is wrong; the last one said counts."""
    reasons, names = np.zeros(places.size, dtype=np.int16), {str(absent): 0}
    evidence = np.full(places.size, -1, dtype=np.int8)
    counted = " OR ".join("s.evidence LIKE ?" for _ in COUNTED_EVIDENCE)
    sql = f"""SELECT s.answer_id, s.grader, s.value, s.evidence, s.missing_reason, a.missing_reason
              FROM scores s JOIN answers a ON a.id = s.answer_id
              WHERE s.metric = ? AND s.policy = ? AND (s.value IS NULL OR s.value = 0 AND ({counted}))
              ORDER BY s.rowid"""
    rows = reader.rows(sql, (metric, headline.policy, *(f"{code}%" for code in COUNTED_EVIDENCE)))
    found = places(np.array([row[0] for row in rows], dtype=np.int64))
    for place, (_, grader, value, said, *missing) in zip(found.tolist(), rows, strict=True):
        if place < 0 or grader not in headline.graders:
            continue
        if value is None:
            reasons[place] = names.setdefault(_reason(*missing), len(names))
        elif _kind(said) in COUNTED_EVIDENCE:
            evidence[place] = COUNTED_EVIDENCE.index(_kind(said))
    return reasons, tuple(names), evidence


def _reason(of_score: str | None, of_answer: str | None) -> str:
    """The kind of the reason, its detail left out; the answer's own where there is no answer to score."""
    reason = _kind(of_score)
    if reason == Missing.NO_ANSWER:
        reason = _kind(of_answer) or reason
    return reason or _UNEXPLAINED


def _kind(reason: str | None) -> str:
    return (reason or "").partition(":")[0].strip()


def _ratio(total: NDArray[np.float64], count: NDArray[np.int64]) -> NDArray[np.float64]:
    """The total by the count, NaN where there is nothing to count."""
    means = np.full(total.shape, np.nan)
    np.divide(total, count, out=means, where=count > 0)
    return means
