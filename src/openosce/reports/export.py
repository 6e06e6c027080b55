"""A run's tables as files: CSV, JSON lines or Parquet, with the data dictionary beside them.

Rows are streamed, so memory does not grow with the run, and files are there whole or not at all.
"""

import json
import math
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_args

from openosce.errors import RunFolderError, StudyError
from openosce.reports.dictionary import TABLES, Kind, Table, data_dictionary
from openosce.reports.text import one_line
from openosce.runs.folder import RunReader

Format = Literal["csv", "jsonl", "parquet"]
FORMATS: tuple[Format, ...] = get_args(Format)

DICTIONARY = "data-dictionary.md"
_BATCH_CHARACTERS = 16_000_000
"""Text of one row group of Parquet, about; what is held in memory at once."""
_BATCH_ROWS = 10_000

_NO_NUMBERS = (math.inf, -math.inf)

Row = tuple[Any, ...]
Write = Callable[[Path, Table, Iterable[Row]], int]


@dataclass(frozen=True)
class Exported:
    """One file that was written."""

    path: Path
    n_rows: int


def export_run(run: Path, out: Path, form: str = "csv", *, force: bool = False) -> list[Exported]:
    """Write every table of a run into a folder, a file a table, and the data dictionary.

    The run may be written to meanwhile: all tables show it at one moment.

    Args:
        run: The run folder.
        out: The folder to write to; it is made where needed.
        form: `csv`, `jsonl` or `parquet`.
        force: Whether files of an earlier export may be replaced.

    Raises:
        StudyError: An unknown format, a missing extra, files that are there already, a folder that cannot be written.
        RunFolderError: The run cannot be read; nothing is written then.
    """
    write = _writer(form)
    if form == "parquet":
        _imported("pyarrow.parquet")  # before anything is read or written
    names = {table.name: f"{table.name}.{form}" for table in TABLES}
    with RunReader(run) as reader, reader.snapshot():
        _refuse_files(out, [*names.values(), DICTIONARY], force)
        with _unfinished(out) as folder:
            counts = {table.name: write(folder / names[table.name], table, _rows(reader, table)) for table in TABLES}
            (folder / DICTIONARY).write_text(data_dictionary(), encoding="utf-8")
    return [Exported(out / names[name], count) for name, count in counts.items()]


@contextmanager
def _unfinished(out: Path) -> Iterator[Path]:
    """A folder for files that move to `out` at the end, if nothing fails; otherwise nothing of them stays."""
    was_there = out.is_dir()
    folder = out / f".unfinished-{os.getpid()}"
    try:
        folder.mkdir(parents=True)
        yield folder
        for file in sorted(folder.iterdir()):
            file.replace(out / file.name)
    except OSError as failure:
        raise StudyError(f"{out}: cannot be written: {failure.strerror or failure}; give another --out") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if not was_there:
            with suppress(OSError):  # there are files in it, or it could not be made
                out.rmdir()


def _writer(form: str) -> Write:
    if form not in FORMATS:
        raise StudyError(f"--format {form!r}: unknown; known are {', '.join(FORMATS)}")
    return {"csv": _write_csv, "jsonl": _write_jsonl, "parquet": _write_parquet}[form]


def _refuse_files(out: Path, names: Iterable[str], force: bool) -> None:
    if out.exists() and not out.is_dir():
        raise StudyError(f"{out}: is a file; give a folder for the export")
    there = [name for name in names if (out / name).exists()]
    if there and not force:
        raise StudyError(f"{out}: holds {there[0]!r} already; choose another --out, or replace it with --force")


_TYPES: dict[Kind, tuple[type, ...]] = {"text": (str,), "json": (str,), "integer": (int,), "real": (float, int)}


