"""`osce show`: the cases of a run with their marks, or one case's conversations."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType

from openosce.errors import StudyError
from openosce.reports import terminal, transcript
from openosce.reports.plan import Plan, read_plan
from openosce.reports.scores import read_scores
from openosce.reports.sheets import cases
from openosce.reports.table import sheet_table
from openosce.reports.transcript import case_heading
from openosce.runs.folder import RunReader

_SHOWN_CASES = 50


def show(
    run: Annotated[Path, typer.Argument(help="Run folder written by `osce run`.")],
    case_id: Annotated[str | None, typer.Argument(help="Case to show; without it, the cases are listed.")] = None,
    doctor: Annotated[str | None, typer.Option(help="Only this doctor, as written in the study.")] = None,
    trial: Annotated[int | None, typer.Option(help="Only this trial, counted from 0.")] = None,
) -> None:
    """List the cases of RUN with their marks, or show one.

    Of one case: the conversations, answers and scores.
    """
    with RunReader(run) as reader:
        _check(read_plan(reader), doctor, trial)
        shown = _listing(reader, doctor, trial) if case_id is None else _conversations(reader, case_id, doctor, trial)
    terminal().print(*shown, sep="\n")


def _check(plan: Plan, doctor: str | None, trial: int | None) -> None:
    if doctor is not None and doctor not in plan.doctors:
        raise StudyError(f"--doctor {doctor!r}: not in this run, which has {', '.join(plan.doctors)}")
    if trial is not None and not 0 <= trial < plan.trials:
        raise StudyError(f"--trial {trial}: this run has {plan.trials} a case, counted from 0")


def _listing(reader: RunReader, doctor: str | None, trial: int | None) -> Iterable[RenderableType]:
    table = read_scores(reader)
    doctors = table.plan.doctors if doctor is None else (doctor,)
    return [sheet_table(cases(table, name, trial, _SHOWN_CASES)) for name in doctors]


def _conversations(reader: RunReader, case_id: str, doctor: str | None, trial: int | None) -> Iterable[RenderableType]:
    case = reader.case(case_id)
    trials = reader.trials(case_id, doctor, trial)
    if not trials:
        raise StudyError(f"{reader.folder}: case {case_id!r} is planned, but no such encounter is there yet")
    return [case_heading(case), *(transcript(found, case.station) for found in trials)]
