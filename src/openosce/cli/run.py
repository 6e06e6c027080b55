"""`osce run`: run a study, or go on with it, and end with its results."""

import shlex
import sys
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from openosce.benchmarks import BENCHMARKS
from openosce.cli.dry_run import say_plan
from openosce.errors import RunStopped, StudyError
from openosce.grading import Trial
from openosce.reports import analysis_tables, analyze_run, terminal, write_report
from openosce.runs import PreparedStudy, default_folder, planned, prepare, read_study, run_study, to_study, unfinished
from openosce.runs.conditions import refuse_swept
from openosce.runs.folder import RunReader

FAILED, INTERRUPTED = 1, 130


def run(
    target: Annotated[str, typer.Argument(help=f"A study file (*.toml), or a benchmark: {', '.join(BENCHMARKS)}.")],
    doctor: Annotated[
        list[str] | None,
        typer.Option(
            "--doctor", "--student", help="Model under test, provider/name, or human; several times for several."
        ),
    ] = None,
    patient: Annotated[str | None, typer.Option(help="Model of the simulated patient, or human.")] = None,
    summarizer: Annotated[str | None, typer.Option(help="Model of the summarizer; the patient's unless named.")] = None,
    grader: Annotated[str | None, typer.Option("--grader", "--moderator", help="Model of the grader.")] = None,
    measurement: Annotated[str | None, typer.Option(help="Model that returns test results (AgentClinic).")] = None,
    examiner: Annotated[str | None, typer.Option(help="Model of the examiner (MedQA-CS).")] = None,
    cases: Annotated[
        str | None, typer.Option(help="`starter`, `starter-images`, `medqa-cs`, or a case file or folder.")
    ] = None,
    trials: Annotated[int | None, typer.Option(help="Repetitions of every case; 5 unless named.")] = None,
    seed: Annotated[int | None, typer.Option(help="What everything random depends on; 1 unless named.")] = None,
    out: Annotated[Path | None, typer.Option(help="Run folder; by default runs/<benchmark>-<doctor>.")] = None,
    in_flight: Annotated[int | None, typer.Option(help="Calls open at once; 50 unless named.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Run the first so many cases only.")] = None,
    only: Annotated[list[str] | None, typer.Option(help="Run this case only; several times for several.")] = None,
    grader_repeats: Annotated[int | None, typer.Option(help="How often a grading model decides on an answer.")] = None,
    base_url: Annotated[
        str | None, typer.Option(help="Endpoint of every chat-completions role without its own.")
    ] = None,
    prompts: Annotated[Path | None, typer.Option(help="Folder of prompt templates that replace ours.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="Any setting, as craft_md.cap=30.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be run, and run nothing.")] = False,
) -> None:
    """Run a study and print its results.

    The same command on the same folder goes on where it stopped.
    """
    flags: dict[str, Any] = {
        "study.cases": cases,
        "study.trials": trials,
        "study.seed": seed,
        "study.grader_repeats": grader_repeats,
        "study.base_url": base_url,
        "roles.doctor.models": doctor,
        "roles.patient.model": patient,
        "roles.summarizer.model": summarizer,
        "roles.grader.model": grader,
        "roles.measurement.model": measurement,
        "roles.examiner.model": examiner,
        "limits.in_flight": in_flight,
        **settings_of(set_ or []),
    }
    tables, text = _tables(target)
    given = {key: value for key, value in flags.items() if value is not None}
    for key, value in given.items():
        _put(tables, key, value)
    refuse_swept(given, tables)
    study = to_study(tables, None if given else text)
    prepared = prepare(study, out or default_folder(study), own_prompts=prompts, limit=limit, only=only or ())
    if dry_run:
        say_plan(prepared)
        return
    _run(prepared)


def _tables(target: str) -> tuple[dict[str, Any], str | None]:
    """The tables of a study file, or those that a benchmark's name stands for."""
    path = Path(target)
    if path.suffix == ".toml" or path.is_file():
        return read_study(path), path.read_text(encoding="utf-8")
    return {"study": {"benchmark": target}}, None


def settings_of(pairs: list[str]) -> dict[str, Any]:
    """`--set table.key=value`, the value as TOML, or as text where it is none."""
    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or "." not in key:
            raise StudyError(f"--set {pair!r}: expected table.key=value, as craft_md.cap=30")
        try:
            settings[key.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            settings[key.strip()] = value.strip()
    return settings


def _put(tables: dict[str, Any], key: str, value: Any) -> None:
    *path, last = key.split(".")
    for step in path:
        tables = tables.setdefault(step, {})
        if not isinstance(tables, dict):
            raise StudyError(f"{key}: {step!r} is no table in the study file")
    if last == "models":
        tables.pop("model", None)  # --doctor takes the place of the study's doctors
    tables[last] = value


def _run(prepared: PreparedStudy) -> None:
    try:
        _run_with_progress(prepared)
    except RunStopped as reason:
        typer.echo(f"stopped: {reason}", err=True)
        raise typer.Exit(_say_how_to_go_on(prepared)) from None
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        raise typer.Exit(_say_how_to_go_on(prepared)) from None
    with RunReader(prepared.folder) as reader:
        analysis = analyze_run(reader)
        failed = bool(reader.failed())
    terminal().print(analysis_tables(analysis, brief=True))
    typer.echo(f"report: {write_report(prepared.folder)}")
    if failed:
        raise typer.Exit(FAILED)


def _say_how_to_go_on(prepared: PreparedStudy) -> int:
    total = len(planned(prepared))
    done = total - len(unfinished(prepared))
    typer.echo(f"{done} of {total} conversations are done and kept", err=True)
    typer.echo(f"go on with: {shlex.join(['osce', *sys.argv[1:]])}", err=True)
    return INTERRUPTED


def _fallbacks(prepared: PreparedStudy) -> str:
    return ", ".join(note.replace(": ", " ", 1) for note in prepared.study.fallbacks)


def _run_with_progress(prepared: PreparedStudy) -> None:
    """Run behind a progress bar, which is shown only once the study has been accepted."""
    text, bar = TextColumn("{task.description}"), BarColumn()
    console = Console(stderr=True)
    columns = (text, bar, MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    progress = Progress(*columns, console=console, refresh_per_second=4)
    task = progress.add_task("conversations")
    failures = 0

    def start(total: int, todo: int) -> None:
        if prepared.study.fallbacks:
            typer.echo(f"no model is named for these roles, built-in ones play them: {_fallbacks(prepared)}", err=True)
        progress.update(task, total=total, completed=total - todo)
        if not prepared.study.is_interactive:  # a bar would be drawn into what is typed
            progress.start()

    def step(trial: Trial) -> None:
        nonlocal failures
        failures += trial.encounter.ended.is_failure
        said = f"conversations ({failures} failed)" if failures else "conversations"
        progress.update(task, advance=1, description=said)

    try:
        run_study(prepared, start, step)
    finally:
        if progress.live.is_started:
            progress.stop()
