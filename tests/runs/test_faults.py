"""Runs on an endpoint that fails in every way, and on disks that do: nothing is lost, and nothing is asked twice."""

import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter

import pytest
import stamina
from simulator import Simulator

from openosce.errors import RunFolderError
from openosce.grading import ACCURACY
from openosce.grading.record import may_be_closed
from openosce.models import pacing
from openosce.reports import analyze_run
from openosce.runs import planned, prepare, run_study, to_study, unfinished
from openosce.runs.folder import RunReader

OSCE = (sys.executable, "-c", "from openosce.cli import main; main()")
TRANSIENT = {"429": 0.05, "429-after": 0.03, "500": 0.05, "502": 0.03, "503": 0.03, "reset": 0.05,
             "truncated": 0.03, "schema": 0.02, "empty": 0.02}  # fmt: skip
FINAL = {"filter": 0.01, "filter-400": 0.01, "bad": 0.01}
CLEAN = dict.fromkeys(TRANSIENT, 0)
ROLES = ("doctor", "patient", "summarizer", "grader")
NEEDS_TALK = ("multi_turn_mcq", "multi_turn_frq", "summarized_mcq", "summarized_frq", "multi_turn_own")
SINGLE_TURN = ("single_turn_mcq", "single_turn_frq")


def study(endpoint, cases="starter", **limits):
    roles = {role: {"model": f"sim/{role}"} for role in ROLES}
    head = {"benchmark": "craft-md", "trials": 1, "base_url": endpoint.base_url, "cases": str(cases)}
    return to_study({"study": head, "roles": roles, "limits": {"in_flight": 20, **limits}})


def start(folder, its_study, *, tries=pacing.TRIES, on_trial=lambda trial: None, **choice):
    """Run, with so many tries a call and no waits between them."""
    prepared = prepare(its_study, folder, **choice)
    with stamina.set_testing(True, attempts=tries):
        run_study(prepared, lambda total, todo: None, on_trial)
    return prepared


def journal(folder):
    """Every row of the journal: role, place on the path, reply, error."""
    connection = sqlite3.connect(folder / "run.db")
    try:
        rows = connection.execute("SELECT id, role, address, reply, error FROM calls ORDER BY id").fetchall()
    finally:
        connection.close()
    return [(number, role, tuple(json.loads(address)), reply, error) for number, role, address, reply, error in rows]


def is_final(error):
    return error is not None and ("content filter" in error or "HTTP 400" in error)


def headline(reader):
    """The scores under the study's policy, by case and arm: value, reason of the score, reason of the answer."""
    policy = reader.manifest["policy"]
    return {
        (row.key.case_id, row.arm): (row.score.value, row.score.missing_reason, row.answer_missing_reason)
        for row in reader.scores(ACCURACY)
        if row.score.policy == policy
    }


def missing_by_arm(reader):
    estimates = analyze_run(reader).to_json()["estimates"]
    return {estimate["arm"]: estimate["n_missing"] for estimate in estimates if estimate["group"] == "all"}


def all_accounted_for(folder, prepared, arms=9):
    """Every planned answer has a score, or a reason why there is none; gives the reasons, coarsely."""
    with RunReader(folder) as reader:
        scores = headline(reader)
        in_table = sum(missing_by_arm(reader).values())
    assert len(scores) == len(planned(prepared)) * arms
    reasons = Counter()
    for value, of_score, of_answer in scores.values():
        assert (value is None) == bool(of_score)
        if value is None:
            reasons[(of_answer or of_score).partition(":")[0]] += 1
    assert reasons.total() == in_table
    return reasons


# Endpoints that fail


def test_a_run_on_a_failing_endpoint_ends_with_a_score_or_a_reason_for_everything(tmp_path):
    with Simulator(latency=1, questions=3, faults={**TRANSIENT, **FINAL}, retry_after=0.05) as endpoint:
        prepared = start(tmp_path, study(endpoint))
        counted = endpoint.counters()
    assert min(counted["faults"].get(name, 0) for name in TRANSIENT) > 0
    assert all_accounted_for(tmp_path, prepared).keys() <= {"refused", "encounter_failed", "summary_failed"}
    assert unfinished(prepared) == []
    assert len(journal(tmp_path)) == counted["requests"]
    assert counted["asked_again"] == 0


