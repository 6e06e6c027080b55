"""`osce compare`: run against run, paired by case."""

import json
from pathlib import Path
from typing import Annotated

import typer

from openosce.reports import terminal
from openosce.reports.comparison import compare_runs, comparison_sheets
from openosce.reports.table import sheet_table
from openosce.reports.trend import write_trend


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN_A RUN_B [RUN_C ...]", help="Run folders.")],
    factor: Annotated[
        list[str] | None,
        typer.Option(
            help="What may differ besides the doctor: prompts, patient, summarizer, grader, policy, cases, settings, "
            "trials, seed, rules, or another role; several times for several."
        ),
    ] = None,
    figure: Annotated[Path | None, typer.Option(help="Draw the runs as a trend into this .svg, .png or .pdf.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")] = False,
) -> None:
    """Compare two runs, or several as a trend; whatever else differs between them is refused by name."""
    found = compare_runs(runs, factor or ())
    if figure is not None:
        write_trend(found, figure)
    if json_:
        typer.echo(json.dumps(found.to_json(), indent=2, allow_nan=False))
    else:
        terminal().print(*map(sheet_table, comparison_sheets(found)), sep="\n")
