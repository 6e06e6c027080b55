"""What is left of a study, as calls, tokens and dollars."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from openosce.benchmarks.expectation import Expected
from openosce.grading import TrialKey
from openosce.runs.scheduler import PreparedStudy
from openosce.runs.study import NO_ENDPOINT


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
    by_case = {case.id: study.benchmark.expect(case, study.settings, prepared.prompts) for case in prepared.chosen}
    of_doctor = {doctor.name: Expected() for doctor in study.doctors}
    of_all = Expected()
    for key in todo:
        of_doctor[key.doctor].update(by_case[key.case_id])
        of_all.update(by_case[key.case_id])
    sums = [("doctor", name, expected, 1) for name, expected in of_doctor.items()]
    repeats = {"grader": study.grader_repeats}
    sums += [(role, spec.name, of_all, repeats.get(role, 1)) for role, spec in study.roles.items()]
    for role, model, expected, times in sums:
        silent = model.startswith(NO_ENDPOINT[0]) and not model.endswith(("/script", "/recorded"))
        calls, tokens_in, tokens_out = (
            0 if silent else times * counted[role]
            for counted in (expected.calls, expected.tokens_in, expected.tokens_out)
        )
        dollars = prepared.prices.cost(model, tokens_in, tokens_out)
        yield ExpectedCalls(role, model, calls, tokens_in, tokens_out, dollars)
