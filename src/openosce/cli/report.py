"""`osce report`: one self-contained page about a run."""

from pathlib import Path
from typing import Annotated

import typer

from openosce.reports import write_report


def report(run: Annotated[Path, typer.Argument(help="Run folder written by `osce run`.")]) -> None:
    """Write RUN/report.html from the stored scores and print its path."""
    typer.echo(write_report(run))
