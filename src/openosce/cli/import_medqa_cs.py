"""`osce import medqa-cs`: what students wrote and examiners said in MedQA-CS's files becomes a run."""

from pathlib import Path
from typing import Annotated

import typer

from openosce.cli.irregularities import irregularity_sheet
from openosce.cli.run import INTERRUPTED
from openosce.reports import terminal
from openosce.reports.table import sheet_table
from openosce.reports.text import visible
from openosce.runs.imports.medqa_cs import import_medqa_cs, prepare_medqa_cs


def medqa_cs(
    path: Annotated[str, typer.Argument(help="Folder with med-student.json, med-exam.json or both; or `medqa-cs`.")],
    out: Annotated[Path, typer.Option(help="Run folder to make, or to go on with.")],
    cases: Annotated[str | None, typer.Option(help="Where the cases are read from; without it, PATH too.")] = None,
) -> None:
    """Import the outputs in MedQA-CS's files as a run.

    Those of all students and examiners. What is irregular in them is recorded with the answer it
    concerns, and counted in the table at the end.
    """
    try:
        prepared = prepare_medqa_cs(path, cases or path, out)
        n_before = import_medqa_cs(prepared)
    except KeyboardInterrupt:
        typer.echo("interrupted; what is imported is kept, and the same command goes on", err=True)
        raise typer.Exit(INTERRUPTED) from None
    tallies = {found.doctor: found.tally for found in prepared.results}
    terminal().print(sheet_table(irregularity_sheet(tallies)))
    before = f" ({n_before} of them were there already)" if n_before else ""
    doctors, n_cases = ", ".join(tallies), len(prepared.study.cases)
    typer.echo(visible(f"{out}: {len(prepared.trials)} trials of {doctors} on {n_cases} cases{before}"))
    typer.echo(visible(f"go on with: osce analyze {out}"))
