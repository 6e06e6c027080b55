"""The figures of the CRAFT-MD article of 2025 beside the same ones from a run over its released results."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from openosce.errors import StudyError
from openosce.grading.record import Rating
from openosce.reports.papers.cells import Cell, cell
from openosce.reports.papers.craft_md_figures import MeanFigure, PFigure, known, mean_figures, p_figures
from openosce.reports.published_scores import published_estimate, published_scores, published_tests
from openosce.runs.folder import RunReader
from openosce.statistics import benjamini_hochberg

MODELS = {
    "GPT-4": "craft-md/gpt4_1106",
    "GPT-3.5": "craft-md/gpt3_1106",
    "Mistral-v2-7b": "craft-md/mistral-v2",
    "LLaMA-2-7b": "craft-md/llama2-7b",
    "Mistral-v1-7b": "craft-md/mistral-v1",
}
"""The article's models, as an import of its results names them."""

NOTES = (
    "every p is seeded and rounded as in the article; adjusted p: Benjamini-Hochberg over a whole table, the raw p of "
    "models or rows that the run does not hold taken from print",
    "left out: six bounds of Supplementary Table 6 that cannot be read; Tables 19-21 and 23, of models that are not "
    "imported",
)

_N_CASES, _N_TRIALS = 2004, 5
_DATASETS = {
    "MedQA-USMLE": "MedQA_USMLE",
    "Derm-Public": "dermatology_public",
    "Derm-Private": "dermatology_private",
}
_SINGLE_DIAGNOSIS_TABLES = (14, 15, 16, 17)
_SINGLE_DIAGNOSIS_ITEMS = ("only_possible_answer", "single_most_likely_answer")
_COLUMNS = {"mean": "mean", "ci_low": "lower bound", "ci_high": "upper bound"}

Members = NDArray[np.intp] | str
"""The places of a table row's cases in the run, or why they cannot be had."""


def cells(reader: RunReader) -> list[Cell]:
    """Every figure of Supplementary Tables 1-17 and 22 beside the run's.

    Raises:
        StudyError: The run is not of CRAFT-MD, or none of its doctors is a model of the article.
        RunFolderError: The run cannot be read.
    """
    run = PaperRun(reader)
    found = [*mean_cells(run, mean_figures()), *p_cells(run, p_figures())]
    return sorted(found, key=lambda one: int(one.table.rpartition(" ")[2]))


class PaperRun:
    """A run as far as the article's tables ask of it."""

    def __init__(self, reader: RunReader) -> None:
        self.scores = published_scores(reader)
        if not set(MODELS.values()) & set(self.scores.doctors):
            raise StudyError(
                f"{reader.folder}: no doctor of this run is a model of the article; "
                f"expected {', '.join(MODELS.values())}, found {', '.join(self.scores.doctors)}"
            )
        self._single = _single_diagnosis(reader.ratings())

    @cached_property
    def _whole(self) -> str | None:
        """Why no figure can be recomputed: the article's are over all cases and trials."""
        n_cases, n_trials = len(self.scores.cases), self.scores.n_trials
        if n_cases != _N_CASES:
            return f"the run holds {n_cases:,} of the {_N_CASES:,} cases"
        return None if n_trials == _N_TRIALS else f"the run holds {n_trials} trials a case, the article {_N_TRIALS}"

    def doctor(self, model: str) -> str | None:
        """A model of the article, as the run names it; None where it is not there."""
        return MODELS[model] if MODELS[model] in self.scores.doctors else None

    def members(self, table: int, model: str, group: str, arms: Iterable[str]) -> Members:
        """The cases of a row, or why there is no figure of ours."""
        if self._whole is not None:
            return self._whole
        if self.doctor(model) is None:
            return "the run does not hold this model"
        lacking = [arm for arm in arms if arm not in self.scores.arms]
        if lacking:
            return f"the run does not hold the arm {lacking[0]}"
        return self._of_group(group, single=table in _SINGLE_DIAGNOSIS_TABLES)

    def _of_group(self, group: str, *, single: bool) -> Members:
        cases = self.scores.cases
        if group in _DATASETS:
            chosen = [n for n, c in enumerate(cases) if (c.specialty, c.dataset) == ("Dermatology", _DATASETS[group])]
        else:
            chosen = [n for n, case in enumerate(cases) if group in ("", case.specialty)]
        if single:
            if group == "MedQA-USMLE":
                return "which of these cases have a single diagnosis is not published"
            if not self._single:
                return "which cases have a single diagnosis is not in the run; `osce import craft-md-experts` adds it"
            chosen = [n for n in chosen if cases[n].id in self._single]
        return np.array(chosen, dtype=np.intp) if len(chosen) > 1 else f"the run holds {len(chosen)} cases of {group}"