def test_a_second_start_closes_every_gap_that_is_not_final_and_makes_no_other_call(tmp_path):
    with Simulator(latency=1, questions=3, faults={**TRANSIENT, **FINAL}, retry_after=0.05) as endpoint:
        prepared = start(tmp_path, study(endpoint), tries=1)
        first, before, gaps = journal(tmp_path), endpoint.counters(), unfinished(prepared)
        assert len(gaps) > 3
        assert all_accounted_for(tmp_path, prepared)["provider_failed"] > 3
        endpoint.set_faults(CLEAN)
        start(tmp_path, study(endpoint), tries=1)
        added, after = journal(tmp_path)[len(first) :], endpoint.counters()
        assert unfinished(prepared) == []
        start(tmp_path, study(endpoint))
        assert endpoint.counters() == after
    # A request to the endpoint is a row of the journal, whether it was answered or not: none is lost, none doubled.
    assert (len(first), len(added)) == (before["requests"], after["requests"] - before["requests"])
    assert after["asked_again"] == 0
    # Only trials with a gap are held again, and only what was not answered is asked (verdicts stand outside trials).
    answered = {address for _, _, address, _, error in first if error is None}
    assert answered.isdisjoint(address for _, _, address, _, _ in added)
    assert {address[2] for _, role, address, _, _ in added if role != "grader"} <= {key.case_id for key in gaps}
    with RunReader(tmp_path) as reader:
        assert not any(may_be_closed(reason) for reasons in headline(reader).values() for reason in reasons[1:])


def test_the_missing_answers_add_up_with_the_endpoints_final_refusals(tmp_path):
    with Simulator(latency=1, questions=3, faults={**TRANSIENT, **FINAL}, retry_after=0.05, seed=3) as endpoint:
        start(tmp_path, study(endpoint), tries=2)
        endpoint.set_faults(CLEAN)
        prepared = start(tmp_path, study(endpoint))
        struck = endpoint.counters()["faults"]
    refused = [row for row in journal(tmp_path) if is_final(row[4])]
    assert len(refused) == sum(struck.get(name, 0) for name in FINAL)
    places = {(role, address[2], address[4]) for _, role, address, _, _ in refused}
    with RunReader(tmp_path) as reader:
        scores, by_arm = headline(reader), missing_by_arm(reader)
        spoken = {case.id: len(reader.trials(case.id)[0].encounter.transcript) for case in reader.cases()}
    # What a refusal takes away: the conversation's takes every arm that needs all of it, and those of a single turn if
    # the patient never spoke; the summarizer's takes the two summarized arms; an answer's takes that arm alone.
    lost = set()
    for role, case_id, step in places:
        if step.startswith("talk/"):
            lost |= {(case_id, arm) for arm in NEEDS_TALK + (SINGLE_TURN if spoken[case_id] < 2 else ())}
        elif role == "summarizer":
            lost |= {(case_id, arm) for arm in ("summarized_mcq", "summarized_frq")}
        elif role == "doctor":
            lost.add((case_id, step.removeprefix("answer/")))
    without_answer = {place for place, (_, _, of_answer) in scores.items() if of_answer}
    assert without_answer == lost
    # A grader's refusal takes every answer that put this question to it: one or more, each with the refusal's words.
    ungraded = [of_score for value, of_score, of_answer in scores.values() if value is None and not of_answer]
    told = {error for _, role, _, _, error in refused if role == "grader"}
    assert all(reason.removeprefix("refused: ") in told for reason in ungraded)
    assert len(ungraded) >= len({address for _, role, address, _, _ in refused if role == "grader"}) > 0
    assert sum(by_arm.values()) == len(lost) + len(ungraded)
    assert unfinished(prepared) == []


