import csv
import json
import sqlite3
import sys
from pathlib import Path

import pytest

from openosce.errors import RunFolderError, StudyError
from openosce.grading.record import Answer, Rating, TrialKey
from openosce.reports.dictionary import TABLES, data_dictionary
from openosce.reports.export import export_run
from openosce.runs.folder import Call, RunReader, RunWriter, call_address
from openosce.runs.folder.schema import SCHEMA

DOCS = Path(__file__).parents[2] / "docs"
HOSTILE = [
    '=HYPERLINK("http://example.org","click")',
    "+1+1",
    "-2+3",
    "@SUM(A1:A9)",
    "\t=1",
    'he said "no", then left\r\nfor good\rand ever\n',
    "\x00\x1b[2J",
    "line\u2028separator\u2029\x85",
    "‮gnp.exe",
    "",
    " ",
    "null",
    "🫀 ÄÖÜ",
]


@pytest.fixture
def run(tmp_path, records):
    """A run with a hostile text in every place that can hold one, a missing answer, and calls of two kinds."""
    case = records.case("case-00", None)
    trials = [records.trial("a/b", "case-00", n, [Answer("vignette_mcq", text)]) for n, text in enumerate(HOSTILE)]
    gap = records.answer("vignette_mcq", None, reason="no_answer", why_no_answer="refused: content filter")
    trials.append(records.trial("a/b", "case-00", len(HOSTILE), [gap], error="boom"))
    folder = records.write(tmp_path / "run", records.manifest(["a/b"], ["vignette_mcq"], 20), [case], trials)
    key = TrialKey("a/b", "text", "case-00", 3)
    with RunWriter(folder) as writer:
        writer.write(
            Call(call_address(key, "talk/2", 1), "h1", "doctor", HOSTILE[5], "b-2026", 10, 0, 5, 0.1, 12.5, 0.25)
        )
        writer.write(
            Call(call_address(TrialKey("g/h", "", "", 0), "grade/extract/x"), "h2", "grader", None, error="503")
        )
        writer.write(Call("no address", "h3", "doctor", "hello"))
        asked = {"doctor": "a/b", "case_id": "case-00", "rater": "expert-1", "condition": "text"}
        writer.write(Rating(**asked, item="equivalent", value=1.0, trial=1, arm="vignette_mcq", note=HOSTILE[0]))
        writer.write(Rating(**asked, item="complete", value=None, trial=2, missing_reason="unsure"))
    return folder


