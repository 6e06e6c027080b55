"""`osce run --dry-run`: what a study would take."""

import typer
from rich.table import Table
from rich.text import Text

from openosce.reports import terminal
from openosce.reports.text import visible
from openosce.runs import PreparedStudy, expected_calls, planned, unfinished


def say_plan(prepared: PreparedStudy) -> None:
    """Print what would be run: cases, arms, conversations; calls, tokens and dollars by role."""
    study, todo = prepared.study, unfinished(prepared)
    trials = f"{study.trials} trial{'s' if study.trials != 1 else ''}"
    typer.echo(f"{study.benchmark.name}: {len(prepared.chosen)} of {len(prepared.cases)} cases, {trials}")
    typer.echo(f"arms: {', '.join(study.arms)}")
    if len(study.conditions) > 1:
        typer.echo(f"conditions: {'; '.join(condition.name for condition in study.conditions)}")
    answers = sum(len(study.condition(key.condition).arms_of(key.trial)) for key in todo)
    typer.echo(f"to run: {len(todo)} of {len(planned(prepared))} conversations, {answers} answers")
    typer.echo(f"folder: {prepared.folder}")
    table = Table("role", "model", box=None)
    for head in ("calls", "tokens in", "out", "dollars"):
        table.add_column(head, justify="right")
    total: float | None = 0.0
    for row in expected_calls(prepared, todo):
        dollars = "unknown" if row.dollars is None else f"{row.dollars:,.2f}"
        total = None if total is None or row.dollars is None else total + row.dollars
        numbers = (f"{row.calls:,}", f"{row.tokens_in:,}", f"{row.tokens_out:,}", dollars)
        table.add_row(row.role, Text(visible(row.model)), *numbers)
    terminal().print(table)
    typer.echo(
        f"dollars in all: {'unknown; give the missing prices in a price book' if total is None else f'{total:,.2f}'}"
    )
    typer.echo("expected, not promised: how long conversations get is up to the doctor; prompt caches may cost less")
