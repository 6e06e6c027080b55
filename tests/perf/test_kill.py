"""The promise of the journal, on the whole command: `kill -9` at any moment loses the last tenth of a second."""

import sqlite3
from collections import Counter

import kill
import pytest


def test_a_run_that_is_killed_again_and_again_ends_as_one_that_never_was(tmp_path):
    outcome = kill.survive(5, tmp_path, seed=3)
    assert outcome.kills == 5
    assert 0 < outcome.calls_at_the_last_kill < outcome.calls
    assert outcome.most_lost_by_one_kill <= kill.MOST_LOST


def test_the_check_finds_a_half_written_encounter(tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    connection = sqlite3.connect(run / "run.db")
    connection.executescript(
        """CREATE TABLE encounters (id INTEGER); CREATE TABLE messages (encounter_id INTEGER, n INTEGER);
           INSERT INTO encounters VALUES (1); INSERT INTO messages VALUES (1, 0), (1, 2);"""
    )
    connection.close()
    with pytest.raises(kill.BrokenPromise, match="1 encounters have messages that are not 0, 1, 2"):
        kill.check_end(run, run, cases=1)


def test_a_run_without_a_database_has_recorded_nothing(tmp_path):
    assert kill.recorded(tmp_path) == Counter()
