"""Whole runs: without a key, on an endpoint that spoils its JSON, with faults of the endpoint, and begun again."""

import json
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import stamina
from simulator import Simulator
from simulator.station import FAULTS

from openosce.cases import read_cases
from openosce.grading.record import Answer, Score, may_be_closed
from openosce.grading.student_output import SECTIONS
from openosce.models import pacing
from openosce.reports import analyze_run
from openosce.runs import expected_calls, planned, prepare, run_study, to_study, unfinished
from openosce.runs.folder import RunReader

TRANSIENT = {"429": 0.05, "500": 0.05, "reset": 0.03, "truncated": 0.03, "empty": 0.02}
REASONS = {"invalid_output", "unreadable_verdict", "no_answer"}


def study(endpoint: Simulator | None = None, suffix: str = "", trials: int = 1, **settings: object) -> Any:
    head: dict[str, object] = {"benchmark": "medqa-cs", "trials": trials}
    tables: dict[str, object] = {"study": head, "medqa_cs": settings, "limits": {"in_flight": 20}}
    if endpoint:
        head["base_url"] = endpoint.base_url
        tables["roles"] = {
            "student": {"model": f"sim/student{suffix}"},
            "examiner": {"model": f"sim/examiner{suffix}"},
        }
    return to_study(tables)


def start(folder: Path, its_study: Any, tries: int = pacing.TRIES, limit: int | None = 4) -> Any:
    prepared = prepare(its_study, folder, limit=limit)
    with stamina.set_testing(True, attempts=tries):
        run_study(prepared, lambda total, todo: None, lambda trial: None)
    return prepared


def answers_of(folder: Path) -> list[Answer]:
    with RunReader(folder) as reader:
        return [answer for case in reader.cases() for trial in reader.trials(case.id) for answer in trial.answers]


def headline(answer: Answer) -> Score:
    (found,) = [one for one in answer.scores if (one.metric, one.policy) == ("score", "as_published@1")]
    return found


def manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return found


def n_calls(folder: Path) -> Counter[str]:
    connection = sqlite3.connect(folder / "run.db")
    try:
        return Counter(dict(connection.execute("SELECT role, COUNT(*) FROM calls GROUP BY role").fetchall()))
    finally:
        connection.close()


def test_the_built_in_roles_run_the_starter_cases_without_a_key(tmp_path: Path):
    prepared = start(tmp_path, study(), limit=None)
    assert prepared.study.fallbacks == ("doctor: builtin/interviewer", "examiner: builtin/examiner")
    answers = answers_of(tmp_path)
    assert Counter(answer.arm for answer in answers) == dict.fromkeys(SECTIONS, 12)
    for answer in answers:
        value, reason = headline(answer).value, headline(answer).missing_reason or ""
        # What takes reading is not judged by rules, and says so.
        assert reason.startswith("not_judged") if answer.arm == "closure" else value is not None
    assert unfinished(prepared) == []


def test_the_plan_says_sections_measures_policy_and_that_no_patient_takes_part(tmp_path: Path):
    start(tmp_path, study(weighting="as_prompted", sections=["closure", "differential"]), limit=1)
    written = manifest(tmp_path)
    assert written["policy"] == "as_prompted@1"
    assert written["plan"]["arms"] == ["closure", "differential"]
    assert written["plan"]["metrics"][0]["name"] == "score"
    assert set(written["study"]["roles"]) == {"doctor", "examiner"}
    assert written["study"]["rules_hash"]


def test_questions_are_asked_in_so_many_trials_as_the_study_says_and_the_others_are_not_planned(tmp_path: Path):
    prepared = start(tmp_path, study(trials=3), limit=2)
    assert Counter(answer.arm for answer in answers_of(tmp_path)) == {
        "info_gathering": 2, "physical_exam": 6, "closure": 6, "differential": 6,
    }  # fmt: skip
    columns = {column["arm"]: column["trials"] for column in manifest(tmp_path)["plan"]["columns"]}
    assert columns == {"info_gathering": 1, "physical_exam": None, "closure": None, "differential": None}
    assert unfinished(prepared) == []


def test_a_trial_in_which_nothing_is_asked_is_not_planned(tmp_path: Path):
    prepared = prepare(study(trials=3, sections=["info_gathering"], info_trials=2), tmp_path, limit=1)
    assert [key.trial for key in planned(prepared)] == [0, 1]


