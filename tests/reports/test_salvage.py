import sqlite3

import numpy as np
import pytest

from openosce.errors import RunFolderError
from openosce.reports import write_report
from openosce.reports.page import read_findings
from openosce.runs.folder import RunReader

PAGE = 4096


@pytest.fixture
def run(simple_run):
    """Two hundred cases, two arms: enough rows for every table to fill several pages of the file."""
    marks = np.random.default_rng(1).integers(0, 2, (2, 200, 1)).tolist()
    folder = simple_run({"d": dict(zip(("x_mcq", "x_frq"), marks, strict=True))})
    with sqlite3.connect(folder / "run.db") as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return folder


def overwrite(run, first_page, n_pages=1, filling=b"\xaa"):
    path = run / "run.db"
    data = bytearray(path.read_bytes())
    data[PAGE * (first_page - 1) : PAGE * (first_page - 1 + n_pages)] = filling * PAGE * n_pages
    path.write_bytes(data)


def page_of(run, table):
    """The number of a page in the middle of a table's leaves."""
    connection = sqlite3.connect(run / "run.db")
    try:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    finally:
        connection.close()
    data = (run / "run.db").read_bytes()
    page = data[PAGE * (root - 1) : PAGE * root]
    assert page[0] in (2, 5), "the table fits on one page"
    n_cells = int.from_bytes(page[3:5])
    cell = int.from_bytes(page[12 + 2 * (n_cells // 2) :][:2])
    return int.from_bytes(page[cell : cell + 4])


def test_an_overwritten_page_costs_its_rows_and_is_told(run):
    overwrite(run, page_of(run, "scores"))
    findings = read_findings(run)
    assert "malformed" in findings.losses[0]
    (line,) = [line for line in findings.losses if line.startswith("table scores:")]
    assert "rows were read, up to" in line
    missing = findings.analysis.n_missing
    assert 0 < missing < 150
    assert {row.reason for row in findings.analysis.missing} == {"not_run_or_not_readable"}
    assert sum(row.estimate.n_cases for row in findings.analysis.estimates if row.group.name == "all") == 400 - missing


def test_the_page_says_what_could_not_be_read(run):
    overwrite(run, page_of(run, "answers"))
    page = write_report(run).read_text(encoding="utf-8")
    assert "This run is damaged" in page
    assert "table answers:" in page


def test_a_file_that_was_cut_off_is_reported_as_far_as_it_goes(run):
    path = run / "run.db"
    path.write_bytes(path.read_bytes()[: 9 * path.stat().st_size // 10])
    with pytest.raises(RunFolderError):
        RunReader(run)
    findings = read_findings(run)
    assert 0 < findings.analysis.n_missing < 400
    assert any("how many more there were is not known" in line for line in findings.losses)


def test_lost_cases_are_known_by_the_names_of_their_encounters(run):
    overwrite(run, page_of(run, "cases"))
    findings = read_findings(run)
    assert findings.analysis.n_cases == 200
    assert findings.analysis.n_missing == 0
    assert any("known by name alone" in line for line in findings.losses)
    assert "not readable" in {group.dataset for group in findings.analysis.groups}


def test_a_lost_conversation_costs_no_score(run):
    overwrite(run, page_of(run, "messages"))
    findings = read_findings(run)
    assert findings.analysis.n_missing == 0
    assert any(line.startswith("table messages:") for line in findings.losses)


def test_a_table_of_another_shape_is_left_out_and_named(run):
    with sqlite3.connect(run / "run.db") as connection:
        connection.execute("DROP TABLE calls")
    connection.close()
    findings = read_findings(run)
    assert any(line.startswith("table calls: none of it could be read (no such table") for line in findings.losses)
    assert findings.analysis.n_missing == 0


def test_text_that_is_not_unicode_is_shown_as_far_as_it_can_be_read(run):
    with sqlite3.connect(run / "run.db") as connection:
        connection.execute("UPDATE messages SET text = CAST(x'ff4142' AS TEXT) WHERE encounter_id = 1 AND n = 0")
    connection.close()
    findings = read_findings(run)
    assert "decode" in findings.losses[0]
    assert findings.analysis.n_missing == 0


@pytest.mark.parametrize("destroy", [lambda run: overwrite(run, 1, 1, b"\0"), lambda run: overwrite(run, 1, 40)])
def test_where_nothing_can_be_read_the_report_is_refused_in_one_line(run, destroy):
    destroy(run)
    with pytest.raises(RunFolderError, match="restore it from a copy") as refusal:
        read_findings(run)
    assert "\n" not in str(refusal.value)
    assert not (run / "report.html").exists()


def test_a_whole_run_has_no_losses_and_is_not_changed_by_reading(run):
    before = (run / "run.db").read_bytes()
    assert read_findings(run).losses == ()
    overwrite(run, page_of(run, "scores"))
    damaged = (run / "run.db").read_bytes()
    read_findings(run)
    assert (run / "run.db").read_bytes() == damaged != before


def test_an_error_that_is_no_damage_stays_that_error(run):
    (run / "manifest.json").write_text('{"study": {}}')
    with pytest.raises(RunFolderError, match="does not say what was planned"):
        read_findings(run)
