import json

import pytest
import typer
from typer.testing import CliRunner

from openosce.cli.compare import compare
from openosce.errors import InputError
from openosce.runs import prepare, run_study, to_study


@pytest.fixture
def app():
    app = typer.Typer()
    app.command()(compare)
    return app


@pytest.fixture
def make(tmp_path):
    """Run one starter case with built-in roles."""

    def run(name, seed=1):
        study = to_study({"study": {"benchmark": "craft-md", "trials": 1, "seed": seed}})
        run_study(prepare(study, tmp_path / name, limit=1), lambda total, todo: None, lambda trial: None)
        return str(tmp_path / name)

    return run


def test_json_is_one_document_and_nothing_else(app, make):
    runs = [make("a"), make("b", seed=2)]
    result = CliRunner().invoke(app, [*runs, "--factor", "seed", "--json"])
    document = json.loads(result.stdout)
    assert (result.exit_code, result.stderr) == (0, "")
    assert len(document["comparisons"]) == 9
    row = document["comparisons"][0]
    assert row["a"] == {"run": runs[0], "model": "builtin/interviewer", "arm": "vignette_mcq"}
    assert row["b"]["run"] == runs[1]
    keys = {
        "group",
        "metric",
        "n_cases",
        "difference",
        "ci_low",
        "ci_high",
        "p",
        "p_adjusted",
        "adjustment",
        "test",
        "reason",
    }
    assert keys <= set(row)
    assert document["differs"] == [{"key": "seed", "factor": "seed", "values": [1, 2]}]


def test_two_runs_make_a_table_and_more_make_a_trend(app, make):
    runs = [make("a"), make("b"), make("c")]
    two = CliRunner().invoke(app, runs[:2])
    assert two.exit_code == 0
    assert "A minus B" in two.stdout and "vignette_mcq" in two.stdout and runs[1] in two.stdout.replace("\n", "")
    three = CliRunner().invoke(app, runs)
    assert three.exit_code == 0
    assert "Accuracy in 3 runs" in three.stdout


def test_what_differs_and_is_not_declared_is_unusable_input(app, make):
    result = CliRunner().invoke(app, [make("a"), make("b", seed=2)])
    assert isinstance(result.exception, InputError)
    assert "seed is 1 in" in str(result.exception) and "--factor seed" in str(result.exception)


def test_one_run_alone_is_unusable_input(app, tmp_path):
    result = CliRunner().invoke(app, [str(tmp_path)])
    assert isinstance(result.exception, InputError)
