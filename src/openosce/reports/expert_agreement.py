"""How far the experts of a run agree with each other, and the grader with them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openosce.grading.record import Rating
from openosce.reports.grader_checks import GraderCheck, grader_checks
from openosce.runs.folder import RunReader
from openosce.statistics import (
    Agreement,
    cohens_kappa,
    count_agreement,
    detection,
    gwet_ac1,
    kendall_tau_b,
    kendalls_w,
    pearson,
    raw_agreement,
    spearman,
)

Array = NDArray[np.float64]
_Question = tuple[str | None, str]
_Place = tuple[str, str | None, str, int | None]
"""Doctor, condition, case, trial: what is rated."""


@dataclass(frozen=True)
class ExpertAgreement:
    """How far two raters agree on one question or, by W alone, all who answered it with numbers."""

    arm: str | None
    item: str
    raters: tuple[str, ...]
    is_yes_no: bool
    n_rated: int
    """What all of them rated: cases, each doctor's as one of its own."""
    statistics: Mapping[str, Agreement]

    def to_json(self) -> dict[str, Any]:
        """One entry of `experts.questions`."""
        place = {"arm": self.arm, "item": self.item, "raters": list(self.raters), "n_rated": self.n_rated}
        return place | {name: asdict(found) for name, found in self.statistics.items()}


@dataclass(frozen=True)
class GraderAgreement:
    """How far the grader agrees with an expert on one doctor's arm."""

    model: str
    arm: str
    rater: str
    n_cases: int
    n_left_out: int
    """Cases that the expert did not rate, or of which the grader has not judged every trial."""
    statistics: Mapping[str, Agreement]

    def to_json(self) -> dict[str, Any]:
        """One entry of `experts.grader`."""
        place = {"model": self.model, "arm": self.arm, "rater": self.rater}
        counts = {"n_cases": self.n_cases, "n_left_out": self.n_left_out}
        return place | counts | {name: asdict(found) for name, found in self.statistics.items()}


@dataclass(frozen=True)
class Experts:
    """Everything that the ratings of a run tell of agreement; nothing where it has none by two raters."""

    questions: tuple[ExpertAgreement, ...] = ()
    grader: tuple[GraderAgreement, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The entry `experts`."""
        return {
            "questions": [row.to_json() for row in self.questions],
            "grader": [row.to_json() for row in self.grader],
        }


def expert_agreements(reader: RunReader, seed: int = 1, n_resamples: int = 2_000) -> Experts:
    """Every two raters of a question, and every grader that an expert has checked.

    Args:
        reader: The run.
        seed: Of every interval; the caller's choice. Each is made anew from it, so that no row depends on another.
        n_resamples: Of every interval.

    Raises:
        RunFolderError: The run cannot be read.
    """
    resamples = _Resamples(seed, n_resamples)
    by_question: dict[_Question, list[Rating]] = defaultdict(list)
    for rating in reader.ratings():
        if rating.value is not None:
            by_question[rating.arm, rating.item].append(rating)
    questions = tuple(
        row for question, ratings in by_question.items() for row in _of_question(question, ratings, resamples)
    )
    return Experts(questions, tuple(_of_grader(check, resamples) for check in grader_checks(reader)))


@dataclass(frozen=True)
class _Resamples:
    """How every interval is made."""

    seed: int
    n: int

    @property
    def how(self) -> dict[str, Any]:
        return {"rng": np.random.default_rng(self.seed), "n_resamples": self.n}


def _of_question(question: _Question, ratings: Sequence[Rating], of: _Resamples) -> Iterator[ExpertAgreement]:
    raters, values = _marks(ratings)
    is_yes_no = all(rating.value in (0, 1) for rating in ratings)
    pairs = list(_pairs(raters, values))
    for pair, both in pairs:
        found = _yes_or_no(both, of) if is_yes_no else _numbers(both, of)
        yield ExpertAgreement(*question, pair, is_yes_no, len(both), found)
    if pairs and len(raters) > 2 and not is_yes_no:
        w = kendalls_w(values, **of.how)
        yield ExpertAgreement(*question, raters, is_yes_no, w.n_cases, {"kendalls_w": w})


def _marks(ratings: Sequence[Rating]) -> tuple[tuple[str, ...], Array]:
    """The raters, and what was rated down by raters across, NaN for not rated."""
    places: dict[_Place, int] = {}
    raters = tuple(dict.fromkeys(rating.rater for rating in ratings))
    rows = [places.setdefault((r.doctor, r.condition, r.case_id, r.trial), len(places)) for r in ratings]
    values = np.full((len(places), len(raters)), np.nan)
    for row, rating in zip(rows, ratings, strict=True):
        values[row, raters.index(rating.rater)] = rating.value
    return raters, values


def _pairs(raters: tuple[str, ...], values: Array) -> Iterable[tuple[tuple[str, str], Array]]:
    """Every two raters who rated anything together, with what both rated."""
    for a, b in combinations(range(len(raters)), 2):
        both = values[:, [a, b]]
        both = both[~np.isnan(both).any(axis=1)]
        if len(both):
            yield (raters[a], raters[b]), both


def _yes_or_no(both: Array, of: _Resamples) -> dict[str, Agreement]:
    return {
        "raw_agreement": raw_agreement(both, **of.how),
        "cohens_kappa": cohens_kappa(both[:, 0], both[:, 1], **of.how),
        "gwet_ac1": gwet_ac1(both, 2, **of.how),
    }


def _numbers(both: Array, of: _Resamples) -> dict[str, Agreement]:
    return {
        "pearson": pearson(both[:, 0], both[:, 1], **of.how),
        "kendall_tau_b": kendall_tau_b(both[:, 0], both[:, 1], **of.how),
    }


def _of_grader(check: GraderCheck, of: _Resamples) -> GraderAgreement:
    """Right and wrong are known where the expert calls all trials of a case the same."""
    rates = detection(*check.unanimous, **of.how)
    found = {
        "count_agreement": count_agreement(check.expert, check.grader, check.n_trials, **of.how),
        "spearman": spearman(check.expert, check.grader, **of.how),
        "sensitivity": rates.sensitivity,
        "specificity": rates.specificity,
    }
    return GraderAgreement(check.doctor, check.arm, check.rater, len(check.case_ids), check.n_left_out, found)
