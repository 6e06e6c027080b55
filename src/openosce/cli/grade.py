"""`osce grade`: another grader, or another policy, decides on the stored answers."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from openosce.cli.run import FAILED, INTERRUPTED, settings_of
from openosce.errors import RunStopped, StudyError
from openosce.grading.record import may_be_closed
from openosce.reports import terminal
from openosce.reports.agreement import agreement, agreement_sheet
from openosce.reports.table import sheet_table
from openosce.runs.folder import AddedScores
from openosce.runs.regrade import PreparedGrading, prepare_grading, regrade

_GRADER = "roles.grader."


def grade(
    run: Annotated[Path, typer.Argument(help="Run folder written by `osce run`.")],
    grader: Annotated[str | None, typer.Option(help="The grader, provider/name; the run's own unless named.")] = None,
    policy: Annotated[str | None, typer.Option(help="The match policy; the run's own unless named.")] = None,
    base_url: Annotated[str | None, typer.Option(help="The grader's endpoint.")] = None,
    in_flight: Annotated[int, typer.Option(min=1, max=10_000, help="Calls open at once.")] = 50,
    prompts: Annotated[Path | None, typer.Option(help="Folder of prompt templates that replace ours.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of the grader, as roles.grader.temperature=0.")
    ] = None,
) -> None:
    """Grade the stored answers of RUN again; the new verdicts stand beside the old ones and are compared with them.

    What this grader has graded under this policy is left alone; the same command goes on where it stopped.
    """
    prepared = prepare_grading(
        run,
        grader=grader,
        policy=policy,
        base_url=base_url,
        in_flight=in_flight,
        own_prompts=prompts,
        settings=_grader_settings(set_ or []),
    )
    try:
        n_open = _grade_with_progress(prepared)
    except (RunStopped, KeyboardInterrupt) as reason:
        said = f"stopped: {reason}" if isinstance(reason, RunStopped) else "interrupted"
        typer.echo(f"{said}; what is graded is kept, and the same command goes on", err=True)
        raise typer.Exit(INTERRUPTED) from None
    _say_agreement(prepared)
    if n_open:
        typer.echo(f"{n_open} answers have no verdict for now; the same command asks again", err=True)
        raise typer.Exit(FAILED)


def _say_agreement(prepared: PreparedGrading) -> None:
    arms, old, new = prepared.arms_decided_anew, prepared.own.judge, prepared.judge
    if not arms:
        typer.echo("nothing to compare: these are the verdicts of the run itself")
        return
    rows = agreement(prepared.folder, old, new, arms)
    terminal().print(sheet_table(agreement_sheet(rows, old, new)))
    if len(arms) < len(prepared.own.arms):
        typer.echo("arms of multiple choice are left out: the same rule decides them in both")


def _grader_settings(pairs: list[str]) -> dict[str, object]:
    settings = settings_of(pairs)
    foreign = [key for key in settings if not key.startswith(_GRADER)]
    if foreign:
        raise StudyError(f"--set {foreign[0]}: only the grader's settings matter here, as {_GRADER}temperature=0")
    return {key.removeprefix(_GRADER): value for key, value in settings.items()}


def _grade_with_progress(prepared: PreparedGrading) -> int:
    """Grade behind a progress bar; returns how many answers a later try may still get a verdict for."""
    text, bar, console = TextColumn("{task.description}"), BarColumn(), Console(stderr=True)
    progress = Progress(text, bar, MofNCompleteColumn(), TimeRemainingColumn(), console=console)
    task = progress.add_task("answers")
    n_graded = n_open = 0

    def start(n_to_grade: int) -> None:
        progress.update(task, total=n_to_grade)
        if n_to_grade:
            progress.start()

    def step(added: AddedScores) -> None:
        nonlocal n_graded, n_open
        n_graded += 1
        n_open += all(score.value is None and may_be_closed(score.missing_reason) for score in added.scores)
        progress.update(task, advance=1)

    try:
        regrade(prepared, start, step)
    finally:
        if progress.live.is_started:
            progress.stop()
    typer.echo(f"graded {n_graded} answers with {prepared.spec.name} under {prepared.policy}")
    return n_open
