"""The run folder: `study.toml`, `manifest.json` and `run.db`, and everything that reads or writes that database.

The tables follow the path: cases, encounters, messages, answers, scores, ratings; and calls, the journal.
One process writes (a lock file keeps others out), in one thread, many rows to a commit; anybody may read.
"""

import json
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import filelock

from openosce.cases import Case
from openosce.encounters import Encounter, EndReason, Message
from openosce.errors import RunFolderError
from openosce.grading.record import Answer, Score, Trial, TrialKey, may_be_closed

DATABASE = "run.db"
MANIFEST = "manifest.json"
STUDY = "study.toml"
REPORT = "report.html"

_SCHEMA_VERSION = 1
_COMMIT_ROWS = 256
_COMMIT_SECONDS = 0.1

_SCHEMA = """
CREATE TABLE cases (id TEXT PRIMARY KEY, specialty TEXT, dataset TEXT NOT NULL, record TEXT NOT NULL);
CREATE TABLE encounters (
    id INTEGER PRIMARY KEY, doctor TEXT NOT NULL, condition TEXT NOT NULL, case_id TEXT NOT NULL REFERENCES cases(id),
    trial INTEGER NOT NULL, ended TEXT NOT NULL, error TEXT, UNIQUE (doctor, condition, case_id, trial));
CREATE TABLE messages (
    encounter_id INTEGER NOT NULL REFERENCES encounters(id) ON DELETE CASCADE, n INTEGER NOT NULL,
    speaker TEXT NOT NULL, listener TEXT, text TEXT NOT NULL, call_id INTEGER,
    PRIMARY KEY (encounter_id, n)) WITHOUT ROWID;
CREATE TABLE answers (
    id INTEGER PRIMARY KEY, encounter_id INTEGER NOT NULL REFERENCES encounters(id) ON DELETE CASCADE,
    arm TEXT NOT NULL, text TEXT, missing_reason TEXT, UNIQUE (encounter_id, arm));
CREATE TABLE scores (
    answer_id INTEGER NOT NULL REFERENCES answers(id) ON DELETE CASCADE, metric TEXT NOT NULL, value REAL,
    policy TEXT NOT NULL, grader TEXT NOT NULL, evidence TEXT, missing_reason TEXT);
CREATE INDEX scores_of_answer ON scores (answer_id);
CREATE TABLE ratings (
    answer_id INTEGER REFERENCES answers(id) ON DELETE CASCADE,
    encounter_id INTEGER REFERENCES encounters(id) ON DELETE CASCADE,
    rater TEXT NOT NULL, item TEXT NOT NULL, value REAL, note TEXT, missing_reason TEXT);
CREATE TABLE calls (
    id INTEGER PRIMARY KEY, address TEXT NOT NULL, request_hash TEXT NOT NULL, reply TEXT, tokens_in INTEGER,
    tokens_cached INTEGER, tokens_out INTEGER, dollars REAL, ms REAL, error TEXT);
CREATE UNIQUE INDEX calls_answered ON calls (address) WHERE error IS NULL;
"""


