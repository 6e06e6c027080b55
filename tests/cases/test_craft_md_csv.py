import csv
import io

import pytest

from openosce.cases import read_cases
from openosce.cases.readers.craft_md import COLUMNS
from openosce.cases.text import sentences, split_question
from openosce.errors import CaseFileError

ROW = {
    "case_vignette": "A man limps. What is it?",
    "choice_1": "Gout",
    "choice_2": "Measles",
    "choice_3": "Mumps",
    "choice_4": "Rabies",
    "answer": "Gout",
    "category": "Cardiovascular System",
    "dataset": "d",
    "case_id": "case_1",
}


def table(*rows, columns=COLUMNS):
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([[ROW | row][0][column] for column in columns] for row in rows)
    return text.getvalue()


@pytest.fixture
def read(tmp_path):
    def read(text):
        path = tmp_path / "cases.csv"
        path.write_bytes(text.encode())
        return read_cases(path)

    return read


@pytest.fixture
def refusal(read):
    def refusal(text):
        with pytest.raises(CaseFileError) as caught:
            read(text)
        message = str(caught.value)
        assert "\n" not in message
        return message.partition("cases.csv")[2]

    return refusal


def test_a_row_becomes_a_case_with_the_question_taken_out(read):
    (case,) = read(table({}))
    assert (case.id, case.source, case.specialty) == ("case_1", "d", "Cardiology")
    assert (case.vignette, case.question) == ("A man limps.", "What is it?")
    assert case.choices == ("Gout", "Measles", "Mumps", "Rabies")


def test_an_index_column_and_empty_lines_are_passed_over(read):
    rows = table({}, {"case_id": "case_2"}).splitlines()
    text = "\r\n".join(["," + rows[0], "", "0," + rows[1], "", "1," + rows[2], ""])
    assert [case.id for case in read(text)] == ["case_1", "case_2"]


def test_blanks_around_answers_and_choices_are_kept(read):
    (case,) = read(table({"answer": " Gout ", "choice_1": "Gout "}))
    assert (case.diagnosis.name, case.choices[0]) == (" Gout ", "Gout ")


def test_a_missing_category_is_no_specialty_and_an_empty_choice_no_choice(read):
    (case,) = read(table({"category": "", "choice_4": ""}))
    assert case.specialty is None
    assert case.choices == ("Gout", "Measles", "Mumps")


@pytest.mark.parametrize("vignette", ["", "  "])
def test_a_blank_vignette_is_no_vignette(read, vignette):
    (case,) = read(table({"case_vignette": vignette}))
    assert (case.vignette, case.question) == (None, None)


@pytest.mark.parametrize("column", ["answer", "dataset", "case_id"])
def test_what_every_case_needs_is_named_by_its_column(refusal, column):
    assert refusal(table({}, {column: ""})).startswith(f":3: nothing in the column(s) {column}")


def test_missing_columns_are_named_beside_those_there(refusal):
    message = refusal("case_vignette,choice_1,case_id\nV,a,c\n")
    assert message.startswith(":1: CRAFT-MD's CSV lacks the column(s) choice_2, choice_3, choice_4, answer")
    assert "it has 'case_vignette', 'choice_1', 'case_id'" in message


@pytest.mark.parametrize("separator", [";", "\t"])
def test_another_separator_is_told_from_another_file(refusal, separator):
    message = refusal(table({}).replace(",", separator))
    assert "separated by commas, it has 'case_vignette" in message


def test_a_column_that_is_there_twice_is_refused(refusal):
    lines = table({}).splitlines()
    assert refusal(f"{lines[0]},answer\n{lines[1]},Mumps\n") == ":1: CRAFT-MD's CSV has the column(s) answer twice"


def test_short_and_long_rows_are_refused_where_they_start(refusal):
    good = table({"case_vignette": "Two\nlines?"})
    assert refusal(good + "\nV,a,b\n").startswith(":5: expected 9 fields in this row, found 3")
    assert refusal(good + "V,a,b,c,d,a,C,d,c1,x\n").startswith(":4: expected 9 fields in this row, found 10")


def test_a_quote_that_never_closes_is_refused_where_it_opens(refusal):
    message = refusal(table({}) + '"V,a,b,c,d,a,C,d,c2\nV,a,b,c,d,a,C,d,c3\n')
    assert message.startswith(":3: not valid CSV")
    assert "not closed" in message


def test_a_file_with_only_a_header_is_refused(refusal):
    assert refusal(table()) == ": the file holds no case, only a header"


@pytest.mark.parametrize(
    ("vignette", "rest", "question"),
    [
        ("He limps. Why?", "He limps.", "Why?"),
        ("He limps. Why? And since when?", "He limps. And since when?", "Why?"),
        ("Is he ill?\nHe limps. Why?", "Is he ill?\nHe limps.", "Why?"),
        ("Why does he limp?\nHe does.", "Why does he limp?\nHe does.", None),
        ("He limps.\nWhy?\n\n", "He limps.", "Why?"),
        ("He limps.\r\nWhy?", "He limps.", "Why?"),
        ("He limps. Why? He is 5.", "He limps. He is 5.", "Why?"),
        ("He saw Dr.  Ho. What did Dr.  Ho see?", "He saw Dr.  Ho.", "What did Dr.  Ho see?"),
        ('He limps. "Why?" He is 5.', "He limps. He is 5.", '"Why?"'),
        ("Why?", "", "Why?"),
        ("He limps.", "He limps.", None),
        ("", "", None),
    ],
)
def test_the_question_is_the_first_one_of_the_last_line(vignette, rest, question):
    assert split_question(vignette) == (rest, question)


def test_a_vignette_that_is_only_a_question_keeps_it(read):
    (case,) = read(table({"case_vignette": "Why?"}))
    assert (case.vignette, case.question) == ("Why?", "Why?")


def test_sentences_stand_in_the_text_as_they_were():
    text = 'Mr. Ho, e.g.  Dr. B. Ho, limps. He said "No." Then?\nNow No. 5. Done'
    found = sentences(text)
    assert found == ["Mr. Ho, e.g.  Dr. B. Ho, limps.", 'He said "No."', "Then?", "Now No. 5.", "Done"]
    assert all(sentence in text for sentence in found)
