"""CRAFT-MD's CSV: one row a case, the question inside the vignette.

Source: columns of the authors' released `cases.csv` (2,004 rows); an unnamed index column may come first.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from openosce.cases.readers.validate import to_case
from openosce.cases.record import Case
from openosce.cases.text import split_question
from openosce.errors import CaseFileError

COLUMNS = ("case_vignette", "choice_1", "choice_2", "choice_3", "choice_4", "answer", "category", "dataset", "case_id")

# The released file's names, and the names the 2025 article prints.
_SPECIALTIES = {
    "Cardiovascular System": "Cardiology",
    "Gastrointestinal System": "Gastroenterology",
    "Infectious Diseases": "Infectious Disease",
    "Renal and Genitourinary System": "Urology and Nephrology",
}


def is_craft_md(text: str) -> bool:
    """Whether the header has CRAFT-MD's telling columns, by whatever sign they are separated."""
    header = re.split(r"[\r\n]", text, maxsplit=1)[0]
    return {"case_vignette", "case_id"} <= {name.strip(' "').lower() for name in re.split("[,;\t]", header)}


def read_craft_md(text: str, path: Path) -> Iterator[Case]:
    """Read cases from the CSV; answers and choices keep their blanks.

    Raises:
        CaseFileError: A column is missing or there twice, a row has too few or too many fields, or lacks what a case
            needs.
    """
    rows = _rows(text, path)
    _, header = next(rows, (1, []))
    _check_header(header, path)
    for line, fields in rows:
        if len(fields) != len(header):
            message = f"expected {len(header)} fields in this row, found {len(fields)}; quote fields that hold commas"
            raise CaseFileError(path, line, message)
        row = dict(zip(header, fields, strict=True))
        blank = [column for column in ("answer", "dataset", "case_id") if not row[column]]
        if blank:
            raise CaseFileError(path, line, f"nothing in the column(s) {', '.join(blank)}; every case needs them")
        yield to_case(_record(row), path, lambda _, line=line: line)  # type: ignore[misc]


def _rows(text: str, path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows that hold anything, each with the line where it starts."""
    csv.field_size_limit(2**31 - 1)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    while True:
        line = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as failure:
            mend = "; a quoted field that starts in this row is not closed" if "end of data" in str(failure) else ""
            raise CaseFileError(path, line, f"not valid CSV: {failure}{mend}") from None
        if fields:
            yield line, fields


def _check_header(header: list[str], path: Path) -> None:
    missing = [column for column in COLUMNS if column not in header]
    if missing:
        found = ", ".join(repr(name[:40]) for name in header[:12])
        message = f"CRAFT-MD's CSV lacks the column(s) {', '.join(missing)}; separated by commas, it has {found}"
        raise CaseFileError(path, 1, message)
    repeated = [column for column in COLUMNS if Counter(header)[column] > 1]
    if repeated:
        raise CaseFileError(path, 1, f"CRAFT-MD's CSV has the column(s) {', '.join(repeated)} twice")


def _record(row: dict[str, str]) -> dict[str, object]:
    vignette, question = split_question(row["case_vignette"])
    return {
        "id": row["case_id"],
        "source": row["dataset"],
        "specialty": _SPECIALTIES.get(row["category"], row["category"]) or None,
        # Two vignettes are a question and nothing else.
        "vignette": vignette if vignette.strip() else question,
        "question": question,
        "choices": [row[f"choice_{i}"] for i in range(1, 5) if row[f"choice_{i}"]],
        "diagnosis": {"name": row["answer"]},
    }
