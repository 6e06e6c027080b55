import json

import pytest
import typer
from typer.testing import CliRunner

from openosce.cases import Case, Diagnosis
from openosce.cli.compare import compare
from openosce.encounters import Encounter, EndReason
from openosce.errors import InputError
from openosce.grading.record import Answer, Score, Trial, TrialKey
from openosce.runs import prepare, run_study, to_study
from openosce.runs.folder import RunWriter


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


@pytest.fixture
def imported(tmp_path):
    """A run of one of the article's models over one case."""
    with RunWriter(tmp_path) as writer:
        writer.write(Case(id="case_0", source="dermatology_public", diagnosis=Diagnosis(name="Gout")))
        score = Score("accuracy", 1.0, "as_published@1", "options")
        answers = (Answer("vignette_mcq", "Gout", None, (score,)),)
        key = TrialKey("craft-md/gpt4_1106", "text", "case_0", 0)
        writer.write(Trial(key, Encounter((), EndReason.DIAGNOSED), answers))
    plan = {"doctors": ["craft-md/gpt4_1106"], "conditions": ["text"], "arms": ["vignette_mcq"], "trials": 1}
    manifest = {"study": {"benchmark": "craft-md"}, "plan": plan, "policy": "as_published@1"}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    return str(tmp_path)


def test_to_paper_is_one_json_document_with_every_cell(app, imported):
    result = CliRunner().invoke(app, [imported, "--to-paper", "--json"])
    document = json.loads(result.stdout)
    assert (result.exit_code, result.stderr) == (0, "")
    assert sum(row["n_cells"] for row in document["summary"]) == len(document["cells"])
    assert sum(row["n_not_recomputed"] for row in document["summary"]) == len(document["cells"])
    first = document["cells"][0]
    assert (first["table"], first["printed"], first["recomputed"]) == ("Supplementary Table 1", "0.820", None)
    assert first["reason"] == "the run holds 1 of the 2,004 cases"


def test_to_paper_counts_by_table_and_lists_every_cell_if_asked(app, imported):
    short = CliRunner().invoke(app, [imported, "--to-paper"])
    assert short.exit_code == 0
    assert "Supplementary Table 22" in short.stdout and "GPT-4, vignette_mcq: mean" not in short.stdout
    long = CliRunner().invoke(app, [imported, "--to-paper", "--all"])
    assert "GPT-4, vignette_mcq: mean" in long.stdout


def test_to_paper_refuses_another_model_than_the_article_s(app, make):
    result = CliRunner().invoke(app, [make("a"), "--to-paper"])
    assert isinstance(result.exception, InputError)
    assert "craft-md/gpt4_1106" in str(result.exception) and "found builtin/interviewer" in str(result.exception)


@pytest.mark.parametrize("more", [["--to-paper", "b"], ["--to-paper", "--factor", "seed"], ["--all"]])
def test_flags_that_do_not_go_together_are_unusable_input(app, more):
    result = CliRunner().invoke(app, ["a", *more])
    assert isinstance(result.exception, InputError)
    assert "--to-paper" in str(result.exception)
