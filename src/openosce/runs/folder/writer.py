"""The one writer of a run."""

import json
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import Self

import filelock

from openosce.cases import Case
from openosce.errors import RunFolderError
from openosce.grading.record import Rating, Score, Trial, TrialKey
from openosce.runs.folder.records import AddedScores, Call, call_address
from openosce.runs.folder.schema import DATABASE, SCHEMA, SCHEMA_VERSION, check_version

_COMMIT_ROWS = 256
_COMMIT_SECONDS = 0.1
_MOST_WAITING = 4_000
"""Rows in memory at the most; whoever writes more waits for the disk."""
_CALL_FIELDS = tuple(field.name for field in fields(Call))
_INSERT_CALL = f"INSERT INTO calls ({', '.join(_CALL_FIELDS)}) VALUES ({', '.join('?' * len(_CALL_FIELDS))})"
_RATING_FIELDS = tuple(field.name for field in fields(Rating))
# The same rater's later word on the same thing takes the place of the earlier one.
_INSERT_RATING = (
    f"INSERT OR REPLACE INTO ratings ({', '.join(_RATING_FIELDS)}) VALUES ({', '.join('?' * len(_RATING_FIELDS))})"
)

Row = Trial | Call | Case | AddedScores | Rating
"""What can be written."""


class RunWriter:
    """The one writer of a run. Rows are queued at once and committed in groups by a thread of its own."""

    def __init__(self, folder: Path, claim: Callable[[], object] = lambda: None) -> None:
        """Open a run folder for writing, making it and its database where needed.

        Args:
            folder: The run folder.
            claim: Called once no other process can write, before the database is opened.

        Raises:
            RunFolderError: Another process is writing there, or the folder cannot be written.
        """
        self._lock = _lock(folder)
        try:
            claim()
            self._open(folder)
        except OSError as failure:
            self._lock.release()
            raise RunFolderError(f"{folder}: cannot be written: {failure.strerror or failure}") from None
        except BaseException:
            self._lock.release()
            raise
        # Appending wakes nobody: the thread looks for itself, ten times a second, and commits what it finds.
        self._rows: deque[Row] = deque()
        self._closing = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._write_until_closed, name="run.db writer", daemon=True)
        self._thread.start()

    def _open(self, folder: Path) -> None:
        path = folder / DATABASE
        try:
            self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")
            self._connection.execute("PRAGMA foreign_keys = ON")
            (version,) = self._connection.execute("PRAGMA user_version").fetchone()
            if version == 0:
                script = f"BEGIN; {SCHEMA} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;"
                self._connection.executescript(script)
            # A connection of its own: the loop reads earlier replies while the writer's transaction is open.
            self._earlier = sqlite3.connect(path, isolation_level=None)
            (self._has_calls,) = self._earlier.execute("SELECT EXISTS (SELECT 1 FROM calls)").fetchone()
        except sqlite3.Error as failure:
            raise RunFolderError(f"{path}: cannot be written: {failure}") from None
        check_version(path, version or SCHEMA_VERSION)

    def write(self, row: Row) -> None:
        """Queue a row; it is on disk within a tenth of a second, whole or not at all.

        Raises:
            RunFolderError: An earlier row could not be written (a full disk, for instance).
        """
        self._raise_failure()
        while len(self._rows) > _MOST_WAITING and self._failure is None:
            time.sleep(_COMMIT_SECONDS / 10)  # the disk is slower than the endpoint: wait, and do not fill the memory
        self._rows.append(row)

    def replay(self, address: str) -> tuple[str, str] | None:
        """The request hash and the reply of an answered call made before this process opened the run."""
        if not self._has_calls:
            return None
        row: tuple[str, str] | None = self._earlier.execute(
            "SELECT request_hash, reply FROM calls WHERE address = ? AND error IS NULL", (address,)
        ).fetchone()
        return row

    def spent(self) -> tuple[int, float]:
        """The calls answered before this process opened the run, and the dollars they cost as far as known."""
        sql = "SELECT COUNT(*), COALESCE(SUM(dollars), 0) FROM calls WHERE error IS NULL"
        calls, dollars = self._earlier.execute(sql).fetchone()
        return calls, dollars

    def close(self) -> None:
        """Write what is queued, and let go of the folder."""
        self._closing.set()
        self._thread.join()
        self._connection.close()
        self._earlier.close()
        self._lock.release()
        self._raise_failure()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise RunFolderError(f"run.db cannot be written: {self._failure}; the same command goes on from here")

    def _write_until_closed(self) -> None:
        closing = False
        while not closing:
            closing = self._closing.wait(_COMMIT_SECONDS)
            while self._rows:
                self._commit([self._rows.popleft() for _ in range(min(_COMMIT_ROWS, len(self._rows)))])

    def _commit(self, rows: list[Row]) -> None:
        if self._failure is not None:
            return
        try:
            self._connection.execute("BEGIN")
            for row in rows:
                _insert(self._connection, row)
            self._connection.execute("COMMIT")
        except Exception as failure:  # no disk, no Unicode, scores of an unknown answer: the run has to hear of it
            self._failure = failure
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")


