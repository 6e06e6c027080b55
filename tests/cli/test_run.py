import json
import subprocess
import sys

import pytest

from openosce.runs.folder import RunReader

OSCE = (sys.executable, "-c", "from openosce.cli import main; main()")
HEAVY = ("aiohttp", "scipy", "matplotlib", "litellm", "inspect_ai", "ray")


def osce(*arguments, cwd=None, typed=None):
    command = [*OSCE, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=cwd, input=typed, check=False)


def refused(done):
    """The one line of an unusable input."""
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("error: ")
    return lines[0]


def test_a_run_ends_with_the_table_and_the_path_of_the_report(tmp_path):
    done = osce("run", "craft-md", "--trials", 1, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "vignette_mcq" in done.stdout and "[" in done.stdout
    assert f"report: {tmp_path / 'run' / 'report.html'}" in done.stdout
    assert (tmp_path / "run" / "report.html").read_text().lower().startswith("<!doctype html>")
    said = [line for line in done.stderr.splitlines() if "built-in" in line]
    assert len(said) == 1
    assert "patient builtin/record" in said[0]
    again = osce("run", "craft-md", "--trials", 1, "--out", tmp_path / "run")
    assert again.stdout == done.stdout


def test_a_study_file_of_several_doctors_is_one_run(tmp_path):
    script = tmp_path / "doctor.yaml"
    script.write_text('"talk/2": "Any fever?"\n"talk/*": "Final Diagnosis: gout"\n"answer/*": "A"\n')
    study = tmp_path / "study.toml"
    text = f"""
        [study]
        benchmark = "craft-md"
        trials = 1
        [roles.doctor]
        models = ["builtin/interviewer", "builtin/script"]
        file = "{script}"
        [craft_md]
        arms = ["vignette_mcq", "multi_turn_own"]
    """
    study.write_text(text)
    done = osce("run", study, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "study.toml").read_text() == text
    shown = json.loads(osce("analyze", tmp_path / "run", "--json").stdout)
    overall = {(e["model"], e["arm"]): e for e in shown["estimates"] if e["group"] == "all"}
    assert set(overall) == {
        (m, a) for m in ("builtin/interviewer", "builtin/script") for a in ("vignette_mcq", "multi_turn_own")
    }
    assert overall["builtin/script", "multi_turn_own"]["mean"] == 0
    assert overall["builtin/script", "vignette_mcq"]["n_cases"] == 12
    assert overall["builtin/script", "vignette_mcq"]["n_missing"] == 0
    assert {c["test"] for c in shown["comparisons"]} == {"paired t over cases"}


def test_without_out_the_same_command_finds_the_same_folder(tmp_path):
    for _ in range(2):
        done = osce("run", "craft-md", "--trials", 1, "--limit", 1, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["craft-md-builtin-interviewer"]


def test_a_doctor_that_fails_ends_with_exit_code_1_and_is_listed(tmp_path):
    script = tmp_path / "doctor.yaml"
    script.write_text('"answer/*": "A"\n')
    done = osce(
        "run", "craft-md", "--doctor", "builtin/script", "--set", f"roles.doctor.file={script}",
        "--trials", 1, "--limit", 2, "--out", tmp_path / "run",
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "Failed encounters: 2" in done.stdout
    assert "refused" in done.stdout
    shown = json.loads(osce("analyze", tmp_path / "run", "--json").stdout)
    overall = {e["arm"]: e for e in shown["estimates"] if e["group"] == "all"}
    assert overall["multi_turn_mcq"]["mean"] is None
    assert overall["multi_turn_mcq"]["n_missing"] == 2
    assert overall["multi_turn_mcq"]["reason"]
    assert overall["single_turn_mcq"]["n_missing"] == 0


def test_a_dry_run_says_what_would_be_run_and_writes_nothing(tmp_path):
    done = osce("run", "craft-md", "--dry-run", "--trials", 3, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "to run: 36 of 36 conversations, 324 answers" in done.stdout
    assert not (tmp_path / "run").exists()


def test_flags_take_the_place_of_what_the_study_file_says(tmp_path):
    study = tmp_path / "study.toml"
    study.write_text('[study]\nbenchmark = "craft-md"\ntrials = 5\n[roles.doctor]\nmodel = "nobody/x"\n')
    arguments = (
        "run",
        study,
        "--doctor",
        "builtin/interviewer",
        "--trials",
        1,
        "--set",
        "craft_md.cap=4",
        "--limit",
        1,
    )
    done = osce(*arguments, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["study"]["trials"] == 1
    assert manifest["study"]["settings"]["cap"] == 4
    assert "trials = 1" in (tmp_path / "run" / "study.toml").read_text()
    assert "message_cap" in done.stdout


@pytest.mark.parametrize(
    "flag", [("--patient", "openai/gpt-4o"), ("--set", "agentclinic.turns=12"), ("--set", 'agentclinic.turns="20"')]
)
def test_a_flag_for_what_the_study_sweeps_is_refused_rather_than_passed_over(tmp_path, flag):
    study = tmp_path / "study.toml"
    sweep = '"agentclinic.turns" = [10, 20]\n"roles.patient.model" = ["builtin/record"]\n'
    study.write_text(f'[study]\nbenchmark = "agentclinic"\n[sweep]\n{sweep}')
    line = refused(osce("run", study, *flag, "--out", tmp_path / "run"))
    assert "is swept by the study, so it cannot be set besides" in line
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["craft-mdd"], "unknown benchmark 'craft-mdd'"),
        (["nowhere.toml"], "nowhere.toml: cannot be read"),
        (["craft-md", "--doctor", "gpt-4o"], "has no provider"),
        (["craft-md", "--doctor", "nobody/gpt-4o"], "unknown provider 'nobody'"),
        (["craft-md", "--patient", "builtin/lexicon"], "cannot be the patient"),
        (["craft-md", "--cases", "nowhere.csv"], "nowhere.csv: no such case file"),
        (["craft-md", "--only", "nobody"], "no case has the id 'nobody'"),
        (["craft-md", "--prompts", "nowhere"], "no such prompt folder"),
        (["craft-md", "--set", "craft_md.arms=vignette"], "craft_md.arms"),
        (["craft-md", "--set", "craft_md.policy=kind"], "unknown match policy 'kind'"),
        (["craft-md", "--set", "cap"], "expected table.key=value"),
        (["craft-md", "--set", "craftmd.cap=3"], "unknown table(s) [craftmd]"),
    ],
)
def test_unusable_input_is_one_line_exit_2_and_nothing_written(tmp_path, arguments, expected):
    line = refused(osce("run", *arguments, "--out", tmp_path / "run", cwd=tmp_path))
    assert expected in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "the file is empty"),
        ("id,vignette\n1,x\n", ":1: "),
        ("id: x\nsource: s\n", "diagnosis: this key is required"),
        ("id: x\nsource: s\ndiagnosis: {name: Gout}\nmood: sad\n", ":4: mood: unknown key"),
    ],
)
def test_a_case_file_that_cannot_be_read_stops_the_run_before_it_starts(tmp_path, content, expected):
    file = tmp_path / "cases.yaml"
    file.write_text(content)
    line = refused(osce("run", "craft-md", "--cases", file, "--out", tmp_path / "run"))
    assert str(file) in line and expected in line
    assert not (tmp_path / "run").exists()


