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


@pytest.fixture
def craft_md(tmp_path):
    """A run of two arms, scored by the article's rule; one answer of case-2 is missing."""
    folder = tmp_path / "craft-md"
    with RunWriter(folder) as writer:
        for n, values in enumerate([(1.0, 0.0), (1.0, 1.0), (None, 0.0)]):
            writer.write(Case(id=f"case-{n}", source="x", specialty="Cardiology", diagnosis=Diagnosis(name="Gout")))
            answers = []
            for arm, value in zip(("vignette_mcq", "multi_turn_mcq"), values, strict=True):
                score = Score(
                    "accuracy", value, "as_published@1", "options", None, "no_answer" if value is None else None
                )
                reason = "empty_reply" if value is None else None
                answers.append(Answer(arm, "Gout" if reason is None else None, reason, (score,)))
            writer.write(
                Trial(TrialKey("d", "text", f"case-{n}", 0), Encounter((), EndReason.DIAGNOSED), tuple(answers))
            )
    plan = {"doctors": ["d"], "conditions": ["text"], "arms": ["vignette_mcq", "multi_turn_mcq"], "trials": 1}
    manifest = {"study": {"benchmark": "craft-md"}, "plan": plan, "policy": "as_published@1"}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def test_published_json_has_the_shape_of_the_other_and_says_as_published(app, craft_md):
    result = CliRunner().invoke(app, [str(craft_md), "--published", "--json"])
    document = json.loads(result.stdout)
    assert (result.exit_code, result.stderr) == (0, "")
    plain = json.loads(CliRunner().invoke(app, [str(craft_md), "--json"]).stdout)
    clustering = {"icc", "design_effect", "n_effective", "clustering_reason", "warning"}
    for kind in ("estimates", "comparisons"):
        assert set(plain[kind][0]) - clustering <= set(document[kind][0])
    first = document["estimates"][0]
    assert (first["arm"], first["group"], first["n_missing"], first["n_cases"]) == ("vignette_mcq", "all", 1, 3)
    assert first["mean"] == pytest.approx(2 / 3)  # the missing answer counts as 0
    assert first["method"].endswith("as published")
    (over_all, _) = document["comparisons"]
    assert over_all["test"].endswith("as published")
    assert (over_all["adjustment"], over_all["family_size"]) == ("benjamini-hochberg", 1)


def test_published_tables_show_what_is_missing(app, craft_md):
    result = CliRunner().invoke(app, [str(craft_md), "--published"])
    assert result.exit_code == 0
    assert "d, as published" in result.stdout
    assert "MCQ: scores of as_published@1 by options" in result.stdout


def test_published_refuses_a_run_of_another_benchmark(app, run):
    result = CliRunner().invoke(app, [str(run), "--published"])
    assert isinstance(result.exception, InputError)
    assert "only those of craft-md have a published analysis" in str(result.exception)