def _rows(reader: RunReader, table: Table) -> Iterator[Row]:
    """The rows in the order of the exported columns, checked: what is no such value comes from a damaged database."""
    names, rows = reader.joined(table.name)
    if table.name == "calls":
        rows = (_with_place(row, names.index("address")) for row in rows)
    kinds = [_TYPES[column.kind] for column in table.exported]
    for row in rows:
        for value, kind, column in zip(row, kinds, table.exported, strict=True):
            if value is not None and (not isinstance(value, kind) or value in _NO_NUMBERS):
                place = f"{reader.folder}: {table.name}.{column.name}"
                raise RunFolderError(
                    f"{place}: expected {column.kind}, found {one_line(repr(value), 40)}; is it damaged?"
                )
        yield row


def _with_place(row: Row, address: int) -> Row:
    """A call with doctor, condition, case, trial, step and repeat in front, read from its address."""
    try:
        doctor, condition, case_id, trial, step, repeat = json.loads(row[address])
    except (TypeError, ValueError):
        return (None,) * 6 + row
    if not condition:  # a grader's: it stands outside the trials
        return (None, None, None, None, step, repeat, *row)
    return (doctor, condition, case_id, trial, step, repeat, *row)


def _write_csv(path: Path, table: Table, rows: Iterable[Row]) -> int:
    n_rows = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(",".join(column.name for column in table.exported) + "\r\n")
        for row in rows:
            file.write(",".join(map(_csv_cell, row)) + "\r\n")
            n_rows += 1
    return n_rows


def _csv_cell(value: str | float | None) -> str:
    """A text always in quotes, so that an empty one is not taken for a missing one; numbers in full precision."""
    if value is None:
        return ""
    return '"' + value.replace('"', '""') + '"' if isinstance(value, str) else repr(value)


def _write_jsonl(path: Path, table: Table, rows: Iterable[Row]) -> int:
    names = [column.name for column in table.exported]
    nested = [column.name for column in table.exported if column.kind == "json"]
    n_rows = 0
    # ASCII with \n: some programs end a line at every line separator of Unicode, which texts may hold.
    with path.open("w", encoding="ascii", newline="") as file:
        for row in rows:
            entry = dict(zip(names, row, strict=True))
            entry |= {name: _parsed(entry[name]) for name in nested if entry[name] is not None}
            file.write(json.dumps(entry) + "\n")
            n_rows += 1
    return n_rows


def _parsed(record: str) -> Any:
    try:
        return json.loads(record)
    except ValueError:
        raise RunFolderError(
            f"a cell that should hold JSON does not: {one_line(record, 60)}; the database is damaged"
        ) from None


def _write_parquet(path: Path, table: Table, rows: Iterable[Row]) -> int:
    arrow, parquet = _imported("pyarrow"), _imported("pyarrow.parquet")
    types = {"text": arrow.string(), "json": arrow.string(), "integer": arrow.int64(), "real": arrow.float64()}
    schema = arrow.schema([(column.name, types[column.kind]) for column in table.exported])
    n_rows = 0
    with parquet.ParquetWriter(path, schema, compression="zstd") as file:
        for batch in _batches(rows):
            columns = [arrow.array(values, field.type) for values, field in zip(zip(*batch), schema)]  # noqa: B905
            file.write_table(arrow.Table.from_arrays(columns, schema=schema))
            n_rows += len(batch)
    return n_rows


def _imported(module: str) -> ModuleType:
    try:
        return import_module(module)
    except (ImportError, OSError) as failure:
        reason = one_line(str(failure))
        raise StudyError(f"--format parquet needs more: pip install 'openosce[export]' ({reason})") from None


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Row groups, small enough to be held in memory."""
    batch: list[Row] = []
    n_characters = 0
    for row in rows:
        batch.append(row)
        n_characters += sum(len(value) for value in row if isinstance(value, str))
        if len(batch) >= _BATCH_ROWS or n_characters >= _BATCH_CHARACTERS:
            yield batch
            batch, n_characters = [], 0
    if batch:
        yield batch
