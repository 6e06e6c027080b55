import json

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


def test_the_path_of_the_page_is_printed_and_nothing_else(tmp_path):
    with RunWriter(tmp_path) as writer:
        writer.write(Case(id="case-1", source="starter", diagnosis=Diagnosis(name="Gout")))
    plan = {"doctors": ["d"], "conditions": ["text"], "arms": ["x"], "trials": 1}
    (tmp_path / "manifest.json").write_text(json.dumps({"study": {}, "plan": plan, "policy": "paper@1"}))
    result = invoke(tmp_path)
    assert (result.exit_code, result.stdout) == (0, f"{tmp_path / 'report.html'}\n")
    assert "not run" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_folder_that_is_no_run_is_unusable_input(tmp_path):
    assert isinstance(invoke(tmp_path / "nothing").exception, InputError)
