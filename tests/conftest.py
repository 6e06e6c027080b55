"""What every test may use."""

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with the authors' released data; tests that need it are skipped where it is missing."""
    folder = Path(os.environ.get("OPENOSCE_SHARED", ROOT.parent / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip(f"the authors' data are not at {folder}; set OPENOSCE_SHARED")
    return folder


@pytest.fixture(scope="session")
def released_table(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of CRAFT-MD's released table of marks, imported once for all tests; who writes to it copies it first."""
    from openosce.cli import app

    data, out = shared / "data" / "craft-md", tmp_path_factory.mktemp("released") / "craft-md"
    table = data / "correctness_gpt4_gpt35_mistral-v2.csv.gz"
    words = ["import", "craft-md", str(table), "--cases", str(data / "cases.csv"), "--out", str(out)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    return out
