"""CRAFT-MD's table of correctness: a row an answer of a model, without texts and conversations; .csv or .csv.gz.

Columns: model, case_id, category, dataset, experiment, trial, valid, correct, response_kind, n_choices_in_response.
"""

import csv
import gzip
import hashlib
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TextIO

from openosce.cases import Case
from openosce.encounters import Encounter, EndReason
from openosce.errors import ResultsFileError
from openosce.grading import Answer, Missing, Trial, TrialKey
from openosce.runs.imports.craft_md_scores import (
    CONDITION,
    EXPERIMENTS,
    PROVIDER,
    TRIALS,
    missing_answer,
    missing_trial,
    published,
)
from openosce.runs.imports.irregular import Irregular, Tally

_COLUMNS = ("model", "case_id", "dataset", "experiment", "trial", "valid", "correct", "response_kind",
            "n_choices_in_response")  # fmt: skip
_NOT_READ = ("category",)
_PLACES = {name: n for n, name in enumerate(EXPERIMENTS)}
_TRIALS = tuple(map(str, range(TRIALS)))
_NUMBERS = tuple(map(str, range(100)))


class _Cell(NamedTuple):
    """What the table says of one answer."""

    valid: bool
    correct: float
    kind: str
    n_choices: int


_Cells = dict[tuple[str, int], list[_Cell | None]]
"""By case and trial: a cell for each experiment."""


@dataclass(frozen=True)
class TabledResults:
    """One model's rows of the table."""

    doctor: str
    cells: _Cells
    content_hash: str
    tally: Tally
    released_as: str = "table of correctness"

    @property
    def case_ids(self) -> frozenset[str]:
        """The cases that there are results of."""
        return frozenset(case_id for case_id, _ in self.cells)

    def trials(self, case: Case) -> Iterator[Trial]:
        """The five trials of a case: scores without texts; missing ones as such."""
        for n in range(TRIALS):
            key = TrialKey(self.doctor, CONDITION, case.id, n)
            cells = self.cells.get((case.id, n))
            if cells is None:
                yield missing_trial(key, Missing.NOT_RELEASED.because("the table does not hold this trial"))
                continue
            answers = (
                _answer(arm, cell, case.diagnosis.name) for arm, cell in zip(EXPERIMENTS.values(), cells, strict=True)
            )
            yield Trial(key, Encounter((), EndReason.NOT_RELEASED), tuple(answers))


def _answer(arm: str, cell: _Cell | None, reference: str) -> Answer:
    if cell is None:
        return missing_answer(arm, Missing.NOT_RELEASED.because("the table does not hold this answer"))
    if not cell.valid:
        reason = Missing.EMPTY_REPLY if cell.kind == "null" else Missing.LEFT_OUT
        return missing_answer(arm, reason.because(f"{cell.kind} in the table"))
    if not arm.endswith("_mcq"):
        return Answer(arm, None, None, (published(arm, cell.correct),))
    said = "is" if cell.correct else "is not"
    named = f" (options named: {cell.n_choices})" if cell.n_choices >= 0 else ""
    evidence = f"contains: {reference!r} {said} in the reply{named}"
    return Answer(arm, None, None, (published(arm, cell.correct, evidence),))


def read_table(path: Path, cases: Mapping[str, Case]) -> list[TabledResults]:
    """Read the whole table; one record a model, in the order of their first rows.

    Raises:
        ResultsFileError: It cannot be read, lacks a column, holds a value that is none, or says two things of one
            answer.
    """
    models: dict[str, tuple[_Cells, Tally]] = {}
    other_columns: list[str] = []
    for line, row in _rows(path, other_columns):
        by_trial, tally = models.setdefault(row["model"], ({}, Tally()))
        _add(row, cases, by_trial, tally, path, line)
    if not models:
        raise ResultsFileError(path, None, "holds no row below its header")
    content_hash = _hash(path)
    for by_trial, tally in models.values():
        _note_gaps(by_trial, tally, path.name)
        for column in other_columns:
            tally.note(Irregular.OTHER_COLUMN, f"{column!r:.60}")
    return [TabledResults(f"{PROVIDER}/{name}", cells, content_hash, tally) for name, (cells, tally) in models.items()]


