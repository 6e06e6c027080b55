"""Stopped at any moment and started again, a run ends with the estimates of one that was never stopped."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

TRIALS = 12
COMMAND = (
    sys.executable, "-c", "from openosce.cli import main; main()",
    "run", "craft-md", "--doctor", "builtin/interviewer", "--trials", str(TRIALS),
)  # fmt: skip


def osce(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND[:3], *arguments], capture_output=True, text=True, timeout=120, check=False)


def start(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, "--out", str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    )


def finished(folder: Path) -> int:
    """Trials on disk so far."""
    try:
        connection = sqlite3.connect(f"{(folder / 'run.db').as_uri()}?mode=ro", uri=True)
        (count,) = connection.execute("SELECT COUNT(*) FROM encounters").fetchone()
        connection.close()
    except sqlite3.Error:
        return 0
    return int(count)


def stop_after(folder: Path, trials: int, by: signal.Signals) -> subprocess.Popen[str]:
    """Start the run, and stop it once so many trials are on disk."""
    process = start(folder)
    patience = time.monotonic() + 60
    while finished(folder) < trials and process.poll() is None and time.monotonic() < patience:
        time.sleep(0.005)
    process.send_signal(by)
    return process


def estimates(folder: Path) -> object:
    shown = osce("analyze", str(folder), "--json")
    assert shown.returncode == 0, shown.stderr
    return json.loads(shown.stdout)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> object:
    folder = tmp_path_factory.mktemp("whole") / "run"
    process = start(folder)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return estimates(folder)


def test_a_run_killed_again_and_again_ends_like_one_that_was_not(tmp_path, uninterrupted):
    folder = tmp_path / "run"
    seen = []
    for trials in (1, 40, 90):
        process = stop_after(folder, trials, signal.SIGKILL)
        process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL
        seen.append(finished(folder))
        assert seen[-1] >= trials
    assert seen == sorted(seen)
    assert seen[-1] < 12 * TRIALS
    last = start(folder)
    _, errors = last.communicate(timeout=120)
    assert last.returncode == 0, errors
    assert finished(folder) == 12 * TRIALS
    assert estimates(folder) == uninterrupted


def test_ctrl_c_stops_cleanly_says_how_to_go_on_and_loses_nothing(tmp_path, uninterrupted):
    folder = tmp_path / "run"
    process = stop_after(folder, 20, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "go on with: osce run craft-md" in errors
    assert "Traceback" not in errors
    done = finished(folder)
    assert 20 <= done < 12 * TRIALS
    assert f"{done} of {12 * TRIALS} conversations are done and kept" in errors
    last = start(folder)
    _, errors = last.communicate(timeout=120)
    assert last.returncode == 0, errors
    assert estimates(folder) == uninterrupted


def test_a_second_process_on_the_same_folder_is_turned_away_and_the_first_goes_on(tmp_path, uninterrupted):
    folder = tmp_path / "run"
    first = start(folder)
    while finished(folder) == 0 and first.poll() is None:
        time.sleep(0.005)
    first.send_signal(signal.SIGSTOP)  # it holds the folder for as long as the second one looks
    second = start(folder)
    _, errors = second.communicate(timeout=60)
    first.send_signal(signal.SIGCONT)
    assert second.returncode == 2
    assert "another process is writing" in errors
    assert len(errors.strip().splitlines()) == 1
    _, errors = first.communicate(timeout=120)
    assert first.returncode == 0, errors
    assert estimates(folder) == uninterrupted