def read_csv(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_jsonl(path):
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


def stored(run):
    """The rows of every table, as the reader joins them."""
    with RunReader(run) as reader:
        return {table.name: [list(row) for row in reader.joined(table.name)[1]] for table in TABLES}


def test_every_table_of_the_database_is_described_column_by_column():
    connection = sqlite3.connect(":memory:")
    connection.executescript(SCHEMA)
    names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid")]
    assert [table.name for table in TABLES] == names
    for table in TABLES:
        columns = connection.execute(f"PRAGMA table_info({table.name})").fetchall()
        described = [(column.name, column.kind.replace("json", "text").upper()) for column in table.stored]
        assert described == [(name, kind) for _, name, kind, *_ in columns]
        keys = {name for _, name, _, _, _, is_key in columns if is_key}
        required = {name for _, name, _, not_null, _, _ in columns if not_null} | keys
        assert {column.name for column in table.stored if column.required} == required
    connection.close()


def test_the_exported_columns_are_those_described(run):
    with RunReader(run) as reader:
        for table in TABLES:
            described = [column.name for column in table.exported]
            if table.name == "calls":
                described = described[6:]  # the parts of the address come first
            assert list(reader.joined(table.name)[0]) == described
    assert all(column.meaning for table in TABLES for column in table.columns)


def test_the_page_of_the_documentation_is_the_dictionary():
    page = (DOCS / "data-dictionary.md").read_text(encoding="utf-8")
    assert page == data_dictionary(), "write openosce.reports.dictionary.data_dictionary() to docs/data-dictionary.md"


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_there_is_a_file_a_table_and_the_dictionary_beside_them(run, tmp_path, form):
    written = export_run(run, tmp_path / "out", form)
    names = [f"{table.name}.{form}" for table in TABLES]
    assert [file.path.name for file in written] == names
    assert {path.name for path in (tmp_path / "out").iterdir()} == {*names, "data-dictionary.md"}
    assert {file.path.stem: file.n_rows for file in written} == {name: len(rows) for name, rows in stored(run).items()}
    assert (tmp_path / "out" / "data-dictionary.md").read_text(encoding="utf-8") == data_dictionary()


def test_hostile_texts_come_back_from_csv_exactly(run, tmp_path):
    export_run(run, tmp_path, "csv")
    answers = read_csv(tmp_path / "answers.csv")
    assert [row["text"] for row in answers[:-1]] == HOSTILE
    assert (answers[-1]["text"], answers[-1]["missing_reason"]) == ("", "refused: content filter")
    assert read_csv(tmp_path / "calls.csv")[0]["reply"] == HOSTILE[5]


def test_in_csv_a_missing_text_is_told_from_an_empty_one(run, tmp_path):
    export_run(run, tmp_path, "csv")
    raw = (tmp_path / "answers.csv").read_bytes().decode()
    empty = HOSTILE.index("")
    assert f'"a/b","text","case-00",{empty},"vignette_mcq","",\r\n' in raw
    assert f'"a/b","text","case-00",{len(HOSTILE)},"vignette_mcq",,"refused: content filter"\r\n' in raw


def test_hostile_texts_come_back_from_json_lines_exactly_and_missing_is_null(run, tmp_path):
    export_run(run, tmp_path, "jsonl")
    answers = read_jsonl(tmp_path / "answers.jsonl")
    assert [row["text"] for row in answers] == [*HOSTILE, None]
    (gap,) = [row for row in read_jsonl(tmp_path / "scores.jsonl") if row["value"] is None]
    assert (gap["doctor"], gap["condition"], gap["case_id"], gap["trial"]) == ("a/b", "text", "case-00", len(HOSTILE))
    assert gap["missing_reason"] == "no_answer"


def test_a_case_comes_with_its_whole_record(run, tmp_path):
    export_run(run, tmp_path / "lines", "jsonl")
    export_run(run, tmp_path / "csv", "csv")
    (case,) = read_jsonl(tmp_path / "lines" / "cases.jsonl")
    assert case["record"]["diagnosis"] == {"name": "Acute pericarditis"}
    assert json.loads(read_csv(tmp_path / "csv" / "cases.csv")[0]["record"]) == case["record"]
    assert (case["case_id"], case["specialty"]) == ("case-00", None)


def test_calls_and_ratings_name_the_place_they_belong_to(run, tmp_path):
    export_run(run, tmp_path, "jsonl")
    doctors, graders, unknown = read_jsonl(tmp_path / "calls.jsonl")
    place = ("doctor", "condition", "case_id", "trial", "step", "repeat")
    assert [doctors[key] for key in place] == ["a/b", "text", "case-00", 3, "talk/2", 1]
    assert [graders[key] for key in place] == [None, None, None, None, "grade/extract/x", 0]
    assert json.loads(graders["address"])[0] == "g/h"
    assert [unknown[key] for key in place] == [None] * 6
    of_answer, of_encounter = read_jsonl(tmp_path / "ratings.jsonl")
    assert (of_answer["trial"], of_answer["arm"], of_answer["note"]) == (1, "vignette_mcq", HOSTILE[0])
    assert (of_encounter["trial"], of_encounter["arm"], of_encounter["missing_reason"]) == (2, None, "unsure")


def test_parquet_holds_the_same_rows_with_types(run, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    export_run(run, tmp_path / "lines", "jsonl")
    export_run(run, tmp_path / "parquet", "parquet")
    for table in TABLES:
        read = parquet.read_table(tmp_path / "parquet" / f"{table.name}.parquet")
        kinds = {"text": "string", "json": "string", "integer": "int64", "real": "double"}
        assert [str(kind) for kind in read.schema.types] == [kinds[column.kind] for column in table.exported]
        rows = read.to_pylist()
        for row in rows:
            row |= {"record": json.loads(row["record"])} if "record" in row else {}
        assert rows == read_jsonl(tmp_path / "lines" / f"{table.name}.jsonl")


def test_without_its_extra_parquet_is_refused_with_one_line_and_nothing_is_written(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(StudyError, match=r"pip install 'openosce\[export\]'") as refused:
        export_run(run, tmp_path / "out", "parquet")
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_files_of_an_earlier_export_are_only_replaced_by_force(run, tmp_path):
    out = tmp_path / "out"
    export_run(run, out)
    (out / "cases.csv").write_text("mine")
    with pytest.raises(StudyError, match=r"holds 'cases\.csv' already.*--force"):
        export_run(run, out)
    assert (out / "cases.csv").read_text() == "mine"
    export_run(run, out, force=True)
    assert (out / "cases.csv").read_text().startswith("case_id,")


def test_a_run_that_is_damaged_half_way_leaves_nothing_behind(run, tmp_path):
    connection = sqlite3.connect(run / "run.db")
    with connection:
        connection.execute("UPDATE scores SET value = x'00ff' WHERE rowid = 1")
    connection.close()
    with pytest.raises(RunFolderError, match=r"scores\.value: expected real"):
        export_run(run, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_export_that_fails_leaves_the_earlier_one_as_it_was(run, tmp_path):
    out = tmp_path / "out"
    export_run(run, out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    (run / "run.db").write_bytes((run / "run.db").read_bytes()[:9000])
    with pytest.raises(RunFolderError) as refused:
        export_run(run, out, force=True)
    assert str(run) in str(refused.value) and "\n" not in str(refused.value)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_an_infinite_value_is_refused_because_json_has_none(run, tmp_path):
    connection = sqlite3.connect(run / "run.db")
    with connection:
        connection.execute("UPDATE ratings SET value = 9e999")
    connection.close()
    with pytest.raises(RunFolderError, match=r"ratings\.value: expected real, found inf"):
        export_run(run, tmp_path / "out", "jsonl")


def test_all_tables_show_one_moment_of_a_run_that_is_being_written(run, tmp_path, records):
    with RunReader(run) as reader, reader.snapshot():
        _, encounters = reader.joined("encounters")
        before = len(list(encounters))
        with RunWriter(run) as writer:
            writer.write(records.trial("a/b", "case-00", 77, [records.answer("vignette_mcq", 1.0)]))
        _, answers = reader.joined("answers")
        assert 77 not in [row[3] for row in answers]
        assert len(list(reader.joined("encounters")[1])) == before
    export_run(run, tmp_path / "out", "jsonl")
    assert 77 in [row["trial"] for row in read_jsonl(tmp_path / "out" / "answers.jsonl")]


@pytest.mark.parametrize("out", ["file", "file/below"])
def test_a_place_that_cannot_be_written_is_refused_with_one_line(run, tmp_path, out):
    (tmp_path / "file").write_text("")
    with pytest.raises(StudyError, match=r"is a file|cannot be written") as refused:
        export_run(run, tmp_path / out)
    assert "\n" not in str(refused.value)


def test_an_unknown_format_and_a_folder_without_a_run_are_refused(run, tmp_path):
    with pytest.raises(StudyError, match="known are csv, jsonl, parquet"):
        export_run(run, tmp_path / "out", "xlsx")
    with pytest.raises(RunFolderError, match="no run here"):
        export_run(tmp_path / "nothing", tmp_path / "out")
    assert not (tmp_path / "out").exists()
