"""`osce compare`: run against run, paired by case; or a run against the paper it is about."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from openosce.errors import StudyError
from openosce.reports import terminal
from openosce.reports.comparison import compare_runs, comparison_sheets
from openosce.reports.papers import compare_to_paper, paper_sheets
from openosce.reports.sheets import Sheet
from openosce.reports.table import sheet_table
from openosce.reports.trend import write_trend
from openosce.runs.folder import RunReader


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
    to_paper: Annotated[
        bool, typer.Option("--to-paper", help="Hold one run, made from released results, against the printed figures.")
    ] = False,
    all_: Annotated[bool, typer.Option("--all", help="With --to-paper: list every cell, the same ones too.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")] = False,
) -> None:
    """Compare two runs, or several as a trend.

    Whatever differs between them besides the doctor and what --factor names is refused.

    With --to-paper: one run, cell by cell with the tables of its benchmark's paper.
    """
    if to_paper:
        _to_paper(_one_run(runs, factor, figure), every=all_, as_json=json_)
        return
    if all_:
        raise StudyError("--all lists the cells of a paper; it goes with --to-paper")
    found = compare_runs(runs, factor or ())
    if figure is not None:
        write_trend(found, figure)
    _say(found.to_json(), comparison_sheets(found), json_)


def _one_run(runs: list[Path], factor: list[str] | None, figure: Path | None) -> Path:
    if len(runs) != 1 or factor or figure is not None:
        raise StudyError(f"--to-paper takes one run, without --factor and --figure; found {len(runs)} run(s)")
    return runs[0]


def _to_paper(run: Path, *, every: bool, as_json: bool) -> None:
    with RunReader(run) as reader:
        found = compare_to_paper(reader)
    _say(found.to_json(), paper_sheets(found, every=every), as_json)


def _say(document: dict[str, Any], sheets: list[Sheet], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(document, indent=2, allow_nan=False))
    else:
        terminal().print(*map(sheet_table, sheets), sep="\n")
