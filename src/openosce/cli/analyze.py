"""`osce analyze`: the results of a run, as tables or as JSON."""

import json
from pathlib import Path
from typing import Annotated

import typer

from openosce.reports import analysis_tables, analyze_run, terminal
from openosce.runs.folder import RunReader


def analyze(
    run: Annotated[Path, typer.Argument(help="Run folder written by `osce run`.")],
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")] = False,
) -> None:
    """Compute the results of RUN from its stored scores; needs no model and no key."""
    with RunReader(run) as reader:
        analysis = analyze_run(reader)
    if json_:
        typer.echo(json.dumps(analysis.to_json(), indent=2, allow_nan=False))
    else:
        terminal().print(analysis_tables(analysis))
