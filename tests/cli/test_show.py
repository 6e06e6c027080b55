import json

import pytest
import typer
from typer.testing import CliRunner

from openosce.cases import Case, Diagnosis
from openosce.cli.show import show
from openosce.encounters import Encounter, EndReason, Message
from openosce.errors import InputError
from openosce.grading.record import Answer, Score, Trial, TrialKey
from openosce.runs.folder import RunWriter

N_CASES = 53


def invoke(*arguments):
    app = typer.Typer()
    app.command()(show)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def run(tmp_path):
    """Two doctors, two trials: the first is right in trial 0 only, the second has answered nothing but case 0."""
    folder = tmp_path / "run"
    with RunWriter(folder) as writer:
        for c in range(N_CASES):
            writer.write(Case(id=f"case-{c:02}", source="starter", diagnosis=Diagnosis(name="Gout")))
        for doctor, n_cases in (("one", N_CASES - 1), ("two", 1)):
            for c in range(n_cases):
                for t in range(2):
                    said = Message("doctor", None, f"I am {doctor}, trial {t}. [bold]Gout?[/] \x1b[2J")
                    score = Score("accuracy", float(t == 0), "paper@1", "builtin/lexicon", "named: Gout")
                    answers = (Answer("vignette_mcq", "Gout", None, (score,)),)
                    key = TrialKey(doctor, "text", f"case-{c:02}", t)
                    writer.write(Trial(key, Encounter((said,), EndReason.DIAGNOSED), answers))
    plan = {"doctors": ["one", "two"], "conditions": ["text"], "arms": ["vignette_mcq", "frq"], "trials": 2}
    (folder / "manifest.json").write_text(json.dumps({"study": {}, "plan": plan, "policy": "paper@1"}))
    return folder


def lines_about(result, case_id):
    return [line.split() for line in result.stdout.splitlines() if case_id in line]


def test_without_a_case_the_first_fifty_are_listed_with_their_marks(run):
    result = invoke(run)
    assert lines_about(result, "case-00") == [["case-00", "1/2", "-"], ["case-00", "1/2", "-"]]
    assert lines_about(result, "case-49")
    assert not lines_about(result, "case-50")
    assert "and 3 more cases" in result.stdout


def test_the_list_can_be_narrowed_to_a_doctor_and_a_trial(run):
    result = invoke(run, "--doctor", "one", "--trial", 1)
    assert lines_about(result, "case-00") == [["case-00", "0/1", "-"]]


def test_a_case_is_shown_with_all_its_conversations(run):
    result = invoke(run, "case-00")
    for doctor in ("one", "two"):
        for trial in range(2):
            assert f"I am {doctor}, trial {trial}. [bold]Gout?[/] <U+001B>[2J" in result.stdout
    assert "reference diagnosis Gout" in result.stdout
    assert "\x1b" not in result.stdout


def test_one_trial_of_one_doctor_can_be_picked(run):
    result = invoke(run, "case-00", "--doctor", "two", "--trial", 0)
    assert result.stdout.count("I am ") == 1
    assert "I am two, trial 0" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nobody"], "holds no case 'nobody'"),
        (["case-52"], "no such encounter is there yet"),
        (["case-01", "--doctor", "two"], "no such encounter is there yet"),
        (["--doctor", "three"], "which has one, two"),
        (["--trial", 2], "has 2 a case"),
    ],
)
def test_what_is_not_there_is_unusable_input(run, arguments, message):
    failure = invoke(run, *arguments).exception
    assert isinstance(failure, InputError)
    assert message in str(failure)
