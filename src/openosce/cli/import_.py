"""`osce import`: released results of other people's studies become a run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from openosce.cli.import_experts import craft_md_experts, medqa_cs_experts
from openosce.cli.import_medqa_cs import medqa_cs
from openosce.cli.import_ratings import ratings
from openosce.cli.irregularities import irregularity_sheet
from openosce.cli.run import INTERRUPTED
from openosce.reports import terminal
from openosce.reports.sheets import Sheet
from openosce.reports.table import sheet_table
from openosce.runs.imports.craft_md_run import PreparedImport, import_craft_md, prepare_craft_md

app = typer.Typer(help="Make a run of released results.", no_args_is_help=True)
app.command("craft-md-experts")(craft_md_experts)
app.command("medqa-cs")(medqa_cs)
app.command("medqa-cs-experts")(medqa_cs_experts)
app.command("ratings")(ratings)


@app.callback()
def _verbs() -> None:
    """Make a run of released results."""


@app.command("craft-md")
def craft_md(
    paths: Annotated[
        list[Path], typer.Argument(help="Folders of raw results, named after the model, or tables of correctness.")
    ],
    cases: Annotated[str, typer.Option(help="The authors' cases.csv.")],
    out: Annotated[Path, typer.Option(help="Run folder to make, or to go on with.")],
) -> None:
    """Import CRAFT-MD's released results as a run.

    Of one or several models. What is irregular in them is recorded with the answer it
    concerns, and counted in the table at the end.
    """
    try:
        prepared, n_before = _import_with_progress(paths, cases, out)
    except KeyboardInterrupt:
        typer.echo("interrupted; what is imported is kept, and the same command goes on", err=True)
        raise typer.Exit(INTERRUPTED) from None
    terminal().print(sheet_table(irregularities(prepared)))
    doctors = ", ".join(found.doctor for found in prepared.results)
    before = f" ({n_before} of them were there already)" if n_before else ""
    typer.echo(f"{out}: {prepared.n_trials} trials of {doctors} on {len(prepared.study.cases)} cases{before}")
    typer.echo(f"go on with: osce analyze {out}")


def _import_with_progress(paths: Sequence[Path], cases: str, out: Path) -> tuple[PreparedImport, int]:
    """Read, then write, behind one bar each; returns what was imported, and how many trials were there before."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    n_before = 0
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), refresh_per_second=4) as progress:
        reading = progress.add_task("files read", total=None)
        prepared = prepare_craft_md(
            paths, cases, out, lambda done, total: progress.update(reading, completed=done, total=total)
        )
        writing = progress.add_task("trials imported", visible=False)

        def start(total: int, done: int) -> None:
            nonlocal n_before
            n_before = done
            progress.update(writing, total=total, completed=done, visible=True)

        import_craft_md(prepared, start, lambda trial: progress.advance(writing))
    return prepared, n_before


def irregularities(prepared: PreparedImport) -> Sheet:
    """What is irregular in the released results, a row a kind and a column a model."""
    return irregularity_sheet({found.doctor: found.tally for found in prepared.results})
