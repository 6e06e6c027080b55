"""A damaged `run.db`: what can still be read is copied into a new one, and what cannot is told.

SQLite gives up a query at the first damaged page. Here each table is read from both ends up to the damage, and again
from points between, so that a page that was overwritten or cut off costs the rows it held, and hardly more.
"""

import sqlite3
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from openosce.errors import RunFolderError
from openosce.runs.folder import DATABASE, MANIFEST, RunWriter

NOT_READABLE = "not_run_or_not_readable"
"""Why a planned answer is missing of which a damaged run holds no trace."""

_TABLES = ("cases", "encounters", "messages", "answers", "scores", "ratings", "calls")
_MOST_PROBES = 4_000
"""New starts in one table, each of which may find a row or one more damaged page."""
_SMALLEST_ROW = 8
"""Bytes: where even the last row's number cannot be read, the size of the file bounds it."""

_Row = tuple[object, ...]


def is_damage(failure: BaseException) -> bool:
    """Whether a run could not be read because its database is damaged or of another shape."""
    return isinstance(failure.__context__, sqlite3.DatabaseError)


def salvage(run: Path, into: Path) -> tuple[str, ...]:
    """Copy what can be read of a damaged run into an empty folder, and say what cannot, a line each.

    Raises:
        RunFolderError: Nothing can be read.
    """
    (into / MANIFEST).write_bytes((run / MANIFEST).read_bytes())
    RunWriter(into).close()
    damaged = run / DATABASE
    try:
        with closing(_opened(damaged)) as source, closing(sqlite3.connect(into / DATABASE)) as target, target:
            found = [_copy(source, target, table, damaged.stat().st_size) for table in _TABLES]
            lines = [line for table in found if (line := table.in_words()) is not None]
            lines += _without_context(target)
    except sqlite3.Error as failure:
        raise RunFolderError(f"{damaged}: nothing in it can be read: {failure}; restore it from a copy") from None
    if not any(table.n_read for table in found):
        raise RunFolderError(f"{damaged}: is damaged, and no row of it can be read; restore it from a copy")
    return tuple(lines) or ("all its rows could be read: only an index or an unused page is damaged",)


@dataclass
class _Copied:
    """What came of one table."""

    table: str
    n_read: int = 0
    n_lost: int = 0
    """At most: numbers of rows that were never given count as well."""
    open_end: bool = False
    """Whether the last rows are lost, so that nobody knows how many there were."""
    error: str | None = None

    def in_words(self) -> str | None:
        """One line, or None where nothing is lost."""
        if self.error is None:
            return None
        if self.n_read == 0:
            return f"table {self.table}: none of it could be read ({self.error})"
        lost = "how many more there were is not known" if self.open_end else f"up to {self.n_lost:,} could not be"
        return f"table {self.table}: {self.n_read:,} rows were read, {lost} ({self.error})"


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    connection.text_factory = lambda raw: raw.decode(errors="replace")
    # Without this, SQLite refuses a file that is shorter than its header says. The file is opened for reading alone.
    connection.execute("PRAGMA writable_schema = ON")
    return connection


def _copy(source: sqlite3.Connection, target: sqlite3.Connection, table: str, n_bytes: int) -> _Copied:
    columns = [row[1] for row in target.execute(f"PRAGMA table_info({table})")]
    reading = _Messages(source, columns, target) if table == "messages" else _Rows(source, table, columns, n_bytes)
    first = "" if table == "messages" else "rowid, "
    marks = ", ".join("?" * (len(columns) + bool(first)))
    insert = f"INSERT OR IGNORE INTO {table} ({first}{', '.join(columns)}) VALUES ({marks})"
    before, n_offered = target.total_changes, 0
    for row in reading:
        target.execute(insert, row)
        n_offered += 1
    copied = reading.copied
    copied.n_read = target.total_changes - before
    if n_offered > copied.n_read:  # bytes that happened to look like rows
        copied.n_lost += n_offered - copied.n_read
        copied.error = copied.error or "rows that contradict the table"
    return copied


