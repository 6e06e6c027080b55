"""What is left of a study, as calls, tokens and dollars."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from openosce.benchmarks.expectation import Expected
from openosce.grading import TrialKey
from openosce.runs.scheduler import PreparedStudy
from openosce.runs.study import HUMAN


@dataclass(frozen=True)
class ExpectedCalls:
    """What one model in one role is expected to take."""

    role: str
    model: str
    calls: int
    tokens_in: int
    tokens_out: int
    dollars: float | None
    """None where the price is unknown."""


def expected_calls(prepared: PreparedStudy, todo: Sequence[TrialKey]) -> Iterator[ExpectedCalls]:
    """Sum up the trials that are left, by role and model; a built-in role makes no call."""
    study = prepared.study
    by_place = {
        (condition.name, case.id, arms): study.benchmark.expect(case, condition.settings, arms, prepared.prompts)
        for condition in study.conditions
        for arms in {condition.arms_of(trial) for trial in range(study.trials)}
        for case in prepared.chosen
    }
    of_model: dict[tuple[str, str], Expected] = {(role, spec.name): Expected() for role, spec in study.models}
    for key in todo:
        condition = study.condition(key.condition)
        expected = by_place[key.condition, key.case_id, condition.arms_of(key.trial)]
        names = {"doctor": key.doctor, **{role: spec.name for role, spec in condition.roles.items()}}
        for role, model in names.items():
            of_model[role, model].update(expected.of(role))
    repeats = dict.fromkeys(("grader", "examiner"), study.grader_repeats)
    for (role, model), expected in of_model.items():
        times = repeats.get(role, 1)
        silent = model == HUMAN or (model.startswith("builtin/") and not model.endswith(("/script", "/recorded")))
        calls, tokens_in, tokens_out = (
            0 if silent else times * counted[role]
            for counted in (expected.calls, expected.tokens_in, expected.tokens_out)
        )
        dollars = prepared.prices.cost(model, tokens_in, tokens_out)
        yield ExpectedCalls(role, model, calls, tokens_in, tokens_out, dollars)