@dataclass(frozen=True)
class Call:
    """One row of the journal: a call that was made, and what came of it."""

    address: str
    """JSON list of doctor, condition, case, trial, step, repeat."""
    request_hash: str
    reply: str | None
    tokens_in: int | None = None
    tokens_cached: int | None = None
    tokens_out: int | None = None
    dollars: float | None = None
    ms: float | None = None
    error: str | None = None


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
        self._queue: queue.SimpleQueue[Trial | Call | Case | None] = queue.SimpleQueue()
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
                script = f"BEGIN; {_SCHEMA} PRAGMA user_version = {_SCHEMA_VERSION}; COMMIT;"
                self._connection.executescript(script)
            # A connection of its own: the loop reads earlier replies while the writer's transaction is open.
            self._earlier = sqlite3.connect(path, isolation_level=None)
            (self._has_calls,) = self._earlier.execute("SELECT EXISTS (SELECT 1 FROM calls)").fetchone()
        except sqlite3.Error as failure:
            raise RunFolderError(f"{path}: cannot be written: {failure}") from None
        _check_version(path, version or _SCHEMA_VERSION)

    def write(self, row: Trial | Call | Case) -> None:
        """Queue a row; it is on disk within a tenth of a second, whole or not at all.

        Raises:
            RunFolderError: An earlier row could not be written (a full disk, for instance).
        """
        self._raise_failure()
        self._queue.put(row)

    def replay(self, address: str) -> tuple[str, str] | None:
        """The request hash and the reply of an answered call made before this process opened the run."""
        if not self._has_calls:
            return None
        row: tuple[str, str] | None = self._earlier.execute(
            "SELECT request_hash, reply FROM calls WHERE address = ? AND error IS NULL", (address,)
        ).fetchone()
        return row

    def close(self) -> None:
        """Write what is queued, and let go of the folder."""
        self._queue.put(None)
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
        closed = False
        while not closed:
            row = self._queue.get()
            rows = []
            deadline = time.monotonic() + _COMMIT_SECONDS
            while row is not None:
                rows.append(row)
                wait = deadline - time.monotonic()
                if len(rows) == _COMMIT_ROWS or wait <= 0:
                    break
                try:
                    row = self._queue.get(timeout=wait)
                except queue.Empty:
                    break
            closed = row is None
            self._commit(rows)

    def _commit(self, rows: list[Trial | Call | Case]) -> None:
        if self._failure is not None:
            return
        try:
            self._connection.execute("BEGIN")
            for row in rows:
                _insert(self._connection, row)
            self._connection.execute("COMMIT")
        except (sqlite3.Error, ValueError) as failure:  # ValueError: text that is not Unicode
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


def _check_version(path: Path, version: int) -> None:
    if version != _SCHEMA_VERSION:
        raise RunFolderError(f"{path}: has format {version}, this version of OpenOSCE reads format {_SCHEMA_VERSION}")


def _insert(connection: sqlite3.Connection, row: Trial | Call | Case) -> None:
    if isinstance(row, Trial):
        _insert_trial(connection, row)
    elif isinstance(row, Call):
        fields = vars(row)
        sql = f"INSERT INTO calls ({', '.join(fields)}) VALUES ({', '.join('?' * len(fields))})"
        connection.execute(sql, tuple(fields.values()))
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
    connection.executemany(
        "INSERT INTO messages (encounter_id, n, speaker, listener, text) VALUES (?, ?, ?, ?, ?)",
        [(encounter_id, n, m.speaker, m.listener, m.text) for n, m in enumerate(encounter.transcript)],
    )
    for answer in trial.answers:
        answer_id = connection.execute(
            "INSERT INTO answers (encounter_id, arm, text, missing_reason) VALUES (?, ?, ?, ?)",
            (encounter_id, answer.arm, answer.text, answer.missing_reason),
        ).lastrowid
        connection.executemany(
            "INSERT INTO scores (answer_id, metric, value, policy, grader, evidence, missing_reason) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(answer_id, s.metric, s.value, s.policy, s.grader, s.evidence, s.missing_reason) for s in answer.scores],
        )


@dataclass(frozen=True)
class CaseRow:
    """A planned case, as far as the analysis needs it."""

    id: str
    specialty: str | None
    dataset: str


@dataclass(frozen=True)
class ScoreRow:
    """One score with the place it belongs to."""

    key: TrialKey
    arm: str
    score: Score
    answer_missing_reason: str | None


