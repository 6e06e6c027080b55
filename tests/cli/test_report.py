import json
import sqlite3

import pytest
import typer
from typer.testing import CliRunner

from openosce.cases import Case, Diagnosis
from openosce.cli.report import report
from openosce.errors import InputError
from openosce.runs.folder import RunWriter


def invoke(*arguments):
    app = typer.Typer()
    app.command()(report)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def run(tmp_path):
    with RunWriter(tmp_path) as writer:
        writer.write(Case(id="case-1", source="starter", diagnosis=Diagnosis(name="Gout")))
    plan = {"doctors": ["d"], "conditions": ["text"], "arms": ["x"], "trials": 1}
    (tmp_path / "manifest.json").write_text(json.dumps({"study": {}, "plan": plan, "policy": "paper@1"}))
    return tmp_path


def test_the_path_of_the_page_is_printed_and_nothing_else(run):
    result = invoke(run)
    assert (result.exit_code, result.stdout, result.stderr) == (0, f"{run / 'report.html'}\n", "")
    assert "not run" in (run / "report.html").read_text(encoding="utf-8")


def test_figures_and_tables_are_written_where_they_are_wanted(run, tmp_path):
    result = invoke(run, "--figures", tmp_path / "figures", "--tables", tmp_path / "tables")
    assert result.exit_code == 0
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"accuracy.png", "accuracy.svg"}
    assert {"accuracy.csv", "accuracy.tex", "all-estimates.csv"} <= {p.name for p in (tmp_path / "tables").iterdir()}


def test_a_damaged_run_is_reported_with_a_warning_for_what_is_lost(run):
    connection = sqlite3.connect(run / "run.db")
    connection.execute("DROP TABLE calls")
    connection.close()
    result = invoke(run)
    assert (result.exit_code, result.stdout) == (0, f"{run / 'report.html'}\n")
    assert all(line.startswith("warning: ") for line in result.stderr.splitlines())
    assert "table calls: none of it could be read" in result.stderr


def test_a_run_of_which_nothing_can_be_read_is_unusable_input(run):
    (run / "run.db").write_bytes(b"\0" * 4096)
    assert isinstance(invoke(run).exception, InputError)


def test_a_folder_that_is_no_run_is_unusable_input(tmp_path):
    assert isinstance(invoke(tmp_path / "nothing").exception, InputError)
