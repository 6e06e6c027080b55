"""Figures that were typed in from papers, and what all papers' cells share."""

import csv
from dataclasses import replace
from importlib.resources import files

from openosce.reports.papers.cells import Cell, Verdict, cell

_CUT_OFF = "cut off in print, not rounded"


def figures(name: str) -> list[dict[str, str]]:
    """The rows of a file of `papers/figures`; lines that start with # say where they come from."""
    text = (files("openosce.reports.papers") / "figures" / name).read_text(encoding="utf-8")
    return list(csv.DictReader((line for line in text.splitlines() if not line.startswith("#")), strict=True))


def figure_cell(table: str, place: str, printed: str, recomputed: float | None, reason: str | None = None) -> Cell:
    """As `cell`, also for a figure printed as a bound (`<0.0001`); says so where print cuts digits off."""
    if printed.startswith("<"):
        return _bound_cell(table, place, printed, recomputed, reason)
    found = cell(table, place, printed, recomputed, reason)
    was_cut = found.verdict is Verdict.ROUNDING and abs(float(printed)) < abs(recomputed or 0)
    return replace(found, reason=_CUT_OFF) if was_cut and reason is None else found


def _bound_cell(table: str, place: str, printed: str, recomputed: float | None, reason: str | None) -> Cell:
    if recomputed is None:
        verdict = Verdict.NOT_RECOMPUTED
    else:
        verdict = Verdict.SAME if recomputed < float(printed.removeprefix("<")) else Verdict.DIFFERS
    return Cell(table, place, printed, recomputed, verdict, None if verdict is Verdict.SAME else reason)