def _lock(folder: Path) -> filelock.FileLock:
    lock = filelock.FileLock(folder / ".lock")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except filelock.Timeout:
        raise RunFolderError(f"{folder}: another process is writing to this run; wait for it or stop it") from None
    except OSError as failure:
        raise RunFolderError(f"{folder}: cannot be written: {failure.strerror or failure}") from None
    return lock


def _insert(connection: sqlite3.Connection, row: Row) -> None:
    if isinstance(row, Trial):
        _insert_trial(connection, row)
    elif isinstance(row, Call):
        connection.execute(_INSERT_CALL, tuple(vars(row).values()))
    elif isinstance(row, AddedScores):
        _add_scores(connection, row)
    elif isinstance(row, Rating):
        connection.execute(_INSERT_RATING, tuple(vars(row).values()))
    else:
        values = (row.id, row.specialty, row.source, row.model_dump_json(exclude_defaults=True))
        connection.execute("INSERT OR IGNORE INTO cases (id, specialty, dataset, record) VALUES (?, ?, ?, ?)", values)


def _insert_trial(connection: sqlite3.Connection, trial: Trial) -> None:
    """Write a trial in the place of an earlier, unfinished one."""
    key = (trial.key.doctor, trial.key.condition, trial.key.case_id, trial.key.trial)
    connection.execute("DELETE FROM encounters WHERE (doctor, condition, case_id, trial) = (?, ?, ?, ?)", key)
    encounter = trial.encounter
    encounter_id = connection.execute(
        "INSERT INTO encounters (doctor, condition, case_id, trial, ended, error) VALUES (?, ?, ?, ?, ?, ?)",
        (*key, encounter.ended.value, encounter.error),
    ).lastrowid
    calls = _calls_of_talk(connection, trial.key)
    connection.executemany(
        "INSERT INTO messages (encounter_id, n, speaker, listener, text, images, heard_by, call_id) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (encounter_id, n, m.speaker, m.listener, m.text, _names(m.images or None), _names(m.heard_by), calls.get(n))
            for n, m in enumerate(encounter.transcript)
        ],
    )
    for answer in trial.answers:
        answer_id = connection.execute(
            "INSERT INTO answers (encounter_id, arm, text, missing_reason) VALUES (?, ?, ?, ?)",
            (encounter_id, answer.arm, answer.text, answer.missing_reason),
        ).lastrowid
        _insert_scores(connection, answer_id, answer.scores)


def _names(names: tuple[str, ...] | None) -> str | None:
    return None if names is None else json.dumps(names)


def _insert_scores(connection: sqlite3.Connection, answer_id: int | None, scores: Iterable[Score]) -> None:
    connection.executemany(
        "INSERT INTO scores (answer_id, metric, value, policy, grader, evidence, missing_reason) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(answer_id, s.metric, s.value, s.policy, s.grader, s.evidence, s.missing_reason) for s in scores],
    )


def _add_scores(connection: sqlite3.Connection, added: AddedScores) -> None:
    """Add scores beside the earlier ones; they take the place of the gaps that the same grading left before."""
    place = (added.key.doctor, added.key.condition, added.key.case_id, added.key.trial, added.arm)
    found: tuple[int] | None = connection.execute(
        "SELECT a.id FROM answers a JOIN encounters e ON e.id = a.encounter_id "
        "WHERE (doctor, condition, case_id, trial, arm) = (?, ?, ?, ?, ?)",
        place,
    ).fetchone()
    if found is None:
        raise ValueError(f"scores of an answer that is not there: {place}")
    connection.executemany(
        "DELETE FROM scores WHERE (answer_id, metric, policy, grader) = (?, ?, ?, ?) AND value IS NULL",
        {(*found, score.metric, score.policy, score.grader) for score in added.scores},
    )
    _insert_scores(connection, found[0], added.scores)


def _calls_of_talk(connection: sqlite3.Connection, key: TrialKey) -> dict[int, int]:
    """By message, the call it came from: the last one, where an empty reply was asked for again."""
    first = call_address(key, "talk/").rpartition('"')[0]
    # One walk along the index: to look up every message by itself costs more than to store it.
    rows = connection.execute(
        "SELECT address, id FROM calls WHERE address > ? AND address < ? AND error IS NULL ORDER BY id",
        (first, first + ":"),  # the colon follows the digits
    )
    return {int(json.loads(address)[4].removeprefix("talk/")): call_id for address, call_id in rows}
