"""`osce report`: one self-contained page about a run."""

from pathlib import Path
from typing import Annotated

import typer

from openosce.reports import write_report


def report(
    run: Annotated[Path, typer.Argument(help="Run folder written by `osce run`.")],
    figures: Annotated[Path | None, typer.Option(help="Write every figure here too, as PNG and SVG.")] = None,
    tables: Annotated[Path | None, typer.Option(help="Write every table here too, as CSV and LaTeX.")] = None,
    conversations: Annotated[
        int, typer.Option(min=0, help="Conversations that the page holds at most; of more, a random sample.")
    ] = 5_000,
) -> None:
    """Write RUN/report.html and print its path.

    From the stored scores; of a damaged run, what can be read.
    """
    path = write_report(
        run,
        figures=figures,
        tables=tables,
        conversations=conversations,
        warn=lambda line: typer.echo(f"warning: {line}", err=True),
    )
    typer.echo(path)
