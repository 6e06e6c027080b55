"""`osce analyze`: the results of a run, as tables or as JSON."""

import json
from pathlib import Path
from typing import Annotated

import typer

from openosce.errors import StudyError
from openosce.reports import Analysis, analysis_tables, analyze_run, terminal
from openosce.reports.published import analyze_as_published
from openosce.reports.published_sheets import published_sheets
from openosce.reports.table import sheet_table
from openosce.runs.folder import RunReader


def analyze(
    run: Annotated[Path, typer.Argument(help="Run folder written by `osce run`.")],
    published: Annotated[
        bool, typer.Option("--published", help="Compute exactly what the benchmark's article does (craft-md).")
    ] = False,
    adjustment: Annotated[
        str | None, typer.Option(help="With --published, another than the article's: holm or benjamini-hochberg.")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")] = False,
) -> None:
    """Compute the results of RUN from its stored scores.

    Needs no model and no key.
    """
    if adjustment is not None and not published:
        raise StudyError("--adjustment: goes with --published; our own analysis always adjusts by holm")
    with RunReader(run) as reader:
        analysis = analyze_as_published(reader, adjustment) if published else analyze_run(reader)
    if json_:
        typer.echo(json.dumps(analysis.to_json(), indent=2, allow_nan=False))
    elif isinstance(analysis, Analysis):
        terminal().print(analysis_tables(analysis))
    else:
        terminal().print(*map(sheet_table, published_sheets(analysis)), sep="\n")