def test_a_short_outage_in_the_middle_costs_nothing_but_time(tmp_path, monkeypatch):
    monkeypatch.setattr(pacing, "FIRST_WAIT", 0.05)
    monkeypatch.setattr(pacing, "LONGEST_WAIT", 0.1)
    done = []
    with Simulator(latency=10, questions=3) as endpoint:

        def fail_after_three(trial):
            done.append(trial)
            if len(done) == 3:
                endpoint.outage(0.3)

        prepared = prepare(study(endpoint, in_flight=6), tmp_path)
        run_study(prepared, lambda total, todo: None, fail_after_three)
        counted = endpoint.counters()
    assert counted["faults"]["outage-503"] > 0 and counted["faults"]["outage-closed"] > 0
    assert all_accounted_for(tmp_path, prepared) == {}
    assert counted["asked_again"] == 0
    assert len(journal(tmp_path)) == counted["requests"]


def test_all_starter_cases_go_through_every_arm_with_four_models(tmp_path):
    with Simulator(latency=1) as endpoint:
        prepared = start(tmp_path, study(endpoint))
        counted = endpoint.counters()
    assert all_accounted_for(tmp_path, prepared) == {}
    assert (counted["faults"], counted["asked_again"]) == ({}, 0)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["models_returned"] == {role: [f"{role}-2026"] for role in ROLES}
    calls = Counter(role for _, role, _, _, _ in journal(tmp_path))
    assert calls["doctor"] == 12 * (11 + 8) and calls["patient"] == 12 * 11 and calls["summarizer"] == 12
    assert counted["models"]["grader"]["requests"] == calls["grader"]


def test_real_cases_go_through_every_arm_with_four_models(tmp_path, shared):
    cases = shared / "data" / "craft-md" / "cases.csv"
    with Simulator(latency=1, faults={**TRANSIENT, **FINAL}, retry_after=0.01, questions=5) as endpoint:
        prepared = start(tmp_path, study(endpoint, cases, in_flight=40), limit=40)
        assert len(planned(prepared)) == 40
        assert all_accounted_for(tmp_path, prepared).keys() <= {"refused", "encounter_failed", "summary_failed"}
        assert endpoint.counters()["requests"] == len(journal(tmp_path))


# The command


def command(endpoint, folder, *more):
    models = [part for role in ROLES for part in (f"--{role}", f"sim/{role}")]
    return ("run", "craft-md", *models, "--base-url", endpoint.base_url, "--trials", 1, "--out", folder, *more)


def begin(*arguments, before=None, through=()):
    """Begin `osce`; `before` is done in its process first, `through` is what starts it."""
    return subprocess.Popen(
        [*through, *OSCE, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=before, env={**os.environ, "COLUMNS": "200"},
    )  # fmt: skip


def osce(*arguments, **how):
    process = begin(*arguments, **how)
    output, errors = process.communicate(timeout=60)
    assert "Traceback" not in errors, errors
    return process.returncode, output, errors


def test_failed_tries_leave_no_trace_on_the_terminal(tmp_path):
    with Simulator(latency=1, questions=2, faults={"500": 0.05, "429-after": 0.1}, retry_after=0.02) as endpoint:
        code, _, errors = osce(*command(endpoint, tmp_path / "run", "--limit", 2))
        assert endpoint.counters()["faults"]["429-after"] > 0
    assert code == 0
    assert [line.split()[0] for line in errors.splitlines()] == ["conversations"]


def stop_amid_calls(endpoint, folder, by, *more):
    """Stop a run with a signal after a few conversations, while calls are open."""
    process = begin(*command(endpoint, folder, *more))
    patience = time.monotonic() + 30
    while endpoint.counters()["requests"] < 60 and process.poll() is None and time.monotonic() < patience:
        time.sleep(0.01)
    process.send_signal(by)
    _, errors = process.communicate(timeout=30)
    return process.returncode, errors


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL])
def test_a_run_stopped_amid_its_calls_goes_on_and_asks_hardly_anything_again(tmp_path, by):
    with Simulator(latency=50, questions=2) as endpoint:
        code, errors = stop_amid_calls(endpoint, tmp_path, by, "--in-flight", 8)
        if by is signal.SIGINT:
            assert code == 130, errors
            assert "Traceback" not in errors and "never retrieved" not in errors and "Unclosed" not in errors
            assert "go on with: osce run craft-md" in errors
        else:
            assert code == -signal.SIGKILL
        start(tmp_path, study(endpoint, in_flight=40))
        counted = endpoint.counters()
    # At most: 8 that were open, and the replies of the last 100 ms, which at 50 ms a call are two for each of the 8.
    assert counted["asked_again"] <= (24 if by is signal.SIGKILL else 8)
    with RunReader(tmp_path) as reader:
        assert len(headline(reader)) == 12 * 9
        assert sum(missing_by_arm(reader).values()) == 0


