"""Reading a run; needs no key, no network and no model."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, Self

from openosce.cases import Case
from openosce.encounters import Encounter, EndReason, Message
from openosce.errors import RunFolderError
from openosce.grading.record import Answer, Rating, Score, Trial, TrialKey, may_be_closed
from openosce.runs.folder.records import CallSums, CaseRow, Judge, ScoreRow
from openosce.runs.folder.schema import DATABASE, MANIFEST, check_version

_TRIAL = "e.doctor, e.condition, e.case_id, e.trial"
# CROSS JOIN keeps the order of the tables as written: rows then come in that order without being sorted first.
_OF_ANSWER = "FROM answers a CROSS JOIN encounters e ON e.id = a.encounter_id"
_JOINED = {
    "cases": "SELECT id AS case_id, specialty, dataset, record FROM cases ORDER BY rowid",
    "encounters": f"SELECT {_TRIAL}, ended, error FROM encounters e ORDER BY id",
    "messages": f"""SELECT {_TRIAL}, n, speaker, listener, text, images, heard_by, call_id
                    FROM encounters e CROSS JOIN messages m ON m.encounter_id = e.id ORDER BY e.id, n""",
    "answers": f"SELECT {_TRIAL}, arm, text, missing_reason {_OF_ANSWER} ORDER BY a.id",
    "scores": f"""SELECT {_TRIAL}, arm, metric, value, policy, grader, evidence, s.missing_reason
                  {_OF_ANSWER} CROSS JOIN scores s ON s.answer_id = a.id ORDER BY a.id, s.rowid""",
    "ratings": """SELECT doctor, condition, case_id, trial, arm, rater, item, value, note, missing_reason
                  FROM ratings ORDER BY id""",
    "calls": """SELECT id, address, request_hash, role, reply, model_id, tokens_in, tokens_cached, tokens_out,
                       dollars, ms, repeated, error FROM calls ORDER BY id""",
}


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
        check_version(path, version)
        self.manifest: dict[str, Any] = _read_manifest(folder)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as failure:
            raise RunFolderError(f"{self.folder / DATABASE}: cannot be read: {failure}") from None

    def rows(self, sql: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query of one's own.

        Raises:
            RunFolderError: The database cannot be read.
        """
        with self._reading():
            return self._connection.execute(sql, values).fetchall()

    def _stream(self, sql: str, values: tuple[object, ...] = ()) -> Iterator[tuple[Any, ...]]:
        with self._reading():
            cursor = self._connection.execute(sql, values)
            # Not from the cursor itself: left before its end, it would be closed after its connection, and complain.
            yield from iter(cursor.fetchone, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def cases(self) -> list[CaseRow]:
        """The planned cases."""
        return [CaseRow(*row) for row in self.rows("SELECT id, specialty, dataset FROM cases ORDER BY rowid")]

    def case(self, case_id: str) -> Case:
        """One case's whole record."""
        rows = self.rows("SELECT record FROM cases WHERE id = ?", (case_id,))
        if not rows:
            raise RunFolderError(f"{self.folder}: holds no case {case_id!r}")
        return Case.model_validate_json(rows[0][0])

    def scores(self, metric: str) -> Iterator[ScoreRow]:
        """Every score of a metric."""
        sql = """SELECT doctor, condition, case_id, trial, arm, metric, value, policy, grader, evidence,
                        s.missing_reason, a.missing_reason
                 FROM scores s JOIN answers a ON a.id = s.answer_id JOIN encounters e ON e.id = a.encounter_id
                 WHERE metric = ? ORDER BY e.id, a.id, s.rowid"""
        for row in self._stream(sql, (metric,)):
            yield ScoreRow(TrialKey(*row[:4]), row[4], Score(*row[5:11]), row[11])

    def case_records(self) -> Iterator[tuple[str, str]]:
        """Every planned case's id, and its record as JSON."""
        return ((case_id, record) for case_id, record in self._stream("SELECT id, record FROM cases ORDER BY rowid"))

    def to_grade(self, metric: str, judge: Judge) -> Iterator[tuple[TrialKey, Answer]]:
        """The answers, scores left out, of which this judge's verdict is not there, or may still be had."""
        sql = f"""SELECT {_TRIAL}, arm, text, a.missing_reason, COUNT(s.rowid), COUNT(s.value), MAX(s.missing_reason)
                  {_OF_ANSWER} LEFT JOIN scores s ON s.answer_id = a.id AND {_of_judge(judge)} AND metric = ?
                  GROUP BY a.id ORDER BY a.id"""
        for *key, arm, text, missing, n_scores, n_values, reason in self._stream(sql, (*_values(judge), metric)):
            if n_scores == 0 or (n_values == 0 and may_be_closed(reason)):
                yield TrialKey(*key), Answer(arm, text, missing)

    def verdicts(self, metric: str, old: Judge, new: Judge) -> Iterator[tuple[str, float | None, float | None]]:
        """Of every answer its arm, and the mean of each judge's verdicts on it; None where there is none."""
        sql = f"""SELECT arm, AVG(CASE WHEN {_of_judge(old)} THEN value END),
                         AVG(CASE WHEN {_of_judge(new)} THEN value END)
                  FROM answers a LEFT JOIN scores s ON s.answer_id = a.id AND metric = ?
                  GROUP BY a.id ORDER BY a.id"""
        rows = self._stream(sql, (*_values(old), *_values(new), metric))
        return ((arm, of_old, of_new) for arm, of_old, of_new in rows)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Everything that is read inside shows the run at one moment, though it may be written to meanwhile."""
        with self._reading():
            self._connection.execute("BEGIN")
        try:
            yield
        finally:
            self._connection.rollback()

    def joined(self, table: str) -> tuple[tuple[str, ...], Iterator[tuple[Any, ...]]]:
        """The columns and the rows of a table, doctor, condition, case, trial and arm in the place of internal ids."""
        with self._reading():
            cursor = self._connection.execute(f"SELECT * FROM ({_JOINED[table]}) LIMIT 0")
        return tuple(column[0] for column in cursor.description), self._stream(_JOINED[table])

    def endings(self) -> list[tuple[str, str, str, int]]:
        """Doctor, condition, why encounters ended, and how many."""
        sql = "SELECT doctor, condition, ended, COUNT(*) FROM encounters GROUP BY 1, 2, 3 ORDER BY 1, 2, 4 DESC"
        return [(doctor, condition, ended, count) for doctor, condition, ended, count in self.rows(sql)]

    def returned_models(self) -> dict[str, list[str]]:
        """By role, the models as the providers named them in their replies."""
        sql = "SELECT DISTINCT role, model_id FROM calls WHERE model_id IS NOT NULL ORDER BY role, model_id"
        found: dict[str, list[str]] = {}
        for role, model_id in self.rows(sql):
            found.setdefault(role, []).append(model_id)
        return found

    def calls(self) -> list[CallSums]:
        """What the calls of each role came to."""
        sql = """SELECT role, SUM(error IS NULL), SUM(error IS NOT NULL), SUM(tokens_in), SUM(tokens_cached),
                        SUM(tokens_out), CASE WHEN SUM(error IS NULL AND dollars IS NULL) = 0 THEN SUM(dollars) END,
                        AVG(ms), SUM(repeated * tokens_in) / SUM(CASE WHEN repeated IS NOT NULL THEN tokens_in END)
                 FROM calls GROUP BY role ORDER BY MIN(id)"""
        return [CallSums(*row) for row in self.rows(sql)]

    def shared_verdicts(self) -> tuple[int, int]:
        """How many verdicts a grading model was asked for, readable or not, and on how many distinct answers.

        A doctor that commits to no diagnosis is wrong without a question.
        """
        sql = """SELECT COUNT(*) FROM scores WHERE metric = 'accuracy'
                 AND (value IS NOT NULL AND IFNULL(evidence, '') NOT LIKE 'no_diagnosis:%'
                      OR missing_reason LIKE 'unreadable_verdict%')
                 AND grader IN (SELECT DISTINCT json_extract(address, '$[0]') FROM calls WHERE role = 'grader')"""
        asked = """SELECT COUNT(DISTINCT json_extract(address, '$[0]') || json_extract(address, '$[4]')) FROM calls
                   WHERE role = 'grader' AND error IS NULL
                   AND (address LIKE '%grade/extract/%' OR address LIKE '%grade/moderate/%')"""
        return self.rows(sql)[0][0], self.rows(asked)[0][0]

    def failed(self) -> list[tuple[TrialKey, str, str | None]]:
        """The encounters that infrastructure ended: which, how, and the error."""
        names = [reason.value for reason in EndReason if reason.is_failure]
        sql = f"""SELECT doctor, condition, case_id, trial, ended, error FROM encounters
                  WHERE ended IN ({", ".join("?" * len(names))}) ORDER BY id"""
        return [(TrialKey(*row[:4]), row[4], row[5]) for row in self.rows(sql, tuple(names))]

    def finished(self) -> set[TrialKey]:
        """The trials that need no further try."""
        keys = {
            row[0]: TrialKey(*row[1:5])
            for row in self.rows("SELECT id, doctor, condition, case_id, trial, ended FROM encounters")
        }
        gaps = {row[0] for row in self.rows("SELECT id, ended FROM encounters") if may_be_closed(row[1])}
        sql = """SELECT a.encounter_id, a.missing_reason, s.missing_reason, s.grader, s.policy
                 FROM answers a LEFT JOIN scores s ON s.answer_id = a.id
                 WHERE a.missing_reason IS NOT NULL OR s.missing_reason IS NOT NULL"""
        regraded = self._regraded()
        for encounter_id, answer_reason, score_reason, *judged in self.rows(sql):
            # What a later grading could not decide is no gap of the trial.
            later = tuple(judged) in regraded or (judged[0], None) in regraded
            reasons = (answer_reason, None if later else score_reason)
            if any(may_be_closed(reason) for reason in reasons):
                gaps.add(encounter_id)
        return {key for encounter_id, key in keys.items() if encounter_id not in gaps}

    def _regraded(self) -> set[tuple[Any, Any]]:
        """Grader and policy of every later grading that the manifest notes; None for one under every policy."""
        noted = [entry for entry in self.manifest.get("regraded", ()) if isinstance(entry, dict)]
        return {(entry.get("grader"), entry.get("policy")) for entry in noted}

    def ratings(self) -> list[Rating]:
        """Every judgement of an expert, in the order in which they came."""
        names = [field.name for field in fields(Rating)]
        return [Rating(*row) for row in self.rows(f"SELECT {', '.join(names)} FROM ratings ORDER BY id")]

    def trials(self, case_id: str, doctor: str | None = None, trial: int | None = None) -> list[Trial]:
        """The trials of one case, whole: transcripts, answers, scores."""
        sql = """SELECT id, doctor, condition, case_id, trial, ended, error FROM encounters
                 WHERE case_id = ? AND (? IS NULL OR doctor = ?) AND (? IS NULL OR trial = ?)
                 ORDER BY doctor, condition, trial"""
        rows = self.rows(sql, (case_id, doctor, doctor, trial, trial))
        return [self._trial(row[0], TrialKey(*row[1:5]), row[5], row[6]) for row in rows]

    def _trial(self, encounter_id: int, key: TrialKey, ended: str, error: str | None) -> Trial:
        messages = self.rows(
            "SELECT speaker, listener, text, images, heard_by FROM messages WHERE encounter_id = ? ORDER BY n",
            (encounter_id,),
        )
        transcript = tuple(
            Message(speaker, listener, text, _names(images) or (), _names(heard_by))
            for speaker, listener, text, images, heard_by in messages
        )
        encounter = Encounter(transcript, EndReason(ended), error)
        answers = []
        for answer_id, arm, text, reason in self.rows(
            "SELECT id, arm, text, missing_reason FROM answers WHERE encounter_id = ? ORDER BY id", (encounter_id,)
        ):
            scores = self.rows(
                "SELECT metric, value, policy, grader, evidence, missing_reason FROM scores "
                "WHERE answer_id = ? ORDER BY rowid",
                (answer_id,),
            )
            answers.append(Answer(arm, text, reason, tuple(Score(*row) for row in scores)))
        return Trial(key, encounter, tuple(answers))


def _names(stored: str | None) -> tuple[str, ...] | None:
    return None if stored is None else tuple(json.loads(stored))


def _of_judge(judge: Judge) -> str:
    """A condition on scores; `_values` are its values."""
    return f"policy = ? AND grader IN ({', '.join('?' * len(judge.graders))})"


def _values(judge: Judge) -> tuple[str, ...]:
    return (judge.policy, *judge.graders)


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as failure:
        raise RunFolderError(f"{path}: cannot be read: {failure}") from None
    if not isinstance(manifest, dict) or "study" not in manifest:
        raise RunFolderError(f"{path}: is no manifest of a run")
    return manifest
