"""How far the experts of a run agree with each other, and the grader with them."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from openosce.grading.record import ACCURACY, Rating
from openosce.reports.sheets import NOTHING, Sheet, interval
from openosce.runs.folder import RunReader
from openosce.statistics import (
    Agreement,
    cohens_kappa,
    detection,
    gwet_ac1,
    kendall_tau_b,
    kendalls_w,
    pearson,
    raw_agreement,
    spearman,
)

GRADER_COUNT = "grader_count"
"""Item of a rating that says how many of a case's trials are right: what a grader is checked against."""

Array = NDArray[np.float64]
Question = tuple[str, str]
"""Arm, or nothing, and item."""
_Place = tuple[str, str | None, str, int | None]
"""Doctor, condition, case, trial: what is rated."""
_Statistic = Callable[[Array], Agreement]

_NOT_CASES = "what was rated counts as a case of its own, also where several doctors met the same case"
_TIES = "a rater who was asked only where others disagreed agrees with each of them less than on all cases"


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
    """Cases that the expert did not rate, or of which the grader has not judged every trial."""

    @property
    def agreement(self) -> float:
        """One less the mean difference of the two counts, as a share of the trials."""
        return float(1 - np.abs(self.expert - self.grader).mean() / self.n_trials)


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
    both = [(case_id, value) for case_id, value in of_expert.items() if value is not None and case_id in of_grader]
    case_ids = tuple(case_id for case_id, _ in both)
    expert = np.array([value for _, value in both], dtype=float)
    grader = np.array([of_grader[case_id] for case_id in case_ids], dtype=float)
    return GraderCheck(doctor, arm, rater, case_ids, expert, grader, n_trials, len(of_expert) - len(both))


def _right_trials(reader: RunReader, doctor: str, arm: str, n_trials: int) -> dict[str, float]:
    """By case, how many trials the study's grader calls right under the study's policy, where it judged all of them."""
    sql = """SELECT case_id, SUM(value) FROM scores s JOIN answers a ON a.id = s.answer_id
             JOIN encounters e ON e.id = a.encounter_id
             WHERE doctor = ? AND arm = ? AND metric = ? AND policy = ? AND grader = ?
             GROUP BY case_id HAVING COUNT(value) = ?"""
    grader = reader.manifest["study"].get("roles", {}).get("grader", {}).get("model")
    return dict(reader.rows(sql, (doctor, arm, ACCURACY, reader.manifest["policy"], grader, n_trials)))


def expert_sheets(reader: RunReader, seed: int = 1, n_resamples: int = 2_000) -> list[Sheet]:
    """The tables on the experts of a run: none where it has no ratings by two raters, or of a grader's verdicts.

    Args:
        reader: The run.
        seed: Of every interval; the caller's choice.
        n_resamples: Of every interval.

    Raises:
        RunFolderError: The run cannot be read.
    """
    resamples = _Resamples(seed, n_resamples)
    by_question: dict[Question, list[Rating]] = defaultdict(list)
    for rating in reader.ratings():
        if rating.value is not None:
            by_question[rating.arm or "", rating.item].append(rating)
    tables = {question: _Marks(ratings) for question, ratings in by_question.items()}
    yes_no = {question: marks for question, marks in tables.items() if marks.is_yes_no}
    numbers = {question: marks for question, marks in tables.items() if not marks.is_yes_no}
    found = [_yes_no_sheet(yes_no, resamples), _number_sheet(numbers, resamples)]
    return [*(sheet for sheet in found if sheet.rows), *_grader_sheets(reader, resamples)]


@dataclass(frozen=True)
class _Resamples:
    """How every interval is made: anew from the same seed, so that no row depends on another."""

    seed: int
    n: int

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)


class _Marks:
    """The ratings of one question as an array: what was rated down, raters across, NaN for not rated."""

    def __init__(self, ratings: Sequence[Rating]) -> None:
        places: dict[_Place, int] = {}
        self.raters = tuple(dict.fromkeys(rating.rater for rating in ratings))
        rows = [places.setdefault((r.doctor, r.condition, r.case_id, r.trial), len(places)) for r in ratings]
        self.values = np.full((len(places), len(self.raters)), np.nan)
        for row, rating in zip(rows, ratings, strict=True):
            self.values[row, self.raters.index(rating.rater)] = rating.value
        self.is_yes_no = all(rating.value in (0, 1) for rating in ratings)

    def pairs(self) -> Iterable[tuple[str, Array]]:
        """Every two raters who rated anything together, with what both rated."""
        for a, b in combinations(range(len(self.raters)), 2):
            both = self.values[:, [a, b]]
            both = both[~np.isnan(both).any(axis=1)]
            if len(both):
                yield f"{self.raters[a]}, {self.raters[b]}", both