# Disks that fail


ONE_TRIAL = to_study({"study": {"benchmark": "craft-md", "trials": 1}})
BUILTIN = ("run", "craft-md", "--trials", 1)


def sound(folder):
    """Whether the database is whole."""
    connection = sqlite3.connect(folder / "run.db")
    try:
        return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    finally:
        connection.close()


def no_file_larger_than(size):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize("size", [0, 1_000, 30_000, 120_000])
def test_a_full_disk_is_one_line_and_the_run_goes_on_when_there_is_room(tmp_path, size):
    folder = tmp_path / "run"
    code, _, errors = osce(*BUILTIN, "--out", folder, before=no_file_larger_than(size))
    assert code == 2, errors
    lines = [line for line in errors.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1, errors
    assert str(folder) in lines[0] or "run.db" in lines[0]
    assert "cannot be written" in lines[0]
    if (folder / "run.db").exists():
        assert sound(folder)
    prepared = prepare(ONE_TRIAL, folder)
    run_study(prepared, lambda total, todo: None, lambda trial: None)
    assert sound(folder)
    assert unfinished(prepared) == []
    with RunReader(folder) as reader:
        assert sum(missing_by_arm(reader).values()) == 0


def test_a_folder_that_cannot_be_written_is_one_line_and_stays_as_it_was(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir(mode=0o555)
    through = ()
    if os.geteuid() == 0:  # root may write anywhere, unless it gives that up
        if not shutil.which("setpriv"):
            pytest.skip("root cannot be kept from writing here: setpriv is missing")
        through = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search", "--inh-caps", "-all")
    code, _, errors = osce(*BUILTIN, "--out", folder, through=through)
    (line,) = errors.strip().splitlines()
    assert (code, line) == (2, f"error: {folder}: cannot be written: Permission denied")
    assert list(folder.iterdir()) == []


def test_a_folder_that_cannot_be_is_one_line():
    code, _, errors = osce(*BUILTIN, "--out", "/dev/null/run")
    assert (code, len(errors.strip().splitlines())) == (2, 1)


@pytest.mark.parametrize("left", ["manifest.json.tmp", "study.toml.tmp", "study.toml", ".lock"])
def test_what_a_first_start_left_when_it_was_killed_does_not_bar_the_second(tmp_path, left):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / left).write_text('{"for')
    prepared = prepare(ONE_TRIAL, folder, limit=1)
    run_study(prepared, lambda total, todo: None, lambda trial: None)
    assert unfinished(prepared) == []


@pytest.mark.parametrize("content", ["", "{", "[]", '{"study": 3}', "\ud800"])
def test_a_damaged_manifest_is_one_line(tmp_path, content):
    folder = tmp_path / "run"
    prepared = prepare(ONE_TRIAL, folder, limit=1)
    run_study(prepared, lambda total, todo: None, lambda trial: None)
    (folder / "manifest.json").write_bytes(content.encode("utf-8", "surrogatepass"))
    with pytest.raises(RunFolderError, match=r"manifest\.json"):
        run_study(prepared, lambda total, todo: None, lambda trial: None)
    assert sound(folder)
