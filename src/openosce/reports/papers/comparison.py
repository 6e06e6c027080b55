"""A run against the paper it is about: every printed figure beside ours, and a count of how they compare."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from openosce.errors import StudyError
from openosce.reports.papers.cells import Cell, Verdict
from openosce.reports.published_scores import benchmark_of
from openosce.reports.sheets import NOTHING, Sheet
from openosce.runs.folder import RunReader

_WORTH_A_LOOK = (Verdict.DIFFERS, Verdict.ROUNDING)


@dataclass(frozen=True)
class PaperComparison:
    """The cells of a paper's tables, in their order, and what holds for them."""

    paper: str
    cells: tuple[Cell, ...]
    notes: tuple[str, ...] = ()

    def counts(self) -> dict[str, Counter[Verdict]]:
        """By table, how many cells have each verdict."""
        found: dict[str, Counter[Verdict]] = {}
        for one in self.cells:
            found.setdefault(one.table, Counter())[one.verdict] += 1
        return found

    def to_json(self) -> dict[str, Any]:
        """The document of `osce compare RUN --to-paper --json`, with every cell."""
        summary = [
            {"table": table, "n_cells": count.total()} | {_key(verdict): count[verdict] for verdict in Verdict}
            for table, count in self.counts().items()
        ]
        cells = [one.to_json() for one in self.cells]
        return {"paper": self.paper, "summary": summary, "cells": cells, "notes": list(self.notes)}


def compare_to_paper(reader: RunReader) -> PaperComparison:
    """Hold a run against the paper of its benchmark.

    Raises:
        StudyError: No figures of such a paper are at hand, or the run is not about the paper's models.
        RunFolderError: The run cannot be read.
    """
    makers = {"craft-md": _craft_md, "medqa-cs": _medqa_cs}
    benchmark = benchmark_of(reader)
    if benchmark not in makers:
        raise StudyError(
            f"{reader.folder}: is a run of {benchmark}; printed figures are at hand for {', '.join(makers)}"
        )
    return makers[benchmark](reader)


def _craft_md(reader: RunReader) -> PaperComparison:
    from openosce.reports.papers import craft_md, craft_md_experts
    from openosce.reports.papers.craft_md_figures import ARTICLE

    found, notes = craft_md.cells(reader), list(craft_md.NOTES)
    if reader.ratings():
        found += craft_md_experts.cells(reader)
    else:
        notes += (
            "the experts' figures are left out: the run holds no ratings; `osce import craft-md-experts` adds them",
        )
    return PaperComparison(ARTICLE, tuple(found), tuple(notes))


def _medqa_cs(reader: RunReader) -> PaperComparison:
    from openosce.reports.papers import medqa_cs

    return PaperComparison("MedQA-CS 2024", tuple(medqa_cs.cells(reader)))


def paper_sheets(found: PaperComparison, *, every: bool = False) -> list[Sheet]:
    """A count by table, then the cells that are not the same; with `every`, all cells."""
    rows = [
        (table, str(count.total()), *(str(count[verdict]) for verdict in Verdict))
        for table, count in found.counts().items()
    ]
    total = Counter(one.verdict for one in found.cells)
    rows.append(("all", str(total.total()), *(str(total[verdict]) for verdict in Verdict)))
    heads = ("table", "cells", *(verdict.value.replace(" ", "\n") for verdict in Verdict))
    summary = Sheet(f"{found.paper}: printed and recomputed", heads, tuple(rows), (*_why_not(found), *found.notes))
    shown = [one for one in found.cells if every or one.verdict in _WORTH_A_LOOK]
    if not shown:
        return [summary]
    reasons = {reason: n for n, reason in enumerate(dict.fromkeys(one.reason for one in shown if one.reason), start=1)}
    cells = tuple(_row(one, reasons) for one in shown)
    legend = tuple(f"({n}) {reason}" for reason, n in reasons.items())
    title = "Every cell" if every else "Cells that are not the same"
    return [summary, Sheet(title, ("table", "cell", "printed", "ours", "verdict"), cells, legend, prose=(0, 1, 4))]


def _row(one: Cell, reasons: dict[str, int]) -> tuple[str, ...]:
    """One cell, ours with one place more than is printed, the reason by its number."""
    places = len(one.printed.partition(".")[2]) + 1
    ours = NOTHING if one.recomputed is None else f"{one.recomputed:.{places}f}"
    verdict = one.verdict.value + (f" ({reasons[one.reason]})" if one.reason else "")
    return one.table, one.place, one.printed, ours, verdict


def _why_not(found: PaperComparison) -> list[str]:
    """Why cells were not recomputed, the most frequent reason first."""
    reasons = Counter(one.reason or "no reason given" for one in found.cells if one.verdict is Verdict.NOT_RECOMPUTED)
    return [f"{_cells(count)} not recomputed: {reason}" for reason, count in reasons.most_common()]


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count:,} cells"


def _key(verdict: Verdict) -> str:
    return f"n_{verdict.name.lower()}"
