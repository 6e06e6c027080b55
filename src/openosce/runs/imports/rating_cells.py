"""Cells of experts' sheets, and the files they stand in: a blank or unreadable cell is a rating without a value."""

import csv
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from openosce.errors import ResultsFileError
from openosce.grading.record import Rating

BLANK = "not_rated"
"""Reason of a rating whose cell is blank: the question was not put, or not answered."""
NOT_APPLICABLE = "not_applicable"
UNREADABLE = "unreadable_rating"

_SHOWN = 60
_MEND = "give the file as it was released"


def rated(about: Rating, cell: object, read: Callable[[str], float | None], remark: str = "") -> Rating:
    """The rating that a cell holds; its text, and a remark if there is one, are kept as the note.

    Args:
        about: Who rated what; its value is replaced.
        cell: What stands in the sheet; None for nothing.
        read: The value of a text, None if it has none.
        remark: What the rater wrote beside the cell.
    """
    text = "" if cell is None else str(cell).strip()
    note = "; ".join(part for part in (text, remark.strip()) if part) or None
    if not text:
        return replace(about, value=None, note=note, missing_reason=f"{BLANK}: the cell is blank")
    value = read(text)
    if value is None:
        return replace(about, value=None, note=note, missing_reason=f"{UNREADABLE}: {text[:_SHOWN]!r}")
    return replace(about, value=value, note=note)


def yes_or_no(text: str) -> float | None:
    """1 for yes, 0 for no, in any case; None for anything else."""
    return {"yes": 1.0, "no": 0.0}.get(text.lower())


def read_text(path: Path) -> str:
    """The text of a file of annotations.

    Raises:
        ResultsFileError: It is not there, cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ResultsFileError(path, None, f"expected UTF-8 text, found other bytes; {_MEND}") from None
    except OSError as failure:
        raise ResultsFileError(path, None, f"cannot be read: {failure.strerror or failure}") from None


def read_table(path: Path) -> list[tuple[int, list[str]]]:
    """The rows of a CSV file, blank ones left out, each with the line on which it ends.

    Raises:
        ResultsFileError: As `read_text`; or it is empty, no CSV, or has rows of different width.
    """
    csv.field_size_limit(2**31 - 1)
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    try:
        rows = [(reader.line_num, fields) for fields in reader if fields]
    except csv.Error as failure:
        raise ResultsFileError(path, reader.line_num, f"not valid CSV: {failure}; {_MEND}") from None
    if not rows:
        raise ResultsFileError(path, None, f"is empty; {_MEND}")
    width = len(rows[0][1])
    for line, fields in rows:
        if len(fields) != width:
            raise ResultsFileError(
                path, line, f"expected {width} fields as in the first row, found {len(fields)}; {_MEND}"
            )
    return rows
