import csv

import pytest

from openosce.errors import RunFolderError
from openosce.reports import analyze_run
from openosce.reports.sheets import Sheet
from openosce.reports.tables_out import escaped, latex, write_tables
from openosce.runs.folder import RunReader

MARKS = {"a/b": {"x_mcq": [[1, 0], [1, 1], [0, None]], "y_frq": [[0, 0], [1, 0], [1, 1]]}}


@pytest.fixture
def analyzed(simple_run):
    def analyze(*given, **more):
        with RunReader(simple_run(*given, **more)) as reader:
            return analyze_run(reader)

    return analyze


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_table_comes_as_csv_and_as_latex(analyzed, tmp_path):
    names = {path.name for path in write_tables(analyzed(MARKS), tmp_path)}
    for name in ("accuracy", "comparisons", "endings", "missing"):
        assert {f"{name}.csv", f"{name}.tex"} <= names
    accuracy = rows(tmp_path / "accuracy.csv")
    assert [row["arm"] for row in accuracy] == ["x_mcq", "y_frq"]
    assert accuracy[0]["missing"] == "1: refused=1"


def test_the_numbers_come_with_all_their_digits_and_what_cannot_be_computed_is_empty_with_a_reason(analyzed, tmp_path):
    analysis = analyzed({"d": {"x": [[1], [0], [1]], "y": [[1], [1], [1]]}})
    write_tables(analysis, tmp_path)
    x, y = [row for row in rows(tmp_path / "all-estimates.csv") if row["group"] == "all"]
    assert float(x["mean"]) == analysis.find("d", "x").estimate.mean
    assert (y["mean"], y["ci_low"]) == ("1.0", "")
    assert "same value" in y["reason"]
    (comparison,) = rows(tmp_path / "all-comparisons.csv")
    assert (comparison["a.arm"], comparison["b.arm"]) == ("x", "y")


def test_latex_prints_every_sign_as_it_is():
    assert escaped("50% & $x_1$ #2 {a} ~^\\ <b> −1") == (
        r"50\% \& \$x\_1\$ \#2 \{a\} \textasciitilde{}\textasciicircum{}\textbackslash{} "
        r"\textless{}b\textgreater{} $-$1"
    )
    assert escaped("a\x1bb") == r"a\textless{}U+001B\textgreater{}b"


def test_a_latex_table_has_the_rules_of_booktabs_and_a_column_each():
    sheet = Sheet("T", ("arm", "accuracy\n[95% interval]"), (("a_b", "0.5 [0.1, 0.9]"), ("[c", "-")), ("(1) why",))
    lines = latex(sheet, "t").splitlines()
    assert [line for line in lines if line.endswith("rule")] == [r"\toprule", r"\midrule", r"\bottomrule"]
    assert r"\begin{tabular}{lr}" in lines
    assert r"arm & accuracy [95\% interval] \\" in lines
    assert r"a\_b & 0.5 [0.1, 0.9] \\" in lines
    assert r"{}[c & - \\" in lines


def test_doctors_with_names_alike_get_files_of_their_own(analyzed, tmp_path):
    marks = MARKS["a/b"]
    names = [path.name for path in write_tables(analyzed({"a/b": marks, "a_b": marks, "a b!": marks}), tmp_path)]
    assert len(names) == len(set(names))
    accuracy = sorted(name for name in names if name.startswith("accuracy") and name.endswith(".csv"))
    of_doctors = ["accuracy-a-b--2.csv", "accuracy-a-b--3.csv", "accuracy-a-b.csv"]
    assert accuracy == [*of_doctors, "accuracy-side-by-side.csv"]


def test_a_hostile_name_cannot_leave_the_folder(analyzed, tmp_path):
    marks = MARKS["a/b"]
    paths = write_tables(analyzed({"../../up": marks, "x" * 5_000: marks}), tmp_path / "tables")
    assert {path.parent for path in paths} == {tmp_path / "tables"}
    assert max(len(path.name) for path in paths) < 100


def test_cells_survive_csv_as_they_are(analyzed, tmp_path):
    doctor = '=1+1, "quoted"'
    write_tables(analyzed({doctor: MARKS["a/b"]}), tmp_path)
    assert {row["doctor"] for row in rows(tmp_path / "endings.csv")} == {doctor}


def test_a_folder_that_cannot_be_written_is_an_error_of_one_line(analyzed, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match="cannot be written"):
        write_tables(analyzed(MARKS), tmp_path / "file")
