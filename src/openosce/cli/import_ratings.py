"""`osce import ratings`: experts' ratings from a CSV file, into the run whose answers they rated."""

from pathlib import Path
from typing import Annotated

import typer

from openosce.cli.import_experts import ratings_sheet
from openosce.reports import terminal
from openosce.reports.table import sheet_table
from openosce.runs.imports.expert_csv import import_ratings


def ratings(
    file: Annotated[
        Path,
        typer.Argument(
            help="CSV with case_id, doctor, arm, rater, item, value and, if need be, condition, trial, note."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The run whose answers were rated.")],
) -> None:
    """Add experts' ratings to a run. An item names a criterion, as coverage; or overall, a section's mark of 100."""
    found = import_ratings(file, out)
    terminal().print(sheet_table(ratings_sheet(found)))
    typer.echo(f"{out}: {len(found):,} ratings; go on with: osce analyze {out}")
