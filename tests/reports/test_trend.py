"""The figure of a trend."""

import pytest

from openosce.errors import StudyError
from openosce.reports.comparison import compare_runs
from openosce.reports.trend import write_trend
from openosce.runs import prepare, run_study, to_study


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folders = []
    for seed in (1, 2, 3):
        folder = tmp_path_factory.mktemp("runs") / f"version-{seed}"
        tables = {"study": {"benchmark": "craft-md", "trials": 1, "seed": seed}}
        study = to_study(tables | {"craft_md": {"arms": ["multi_turn_mcq", "multi_turn_own"]}})
        run_study(prepare(study, folder), lambda total, todo: None, lambda trial: None)
        folders.append(folder)
    return folders


def test_three_runs_become_a_figure_with_a_line_an_arm_and_equal_input_gives_equal_bytes(runs, tmp_path):
    found = compare_runs(runs, ["seed"])
    assert [len(arm) for line in found.lines for arm in line.arms] == [3, 3]
    first, again = write_trend(found, tmp_path / "a.svg"), write_trend(found, tmp_path / "b.svg")
    assert first.read_bytes() == again.read_bytes()
    assert first.read_text().count('<g id="line2d') > 6
    assert write_trend(found, tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_an_unknown_format_or_folder_is_refused_with_one_line(runs, tmp_path):
    found = compare_runs(runs, ["seed"])
    with pytest.raises(StudyError, match=r"unknown format; end the name with \.svg"):
        write_trend(found, tmp_path / "trend.bmp")
    with pytest.raises(StudyError, match="cannot be written"):
        write_trend(found, tmp_path / "nowhere" / "trend.svg")