def test_the_dry_run_counts_the_rounds_of_the_trials_in_which_they_are_asked(tmp_path: Path):
    with Simulator(latency=1) as endpoint:
        prepared = prepare(study(endpoint, trials=3), tmp_path / "plan", limit=2)
        expected = {row.role: row.calls for row in expected_calls(prepared, planned(prepared))}
        start(tmp_path / "run", study(endpoint, trials=3), limit=2)
    rounds = sum(len(case.station.dialogue) - 1 for case in prepared.chosen)
    assert expected == {"doctor": rounds + 2 * 3 * 4, "examiner": rounds + 2 * 3 * 3}
    assert n_calls(tmp_path / "run")["doctor"] == expected["doctor"]
    # Verdicts on the same output in the same context are asked once.
    assert 0 < n_calls(tmp_path / "run")["examiner"] <= expected["examiner"]


def test_models_on_an_endpoint_that_follow_their_instructions_leave_nothing_missing(tmp_path: Path):
    with Simulator(latency=1) as endpoint:
        start(tmp_path, study(endpoint))
        assert endpoint.counters()["asked_again"] == 0
    assert all(headline(answer).value is not None for answer in answers_of(tmp_path))
    assert manifest(tmp_path)["models_returned"] == {"doctor": ["student-2026"], "examiner": ["examiner-2026"]}


@pytest.mark.parametrize("suffix", ["-f30", "-f100"])
def test_replies_with_spoilt_json_end_as_valid_or_as_missing_with_a_reason(tmp_path: Path, suffix: str):
    with Simulator(latency=1) as endpoint:
        prepared = start(tmp_path, study(endpoint, suffix), limit=None)
    answers = answers_of(tmp_path)
    assert len(answers) == 12 * 4
    ended = Counter((headline(answer).missing_reason or "valid").partition(":")[0] for answer in answers)
    assert ended["valid"] > 0 and ended["invalid_output"] > 0 and ended["unreadable_verdict"] > 0
    assert ended.keys() <= REASONS | {"valid"}
    for answer in answers:
        assert (headline(answer).value is None) == bool(headline(answer).missing_reason)
        (valid,) = [one for one in answer.scores if one.metric == "valid_output"]
        assert valid.value is not None and 0 <= valid.value <= 1
    assert unfinished(prepared) == []  # a reply that is no answer is final, and not asked for until it is one


def test_the_simulated_faults_all_differ():
    text = '{"score": 1, "reason": "x"}'
    assert len({spoil(text) for spoil in FAULTS.values()}) == len(FAULTS)


def test_an_endpoint_that_fails_leaves_gaps_and_a_second_start_closes_them(tmp_path: Path):
    with Simulator(latency=1, faults=TRANSIENT, retry_after=0.05) as endpoint:
        first = start(tmp_path, study(endpoint), tries=1)
        assert unfinished(first)
        gaps = [answer for answer in answers_of(tmp_path) if may_be_closed(answer.missing_reason)]
        assert gaps and all(headline(answer).value is None for answer in gaps)
        endpoint.set_faults(dict.fromkeys(TRANSIENT, 0))
        start(tmp_path, study(endpoint), tries=1)
        assert endpoint.counters()["asked_again"] == 0
    assert unfinished(first) == []
    assert all(headline(answer).value is not None for answer in answers_of(tmp_path))


def test_by_default_a_case_without_target_examinations_leaves_the_mean_and_is_counted(tmp_path):
    records = [case.model_dump(mode="json", exclude_defaults=True) for case in read_cases("starter")[:3]]
    del records[0]["station"]["target_examinations"]
    cases = tmp_path / "cases.jsonl"
    cases.write_text("".join(json.dumps(record) + "\n" for record in records))
    study = to_study({"study": {"benchmark": "medqa-cs", "cases": str(cases), "trials": 1}})
    run_study(prepare(study, tmp_path / "run"), lambda total, todo: None, lambda trial: None)
    with RunReader(tmp_path / "run") as reader:
        analysis = analyze_run(reader)
    found = analysis.find("builtin/interviewer", "physical_exam")
    assert (analysis.plan.policy, found.estimate.n_cases, found.n_planned, found.n_missing) == (
        "as_prompted@1",
        2,
        3,
        1,
    )
    assert [row.reason for row in analysis.missing if row.arm == "physical_exam"] == ["case_lacks_part"]
