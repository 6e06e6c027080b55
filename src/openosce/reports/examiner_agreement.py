"""How far examiners agree with each other and with experts on the same answers, section by section.

Source: MedQA-CS 2024, section 4 (RQ1), Tables 5 and 6: Pearson's r and Kendall's tau-b over cases, of two experts, and
of an examiner and the experts' mean; Kendall's W over all experts. The intervals are ours.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openosce.grading.rubrics import AS_PUBLISHED, WITHOUT_EXTRAS
from openosce.grading.student_output import PHYSICAL_EXAM
from openosce.reports.examiner_marks import (
    EXAMINER,
    EXPERT,
    EXPERTS_MEAN,
    METRIC,
    Marks,
    Place,
    Rater,
    experts_mean,
    together,
)
from openosce.runs.folder import RunReader
from openosce.statistics import Agreement, kendall_tau_b, kendalls_w, pearson

_SEED, _RESAMPLES = 1, 2_000
_MEAN = Rater(EXPERTS_MEAN, EXPERTS_MEAN)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ExaminerAgreement:
    """How far two raters agree on one doctor's section or, by W alone, all raters of a kind."""

    model: str
    condition: str | None
    section: str
    raters: tuple[str, ...]
    kinds: tuple[str, ...]
    """Of each rater: examiner, metric, expert, or the mean of the experts."""
    n_cases: int
    """Cases that all of them marked."""
    difference: float | None
    """The mean of the first less the mean of the second over those cases, in points of 100; None for W."""
    pearson: Agreement | None = None
    tau_b: Agreement | None = None
    w: Agreement | None = None

    def to_json(self) -> dict[str, Any]:
        """One entry of `examiners`."""
        policy = WITHOUT_EXTRAS if self.section == PHYSICAL_EXAM else AS_PUBLISHED
        place = {"model": self.model, "condition": self.condition, "arm": self.section, "policy": policy}
        raters = [{"name": name, "kind": kind} for name, kind in zip(self.raters, self.kinds, strict=True)]
        measured = {"pearson": self.pearson, "kendall_tau_b": self.tau_b, "kendalls_w": self.w}
        shown = {name: asdict(found) if found else None for name, found in measured.items()}
        return {**place, "raters": raters, "n_cases": self.n_cases, "difference": self.difference, **shown}


def examiner_agreements(reader: RunReader, seed: int = _SEED, n_resamples: int = _RESAMPLES) -> list[ExaminerAgreement]:
    """Every two raters of every doctor's section, two metrics left out; none where a run has but one examiner.

    An answer counts for two raters where both marked it; a case's value is the mean over its answers that count.

    Args:
        reader: The run.
        seed: Of every interval; the same for all, so that no row depends on another.
        n_resamples: Of the cases, for every interval.

    Raises:
        RunFolderError: The run cannot be read.
    """
    statistics = _Statistics(seed, n_resamples)
    return [found for place, marks in together(reader) for found in _of_section(place, marks, statistics)]


@dataclass(frozen=True)
class _Statistics:
    """The three statistics, each with an interval made anew from the same seed."""

    seed: int
    n: int

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)

    def pearson(self, values: Array) -> Agreement:
        return pearson(values[:, 0], values[:, 1], rng=self.rng, n_resamples=self.n)

    def tau_b(self, values: Array) -> Agreement:
        return kendall_tau_b(values[:, 0], values[:, 1], rng=self.rng, n_resamples=self.n)

    def w(self, values: Array) -> Agreement:
        return kendalls_w(values, rng=self.rng, n_resamples=self.n)


def _of_section(place: Place, marks: Mapping[Rater, Marks], of: _Statistics) -> Iterator[ExaminerAgreement]:
    of_kind = {kind: [rater for rater in marks if rater.kind == kind] for kind in (EXPERT, EXAMINER, METRIC)}
    everyone, experts = dict(marks), of_kind[EXPERT]
    means = [rater for rater in marks if rater.kind == EXPERTS_MEAN]
    if not means and len(experts) > 1:
        everyone[_MEAN] = experts_mean(marks[rater] for rater in experts)
        means = [_MEAN]
    yield from (_pair(place, pair, everyone, of) for pair in combinations(experts, 2))
    yield from _concordance(place, experts, everyone, of)
    standard = means or experts
    for rater in (*of_kind[EXAMINER], *of_kind[METRIC]):
        yield from (_pair(place, (rater, other), everyone, of) for other in standard)
    yield from (_pair(place, pair, everyone, of) for pair in combinations(of_kind[EXAMINER], 2))
    yield from _concordance(place, of_kind[EXAMINER], everyone, of)
    for metric in of_kind[METRIC]:
        yield from (_pair(place, (metric, other), everyone, of) for other in of_kind[EXAMINER])


def _pair(place: Place, pair: tuple[Rater, Rater], marks: Mapping[Rater, Marks], of: _Statistics) -> ExaminerAgreement:
    values = by_case([marks[rater] for rater in pair])
    difference = float(values[:, 0].mean() - values[:, 1].mean()) if len(values) else None
    names, kinds = _names(pair)
    return ExaminerAgreement(*place, names, kinds, len(values), difference, of.pearson(values), of.tau_b(values))


def _concordance(
    place: Place, raters: list[Rater], marks: Mapping[Rater, Marks], of: _Statistics
) -> Iterator[ExaminerAgreement]:
    """W of three raters of a kind or more; of two it says nothing that tau does not."""
    if len(raters) > 2:
        values = by_case([marks[rater] for rater in raters])
        names, kinds = _names(raters)
        yield ExaminerAgreement(*place, names, kinds, len(values), None, w=of.w(values))


def _names(raters: Iterable[Rater]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    raters = tuple(raters)
    return tuple(rater.name for rater in raters), tuple(rater.kind for rater in raters)


def by_case(marks: list[Marks]) -> Array:
    """The raters' marks case by case, shape (n_cases, n_raters): means over the trials that all of them marked.

    A rater who marked a case as a whole (trial None) marked every trial of it alike.
    """
    turns = {turn for of_rater in marks for turn in of_rater}
    whole = {case_id for case_id, trial in turns if trial is None}
    trials: dict[str, set[int | None]] = {}
    for case_id, trial in turns:
        trials.setdefault(case_id, set()).add(trial)
    rows = []
    for case_id in sorted(trials):
        told = trials[case_id] - {None} or {None}
        rows_of_case = [_row(marks, case_id, trial, case_id in whole) for trial in told]
        complete = [row for row in rows_of_case if None not in row]
        if complete:
            rows.append(np.array(complete, dtype=np.float64).mean(axis=0))
    return np.array(rows, dtype=np.float64).reshape(-1, len(marks))


def _row(marks: list[Marks], case_id: str, trial: int | None, is_whole: bool) -> list[float | None]:
    found = [of_rater.get((case_id, trial)) for of_rater in marks]
    if not is_whole:
        return found
    return [
        of_rater.get((case_id, None)) if value is None else value for value, of_rater in zip(found, marks, strict=True)
    ]
