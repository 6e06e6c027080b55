"""CRAFT-MD's own analysis of a run's stored scores: the article's rules where they differ from ours.

p is the article's bootstrap, seed and all, and what the article of 2025 calls Holm-Bonferroni is Benjamini-Hochberg
over a whole table. `papers/craft_md.py` holds the figures against print.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openosce.grading.record import ACCURACY
from openosce.reports.published_scores import (
    INFORMATION,
    PublishedScores,
    adjusted_otherwise,
    published_estimate,
    published_groups,
    published_scores,
    published_tests,
    question_of,
)
from openosce.reports.results import ALL, Group, Side
from openosce.runs.folder import RunReader
from openosce.statistics import Estimate

TEST = "centred bootstrap over cases, 10000 resamples, seed 20, as published"
_NO_INTERVAL = "the article gives no interval of a difference"


@dataclass(frozen=True)
class PublishedEstimate:
    """How well one doctor did in one arm on one group of cases."""

    model: str
    arm: str
    group: Group
    n_trials: int
    n_missing: int
    """Planned answers without a score."""
    n_scored_zero: int
    """Cases that count as 0 for want of any."""
    estimate: Estimate

    def to_json(self) -> dict[str, Any]:
        """One entry of `estimates`."""
        place = {"model": self.model, "arm": self.arm, "group": self.group.name, "metric": ACCURACY}
        counts = {"n_trials": self.n_trials, "n_missing": self.n_missing, "n_scored_zero": self.n_scored_zero}
        return place | counts | asdict(self.estimate)


@dataclass(frozen=True)
class PublishedComparison:
    """A minus B over all cases of a group."""

    a: Side
    b: Side
    group: Group
    family: str
    """The tests that were adjusted together."""
    n_cases: int
    difference: float
    p: float
    """Rounded to four places, as printed."""
    p_adjusted: float | None = None
    adjustment: str = ""
    family_size: int = 0

    def to_json(self) -> dict[str, Any]:
        """One entry of `comparisons`."""
        interval = {"ci_low": None, "ci_high": None, "reason": _NO_INTERVAL}
        place = {"a": asdict(self.a), "b": asdict(self.b), "group": self.group.name, "metric": ACCURACY}
        names = ("n_cases", "difference", "p", "p_adjusted", "adjustment", "family", "family_size")
        return place | {name: getattr(self, name) for name in names} | interval | {"test": TEST}


@dataclass(frozen=True)
class PublishedAnalysis:
    """Everything that tables and JSON tell."""

    scores: PublishedScores
    policy: str
    """The run's headline policy."""
    estimates: tuple[PublishedEstimate, ...]
    comparisons: tuple[PublishedComparison, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """What was computed, and from which scores."""
        found = self.scores
        adjusted = "within each model" if found.article.within_model else "over the models and pairs of one table"
        return (
            f"as published in {found.article.name}; a case without a valid answer scores 0",
            *(f"{question.upper()}: scores of {words}" for question, words in found.scored_by.items()),
            f"p: {TEST}; adjusted: {found.article.adjustment} {adjusted}",
            *filter(None, [found.article.remark]),
        )

    def to_json(self) -> dict[str, Any]:
        """The document of `osce analyze --published --json`."""
        return {
            "policy": self.policy,
            "published": self.scores.article.name,
            "n_cases": len(self.scores.cases),
            "estimates": [row.to_json() for row in self.estimates],
            "comparisons": [row.to_json() for row in self.comparisons],
            "notes": list(self.notes),
        }


def analyze_as_published(reader: RunReader, adjustment: str | None = None) -> PublishedAnalysis:
    """Compute a CRAFT-MD run's results as its article does.

    Args:
        reader: The run.
        adjustment: Another adjustment for several tests than the article's: `holm` or `benjamini-hochberg`.

    Raises:
        StudyError: The run is of another benchmark, or lacks the scores that the article used; or nobody knows the
            adjustment.
        RunFolderError: The run cannot be read.
    """
    scores = published_scores(reader)
    if adjustment is not None:
        scores = replace(scores, article=adjusted_otherwise(scores.article, adjustment))
    groups = published_groups(scores.cases)
    estimates = tuple(_estimates(scores, groups))
    return PublishedAnalysis(scores, str(reader.manifest["policy"]), estimates, tuple(_comparisons(scores, groups)))


def _estimates(scores: PublishedScores, groups: dict[Group, NDArray[np.intp]]) -> Iterator[PublishedEstimate]:
    for d, doctor in enumerate(scores.doctors):
        for a, arm in enumerate(scores.arms):
            for group, members in groups.items():
                missing = scores.n_missing[d, a, members]
                n_zero = int((missing == scores.n_trials).sum())
                estimate = published_estimate(scores.values[d, a, members])
                yield PublishedEstimate(doctor, arm, group, scores.n_trials, int(missing.sum()), n_zero, estimate)


def _comparisons(scores: PublishedScores, groups: dict[Group, NDArray[np.intp]]) -> Iterator[PublishedComparison]:
    """Arm against arm within each doctor, in every group, adjusted by family."""
    families: dict[str, list[PublishedComparison]] = {}
    for group, members in groups.items():
        tests = [(doctor, a, b) for doctor in scores.doctors for a, b in _pairs(scores.arms, group)]
        if not tests or not len(members):
            continue
        for (doctor, a, b), p in zip(tests, published_tests(scores, tests, members), strict=True):
            difference = float((scores.of(doctor, a) - scores.of(doctor, b))[members].mean())
            family = _family(a, b, group) + (f" of {doctor}" if scores.article.within_model else "")
            row = PublishedComparison(Side(doctor, a), Side(doctor, b), group, family, len(members), difference, p)
            families.setdefault(family, []).append(row)
    for rows in families.values():
        adjusted = scores.article.adjust([row.p for row in rows])
        for row, p_adjusted in zip(rows, adjusted, strict=True):
            how = scores.article.adjustment
            yield replace(row, p_adjusted=p_adjusted, adjustment=how, family_size=len(rows))


def _pairs(arms: Sequence[str], group: Group) -> list[tuple[str, str]]:
    """Within each question every pair; on all cases also MCQ against FRQ with the same information."""
    pairs = [(a, b) for a, b in combinations(arms, 2) if question_of(a) == question_of(b)]
    if group == ALL:
        across = [(f"{information}_mcq", f"{information}_frq") for information in INFORMATION]
        pairs += [(a, b) for a, b in across if a in arms and b in arms]
    return pairs


def _family(a: str, b: str, group: Group) -> str:
    """A table of the article: a question, and how the cases are grouped."""
    if question_of(a) != question_of(b):
        return "MCQ against FRQ"
    kind = "in all cases" if group == ALL else "by specialty" if group.dataset is None else "by data set of Dermatology"
    return f"{question_of(a).upper()} arms {kind}"
