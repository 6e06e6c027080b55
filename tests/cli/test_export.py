import pytest
import typer
from typer.testing import CliRunner

from openosce.cli.export import export
from openosce.errors import InputError
from openosce.runs import prepare, run_study, to_study


@pytest.fixture
def app():
    app = typer.Typer()
    app.command()(export)
    return app


@pytest.fixture
def run(tmp_path):
    study = to_study({"study": {"benchmark": "craft-md", "trials": 1}})
    run_study(prepare(study, tmp_path / "run", limit=1), lambda total, todo: None, lambda trial: None)
    return str(tmp_path / "run")


def test_every_file_is_named_with_its_rows(app, run, tmp_path):
    result = CliRunner().invoke(app, [run, "--out", str(tmp_path / "out")])
    assert result.exit_code == 0
    assert f"{tmp_path / 'out' / 'answers.csv'}: 10 rows" in result.stdout
    assert "data-dictionary.md" in result.stdout


def test_another_format_can_be_asked_for_and_earlier_files_are_replaced_on_request(app, run, tmp_path):
    command = [run, "--out", str(tmp_path / "out"), "--format", "jsonl"]
    assert CliRunner().invoke(app, command).exit_code == 0
    again = CliRunner().invoke(app, command)
    assert isinstance(again.exception, InputError)
    assert "--force" in str(again.exception)
    assert CliRunner().invoke(app, [*command, "--force"]).exit_code == 0


def test_a_folder_that_is_no_run_is_unusable_input(app, tmp_path):
    result = CliRunner().invoke(app, [str(tmp_path / "nothing"), "--out", str(tmp_path / "out")])
    assert isinstance(result.exception, InputError)
    assert "no run here" in str(result.exception)
