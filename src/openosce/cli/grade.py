"""`osce grade`: another grader, or another policy, decides on the stored answers; or further examiners mark them."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from openosce.cli.run import FAILED, INTERRUPTED, settings_of
from openosce.errors import RunStopped, StudyError
from openosce.grading.record import ACCURACY, may_be_closed
from openosce.grading.rubrics import SCORE
from openosce.grading.text_metrics import METRIC_NAMES
from openosce.reports import terminal
from openosce.reports.agreement import agreement, agreement_sheet
from openosce.reports.examiner_agreement import examiner_agreements
from openosce.reports.examiners import examiner_sheets
from openosce.reports.table import sheet_table
from openosce.runs.folder import AddedScores, RunReader
from openosce.runs.reexamine import PreparedExamination, examine_again, prepare_examinations
from openosce.runs.regrade import PreparedGrading, prepare_grading, regrade
from openosce.runs.stored import OnMarked

_Work = Callable[[Callable[[int], None], OnMarked], None]


def grade(
    run: Annotated[Path, typer.Argument(help="Run folder written by `osce run`.")],
    grader: Annotated[str | None, typer.Option(help="The grader, provider/name; the run's own unless named.")] = None,
    policy: Annotated[
        str | None, typer.Option(help="The match policy (docs/glossary.md); the run's own unless named.")
    ] = None,
    examiner: Annotated[
        list[str] | None, typer.Option(help="An examiner that marks too, provider/name; several times for several.")
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option(help=f"A text metric that marks too: {', '.join(METRIC_NAMES)}.")
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="The endpoint of the grader, or of the examiners.")] = None,
    in_flight: Annotated[int, typer.Option(min=1, max=10_000, help="Calls open at once.")] = 50,
    prompts: Annotated[Path | None, typer.Option(help="Folder of prompt templates that replace ours.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting of the grader or of all examiners, as roles.grader.temperature=0."),
    ] = None,
) -> None:
    """Grade the stored answers of RUN again.

    The new verdicts stand beside the old ones and are compared with them.
    What this grader or examiner has graded already is left alone; the same command goes on where it stopped.
    """
    if examiner or metric:
        if grader or policy:
            raise StudyError("--examiner and --metric mark sections; --grader and --policy are for right and wrong")
        settings = _settings(set_ or [], "examiner")
        _examine(
            prepare_examinations(
                run,
                examiner or [],
                metric or [],
                base_url=base_url,
                in_flight=in_flight,
                own_prompts=prompts,
                settings=settings,
            )
        )
        return
    prepared = prepare_grading(
        run,
        grader=grader,
        policy=policy,
        base_url=base_url,
        in_flight=in_flight,
        own_prompts=prompts,
        settings=_settings(set_ or [], "grader"),
    )
    how, policy = f"with {prepared.spec.name} under {prepared.policy}", prepared.judge.policy
    n_open = _with_progress(how, policy, lambda start, step: regrade(prepared, start, step))
    _say_agreement(prepared)
    _say_open(n_open)


def _examine(examinations: tuple[PreparedExamination, ...]) -> None:
    """Let one examiner after the other mark, then set all of them side by side."""
    n_open = 0
    for one in examinations:
        n_open += _with_progress(f"with {one.name}", one.run.policy, partial(examine_again, one))
    with RunReader(examinations[0].folder) as reader:
        sheets = examiner_sheets(examiner_agreements(reader))
    terminal().print(*map(sheet_table, sheets), sep="\n")
    if not sheets:
        typer.echo("nothing to compare: one examiner has marked, and no expert")
    _say_open(n_open)


def _say_agreement(prepared: PreparedGrading) -> None:
    arms, old, new = prepared.arms_decided_anew, prepared.own.judge, prepared.judge
    if not arms:
        typer.echo("nothing to compare: these are the verdicts of the run itself")
        return
    rows = agreement(prepared.folder, old, new, arms)
    terminal().print(sheet_table(agreement_sheet(rows, old, new)))
    if len(arms) < len(prepared.own.arms):
        typer.echo("arms of multiple choice are left out: the same rule decides them in both")


def _say_open(n_open: int) -> None:
    if n_open:
        typer.echo(f"{n_open} answers have no verdict for now; the same command asks again", err=True)
        raise typer.Exit(FAILED)


def _settings(pairs: list[str], role: str) -> dict[str, Any]:
    settings, prefix = settings_of(pairs), f"roles.{role}."
    foreign = [key for key in settings if not key.startswith(prefix)]
    if foreign:
        raise StudyError(f"--set {foreign[0]}: only the {role}'s settings matter here, as {prefix}temperature=0")
    return {key.removeprefix(prefix): value for key, value in settings.items()}


def _with_progress(how: str, policy: str, work: _Work) -> int:
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
        verdicts = [score for score in added.scores if score.metric in (ACCURACY, SCORE) and score.policy == policy]
        n_open += all(score.value is None and may_be_closed(score.missing_reason) for score in verdicts)
        progress.update(task, advance=1)

    try:
        work(start, step)
    except (RunStopped, KeyboardInterrupt) as reason:
        said = f"stopped: {reason}" if isinstance(reason, RunStopped) else "interrupted"
        typer.echo(f"{said}; what is graded is kept, and the same command goes on", err=True)
        raise typer.Exit(INTERRUPTED) from None
    finally:
        if progress.live.is_started:
            progress.stop()
    before = "" if n_graded else "; those verdicts are there already"
    typer.echo(f"graded {n_graded} answers {how}{before}")
    return n_open
