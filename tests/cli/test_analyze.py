import json

import pytest
import typer
from typer.testing import CliRunner

from openosce.cases import Case, Diagnosis
from openosce.cli.analyze import analyze
from openosce.encounters import Encounter, EndReason
from openosce.errors import InputError
from openosce.grading.record import Answer, Score, Trial, TrialKey
from openosce.runs.folder import RunWriter


@pytest.fixture
def app():
    app = typer.Typer()
    app.command()(analyze)
    return app


@pytest.fixture
def run(tmp_path):
    with RunWriter(tmp_path) as writer:
        for n, value in enumerate([1.0, 0.0, None]):
            writer.write(Case(id=f"case-{n}", source="starter", diagnosis=Diagnosis(name="Gout")))
            score = Score(
                "accuracy", value, "paper@1", "builtin/lexicon", None, None if value is not None else "refused: x"
            )
            encounter = Encounter((), EndReason.DIAGNOSED)
            writer.write(
                Trial(TrialKey("d", "text", f"case-{n}", 0), encounter, (Answer("x_mcq", "Gout", None, (score,)),))
            )
    plan = {"doctors": ["d"], "conditions": ["text"], "arms": ["x_mcq"], "trials": 1}
    (tmp_path / "manifest.json").write_text(json.dumps({"study": {}, "plan": plan, "policy": "paper@1"}))
    return tmp_path


def test_json_is_one_document_and_nothing_else(app, run):
    result = CliRunner().invoke(app, [str(run), "--json"])
    document = json.loads(result.stdout)
    assert (result.exit_code, result.stderr) == (0, "")
    (everything, _) = document["estimates"]
    assert (everything["group"], everything["mean"], everything["n_cases"], everything["n_missing"]) == (
        "all",
        0.5,
        2,
        1,
    )


def test_without_json_there_are_tables(app, run):
    result = CliRunner().invoke(app, [str(run)])
    assert result.exit_code == 0
    assert "2 of 3" in result.stdout
    assert "refused=1" in result.stdout


def test_a_folder_that_is_no_run_is_unusable_input(app, tmp_path):
    result = CliRunner().invoke(app, [str(tmp_path / "nothing")])
    assert isinstance(result.exception, InputError)
    assert "no run here" in str(result.exception)
