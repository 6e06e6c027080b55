"""Development cases are run, and no estimate uses them."""

import json

import pytest

from openosce.errors import StudyError
from openosce.reports import analyze_run
from openosce.runs import prepare, run_study, to_study
from openosce.runs.folder import RunReader

DEVELOPMENT = ["celiac-disease-01", "iga-nephropathy-01"]


def study(development):
    tables = {"study": {"benchmark": "craft-md", "trials": 1, "development": development}}
    return to_study(tables | {"craft_md": {"arms": ["vignette_mcq", "multi_turn_own"]}})


def test_development_cases_are_run_and_no_estimate_uses_them(tmp_path):
    run_study(prepare(study(DEVELOPMENT), tmp_path), lambda total, todo: None, lambda trial: None)
    with RunReader(tmp_path) as reader:
        assert len(reader.finished()) == 12
        analysis = analyze_run(reader)
    everywhere = [row for row in analysis.estimates if row.group.name == "all"]
    assert [row.estimate.n_cases for row in everywhere] == [10, 10]
    assert not any("Gastroenterology" in row.group.name for row in analysis.estimates)
    assert analysis.n_missing == 0
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["study"]["development"] == DEVELOPMENT
    assert any("2 development cases" in note for note in manifest["notes"])


def test_a_development_case_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(StudyError, match=r"study\.development: no case has the id 'gout-99'"):
        prepare(study(["gout-99"]), tmp_path / "run")
    assert not (tmp_path / "run").exists()
