"""The examples keep their word: every study runs as it stands and with models, and every role as its docstring says."""

import json
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from simulator import Simulator

from openosce.benchmarks import BENCHMARKS
from openosce.benchmarks.agentclinic.biases import known_biases
from openosce.cli import main
from openosce.encounters import Message
from openosce.models import load_prompts
from openosce.runs.folder import RunReader

ROOT = Path(__file__).parents[1]
STUDIES = sorted((ROOT / "examples" / "agentclinic").glob("*.toml"))
ROLES = ROOT / "examples" / "roles"
KEY = re.compile(r'(?:# )?(?P<key>[a-z_]+|"[\w.]+") = ')


def python(script: Path, *arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """`python SCRIPT ...` within this process, which has imported everything already."""
    return _within(lambda: runpy.run_path(str(script), run_name="__main__"), script, *arguments, cwd=cwd)


def osce(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return _within(main, "osce", *arguments, cwd=cwd)


def _within(start: Callable[[], object], *command: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    words, out, err, code = [str(part) for part in command], StringIO(), StringIO(), 0
    known = patch.dict(BENCHMARKS)  # a script registers a benchmark of its own
    with known, patch.object(sys, "argv", words), chdir(cwd), redirect_stdout(out), redirect_stderr(err):
        try:
            start()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def commands(study: Path) -> list[list[str]]:
    return [shlex.split(line)[2:] for line in study.read_text().splitlines() if line.startswith("#     osce ")]


def with_models(text: str) -> str:
    """A study in which the lines that are commented out take the place of those that they are said to replace."""
    kept: list[str] = []
    for line in text.splitlines():
        found = KEY.match(line)
        if found and line.startswith("# "):
            table = max((n for n, earlier in enumerate(kept) if earlier.startswith("[")), default=0)
            kept = [one for n, one in enumerate(kept) if n <= table or not one.startswith(f"{found['key']} = ")] + [
                line[2:]
            ]
        else:
            kept.append(line)
    return "\n".join(kept)


def transcript(run: Path, case_id: str) -> tuple[Message, ...]:
    with RunReader(run) as reader:
        return reader.trials(case_id)[0].encounter.transcript


def notes(run: Path) -> list[str]:
    found: list[str] = json.loads((run / "manifest.json").read_text())["notes"]
    return found


# --- studies


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.stem)
def test_every_command_of_a_study_file_runs_and_draws_its_figure(tmp_path: Path, study: Path):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    run, report = commands(study)
    assert run[1] == f"examples/agentclinic/{study.name}"
    done = osce(*run, "--limit", 2, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert osce(*report, cwd=tmp_path).returncode == 0
    drawn = {path.name for path in (tmp_path / report[-1]).glob("*.png")}
    conditions = json.loads((tmp_path / run[-1] / "manifest.json").read_text())["plan"]["conditions"]
    assert ("sweep.png" if len(conditions) > 1 else "accuracy.png") in drawn


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.stem)
def test_every_study_file_is_one_with_models_once_its_comments_are_taken_up(tmp_path: Path, study: Path):
    text = with_models(study.read_text())
    tables: dict[str, Any] = tomllib.loads(text)
    assert "builtin/" not in re.sub(r"#.*", "", text)
    assert tables["roles"]["doctor"]["models"][0].startswith("openai/")
    (tmp_path / "study.toml").write_text(text)
    done = osce("run", tmp_path / "study.toml", "--dry-run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"doctor\s+openai/gpt-4o\s+[1-9]", done.stdout)


def test_roles_that_are_not_the_factor_stay_fixed():
    for study in STUDIES:
        tables = tomllib.loads(with_models(study.read_text()))
        swept = tables.get("sweep", {})
        assert not {"roles.measurement.model", "roles.grader.model"} & swept.keys()
        assert ("roles.patient.model" in swept) is (study.stem == "patients")
        assert {"measurement", "grader"} <= tables["roles"].keys()


def test_the_bias_grid_holds_every_bias_and_none_once():
    swept = tomllib.loads((ROOT / "examples" / "agentclinic" / "biases.toml").read_text())["sweep"]["agentclinic.bias"]
    shipped = known_biases(load_prompts([ROOT / "src" / "openosce" / "benchmarks" / "agentclinic" / "prompts"]))
    assert swept[0] == "" and len(swept) == len(set(swept)) == 24
    assert set(swept[1:]) == set(shipped)


def test_a_grid_of_biases_on_built_in_roles_says_that_they_act_none_out(tmp_path: Path):
    study = ROOT / "examples" / "agentclinic" / "biases.toml"
    assert osce("run", study, "--limit", 1, "--out", tmp_path / "run", cwd=tmp_path).returncode == 0
    assert sum("does not act out biases" in note for note in notes(tmp_path / "run")) == 2


def test_the_docs_name_every_study_and_role_of_the_examples_and_every_link_leads_somewhere():
    told = {name: (ROOT / "docs" / name).read_text() for name in ("agentclinic.md", "roles.md")}
    assert all(f"`{study.name}`" in told["agentclinic.md"] for study in STUDIES)
    assert all(f"`{path.name}`" in told["roles.md"] for path in ROLES.glob("*.py"))
    for text in told.values():
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            assert (ROOT / "docs" / target).exists(), target


# --- roles


def test_a_relative_answers_for_the_child_without_a_change_to_the_loop(tmp_path: Path):
    script = ROLES / "relative.py"
    (command,) = re.findall(r"python examples/roles/relative.py (.*)", script.read_text())
    arguments = shlex.split(command)
    done = python(script, *arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    talk = transcript(tmp_path / arguments[-1], "kawasaki-disease-01")
    asked = [n for n, message in enumerate(talk) if message.listener == "relative"]
    assert asked and all(talk[n].text.startswith("ASK RELATIVE:") for n in asked)
    assert all(talk[n + 1].speaker == "relative" for n in asked)
    assert "six days" in talk[2].text and "My little boy" in talk[2].text
    assert any(message.listener == "measurement" for message in talk)
    # It goes on, or finds nothing to do, like any other run; and `osce` itself reads it.
    assert python(script, *arguments, cwd=tmp_path).returncode == 0
    assert "ASK RELATIVE:" in osce("show", arguments[-1], "kawasaki-disease-01", cwd=tmp_path).stdout


def test_a_child_that_is_spoken_to_answers_itself(tmp_path: Path):
    lines = {"talk/1": "How are you, Noah?", "talk/3": "ASK RELATIVE: Any fever?", "talk/*": "DIAGNOSIS READY: measles"}
    (tmp_path / "doctor.yaml").write_text(json.dumps(lines))
    choice = ("--only", "kawasaki-disease-01", "--trials", 1, "--out", tmp_path / "run")
    doctor = ("--doctor", "builtin/script", "--set", f"roles.doctor.file={tmp_path / 'doctor.yaml'}")
    done = python(ROLES / "relative.py", "run", "agentclinic-relative", *choice, *doctor, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    talk = transcript(tmp_path / "run", "kawasaki-disease-01")
    assert [m.speaker for m in talk] == ["station", "doctor", "patient", "doctor", "relative", "doctor"]
    assert talk[2].text == "I want to go home."


@pytest.mark.parametrize(("rate", "share"), [(0, 0), (1, 1)])
def test_wrong_readings_come_at_their_rate_are_marked_and_count_as_invented(tmp_path: Path, rate: int, share: int):
    setting = f"agentclinic_faulty.error_rate={rate}"
    script = ROLES / "faulty_measurement.py"
    done = python(script, "run", "agentclinic-faulty", "--set", setting, "--trials", 1, "--out", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with RunReader(tmp_path / "run") as reader:
        cases = reader.cases()
        talks = {case.id: reader.trials(case.id)[0].encounter.transcript for case in cases}
        invented = [row.score.value for row in reader.scores("readings_invented")]
    told = [m.text for talk in talks.values() for m in talk if m.speaker == "measurement"]
    with_number = [text for text in told if re.search(r": \d", text)]
    marked = [text for text in told if "[told " in text]
    assert len(with_number) > 12 and len(marked) == share * len(with_number)
    assert all((value or 0) > 0 for value in invented) if share else set(invented) == {0}
    for text in marked:
        wrong, right = re.findall(r"\[told ([\d.]+), the record says ([\d.]+)\]", text)[0]
        assert float(wrong) == 2 * float(right) and f": {wrong}" in text


def test_nobody_in_the_conversation_sees_the_mark(tmp_path: Path):
    script, setting = ROLES / "faulty_measurement.py", "agentclinic_faulty.error_rate=1"
    run = ("run", "agentclinic-faulty", "--set", setting, "--limit", 3, "--trials", 1, "--out", tmp_path / "run")
    record = tmp_path / "requests.jsonl"
    with Simulator(latency=1, record=record) as endpoint:
        models = ("--doctor", "sim/doctor-n0", "--patient", "sim/patient", "--base-url", endpoint.base_url)
        done = python(script, *run, *models, cwd=tmp_path)
        endpoint.counters()
    assert done.returncode == 0, done.stderr
    with RunReader(tmp_path / "run") as reader:
        kept = [m.text for case in reader.cases() for m in reader.trials(case.id)[0].encounter.transcript]
    assert any("the record says" in text for text in kept)
    assert "the record says" not in record.read_text()