def _single_diagnosis(ratings: Iterable[Rating]) -> frozenset[str]:
    """The cases of which an expert said that one diagnosis alone is possible, or by far the most likely."""
    return frozenset(one.case_id for one in ratings if one.item in _SINGLE_DIAGNOSIS_ITEMS and one.value == 1)


def mean_cells(run: PaperRun, figures: Iterable[MeanFigure]) -> Iterator[Cell]:
    """Three cells a row: the mean and its bounds."""
    for figure in figures:
        members = run.members(figure.table, figure.model, figure.group, (figure.arm,))
        row = ", ".join(filter(None, (figure.model, figure.arm, figure.group)))
        for name, words in _COLUMNS.items():
            place, printed = f"{row}: {words}", getattr(figure, name)
            if not printed:
                continue
            if isinstance(members, str):
                yield cell(_table(figure.table), place, printed, None, members)
            else:
                ours = published_estimate(run.scores.of(MODELS[figure.model], figure.arm)[members])
                yield cell(_table(figure.table), place, printed, getattr(ours, name), known(figure.known, name))


def p_cells(run: PaperRun, figures: Sequence[PFigure]) -> Iterator[Cell]:
    """Two cells a row: p, and p adjusted over the rows of the table."""
    for table in dict.fromkeys(figure.table for figure in figures):
        rows = [figure for figure in figures if figure.table == table]
        ours, reasons = _raw_p(run, rows)
        adjusted, incomplete = _adjusted_p(rows, ours)
        for n, figure in enumerate(rows):
            why = reasons[n] or known(figure.known, "p")
            why_adjusted = reasons[n] or incomplete or known(figure.known, "p_adjusted")
            place = ", ".join(filter(None, (figure.model, f"{figure.a} against {figure.b}", figure.group)))
            yield cell(_table(table), f"{place}: p", figure.p, ours[n], why)
            yield cell(_table(table), f"{place}: adjusted p", figure.p_adjusted, adjusted[n], why_adjusted)


def _raw_p(run: PaperRun, rows: Sequence[PFigure]) -> tuple[list[float | None], list[str | None]]:
    """By row: our p, or why there is none. Rows of one group of cases share their draws."""
    ours: list[float | None] = [None] * len(rows)
    reasons: list[str | None] = [None] * len(rows)
    together: dict[bytes, tuple[NDArray[np.intp], list[int]]] = {}
    for n, row in enumerate(rows):
        members = run.members(row.table, row.model, row.group, (row.a, row.b))
        if isinstance(members, str):
            reasons[n] = members
        else:
            together.setdefault(members.tobytes(), (members, []))[1].append(n)
    for members, places in together.values():
        tests = [(MODELS[rows[n].model], rows[n].a, rows[n].b) for n in places]
        for n, p in zip(places, published_tests(run.scores, tests, members), strict=True):
            ours[n] = p
    return ours, reasons


def _adjusted_p(rows: Sequence[PFigure], ours: Sequence[float | None]) -> tuple[list[float | None], str | None]:
    """By row: our adjusted p, the family completed by printed p; or nothing, and why it cannot be completed."""
    wrong = [row for row, p in zip(rows, ours, strict=True) if p is None and row.known]
    if wrong:
        why = known(wrong[0].known, "p")
        return [None] * len(rows), f"the run lacks {len(wrong)} of the family's {len(rows)} tests, and {why}"
    family = [float(row.p) if p is None else p for row, p in zip(rows, ours, strict=True)]
    adjusted = benjamini_hochberg(family)
    return [None if p is None else found for p, found in zip(ours, adjusted, strict=True)], None


def _table(number: int) -> str:
    return f"Supplementary Table {number}"