def _yes_no_sheet(tables: Mapping[Question, _Marks], resamples: _Resamples) -> Sheet:
    with_rng: tuple[_Statistic, ...] = (
        lambda both: raw_agreement(both, rng=resamples.rng, n_resamples=resamples.n),
        lambda both: cohens_kappa(both[:, 0], both[:, 1], rng=resamples.rng, n_resamples=resamples.n),
        lambda both: gwet_ac1(both, 2, rng=resamples.rng, n_resamples=resamples.n),
    )
    heads = ("question", "raters", "rated\nby both", "agreement", "Cohen's\nkappa", "Gwet's\nAC1")
    notes = _Notes()
    rows = [
        (_name(question), raters, str(len(both)), *(notes.cell(of(both)) for of in with_rng))
        for question, marks in tables.items()
        for raters, both in marks.pairs()
    ]
    return Sheet("Experts: yes or no", heads, tuple(rows), (*notes.lines, _NOT_CASES, _TIES), prose=(0, 1))


def _number_sheet(tables: Mapping[Question, _Marks], resamples: _Resamples) -> Sheet:
    with_rng: tuple[_Statistic, ...] = (
        lambda both: pearson(both[:, 0], both[:, 1], rng=resamples.rng, n_resamples=resamples.n),
        lambda both: kendall_tau_b(both[:, 0], both[:, 1], rng=resamples.rng, n_resamples=resamples.n),
    )
    heads = ("question", "raters", "rated\nby all", "Pearson's r", "Kendall's\ntau-b", "Kendall's W")
    notes = _Notes()
    rows = []
    for question, marks in tables.items():
        found = [(raters, str(len(both)), *(notes.cell(of(both)) for of in with_rng)) for raters, both in marks.pairs()]
        rows += [(_name(question), *cells, NOTHING) for cells in found]
        if len(marks.raters) > 2 and found:
            of_all = kendalls_w(marks.values, rng=resamples.rng, n_resamples=resamples.n)
            n_raters = f"all {len(marks.raters)}"
            rows.append((_name(question), n_raters, str(of_all.n_cases), NOTHING, NOTHING, notes.cell(of_all)))
    return Sheet("Experts: numbers", heads, tuple(rows), (*notes.lines, _NOT_CASES), prose=(0, 1))


def _grader_sheets(reader: RunReader, resamples: _Resamples) -> list[Sheet]:
    """The grader beside the experts; right and wrong are known where the expert calls all trials of a case the same."""
    notes, rows = _Notes(), []
    for check in grader_checks(reader):
        unanimous = (check.expert == 0) | (check.expert == check.n_trials)
        shares, truth = check.grader[unanimous] / check.n_trials, (check.expert[unanimous] > 0).astype(float)
        found = detection(shares, truth, rng=resamples.rng, n_resamples=resamples.n)
        rho = spearman(check.expert, check.grader, rng=resamples.rng, n_resamples=resamples.n)
        counts = (str(len(check.case_ids)), str(check.n_left_out), f"{check.agreement:.4f}")
        measured = (notes.cell(one) for one in (rho, found.sensitivity, found.specificity))
        rows.append((check.doctor, check.arm, check.rater, *counts, *measured))
    if not rows:
        return []
    heads = (
        "doctor",
        "arm",
        "expert",
        "cases",
        "left\nout",
        "agreement",
        "Spearman's\nrho",
        "sensitivity",
        "specificity",
    )
    lines = (
        *notes.lines,
        "agreement: one less the mean difference of both counts of right trials, as a share of the trials",
        "sensitivity and specificity: on the cases of which the expert calls all trials right, or all wrong",
        "left out: not rated by the expert, or not every trial judged by the grader",
    )
    return [Sheet("The grader beside the expert", heads, tuple(rows), lines, prose=(0, 1, 2))]


class _Notes:
    """Cells of statistics; what there is to say of them stands below, numbered."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def cell(self, found: Agreement) -> str:
        mark = f" ({self._numbers.setdefault(found.reason, len(self._numbers) + 1)})" if found.reason else ""
        return interval(found.value, found.ci_low, found.ci_high, found.n_cases) + mark

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(f"({number}) {reason}" for reason, number in self._numbers.items())


def _name(question: Question) -> str:
    return " ".join(part for part in question if part)
