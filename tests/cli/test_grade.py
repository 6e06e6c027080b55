import shutil

import pytest
import stamina
import typer
from typer.testing import CliRunner

from openosce.cli.grade import grade
from openosce.errors import InputError, ProviderError
from openosce.models import Script
from openosce.reports.agreement import Agreement, agreement_sheet
from openosce.runs import cast as casting
from openosce.runs import prepare, run_study, to_study
from openosce.runs.folder.records import Judge

OLD, NEW = Judge("paper@1", ("g/old", "options")), Judge("paper@1", ("g/new", "options"))


@pytest.fixture
def app():
    app = typer.Typer()
    app.command()(grade)
    return app


@pytest.fixture(scope="module")
def graded_once(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    study = to_study({"study": {"benchmark": "craft-md", "trials": 1}})
    run_study(prepare(study, folder, limit=3), lambda total, todo: None, lambda trial: None)
    return folder


@pytest.fixture
def run(graded_once, tmp_path):
    return shutil.copytree(graded_once, tmp_path / "run")


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "grader.yaml"
    path.write_text('"grade/extract/*": "Gout"\n"grade/compare/*": "no"\n')
    return f"roles.grader.file={path}"


def test_old_and_new_verdicts_are_compared_arm_by_arm(app, run, script):
    command = [str(run), "--grader", "builtin/script", "--set", script]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "graded 15 answers with builtin/script under paper@1" in result.stdout
    assert "multi_turn_own" in result.stdout and "kappa" in result.stdout
    assert "arms of multiple choice are left out" in result.stdout
    assert "vignette_mcq" not in result.stdout
    assert "graded 0 answers" in CliRunner().invoke(app, command).stdout


def test_the_runs_own_verdicts_are_not_compared_with_themselves(app, run):
    result = CliRunner().invoke(app, [str(run)])
    assert result.exit_code == 0
    assert "nothing to compare" in result.stdout


def test_another_policy_alone_compares_every_arm(app, run):
    result = CliRunner().invoke(app, [str(run), "--policy", "preprint_2023"])
    assert result.exit_code == 0
    assert "vignette_mcq" in result.stdout
    assert "builtin/lexicon under preprint_2023@1" in result.stdout


def test_verdicts_that_an_endpoint_failed_to_give_end_with_exit_code_1(app, run, monkeypatch):
    class Failing(Script):
        async def complete(self, request):
            raise ProviderError("HTTP 503")

    monkeypatch.setattr(casting, "build_model", lambda spec, role: Failing({}))
    with stamina.set_testing(True, attempts=1):
        result = CliRunner().invoke(app, [str(run), "--grader", "test/grader"])
    assert result.exit_code == 1
    assert "15 answers have no verdict for now; the same command asks again" in result.stderr


def test_settings_of_another_role_are_refused(app, run):
    result = CliRunner().invoke(app, [str(run), "--set", "craft_md.cap=30"])
    assert isinstance(result.exception, InputError)
    assert "only the grader's settings" in str(result.exception)


def test_a_folder_that_is_no_run_is_unusable_input(app, tmp_path):
    result = CliRunner().invoke(app, [str(tmp_path / "nothing"), "--grader", "builtin/lexicon"])
    assert isinstance(result.exception, InputError)
    assert "no run here" in str(result.exception)


def test_kappa_is_what_a_worked_example_gives():
    row = Agreement(
        "frq", 50, both_right=20, both_wrong=15, only_old_right=5, only_new_right=10, missing_old=0, missing_new=0
    )
    assert row.raw == pytest.approx(0.7)  # by chance 0.5 · 0.6 + 0.5 · 0.4 = 0.5
    assert row.kappa == pytest.approx(0.4)


@pytest.mark.parametrize(("counts", "kappa"), [((5, 5, 0, 0), 1.0), ((0, 0, 5, 5), -1.0), ((4, 4, 4, 4), 0.0)])
def test_kappa_is_one_for_full_agreement_minus_one_for_none_and_zero_for_chance(counts, kappa):
    assert Agreement("frq", sum(counts), *counts, 0, 0).kappa == pytest.approx(kappa)


def test_without_a_common_verdict_or_without_variance_there_is_no_kappa_and_the_table_says_why():
    nothing, constant = Agreement("a", 3, 0, 0, 0, 0, 3, 1), Agreement("b", 3, 3, 0, 0, 0, 0, 0)
    assert (nothing.raw, nothing.kappa) == (None, None)
    assert (constant.raw, constant.kappa) == (1.0, None)
    sheet = agreement_sheet([nothing, constant], OLD, NEW)
    assert [row[-2:] for row in sheet.rows] == [("-", "-"), ("1.000", "-"), ("1.000", "-")]
    assert sheet.rows[-1][:2] == ("all", "6")
    assert any("every answer the same" in note for note in sheet.notes)
