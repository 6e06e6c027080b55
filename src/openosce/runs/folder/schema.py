"""The files of a run folder and the tables of its database."""

from pathlib import Path

from openosce.errors import RunFolderError

DATABASE = "run.db"
MANIFEST = "manifest.json"
STUDY = "study.toml"
REPORT = "report.html"

SCHEMA_VERSION = 2

SCHEMA = """
CREATE TABLE cases (id TEXT PRIMARY KEY, specialty TEXT, dataset TEXT NOT NULL, record TEXT NOT NULL);
CREATE TABLE encounters (
    id INTEGER PRIMARY KEY, doctor TEXT NOT NULL, condition TEXT NOT NULL, case_id TEXT NOT NULL REFERENCES cases(id),
    trial INTEGER NOT NULL, ended TEXT NOT NULL, error TEXT, UNIQUE (doctor, condition, case_id, trial));
CREATE TABLE messages (
    encounter_id INTEGER NOT NULL REFERENCES encounters(id) ON DELETE CASCADE, n INTEGER NOT NULL,
    speaker TEXT NOT NULL, listener TEXT, text TEXT NOT NULL, images TEXT, heard_by TEXT, call_id INTEGER,
    PRIMARY KEY (encounter_id, n)) WITHOUT ROWID;
CREATE TABLE answers (
    id INTEGER PRIMARY KEY, encounter_id INTEGER NOT NULL REFERENCES encounters(id) ON DELETE CASCADE,
    arm TEXT NOT NULL, text TEXT, missing_reason TEXT, UNIQUE (encounter_id, arm));
CREATE TABLE scores (
    answer_id INTEGER NOT NULL REFERENCES answers(id) ON DELETE CASCADE, metric TEXT NOT NULL, value REAL,
    policy TEXT NOT NULL, grader TEXT NOT NULL, evidence TEXT, missing_reason TEXT);
CREATE INDEX scores_of_answer ON scores (answer_id);
CREATE TABLE ratings (
    id INTEGER PRIMARY KEY, doctor TEXT NOT NULL, condition TEXT, case_id TEXT NOT NULL, trial INTEGER, arm TEXT,
    rater TEXT NOT NULL, item TEXT NOT NULL, value REAL, note TEXT, missing_reason TEXT);
CREATE UNIQUE INDEX ratings_once ON ratings (
    doctor, COALESCE(condition, ''), case_id, COALESCE(trial, -1), COALESCE(arm, ''), rater, item);
CREATE TABLE calls (
    id INTEGER PRIMARY KEY, address TEXT NOT NULL, request_hash TEXT NOT NULL, role TEXT NOT NULL, reply TEXT,
    model_id TEXT, tokens_in INTEGER, tokens_cached INTEGER, tokens_out INTEGER, dollars REAL, ms REAL,
    repeated REAL, error TEXT);
CREATE UNIQUE INDEX calls_answered ON calls (address) WHERE error IS NULL;
"""


def check_version(path: Path, version: int) -> None:
    """Refuse a database of another format.

    Raises:
        RunFolderError: It was written by another version.
    """
    if version != SCHEMA_VERSION:
        raise RunFolderError(f"{path}: has format {version}, this version of OpenOSCE reads format {SCHEMA_VERSION}")
