"""`osce export`: a run's tables as files."""

from pathlib import Path
from typing import Annotated

import typer

from openosce.reports.export import DICTIONARY, FORMATS, export_run


def export(
    run: Annotated[Path, typer.Argument(help="Run folder written by `osce run`.")],
    out: Annotated[Path, typer.Option(help="Folder to write to.")],
    format_: Annotated[str, typer.Option("--format", help=f"One of {', '.join(FORMATS)}.")] = "csv",
    force: Annotated[bool, typer.Option("--force", help="Replace the files of an earlier export.")] = False,
) -> None:
    """Write every table of RUN into a folder.

    With a data dictionary that tells what each column means.
    """
    for file in export_run(run, out, format_, force=force):
        typer.echo(f"{file.path}: {file.n_rows:,} rows")
    typer.echo(f"{out / DICTIONARY}: what the columns mean")
