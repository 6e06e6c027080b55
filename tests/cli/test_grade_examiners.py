import json
import shutil

import pytest
import stamina
import typer
from typer.testing import CliRunner

from openosce.cli.grade import grade
from openosce.errors import InputError, ProviderError
from openosce.models import Script
from openosce.runs import cast as casting
from openosce.runs import prepare, run_study, to_study

EXPLAINED = {f"explanation{n}": "so it is" for n in range(1, 6)}
VERDICT = json.dumps({"score1": 20, "score2": 15, "score3": 30, "score4": 10, "score5": 0, **EXPLAINED})


@pytest.fixture
def app():
    app = typer.Typer()
    app.command()(grade)
    return app


@pytest.fixture(scope="module")
def examined_once(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    study = to_study({"study": {"benchmark": "medqa-cs", "trials": 1}})
    run_study(prepare(study, folder, limit=3), lambda total, todo: None, lambda trial: None)
    return folder


@pytest.fixture
def run(examined_once, tmp_path):
    return shutil.copytree(examined_once, tmp_path / "run")


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "examiner.yaml"
    path.write_text(f"\"examine/closure/*\": '{VERDICT}'\n", encoding="utf-8")
    return f"roles.examiner.file={path}"


def test_examiners_and_metrics_mark_in_turn_and_are_set_side_by_side(app, run, script):
    command = [str(run), "--examiner", "builtin/script", "--metric", "exact-match", "--set", script]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "graded 12 answers with builtin/script" in result.stdout
    assert "graded 12 answers with metric/exact-match" in result.stdout
    assert "Examiners of builtin/interviewer, closure" in result.stdout
    again = CliRunner().invoke(app, command)
    assert "graded 0 answers with builtin/script" in again.stdout
    assert "Kendall's" in again.stdout  # the tables are there also when nothing was left to mark


def test_one_examiner_alone_has_nothing_to_be_compared_with(app, run):
    result = CliRunner().invoke(app, [str(run), "--examiner", "builtin/examiner"])
    assert result.exit_code == 0, result.output
    assert "nothing to compare: one examiner has marked, and no expert" in result.stdout


def test_marks_that_an_endpoint_failed_to_give_end_with_exit_code_1(app, run, monkeypatch):
    class Failing(Script):
        async def complete(self, request):
            raise ProviderError("HTTP 503")

    monkeypatch.setattr(casting, "build_model", lambda spec, role: Failing({}))
    with stamina.set_testing(True, attempts=1):
        result = CliRunner().invoke(app, [str(run), "--examiner", "test/one"])
    assert result.exit_code == 1
    assert "12 answers have no verdict for now; the same command asks again" in result.stderr


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--examiner", "builtin/examiner", "--grader", "builtin/lexicon"], "--grader and --policy are for right"),
        (["--metric", "exact-match", "--policy", "paper"], "--grader and --policy are for right"),
        (["--metric", "exact-match", "--set", "roles.grader.file=x"], "only the examiner's settings matter here"),
        (["--metric", "bleu"], "there is rouge-1"),
        (["--grader", "builtin/lexicon"], "has no grader; use --examiner or --metric"),
    ],
)
def test_flags_that_do_not_go_together_are_unusable_input(app, run, flags, said):
    result = CliRunner().invoke(app, [str(run), *flags])
    assert isinstance(result.exception, InputError)
    assert said in str(result.exception)
