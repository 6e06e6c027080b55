"""The command `osce`: one file a verb, and one place where errors become a line and an exit code.

Exit codes: 0 done; 1 finished with failed encounters; 2 unusable input; 130 interrupted, the same command goes on.
"""

import sys

import typer

from openosce.cli.analyze import analyze
from openosce.cli.cases import app as cases
from openosce.cli.compare import compare
from openosce.cli.export import export
from openosce.cli.grade import grade
from openosce.cli.import_ import app as import_
from openosce.cli.models import app as models
from openosce.cli.report import report
from openosce.cli.run import run
from openosce.cli.show import show
from openosce.errors import InputError

UNUSABLE = 2

app = typer.Typer(
    name="osce",
    help="OSCEs for language models: simulated patients, stations, examiners. For evaluation, not for patient care.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(cases, name="cases")
app.add_typer(models, name="models")
app.add_typer(import_, name="import")
app.command()(run)
app.command()(show)
app.command()(grade)
app.command()(analyze)
app.command()(compare)
app.command()(report)
app.command()(export)


def main() -> None:
    """Run `osce`; unusable input ends with one line and exit code 2."""
    try:
        app()
    except InputError as error:
        line = " ".join(str(error).split())
        print(f"error: {line}", file=sys.stderr)
        sys.exit(UNUSABLE)
