"""Runs made of records, without any model."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from openosce.cases import Case, Diagnosis
from openosce.encounters import Encounter, EndReason, Message
from openosce.grading.record import Answer, Score, Trial, TrialKey
from openosce.runs.folder import MANIFEST, RunWriter

POLICY = "paper@1"


def case(case_id: str, specialty: str | None = "Cardiology", source: str = "starter") -> Case:
    return Case(id=case_id, source=source, specialty=specialty, diagnosis=Diagnosis(name="Acute pericarditis"))


def answer(arm: str, value: float | None, **more: Any) -> Answer:
    """A scored answer; without a value it is missing for `reason`."""
    reason = more.pop("reason", None)
    score = Score("accuracy", value, more.pop("policy", POLICY), "builtin/lexicon", more.pop("evidence", None), reason)
    return Answer(arm, None if value is None else "Pericarditis", more.pop("why_no_answer", None), (score,))


def trial(doctor: str, case_id: str, number: int, answers: Iterable[Answer], **ended: Any) -> Trial:
    said = (Message("doctor", "patient", "What brings you in?"), Message("patient", "doctor", "My chest hurts."))
    encounter = Encounter(said, ended.get("ended", EndReason.DIAGNOSED), ended.get("error"))
    return Trial(TrialKey(doctor, "text", case_id, number), encounter, tuple(answers))


def make_manifest(doctors: list[str], arms: list[str], trials: int, **more: Any) -> dict[str, Any]:
    roles = {"doctor": [{"model": doctor, "base_url": None, "settings": {}} for doctor in doctors]}
    return {
        "study": {"benchmark": "craft-md", "cases": "starter", "cases_hash": "0f3a", "seed": 1, "roles": roles},
        "plan": {"doctors": doctors, "conditions": ["text"], "arms": arms, "trials": trials},
        "policy": POLICY,
        "fallbacks": ["patient: builtin/record"],
        "notes": ["2 of 12 cases were answered from vignette sentences"],
        "versions": {"openosce": "0.1.0", "python": "3.12"},
        "created": "2026-11-21T22:00:00Z",
    } | more


def write_run(folder: Path, manifest: Mapping[str, Any], cases: Iterable[Case], trials: Iterable[Trial]) -> Path:
    with RunWriter(folder) as writer:
        for row in (*cases, *trials):
            writer.write(row)
    (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    return folder


@pytest.fixture
def simple_run(tmp_path: Path) -> Callable[..., Path]:
    """Make a run from marks: {doctor: {arm: [[trial 0, trial 1, ...] of case 0, ...]}}; None is a refused answer."""

    def make(marks: Mapping[str, Mapping[str, list[list[float | None]]]], **more: Any) -> Path:
        arms = list(next(iter(marks.values())))
        by_case = [case for arm_marks in marks.values() for case in arm_marks.values()]
        n_cases, n_trials = len(by_case[0]), max((len(row) for rows in by_case for row in rows), default=1)
        specialties = more.pop("specialties", ["Cardiology"] * n_cases)
        cases = [case(f"case-{c:02}", specialties[c]) for c in range(n_cases)]
        trials = []
        for doctor, arm_marks in marks.items():
            for c in range(n_cases):
                for t in range(len(next(iter(arm_marks.values()))[c])):
                    answers = [_answer(arm, rows[c][t]) for arm, rows in arm_marks.items()]
                    trials.append(trial(doctor, cases[c].id, t, answers))
        manifest = make_manifest(list(marks), arms, more.pop("planned_trials", n_trials), **more)
        return write_run(tmp_path / "run", manifest, cases, trials)

    return make


def _answer(arm: str, value: float | None) -> Answer:
    if value is None:
        return answer(arm, None, reason="no_answer", why_no_answer="refused: content filter")
    return answer(arm, value)


@pytest.fixture
def records() -> Any:
    """The helpers above, for tests that build their run record by record."""

    class Records:
        case = staticmethod(case)
        answer = staticmethod(answer)
        trial = staticmethod(trial)
        manifest = staticmethod(make_manifest)
        write = staticmethod(write_run)

    return Records


@pytest.fixture
def sweep_run(tmp_path: Path) -> Callable[..., Path]:
    """Make a sweep of one arm, `dialogue`, from values: {doctor: {condition: {metric: [value of case 0, ...]}}}.

    The first condition is the reference; None is a value that is missing. `unswept` holds marks of `vignette_mcq`,
    which is asked in the first condition alone: {doctor: [mark of case 0, ...]}.
    """

    def make(values: Mapping[str, Mapping[str, Mapping[str, list[float | None]]]], **more: Any) -> Path:
        conditions = list(next(iter(values.values())))
        names, unswept = list(next(iter(next(iter(values.values())).values()))), more.pop("unswept", {})
        n_cases = len(values[next(iter(values))][conditions[0]]["accuracy"])
        cases = [
            case(f"case-{c:02}", specialty) for c, specialty in zip(range(n_cases), SPECIALTIES * n_cases, strict=False)
        ]
        trials = []
        for doctor, of_doctor in values.items():
            for condition, found in of_doctor.items():
                for c in range(n_cases):
                    answers = [_measured("dialogue", {name: column[c] for name, column in found.items()})]
                    if condition == conditions[0] and doctor in unswept:
                        answers.append(_measured("vignette_mcq", {"accuracy": unswept[doctor][c]}))
                    trials.append(_in_condition(trial(doctor, cases[c].id, 0, answers), condition))
        plan = make_manifest(list(values), ["dialogue"], 1)["plan"] | {
            "conditions": conditions,
            "columns": [
                *([_column("vignette_mcq", conditions[0], "vignette_mcq")] if unswept else []),
                *(_column(condition, condition, "dialogue") for condition in conditions),
            ],
            "reference": conditions[0],
            "metrics": [{"name": name} | SCALES.get(name, {}) for name in names],
        }
        manifest = make_manifest(list(values), ["dialogue"], 1, plan=plan)
        return write_run(tmp_path / more.pop("name", "sweep"), manifest, cases, trials)

    return make


SPECIALTIES = ["Cardiology", "Neurology"]
_COUNTS: dict[str, Any] = {"low": 0, "high": None, "arms": ["dialogue"]}
_RATINGS: dict[str, Any] = {"low": 1, "high": 10, "arms": ["dialogue"]}
SCALES: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("tests_ordered", "tests_not_in_record", "image_requests", "doctor_turns", "cost"), _COUNTS),
    **dict.fromkeys(("confidence", "compliance", "consultation"), _RATINGS),
    "refused": {"arms": ["dialogue"], "words": "the model refused to act out the bias"},
}


def _column(label: str, condition: str, arm: str) -> dict[str, str]:
    return {"label": label, "condition": condition, "arm": arm}


def _measured(arm: str, values: Mapping[str, float | None]) -> Answer:
    scores = [
        Score(name, value, POLICY, "builtin/lexicon", None, "no_answer: not rated" if value is None else None)
        for name, value in values.items()
    ]
    return Answer(arm, "Pericarditis", None, tuple(scores))


def _in_condition(one: Trial, condition: str) -> Trial:
    """The same trial in another condition."""
    return replace(one, key=replace(one.key, condition=condition))
