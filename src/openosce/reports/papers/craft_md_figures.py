"""The figures that the CRAFT-MD article of 2025 prints in its Supplementary Tables, typed in as data."""

from collections.abc import Iterator
from dataclasses import dataclass

from openosce.reports.papers.typed import figures

ARTICLE = "CRAFT-MD 2025, Nature Medicine, doi:10.1038/s41591-024-03328-5"
MEAN_PLACES, P_PLACES = 3, 4
"""To how many places the article rounds; it prints 0.820 as 0.82."""

_BOUNDS = ("ci_low", "ci_high")
_KNOWN = {
    "ci_of_table_1": (_BOUNDS, "the printed intervals of this table are those of Supplementary Table 1"),
    "not_table_4": (("mean", *_BOUNDS), "not what Supplementary Table 4 prints of the same model, arm and cases"),
    "p_of_table_11": (("p", "p_adjusted"), "the printed p values of this table are those of Supplementary Table 11"),
}


def known(code: str, column: str) -> str | None:
    """Why the figures of a column do not agree with the released marks, by the row's code; None where they do."""
    columns, reason = _KNOWN.get(code, ((), ""))
    return reason if column in columns else None


@dataclass(frozen=True)
class MeanFigure:
    """One row of a table of means; figures as printed with all places, empty where they cannot be read."""

    table: int
    model: str
    group: str
    """A specialty or a data set as the article names it; empty for all cases."""
    arm: str
    mean: str
    ci_low: str
    ci_high: str
    known: str
    """A code that `known` spells out, or nothing."""


@dataclass(frozen=True)
class PFigure:
    """One row of a table of p values; figures as printed with all places."""

    table: int
    model: str
    group: str
    """As in `MeanFigure`."""
    a: str
    b: str
    p: str
    p_adjusted: str
    known: str
    """A code that `known` spells out, or nothing."""


def mean_figures() -> list[MeanFigure]:
    """Supplementary Tables 1, 4, 6, 8, 10, 12, 14, 16 and 22."""
    return [MeanFigure(table=table, **row) for table, row in _rows("means", ("mean", "ci_low", "ci_high"), MEAN_PLACES)]


def p_figures() -> list[PFigure]:
    """Supplementary Tables 2, 3, 5, 7, 9, 11, 13, 15 and 17."""
    return [PFigure(table=table, **row) for table, row in _rows("p_values", ("p", "p_adjusted"), P_PLACES)]


def _rows(what: str, columns: tuple[str, ...], places: int) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a file of ours, the table and the rest, the figures with all places."""
    for row in figures(f"craft_md_2025_{what}.csv"):
        table = int(row.pop("table"))
        yield table, row | {name: _padded(row[name], places) for name in columns}


def _padded(printed: str, places: int) -> str:
    """`0.82` with the zero that was rounded to and not printed; nothing stays nothing."""
    whole, _, decimals = printed.partition(".")
    return f"{whole}.{decimals:0<{places}}" if printed else printed