def _rows(path: Path, other_columns: list[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows by column, each with its line; columns that are not read are added to `other_columns`."""
    line = 1
    try:
        with _opened(path) as file:
            reader = csv.reader(file, strict=True)
            header = next(reader, [])
            _check_header(header, path)
            other_columns += [column for column in header if column not in (*_COLUMNS, *_NOT_READ)]
            line = reader.line_num + 1
            for fields in reader:
                if len(fields) != len(header):
                    problem = f"expected {len(header)} fields in this row, found {len(fields)}"
                    raise ResultsFileError(path, line, problem)
                yield line, dict(zip(header, fields, strict=True))
                line = reader.line_num + 1
    except csv.Error as failure:
        raise ResultsFileError(path, line, f"not valid CSV: {failure}") from None
    except UnicodeDecodeError:
        raise ResultsFileError(path, line, "not UTF-8 text from about here on; save the file as UTF-8") from None
    except (EOFError, zlib.error, OSError) as failure:  # gzip's own error is an OSError
        reason = failure.strerror if isinstance(failure, OSError) and failure.strerror else failure
        raise ResultsFileError(path, line, f"cannot be read: {reason}; is the file whole?") from None


def _opened(path: Path) -> TextIO:
    with path.open("rb") as file:
        is_packed = file.read(2) == b"\x1f\x8b"
    if is_packed:
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _check_header(header: list[str], path: Path) -> None:
    missing = [column for column in _COLUMNS if column not in header]
    if missing:
        found = ", ".join(repr(name[:40]) for name in header[:12]) or "nothing"
        problem = f"the table of correctness lacks the column(s) {', '.join(missing)}; it has {found}"
        raise ResultsFileError(path, 1, problem)
    if len(set(header)) < len(header):
        raise ResultsFileError(path, 1, "the table of correctness has a column twice")


def _add(
    row: Mapping[str, str], cases: Mapping[str, Case], by_trial: _Cells, tally: Tally, path: Path, line: int
) -> None:
    """Check one row and put it in its place."""
    cell, place = _checked(row, cases, path, line), f"{path.name}:{line}"
    cells = by_trial.setdefault((row["case_id"], int(row["trial"])), [None] * len(_PLACES))
    at = _PLACES[row["experiment"]]
    if cells[at] is not None:
        if cells[at] != cell:
            raise ResultsFileError(path, line, "says another thing of an answer that an earlier row has told of")
        tally.note(Irregular.COPY, place)
        return
    cells[at] = cell
    if not cell.valid:
        kind = Irregular.NULL if cell.kind == "null" else Irregular.LEFT_OUT
        tally.note(kind, f"{place}: {cell.kind!r:.40}")
    if row["dataset"] != cases[row["case_id"]].source:
        tally.note(Irregular.OTHER_DATASET, place)


def _checked(row: Mapping[str, str], cases: Mapping[str, Case], path: Path, line: int) -> _Cell:
    """What a row says, if each of its values is one."""
    problems = (
        ("model", bool(row["model"].strip()) and row["model"].isprintable(), "a name"),
        ("case_id", row["case_id"] in cases, "an id of the cases file"),
        ("experiment", row["experiment"] in _PLACES, f"one of {', '.join(_PLACES)}"),
        ("trial", row["trial"] in _TRIALS, f"one of {', '.join(_TRIALS)}"),
        ("valid", row["valid"] in _NUMBERS[:2], "0 or 1"),
        ("correct", row["correct"] in _NUMBERS[: 1 + (row["valid"] == "1")], "0 or 1, and 0 where valid is 0"),
        ("n_choices_in_response", row["n_choices_in_response"] in ("-1", *_NUMBERS), "-1 or a small count"),
    )
    for column, is_fine, expected in problems:
        if not is_fine:
            raise ResultsFileError(path, line, f"{column}: expected {expected}, found {row[column]!r:.60}")
    return _cell(row["valid"] == "1", float(row["correct"]), row["response_kind"], int(row["n_choices_in_response"]))


@lru_cache(maxsize=1024)
def _cell(valid: bool, correct: float, kind: str, n_choices: int) -> _Cell:
    """One object for all rows that say the same."""
    return _Cell(valid, correct, kind, n_choices)


def _note_gaps(by_trial: _Cells, tally: Tally, place: str) -> None:
    for case_id in dict.fromkeys(case_id for case_id, _ in by_trial):
        for n in range(TRIALS):
            cells = by_trial.get((case_id, n))
            gap = Irregular.NO_TRIAL if cells is None else Irregular.NO_KEY
            n_gaps = 1 if cells is None else cells.count(None)
            if n_gaps:
                tally.note(gap, f"{place}: {case_id}, trial {n}", n_gaps)


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
