import pytest
from simulator import Simulator

from openosce.runs import expected_calls, planned, prepare, run_study, to_study, unfinished

ROLES = ("doctor", "patient", "summarizer", "grader")
NOBODY = "http://127.0.0.1:9/v1"


def study(url, arms=None, doctors=("sim/doctor",), **head):
    roles = {role: {"model": f"sim/{role}"} for role in ROLES}
    roles["doctor"] = {"models": list(doctors)}
    craft_md = {"arms": list(arms)} if arms else {}
    head = {"benchmark": "craft-md", "trials": 1, "base_url": url, **head}
    return to_study({"study": head, "roles": roles, "craft_md": craft_md})


def calls(its_study, folder):
    """Expected calls of a study of which nothing has been run, by role."""
    prepared = prepare(its_study, folder)
    return {row.role: row.calls for row in expected_calls(prepared, planned(prepared))}


def test_the_expected_calls_are_near_those_of_a_run_whose_doctor_asks_ten_questions(tmp_path):
    with Simulator(latency=1, questions=10) as endpoint:
        prepared = prepare(study(endpoint.base_url), tmp_path / "run")
        expected = {row.role: row for row in expected_calls(prepared, unfinished(prepared))}
        assert endpoint.counters()["requests"] == 0
        assert not (tmp_path / "run").exists()
        run_study(prepared, lambda total, todo: None, lambda trial: None)
        made = {role: endpoint.counters()["models"][role] for role in ROLES}
    for role in ("doctor", "patient"):
        assert expected[role].calls == pytest.approx(made[role]["requests"], rel=0.25)
    assert expected["summarizer"].calls == made["summarizer"]["requests"]
    # What is the same to grade is asked once, which is not foreseen; two of the questions are not always asked.
    assert made["grader"]["requests"] <= expected["grader"].calls < 10 * made["grader"]["requests"]
    for role in ROLES:
        assert 0.3 < expected[role].tokens_in / made[role]["prompt_tokens"] < 10


def test_trials_doctors_and_repeats_multiply_what_is_expected(tmp_path):
    once, more = (calls(study(NOBODY, **head), tmp_path) for head in ({}, {"trials": 3, "grader_repeats": 4}))
    assert {role: more[role] / once[role] for role in ROLES} == {
        "doctor": 3, "patient": 3, "summarizer": 3, "grader": 12
    }  # fmt: skip


def test_every_doctor_has_a_line_of_its_own_and_the_others_serve_all_of_them(tmp_path):
    prepared = prepare(study(NOBODY, doctors=("sim/a", "sim/b")), tmp_path)
    rows = list(expected_calls(prepared, planned(prepared)))
    assert [(row.role, row.model) for row in rows[:2]] == [("doctor", "sim/a"), ("doctor", "sim/b")]
    assert rows[0].calls == rows[1].calls
    patients = {row.role: row.calls for row in rows}["patient"]
    assert patients == 2 * calls(study(NOBODY), tmp_path)["patient"]


def test_arms_that_need_no_conversation_expect_none(tmp_path):
    expected = calls(study(NOBODY, arms=["vignette_mcq", "vignette_frq"]), tmp_path)
    assert expected == {"doctor": 24, "patient": 0, "summarizer": 0, "grader": 24}


def test_nothing_is_expected_of_a_finished_run(tmp_path):
    with Simulator(questions=1) as endpoint:
        prepared = prepare(study(endpoint.base_url, arms=["vignette_mcq"]), tmp_path)
        run_study(prepared, lambda total, todo: None, lambda trial: None)
    assert {row.calls for row in expected_calls(prepared, unfinished(prepared))} == {0}
