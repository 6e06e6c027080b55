"""The results of a run in the terminal. Cells are `Text`, never markup: a case or model name cannot style anything."""

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from openosce.reports.results import Analysis
from openosce.reports.sections import sections
from openosce.reports.sheets import Sheet
from openosce.reports.text import visible

_WIDTH_IN_PIPES = 100
_SHOWN_FAILURES = 10
_LONG_WORD = 6
_MOST_LINES = 4
_SHORT_NAME = 16
"""Names of rows up to here are never broken."""
_MANY_CONDITIONS = 12
_IN_BRIEF = ("accuracy", "normalized", "failures", "calls")
"""Sections of a sweep over many conditions that a run ends with: all of them would fill a dozen screens."""
_BETWEEN_WORDS = re.compile(r"[_\s=:/,-]+")
_ELSEWHERE = ("comparisons", "missing")
"""Sections that `osce report` and `osce analyze --json` tell."""


def terminal() -> Console:
    """A console on stdout that takes text literally; 100 columns wide where stdout is no terminal."""
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _WIDTH_IN_PIPES
    return console


def analysis_tables(analysis: Analysis, *, brief: bool = False) -> Group:
    """The tables of a report in its order, without those that only the page and the files have room for.

    In `brief`, a sweep over many conditions shows its headline, and says where the rest is.
    """
    found = [section for section in sections(analysis, _SHOWN_FAILURES) if section.name not in _ELSEWHERE]
    is_brief = brief and len(analysis.plan.swept) > _MANY_CONDITIONS
    shown = [section for section in found if not is_brief or section.name in _IN_BRIEF]
    rest = [section.heading.lower() for section in found if section.sheets and section not in shown]
    where = [Text(f"in the report, and by osce analyze: {', '.join(rest)}")] if rest else []
    return Group(*(sheet_table(sheet) for section in shown for sheet in section.sheets), *where)


def sheet_table(sheet: Sheet) -> RenderableType:
    """One sheet with its title above and its notes below."""
    title = Text(visible(sheet.title), style="bold")  # a table's own title would be broken at the table's width
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.collapse_padding = True
    narrow, names = _narrowed(_arms(sheet)), [row[0] for row in sheet.rows if row]
    for n, head in enumerate(sheet.heads):
        table.add_column(
            Text(visible(narrow.get(head, head))),
            justify="left" if n in sheet.prose else "right",
            vertical="top",
            max_width=_LONG_WORD if head in narrow else None,
            no_wrap=n == 0 and max(map(len, names), default=0) <= _SHORT_NAME and "\n" not in "".join(names),
            overflow="fold",
        )
    for row in sheet.rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    notes = [*sheet.notes, *_legend(narrow)]
    return Group(title, table, *(Padding(Text(visible(note), style="dim"), (0, 0, 0, 2)) for note in notes), Text())


def _arms(sheet: Sheet) -> tuple[str, ...]:
    """The heads that name an arm: those of a compact sheet's number columns."""
    return tuple(head for n, head in enumerate(sheet.heads) if sheet.compact and n not in sheet.prose)


def _narrowed(heads: Sequence[str]) -> dict[str, str]:
    """Arms over several lines, `vignette_mcq` as `vign.` above `mcq`; numbers for those too tall, or cut alike."""
    narrow = {head: "\n".join(map(_cut, _words(head))) for head in heads}
    alike = Counter(narrow.values())
    unclear = [head for head, shown in narrow.items() if alike[shown] > 1 or shown.count("\n") >= _MOST_LINES]
    return narrow | {head: f"({n + 1})" for n, head in enumerate(unclear)}


def _words(head: str) -> list[str]:
    return [word for word in _BETWEEN_WORDS.split(head) if word]


def _cut(word: str) -> str:
    return word if len(word) <= _LONG_WORD else f"{word[: _LONG_WORD - 2]}."


def _legend(narrow: Mapping[str, str]) -> list[str]:
    """What the cut words and the numbers stand for."""
    numbered = [f"{shown} = {head}" for head, shown in narrow.items() if shown.startswith("(")]
    whole = [head for head, shown in narrow.items() if not shown.startswith("(")]
    words = dict.fromkeys(word for head in whole for word in _words(head) if _cut(word) != word)
    return [*([", ".join(f"{_cut(word)} = {word}" for word in words)] if words else []), *numbered]
