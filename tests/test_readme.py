"""The README keeps its word: every command runs, in its order, and the study file is the one shown."""

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import openosce

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


ELSEWHERE = ("openai/", "vllm/")
"""Commands that need a key or an endpoint; the tests of models and runs try them against a local one."""


def code_blocks(language: str = "") -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    lines = [line.split("#")[0].strip() for block in code_blocks() for line in block.splitlines()]
    here = [line for line in lines if line.startswith("osce ") and not any(word in line for word in ELSEWHERE)]
    return [*here, "osce run examples/study.toml"]


def test_every_command_of_the_readme_runs(tmp_path):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    assert len(commands()) >= 9
    for command in commands():
        osce = [sys.executable, "-c", "from openosce.cli import main; main()", *shlex.split(command)[1:]]
        done = subprocess.run(osce, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, f"{command}: {done.stderr}"
        assert done.stdout.strip(), command


def test_the_study_file_of_the_readme_is_the_example():
    (shown,) = code_blocks("toml")
    assert tomllib.loads(shown) == tomllib.loads((ROOT / "examples" / "study.toml").read_text(encoding="utf-8"))


def test_every_folder_of_the_readme_is_there_and_none_is_left_out():
    told = set(re.findall(r"^\| `(\w+)/` \|", README, re.MULTILINE))
    there = {
        path.name for path in (ROOT / "src" / "openosce").iterdir() if path.is_dir() and path.name != "__pycache__"
    }
    assert told == there


def test_every_link_of_the_readme_leads_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_public_names_are_those_of_all_and_each_is_there():
    assert all(hasattr(openosce, name) for name in openosce.__all__)
    assert openosce.__all__ == sorted(openosce.__all__)
