"""CRAFT-MD's CSV: one row a case, the question inside the vignette.

Source: columns of the authors' released `cases.csv` (2,004 rows); an unnamed index column may come first.
"""

import csv
import io
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
    """Whether the header has CRAFT-MD's telling columns."""
    header = next(csv.reader([text.split("\n", 1)[0].rstrip("\r")]), [])
    return {"case_vignette", "case_id"} <= set(header)


def read_craft_md(text: str, path: Path) -> Iterator[Case]:
    """Read cases from the CSV; answers and choices keep their blanks.

    Raises:
        CaseFileError: A column is missing, or a row has too few or too many fields.
    """
    csv.field_size_limit(2**31 - 1)
    rows = csv.DictReader(io.StringIO(text, newline=""), restkey="?", restval=None)
    missing = [column for column in COLUMNS if column not in (rows.fieldnames or ())]
    if missing:
        raise CaseFileError(path, 1, f"CRAFT-MD's CSV lacks the column(s) {', '.join(missing)}")
    while True:
        line = rows.line_num + 1
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as failure:
            raise CaseFileError(path, line, f"not valid CSV: {failure}") from None
        if "?" in row or None in row.values():
            raise CaseFileError(path, line, f"expected {len(rows.fieldnames or ())} fields in this row")
        yield to_case(_record(row), path, lambda _, line=line: line)  # type: ignore[misc]


def _record(row: dict[str, str]) -> dict[str, object]:
    vignette, question = split_question(row["case_vignette"])
    return {
        "id": row["case_id"],
        "source": row["dataset"],
        "specialty": _SPECIALTIES.get(row["category"], row["category"]) or None,
        "vignette": vignette or question,  # two vignettes are a question and nothing else
        "question": question,
        "choices": [row[f"choice_{i}"] for i in range(1, 5) if row[f"choice_{i}"]],
        "diagnosis": {"name": row["answer"]},
    }
