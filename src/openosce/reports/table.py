"""The results of a run in the terminal. Cells are `Text`, never markup: a case or model name cannot style anything."""

import os
from collections.abc import Iterable

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from openosce.reports import conduct, sheets
from openosce.reports.results import Analysis
from openosce.reports.sheets import Sheet
from openosce.reports.text import visible

_WIDTH_IN_PIPES = 100
_SHOWN_FAILURES = 10
_LONG_WORD = 6


def terminal() -> Console:
    """A console on stdout that takes text literally; 100 columns wide where stdout is no terminal."""
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _WIDTH_IN_PIPES
    return console


def analysis_tables(analysis: Analysis) -> Group:
    """Every table of a run: accuracy by doctor, by specialty and data set, endings, failures."""
    parts: list[Sheet | None] = []
    for doctor in analysis.plan.doctors:
        parts.append(sheets.accuracy(analysis, doctor))
        parts.append(sheets.gradings(analysis, doctor))
        parts += [sheets.by_group(analysis, doctor, key) for key in ("specialty", "dataset")]
    parts += [conduct.endings(analysis), conduct.calls(analysis)]
    if analysis.failed:
        parts.append(conduct.failed(analysis, _SHOWN_FAILURES))
    return Group(*(sheet_table(sheet) for sheet in parts if sheet is not None))


def sheet_table(sheet: Sheet) -> RenderableType:
    """One sheet with its title above and its notes below."""
    table = Table(
        title=Text(visible(sheet.title), style="bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False
    )
    table.collapse_padding = True
    arms = _arms(sheet)
    for n, head in enumerate(sheet.heads):
        is_arm = head in arms
        table.add_column(
            Text(visible(_narrow(head) if is_arm else head)),
            justify="left" if n in sheet.prose else "right",
            vertical="top",
            max_width=_LONG_WORD if is_arm else None,
            overflow="fold",
        )
    for row in sheet.rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    notes = [*sheet.notes, *_legend(_arms(sheet))]
    return Group(table, *(Text(f"  {visible(note)}", style="dim") for note in notes), Text())


def _arms(sheet: Sheet) -> tuple[str, ...]:
    """The heads that name an arm: those of a compact sheet's number columns."""
    return tuple(head for n, head in enumerate(sheet.heads) if sheet.compact and n not in sheet.prose)


def _narrow(head: str) -> str:
    """An arm's name over several lines, long words cut: `vignette_mcq` becomes `vign.` above `mcq`."""
    return "\n".join(_cut(word) for word in head.split("_"))


def _cut(word: str) -> str:
    return word if len(word) <= _LONG_WORD else f"{word[: _LONG_WORD - 2]}."


def _legend(heads: Iterable[str]) -> list[str]:
    words = dict.fromkeys(word for head in heads for word in head.split("_") if _cut(word) != word)
    return [", ".join(f"{_cut(word)} = {word}" for word in words)] if words else []
