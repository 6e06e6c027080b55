"""What every test may use."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def shared() -> Path:
    """The folder with the authors' released data; tests that need it are skipped where it is missing."""
    folder = Path(os.environ.get("OPENOSCE_SHARED", ROOT.parent / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip(f"the authors' data are not at {folder}; set OPENOSCE_SHARED")
    return folder