def test_a_folder_that_holds_another_study_is_refused_and_left_as_it_was(tmp_path):
    run = tmp_path / "run"
    assert osce("run", "craft-md", "--trials", 1, "--limit", 1, "--out", run).returncode == 0
    before = {path.name: path.read_bytes() for path in run.iterdir() if path.name != ".lock"}
    line = refused(osce("run", "craft-md", "--trials", 2, "--limit", 1, "--out", run))
    assert "trials was 1 and is now 2" in line
    assert {path.name: path.read_bytes() for path in run.iterdir() if path.name != ".lock"} == before


@pytest.mark.parametrize("verb", ["analyze", "report", "show"])
def test_a_folder_that_is_no_run_is_refused_by_every_reader(tmp_path, verb):
    assert "no run here" in refused(osce(verb, tmp_path))


def test_help_and_import_load_nothing_heavy():
    code = "import sys, openosce, openosce.cli; print([m for m in sys.argv[1:] if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code, *HEAVY], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_somebody_at_the_keyboard_can_be_the_doctor(tmp_path, monkeypatch):
    typed = "Since when?\n\nFinal Diagnosis: acute pericarditis\n"
    arms = ["--set", 'craft_md.arms=["multi_turn_own"]', "--only", "acute-pericarditis-01", "--trials", "1"]
    out = ("--out", tmp_path / "run")
    done = osce("run", "craft-md", "--doctor", "human", *arms, *out, typed=typed)
    assert done.returncode == 0, done.stderr
    with RunReader(tmp_path / "run") as reader:
        (trial,) = reader.trials("acute-pericarditis-01")
    said = [message.text for message in trial.encounter.transcript if message.speaker == "doctor"]
    assert said[1:] == ["Since when?", "Final Diagnosis: acute pericarditis"]


def test_when_the_keyboard_falls_silent_the_run_stops_and_says_how_to_go_on(tmp_path):
    done = osce("run", "craft-md", "--doctor", "human", "--trials", "1", "--out", tmp_path / "run", typed="")
    assert done.returncode == 130
    assert "go on with: osce run craft-md --doctor human" in done.stderr
