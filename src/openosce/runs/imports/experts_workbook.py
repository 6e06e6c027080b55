"""CRAFT-MD's workbooks of reviewed conversations: one a rater, one sheet a model, one row a conversation.

Source: the authors' released `expert_annotations/*.xlsx`; the questions are those of CRAFT-MD 2025, Methods,
"Assessment of clinical LLMs" and "Assessment of patient-AI agent".
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from openosce.errors import ResultsFileError
from openosce.grading.record import Rating
from openosce.runs.imports.rating_cells import rated, yes_or_no

DOCTORS = {
    "GPT-4": "craft-md/gpt4_1106",
    "GPT-3.5": "craft-md/gpt3_1106",
    "Mistral-v2": "craft-md/mistral-v2",
    "LLaMA2": "craft-md/llama2-7b",
}
"""By sheet, the doctor as an imported run names it."""
QUESTIONS = {"Q1": "single_diagnosis_possible", "Q2": "history_complete", "Q3": "medical_terms"}
"""By column, the item: 1 is yes."""
CONDITION = "text"
TRIAL = 1
"""Counted from 0. The sheets do not say it: every reviewed conversation whose trials are released is this one; of
LLaMA-2 none is released."""

_CASE, _TALK, _ANSWER = "case_id", "multi-turn conversation", "correct diagnosis"
_RATER = re.compile(r"_(d\d+)$")
_INSTALL = "pip install 'openosce[experts]'"


@dataclass(frozen=True)
class Review:
    """One conversation as one rater marked it."""

    place: str
    """File, sheet and row."""
    doctor: str
    case_id: str
    answer: str
    """The right diagnosis as the sheet gives it."""
    conversation: str
    ratings: tuple[Rating, ...]


def read_workbook(path: Path) -> Iterator[Review]:
    """Read one rater's workbook.

    Raises:
        ResultsFileError: openpyxl is missing; it is no workbook; its name names no rater; a sheet is no model's, lacks
            a column, or holds a case twice or an answer without a case.
    """
    found = _RATER.search(path.stem)
    if not found:
        raise ResultsFileError(
            path, None, "expected a name that ends in the rater, as _d1.xlsx; rename it, or leave it out"
        )
    for sheet, rows in _sheets(path):
        if sheet not in DOCTORS:
            raise ResultsFileError(path, None, f"sheet {sheet!r} is no model's; expected {', '.join(DOCTORS)}")
        yield from _reviews(f"{path}, sheet {sheet!r}", rows, DOCTORS[sheet], found[1])


def _sheets(path: Path) -> list[tuple[str, list[Sequence[object]]]]:
    try:
        import openpyxl
    except ImportError:
        raise ResultsFileError(path, None, f"workbooks need openpyxl: {_INSTALL}") from None
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        try:
            return [(sheet.title, list(sheet.iter_rows(values_only=True))) for sheet in book.worksheets]
        finally:
            book.close()
    except Exception as failure:  # a file that is no workbook fails in a dozen ways
        raise ResultsFileError(path, None, f"expected an .xlsx workbook, it cannot be read: {failure}") from None


def _reviews(sheet: str, rows: list[Sequence[object]], doctor: str, rater: str) -> Iterator[Review]:
    start = next((n for n, row in enumerate(rows) if row and row[0] == _CASE), None)
    if start is None:
        problem = f"expected a header row that starts with {_CASE}, found none in {len(rows)} rows"
        raise ResultsFileError(sheet, None, problem)
    # One rater's sheets put the question itself behind its number.
    columns = {str(name).partition(":")[0].strip(): n for n, name in enumerate(rows[start]) if name is not None}
    missing = [name for name in (_CASE, _TALK, _ANSWER, *QUESTIONS) if name not in columns]
    if missing:
        raise ResultsFileError(f"{sheet}, row {start + 1}", None, f"lacks the column(s) {', '.join(missing)}")
    seen: set[str] = set()
    for n, row in enumerate(rows[start + 1 :], start + 2):
        if all(cell is None or not str(cell).strip() for cell in row):
            continue
        place = f"{sheet}, row {n}"
        cells = {name: row[at] if at < len(row) else None for name, at in columns.items()}
        case_id = str(cells[_CASE] or "").strip().removesuffix(".json")
        if not case_id or case_id in seen:
            problem = f"{case_id} stands here a second time" if case_id else f"holds something, and no {_CASE}"
            raise ResultsFileError(place, None, f"{problem}; expected one row a case")
        seen.add(case_id)
        yield Review(place, doctor, case_id, _text(cells[_ANSWER]), _text(cells[_TALK]), _marks(cells, doctor, rater))


def _marks(cells: dict[str, object], doctor: str, rater: str) -> tuple[Rating, ...]:
    case_id = _text(cells[_CASE]).removesuffix(".json")
    about = {column: Rating(doctor, case_id, rater, item, None, CONDITION, TRIAL) for column, item in QUESTIONS.items()}
    return tuple(rated(rating, cells[column], yes_or_no) for column, rating in about.items())


def _text(cell: object) -> str:
    return "" if cell is None else str(cell).strip()