class RunReader:
    """Reads a run folder; needs no key, no network and no model."""

    def __init__(self, folder: Path) -> None:
        """Open a run for reading.

        Raises:
            RunFolderError: There is no run, or it cannot be read.
        """
        self.folder = folder
        path = folder / DATABASE
        if not path.is_file():
            raise RunFolderError(f"{folder}: no run here ({DATABASE} is missing); make one with `osce run`")
        with self._reading():
            self._connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
            (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        _check_version(path, version)
        self.manifest: dict[str, Any] = _read_manifest(folder)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as failure:
            raise RunFolderError(f"{self.folder / DATABASE}: cannot be read: {failure}") from None

    def _rows(self, sql: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        with self._reading():
            return self._connection.execute(sql, values).fetchall()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def cases(self) -> list[CaseRow]:
        """The planned cases."""
        return [CaseRow(*row) for row in self._rows("SELECT id, specialty, dataset FROM cases ORDER BY rowid")]

    def case(self, case_id: str) -> Case:
        """One case's whole record."""
        rows = self._rows("SELECT record FROM cases WHERE id = ?", (case_id,))
        if not rows:
            raise RunFolderError(f"{self.folder}: holds no case {case_id!r}")
        return Case.model_validate_json(rows[0][0])

    def scores(self, metric: str) -> Iterator[ScoreRow]:
        """Every score of a metric."""
        sql = """SELECT doctor, condition, case_id, trial, arm, metric, value, policy, grader, evidence,
                        s.missing_reason, a.missing_reason
                 FROM scores s JOIN answers a ON a.id = s.answer_id JOIN encounters e ON e.id = a.encounter_id
                 WHERE metric = ? ORDER BY e.id, a.id, s.rowid"""
        for row in self._rows(sql, (metric,)):
            yield ScoreRow(TrialKey(*row[:4]), row[4], Score(*row[5:11]), row[11])

    def endings(self) -> list[tuple[str, str, str, int]]:
        """Doctor, condition, why encounters ended, and how many."""
        sql = "SELECT doctor, condition, ended, COUNT(*) FROM encounters GROUP BY 1, 2, 3 ORDER BY 1, 2, 4 DESC"
        return [(doctor, condition, ended, count) for doctor, condition, ended, count in self._rows(sql)]

    def failed(self) -> list[tuple[TrialKey, str, str | None]]:
        """The encounters that infrastructure ended: which, how, and the error."""
        names = [reason.value for reason in EndReason if reason.is_failure]
        sql = f"""SELECT doctor, condition, case_id, trial, ended, error FROM encounters
                  WHERE ended IN ({", ".join("?" * len(names))}) ORDER BY id"""
        return [(TrialKey(*row[:4]), row[4], row[5]) for row in self._rows(sql, tuple(names))]

    def finished(self) -> set[TrialKey]:
        """The trials that need no further try."""
        keys = {
            row[0]: TrialKey(*row[1:5])
            for row in self._rows("SELECT id, doctor, condition, case_id, trial, ended FROM encounters")
        }
        gaps = {row[0] for row in self._rows("SELECT id, ended FROM encounters") if may_be_closed(row[1])}
        sql = """SELECT a.encounter_id, a.missing_reason, s.missing_reason
                 FROM answers a LEFT JOIN scores s ON s.answer_id = a.id
                 WHERE a.missing_reason IS NOT NULL OR s.missing_reason IS NOT NULL"""
        for encounter_id, *reasons in self._rows(sql):
            if any(may_be_closed(reason) for reason in reasons):
                gaps.add(encounter_id)
        return {key for encounter_id, key in keys.items() if encounter_id not in gaps}

    def trials(self, case_id: str, doctor: str | None = None, trial: int | None = None) -> list[Trial]:
        """The trials of one case, whole: transcripts, answers, scores."""
        sql = """SELECT id, doctor, condition, case_id, trial, ended, error FROM encounters
                 WHERE case_id = ? AND (? IS NULL OR doctor = ?) AND (? IS NULL OR trial = ?)
                 ORDER BY doctor, condition, trial"""
        rows = self._rows(sql, (case_id, doctor, doctor, trial, trial))
        return [self._trial(row[0], TrialKey(*row[1:5]), row[5], row[6]) for row in rows]

    def _trial(self, encounter_id: int, key: TrialKey, ended: str, error: str | None) -> Trial:
        messages = self._rows(
            "SELECT speaker, listener, text FROM messages WHERE encounter_id = ? ORDER BY n", (encounter_id,)
        )
        encounter = Encounter(tuple(Message(*row) for row in messages), EndReason(ended), error)
        answers = []
        for answer_id, arm, text, reason in self._rows(
            "SELECT id, arm, text, missing_reason FROM answers WHERE encounter_id = ? ORDER BY id", (encounter_id,)
        ):
            scores = self._rows(
                "SELECT metric, value, policy, grader, evidence, missing_reason FROM scores "
                "WHERE answer_id = ? ORDER BY rowid",
                (answer_id,),
            )
            answers.append(Answer(arm, text, reason, tuple(Score(*row) for row in scores)))
        return Trial(key, encounter, tuple(answers))


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as failure:
        raise RunFolderError(f"{path}: cannot be read: {failure}") from None
    if not isinstance(manifest, dict) or "study" not in manifest:
        raise RunFolderError(f"{path}: is no manifest of a run")
    return manifest