def _without_context(target: sqlite3.Connection) -> list[str]:
    """Give cases that only their encounters name a row of their own, and count what hangs in the air."""
    stubs = "SELECT DISTINCT case_id, 'not readable', '{}' FROM encounters WHERE case_id NOT IN (SELECT id FROM cases)"
    n_stubs = target.execute(f"INSERT INTO cases (id, dataset, record) {stubs}").rowcount
    orphans = "SELECT COUNT(*) FROM answers WHERE encounter_id NOT IN (SELECT id FROM encounters)"
    (n_orphans,) = target.execute(orphans).fetchone()
    lines = []
    if n_stubs:
        lines.append(f"{n_stubs:,} cases are known by name alone: specialty, data set and diagnosis are lost")
    if n_orphans:
        lines.append(f"{n_orphans:,} answers belong to encounters that could not be read, and are left out")
    return lines


class _Rows:
    """The rows of a table, each with its number in front; `copied` says what was lost once they are read."""

    def __init__(self, source: sqlite3.Connection, table: str, columns: list[str], n_bytes: int) -> None:
        self.copied = _Copied(table)
        self._source = source
        self._select = f"SELECT rowid, {', '.join(columns)} FROM {table} WHERE rowid BETWEEN ? AND ? ORDER BY rowid"
        self._last = f"SELECT COALESCE(MAX(rowid), 0) FROM {table}"
        self._most = n_bytes // _SMALLEST_ROW
        self._reached = 0

    def __iter__(self) -> Iterator[_Row]:
        try:
            (last,) = self._source.execute(self._last).fetchone()
        except sqlite3.Error as failure:
            self.copied.open_end, self.copied.error, last = True, str(failure), self._most
        gaps, probes = deque([(1, int(last))]), 0
        while gaps and probes < _MOST_PROBES:
            low, high = gaps.popleft()
            probes += 1
            low = yield from self._from(low, high, 1)
            if low <= high:
                high = yield from self._from(low, high, -1)
                gaps.extend(self._halves(low, high))
        self.copied.n_lost += sum(high - low + 1 for low, high in gaps)

    def _halves(self, low: int, high: int) -> list[tuple[int, int]]:
        """Where to start anew: both ends of the gap are damaged, and need no second try."""
        middle = (low + high) // 2
        self.copied.n_lost += min(2, high - low + 1)
        return [(start, end) for start, end in ((low + 1, middle), (middle + 1, high - 1)) if start <= end]

    def _from(self, low: int, high: int, step: int) -> Generator[_Row, None, int]:
        """Read from one end up to the damage; returns the number of the next row there, past the other end if none."""
        at = low if step > 0 else high
        try:
            for row in self._source.execute(self._select + (" DESC" if step < 0 else ""), (low, high)):
                yield row
                at = row[0] + step
        except sqlite3.Error as failure:
            self.copied.error = str(failure)
            return at
        return high + 1 if step > 0 else low - 1


class _Messages:
    """The messages: their table has no row numbers, and is read encounter by encounter."""

    def __init__(self, source: sqlite3.Connection, columns: list[str], target: sqlite3.Connection) -> None:
        self.copied = _Copied("messages", open_end=True)
        self._source = source
        self._select = f"SELECT {', '.join(columns)} FROM messages WHERE encounter_id = ? ORDER BY n"
        self._encounters = [number for (number,) in target.execute("SELECT id FROM encounters ORDER BY id")]

    def __iter__(self) -> Iterator[_Row]:
        n_damaged = 0
        for number in self._encounters:
            try:
                yield from self._source.execute(self._select, (number,))
            except sqlite3.Error as failure:
                n_damaged += 1
                self.copied.error = f"{failure}; {n_damaged:,} conversations are touched"
