import json
import sys

import pytest
from typer.testing import CliRunner

from openosce.cli import app
from openosce.errors import InputError
from openosce.runs.imports.craft_md_scores import EXPERIMENTS

CASES = """case_vignette,choice_1,choice_2,choice_3,choice_4,answer,category,dataset,case_id
A hot big toe. What is it?,Gout,Sepsis,Bursitis,Cellulitis,Gout,Rheumatology,medqa,case_1
A swollen knee. What is it?,Gout,Sepsis,Bursitis,Cellulitis,Bursitis,Rheumatology,medqa,case_2
"""
TABLE = """model,case_id,category,dataset,experiment,trial,valid,correct,response_kind,n_choices_in_response
tabled,case_1,Rheumatology,medqa,vignette_mcq,0,1,1,ok,2
tabled,case_1,Rheumatology,medqa,vignette_frq,0,0,0,list,-1
"""
TALK = [
    {"role": "system", "content": "You are a doctor."},
    {"role": "assistant", "content": "Hi! What brings you here?"},
    {"role": "user", "content": "It hurts."},
    {"role": "assistant", "content": "Fever? Final Diagnosis: Gout"},
]


def invoke(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def cases(tmp_path):
    path = tmp_path / "cases.csv"
    path.write_text(CASES)
    return path


@pytest.fixture
def results(tmp_path):
    """Two models on two cases; the first has lost a reply."""
    for model in ("one", "two"):
        folder = tmp_path / "results" / model
        folder.mkdir(parents=True)
        for case_id, answer in (("case_1", "gout"), ("case_2", "bursitis")):
            trial = {"multiturn_conversation": TALK, "summarized_conversation": "It hurts."}
            for name in EXPERIMENTS:
                trial[name] = "Gout"
                if name.endswith("_frq"):
                    trial |= {f"extracted_ans_{name}": "gout", f"evaluation_{name}": int(answer == "gout")}
            whole = {"case_id": case_id, "case_vignette": "", "question": "What is it?", "correct_ans": answer}
            whole |= {f"trial_{n}": dict(trial) for n in range(5)}
            if model == "one":
                whole["trial_2"]["vignette_mcq"] = [None, 0.5]
            (folder / f"{case_id}.json").write_text(json.dumps(whole))
    return tmp_path / "results"


@pytest.fixture
def run(results, cases, tmp_path):
    result = invoke("import", "craft-md", results, "--cases", cases, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    return tmp_path / "run"


def test_what_was_imported_and_what_is_irregular_is_printed(results, cases, tmp_path):
    command = ("import", "craft-md", results, "--cases", cases, "--out", tmp_path / "run")
    result = invoke(*command)
    assert result.exit_code == 0, result.output
    rows = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "value is a list of null and a cost 2 - craft-md/one: case_1.json:" in rows
    assert "last reply asks and gives a final 10 10 craft-md/one: case_1.json:" in rows
    assert "craft-md/one: 2 values stand beside a cost, 1.0000 together" in result.stdout
    assert "20 trials of craft-md/one, craft-md/two on 2 cases" in result.stdout
    again = invoke(*command)
    assert again.exit_code == 0
    assert "20 of them were there already" in again.stdout


def test_results_without_anything_irregular_say_so(cases, tmp_path):
    table = tmp_path / "table.csv"
    head, row, _ = TABLE.splitlines()
    rows = [row.replace("vignette_mcq,0", f"{name},{n}") for name in EXPERIMENTS for n in range(5)]
    table.write_text("\n".join([head, *rows]))
    result = invoke("import", "craft-md", table, "--cases", cases, "--out", tmp_path / "run")
    assert [line.strip() for line in result.stdout.splitlines()].count("none") == 1
    assert "5 trials of craft-md/tabled on 1 cases" in result.stdout


def test_an_imported_run_can_be_analysed_reported_shown_and_exported(run, tmp_path):
    analysis = invoke("analyze", run, "--json")
    document = json.loads(analysis.stdout)
    assert document["policy"] == "as_published@1"
    found = {(row["model"], row["arm"]): row for row in document["estimates"] if row["group"] == "all"}
    assert found["craft-md/one", "vignette_mcq"]["mean"] == 0.5
    assert found["craft-md/one", "vignette_mcq"]["n_missing"] == 2
    assert found["craft-md/two", "vignette_mcq"]["n_missing"] == 0
    assert invoke("report", run).exit_code == 0
    assert "craft-md/one" in invoke("show", run).stdout
    shown = invoke("show", run, "case_1", "--doctor", "craft-md/two", "--trial", 0).stdout
    assert "diagnosed_with_question" in shown and "It hurts." in shown
    assert invoke("export", run, "--out", tmp_path / "out", "--format", "jsonl").exit_code == 0
    scores = (tmp_path / "out" / "scores.jsonl").read_text().splitlines()
    assert {json.loads(line)["grader"] for line in scores} == {"options", "rule", "craft-md/grader"}


def test_an_imported_run_can_be_graded_by_another_grader_and_compared(run, results, cases, tmp_path):
    graded = invoke("grade", run, "--grader", "builtin/lexicon", "--policy", "paper")
    assert graded.exit_code == 0, graded.output
    assert "old: craft-md/grader under as_published@1; new: builtin/lexicon under paper@1" in graded.stdout
    invoke("import", "craft-md", results / "two", "--cases", cases, "--out", tmp_path / "second")
    compared = invoke("compare", run, tmp_path / "second", "--json")
    assert compared.exit_code == 0, compared.output


def test_scores_without_texts_pass_through_every_verb(cases, tmp_path):
    table, run = tmp_path / "table.csv", tmp_path / "run"
    table.write_text(TABLE)
    imported = invoke("import", "craft-md", table, "--cases", cases, "--out", run)
    assert "answer is marked invalid" in imported.stdout
    found = {row["arm"]: row for row in json.loads(invoke("analyze", run, "--json").stdout)["estimates"]}
    assert (found["vignette_mcq"]["mean"], found["vignette_mcq"]["n_missing"]) == (1.0, 4)
    assert found["vignette_frq"]["mean"] is None
    shown = invoke("show", run, "case_1", "--trial", 0).stdout
    assert "ended not_released" in shown and "options named: 2" in shown
    assert invoke("report", run).exit_code == 0
    assert "not_released" in invoke("analyze", run).stdout
    assert invoke("grade", run, "--grader", "builtin/lexicon", "--policy", "paper").exit_code == 0
    assert invoke("export", run, "--out", tmp_path / "out").exit_code == 0


def test_unusable_results_are_unusable_input(cases, tmp_path):
    result = invoke("import", "craft-md", tmp_path / "nowhere", "--cases", cases, "--out", tmp_path / "run")
    assert isinstance(result.exception, InputError)
    assert "nowhere: no such folder of results" in str(result.exception)
    assert not (tmp_path / "run").exists()


def test_interrupted_it_says_how_to_go_on(results, cases, tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    module = sys.modules["openosce.cli.import_"]  # by its own name, which the package gives to the command
    monkeypatch.setattr(module, "import_craft_md", interrupt)
    result = invoke("import", "craft-md", results, "--cases", cases, "--out", tmp_path / "run")
    assert result.exit_code == 130
    assert "the same command goes on" in result.stderr


def test_an_imported_grader_cannot_be_asked_again_and_the_mend_is_said(run):
    refused = invoke("grade", run, "--policy", "paper")
    assert refused.exit_code != 0
    assert "its verdicts were imported" in str(refused.exception or refused.output)
    assert "name a grader with --grader" in str(refused.exception or refused.output)
