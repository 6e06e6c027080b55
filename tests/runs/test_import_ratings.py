import shutil

import pytest
import typer
from typer.testing import CliRunner

from openosce.cli.import_ratings import ratings
from openosce.errors import InputError, ResultsFileError, RunFolderError
from openosce.runs import prepare, run_study, to_study
from openosce.runs.folder import RunReader
from openosce.runs.imports.expert_csv import import_ratings

HEADS = "case_id,doctor,arm,trial,rater,item,value,note"
CASE = "acute-pericarditis-01"
ROW = f"{CASE},builtin/interviewer,physical_exam,0,ada,coverage,45,well done"


@pytest.fixture(scope="module")
def examined_once(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    study = to_study({"study": {"benchmark": "medqa-cs", "trials": 2}})
    run_study(prepare(study, folder, limit=1), lambda total, todo: None, lambda trial: None)
    return folder


@pytest.fixture
def run(examined_once, tmp_path):
    return shutil.copytree(examined_once, tmp_path / "run")


def table(tmp_path, *rows, heads=HEADS):
    file = tmp_path / "ratings.csv"
    file.write_text("\n".join((heads, *rows)) + "\n", encoding="utf-8")
    return file


def stored(run):
    with RunReader(run) as reader:
        return reader.ratings()


def changed(**fields):
    values = dict(zip(HEADS.split(","), ROW.split(","), strict=True)) | fields
    return ",".join(values.values())


def test_a_row_becomes_a_rating_with_its_place_and_the_manifest_tells(run, tmp_path):
    import_ratings(table(tmp_path, ROW), run)
    (rating,) = stored(run)
    assert (rating.doctor, rating.case_id, rating.arm, rating.trial) == (
        "builtin/interviewer",
        CASE,
        "physical_exam",
        0,
    )
    assert (rating.rater, rating.item, rating.value, rating.note) == ("ada", "coverage", 45.0, "well done")
    assert rating.condition == "text"  # the run has but one
    with RunReader(run) as reader:
        assert "by ada, 1 ratings were imported from ratings.csv" in reader.manifest["notes"]


def test_the_same_file_again_is_no_harm_and_a_later_word_takes_the_place_of_the_earlier(run, tmp_path):
    import_ratings(table(tmp_path, ROW), run)
    import_ratings(table(tmp_path, changed(value="30")), run)
    (rating,) = stored(run)
    assert rating.value == 30
    with RunReader(run) as reader:
        assert sum("ratings were imported" in note for note in reader.manifest["notes"]) == 1


def test_a_blank_value_is_a_rating_without_one_and_a_blank_trial_means_all(run, tmp_path):
    import_ratings(table(tmp_path, changed(value="", trial="")), run)
    (rating,) = stored(run)
    assert rating.value is None and rating.missing_reason.startswith("not_rated")
    assert rating.trial is None


def test_columns_come_in_any_order_and_those_not_needed_may_be_left_out(run, tmp_path):
    file = table(
        tmp_path, f"3.5,note taking,ada,,builtin/interviewer,{CASE}", heads="value,item,rater,arm,doctor,case_id"
    )
    import_ratings(file, run)
    (rating,) = stored(run)
    assert (rating.item, rating.value, rating.arm) == ("note taking", 3.5, None)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"case_id": "case-99"}, "case_id: expected a case of the run, found 'case-99'"),
        ({"doctor": "gpt"}, "doctor: expected one of builtin/interviewer, found 'gpt'"),
        ({"doctor": ""}, "doctor: expected one of builtin/interviewer, found ''"),
        ({"arm": "talk"}, "arm: expected one of info_gathering, .*, found 'talk'"),
        ({"trial": "2"}, "trial: expected 0 to 1, .*, found '2'"),
        ({"trial": "-1"}, "trial: expected 0 to 1"),
        ({"trial": "9" * 5000}, "trial: expected 0 to 1"),
        ({"rater": " "}, "rater: expected a name"),
        ({"item": "x" * 201}, "item: expected at most 200 characters"),
        ({"value": "good"}, "value: expected a number, .*, found 'good'"),
        ({"value": "nan"}, "value: expected a number"),
        ({"value": "1e999"}, "value: expected a number"),
        ({"value": "61"}, "value: expected 0 to 60 for coverage, found '61'"),
        ({"arm": "closure", "item": "diagnostic_impressions", "value": "21"}, "value: expected 0 to 20"),
        ({"arm": "differential", "item": "diagnosis_2_historical", "value": "4"}, "value: expected 0 to 3"),
        ({"arm": "info_gathering", "item": "round_03", "value": "2"}, "value: expected 0 to 1 for round_03"),
        ({"arm": "closure", "item": "overall", "value": "101"}, "value: expected 0 to 100 for overall"),
        ({"arm": "physical_exam", "item": "overall", "value": "-5"}, "value: expected 0 to 100 for overall"),
    ],
)
def test_a_row_that_cannot_be_used_is_refused_with_its_line_and_nothing_is_written(run, tmp_path, fields, said):
    file = table(tmp_path, changed(item="reasons", value="20"), changed(**fields))
    with pytest.raises(ResultsFileError, match=rf"ratings\.csv:3: {said}"):
        import_ratings(file, run)
    assert stored(run) == []


def test_the_same_judgement_twice_is_refused(run, tmp_path):
    with pytest.raises(ResultsFileError, match=r"ratings\.csv:3: ada rates 'coverage' .* first in line 2"):
        import_ratings(table(tmp_path, ROW, changed(value="15")), run)


@pytest.mark.parametrize(
    ("heads", "said"),
    [
        (HEADS.replace("value,", "mark,"), "lacks the column 'value'"),
        (f"{HEADS},colour", "has an unknown column 'colour'"),
        (f"{HEADS},note", "has two columns 'note'"),
    ],
)
def test_a_table_of_other_columns_is_refused(run, tmp_path, heads, said):
    with pytest.raises(ResultsFileError, match=rf"ratings\.csv:1: {said}; expected case_id, doctor"):
        import_ratings(table(tmp_path, heads=heads), run)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (HEADS.encode(), "holds no rating"),
        (b"\xff\xfe\x00", "expected UTF-8"),
        (f"{HEADS}\n{ROW},more".encode(), "expected 8 fields as in the first row, found 9"),
        (f'{HEADS}\n"{ROW}'.encode(), "not valid CSV|expected 8 fields"),
    ],
)
def test_a_file_that_is_no_such_table_is_refused(run, tmp_path, content, said):
    file = tmp_path / "ratings.csv"
    file.write_bytes(content)
    with pytest.raises(InputError, match=said):
        import_ratings(file, run)


def test_without_a_run_there_is_nothing_to_rate(tmp_path):
    with pytest.raises(RunFolderError, match="no run here"):
        import_ratings(table(tmp_path, ROW), tmp_path / "nothing")


def test_the_command_says_what_was_rated_by_whom(run, tmp_path):
    app = typer.Typer()
    app.command()(ratings)
    result = CliRunner().invoke(app, [str(table(tmp_path, ROW, changed(rater="bob"))), "--out", str(run)])
    assert result.exit_code == 0, result.output
    assert "physical_exam coverage" in result.stdout and "ada, bob" in result.stdout
    assert "2 ratings; go on with: osce analyze" in result.stdout
