import json

import pytest

from openosce.cases import read_cases
from openosce.errors import CaseFileError

MINIMAL = "id: a\nsource: s\ndiagnosis: {name: Gout}\n"
LINE = '{"id": "a", "source": "s", "diagnosis": {"name": "Gout"}}'
SECOND = LINE.replace('"a"', '"b"')
MEDIQ = json.dumps(
    {
        "id": 7,
        "question": "Which?",
        "context": ["He limps"],
        "options": {"A": "Gout"},
        "answer": "Gout",
        "answer_idx": 0,
    }
)
CSV = (
    "case_vignette,choice_1,choice_2,choice_3,choice_4,answer,category,dataset,case_id\n"
    '"He limps. Which is it?",Gout,Measles,Mumps,Rabies,Gout,Rheumatology,d,c1\n'
)


@pytest.fixture
def write(tmp_path):
    def write(text, name="file.yaml"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.fixture
def refusal(write):
    """The message about a file, without the folder it lies in."""

    def refusal(text, name="file.yaml"):
        path = write(text, name)
        with pytest.raises(CaseFileError) as caught:
            read_cases(path)
        message = str(caught.value)
        assert "\n" not in message
        return message.replace(str(path), name)

    return refusal


@pytest.mark.parametrize(
    ("text", "start", "mend"),
    [
        (MINIMAL + "colour: red\n", "file.yaml:4: colour: unknown key", "docs/case-format.md"),
        ("id: a\nsource: s\ndiagnosis: Gout\n", "file.yaml:3: diagnosis: expected keys with values", "found 'Gout'"),
        ("id: a\nsource: 5\ndiagnosis: {name: Gout}\n", "file.yaml:2: source: expected text, found '5'", "quote it"),
        ('id: a\nsource: s\ndiagnosis:\n  name: ""\n', "file.yaml:4: diagnosis.name: expected some text", "leave out"),
        ("id: a\nsource: s\ndiagnosis:\n  name:\n", "file.yaml:4: diagnosis.name: expected text, found nothing", ""),
        (MINIMAL + "choices: Gout\n", "file.yaml:4: choices: expected a list, found 'Gout'", ""),
        (MINIMAL + "tests: {CBC: normal}\n", "file.yaml:4: tests: expected a list, found keys with values", ""),
        (MINIMAL + "synthetic: maybe\n", "file.yaml:4: synthetic: expected true or false, found 'maybe'", ""),
        (MINIMAL + "patient:\n  age: .nan\n", "file.yaml:5: patient.age: expected text, found 'nan'", "quote it"),
        (MINIMAL + "patient: {age: yes}\n", "file.yaml:4: patient.age: expected text, found 'true'", "quote it"),
        (MINIMAL + "1: x\n", "file.yaml:4: 1: expected text as a key", "quote it"),
        (MINIMAL + "station: {workup: [a, b, c, d, e, f, g, h, i]}\n", "file.yaml:4: station.workup:", "at most 8"),
        ('id: "a\\x1b"\nsource: s\ndiagnosis: {name: G}\n', "file.yaml:1: id: control characters", ""),
        (MINIMAL + "diagnosis: {name: Mumps}\n", "file.yaml:4: not valid YAML: the key 'diagnosis' occurs twice", ""),
        ("id: &x a\nsource: *x\n", "file.yaml:2: aliases", "write the text out"),
        ("id: a\nsource: 2020-99-99\n", "file.yaml:2: not valid YAML: '2020-99-99' cannot be read", "quote it"),
        ("id: a\nvignette: he said: no\n", "file.yaml:2: not valid YAML:", "block style"),
        (MINIMAL + "---\n" + MINIMAL, "file.yaml:4: not valid YAML:", "another document"),
        ("id: a\nsource: s\x07\n", "file.yaml:2: not valid YAML: a control character", "take it out"),
        ("id: !!python/object/apply:os.getcwd []\n", "file.yaml:1: not valid YAML: could not determine", "python"),
        ("# a comment, and nothing else\n", "file.yaml:1: expected the keys of one case", "found nothing"),
        (f"[{LINE}, {SECOND}]", "file.yaml:1: expected the keys of one case", "one JSON object on each line"),
    ],
)
def test_a_bad_yaml_file_is_refused_in_one_line_with_place_and_mend(refusal, text, start, mend):
    message = refusal(text)
    assert message.startswith(start)
    assert mend in message


@pytest.mark.parametrize(
    ("text", "start"),
    [
        (f"{LINE}\n{LINE[:30]}\n", "file.jsonl:2: not a JSON object: Unterminated string"),
        (f"{LINE}\n\n[1]\n", "file.jsonl:3: expected a JSON object on this line, found a list"),
        (LINE.replace('"s"', "NaN"), "file.jsonl:1: not a JSON object: NaN is not JSON"),
        (LINE.replace('"s"', "-Infinity"), "file.jsonl:1: not a JSON object: -Infinity is not JSON"),
        (LINE.replace('"source"', '"id"'), "file.jsonl:1: not a JSON object: the key 'id' occurs twice"),
        (LINE.replace('"s"', '"\\ud800"'), "file.jsonl:1: source: holds half of a surrogate pair"),
        ("{}", "file.jsonl:1: id: this key is required (and 2 more)"),
        (f"{LINE}\n" + '{"a":' + "[" * 100_000, "file.jsonl:2: not a JSON object:"),
        ('{"a":' + "[" * 100_000, "file.jsonl:1: not a JSON object:"),
        ('{\n  "id": "a",\n  "source":\n}\n', "file.jsonl:4: not a JSON object: Expecting value"),
        ('{\n  "id": "a",\n  "source": "s",\n  "sauce": 1\n}\n', "file.jsonl:1: diagnosis: this key is required"),
        (
            '{\n "id": "a",\n "source": "s",\n "sauce": 1,\n "diagnosis": {"name": "G"}\n}',
            "file.jsonl:4: sauce: unknown",
        ),
        (MEDIQ.replace('"answer": "Gout", ', ""), "file.jsonl:1: answer: this key is required"),
        (MEDIQ.replace('["He limps"]', '"He limps"'), "file.jsonl:1: context: expected a list, found 'He limps'"),
        (MEDIQ.replace('{"A": "Gout"}', '["Gout"]'), "file.jsonl:1: options: expected keys with values, found a list"),
        (f"{MEDIQ}\n{LINE}", "file.jsonl:2: question: this key is required"),
    ],
)
def test_a_bad_json_line_is_refused_in_one_line_with_its_place(refusal, text, start):
    # A missing key has no line of its own in an object over several lines.
    message = refusal(text, "file.jsonl")
    assert message.replace("file.jsonl: diag", "file.jsonl:1: diag").startswith(start)


@pytest.mark.parametrize("nested", ["vignette: " + "[" * 400 + "]" * 400, "a: " + "{a: " * 60 + "1" + "}" * 60])
def test_deep_nesting_is_refused_and_exhausts_nothing(refusal, nested):
    assert refusal(MINIMAL + nested).startswith("file.yaml:4: nested more than 50 levels deep")


@pytest.mark.parametrize("digits", [5_000, 100_000])
def test_an_endless_number_is_refused(refusal, digits):
    assert "quote it" in refusal(MINIMAL + "patient: {age: " + "9" * digits + "}\n")
    assert "not a JSON object" in refusal(LINE.replace('"s"', "9" * digits))


@pytest.mark.parametrize("text", ["", " \n\n\t", "\ufeff", "\ufeff\n"])
def test_an_empty_file_is_refused(refusal, text):
    assert refusal(text) == "file.yaml: the file is empty"


def test_a_file_that_is_not_utf_8_is_refused_with_the_line(refusal):
    assert refusal("id: a\nsource: Sjögren\n".encode("latin-1")).startswith("file.yaml:2: not UTF-8 text")
    assert "save the file as UTF-8" in refusal(MINIMAL.encode("utf-16"))


@pytest.mark.parametrize("name", ["file.yaml", "file.csv", "file.jsonl", "file", "file.txt"])
def test_the_format_is_told_by_the_content_whatever_the_name(write, name):
    assert [case.id for case in read_cases(write(MINIMAL, name))] == ["a"]
    assert [case.id for case in read_cases(write(f"{LINE}\n{SECOND}\n", name))] == ["a", "b"]
    assert [case.id for case in read_cases(write(MEDIQ, name))] == ["mediq-7"]
    assert [case.id for case in read_cases(write(CSV, name))] == ["c1"]


@pytest.mark.parametrize("text", [MINIMAL, f"{LINE}\n{SECOND}\n", MEDIQ + "\n", CSV])
def test_byte_order_mark_and_foreign_line_ends_change_nothing(write, text):
    plain = read_cases(write(text))
    assert read_cases(write("\ufeff" + text)) == plain
    assert read_cases(write(text.replace("\n", "\r\n"))) == plain


@pytest.mark.parametrize("text", [MINIMAL, CSV])
def test_old_line_ends_are_read(write, text):
    assert read_cases(write(text.replace("\n", "\r"))) == read_cases(write(text))


def test_a_yaml_file_may_open_with_a_comment_that_holds_a_comma(write):
    assert read_cases(write("# Gout, in an old man\n" + MINIMAL))[0].diagnosis.name == "Gout"


def test_one_json_object_may_go_over_several_lines(write):
    record = {"id": "a", "source": "s/t", "diagnosis": {"name": "Gout"}, "vignette": "😀 \u2028 ok"}
    pretty = json.dumps(record, indent="\t").replace("s/t", "s\\/t")
    (case,) = read_cases(write(pretty, "case.json"))
    assert (case.source, case.vignette) == ("s/t", "😀 \u2028 ok")


@pytest.mark.parametrize("sentence", ["He feels tired. ", "A. ", '"So?" ', "x"])
def test_a_field_of_ten_megabytes_is_read(write, sentence):
    vignette = (sentence * (10_000_000 // len(sentence))).strip()
    line = json.dumps({"id": "a", "source": "s", "diagnosis": {"name": "Gout"}, "vignette": vignette})
    assert read_cases(write(line))[0].vignette == vignette


def test_numbers_are_kept_as_the_text_of_readings(write):
    (case,) = read_cases(write(MINIMAL + "examination: {Vital signs: {temperature: 37.2, pulse: 80}}\n"))
    assert case.examination == {"Vital signs": {"temperature": "37.2", "pulse": "80"}}


def test_a_folder_is_read_in_the_order_of_its_file_names(tmp_path):
    for name in ("b.yaml", "a.yml", "c.jsonl"):
        (tmp_path / name).write_text(MINIMAL.replace("id: a", f"id: {name}") if "y" in name else SECOND)
    (tmp_path / "notes.txt").write_text("no case")
    assert [case.id for case in read_cases(tmp_path)] == ["a.yml", "b.yaml", "b"]


def test_a_folder_without_case_files_is_refused(tmp_path):
    with pytest.raises(CaseFileError, match="holds no case file"):
        read_cases(tmp_path)


def test_a_bad_file_in_a_folder_is_named(tmp_path):
    (tmp_path / "good.yaml").write_text(MINIMAL)
    (tmp_path / "worse.yaml").write_text("id: a\n")
    with pytest.raises(CaseFileError, match=r"worse\.yaml:1: source: this key is required"):
        read_cases(tmp_path)


@pytest.mark.parametrize("source", ["nowhere.yaml", "x" * 5_000, "a\0b"])
def test_a_path_that_leads_nowhere_is_refused_with_the_names_of_the_sets(source):
    with pytest.raises(CaseFileError, match="no such case file; give a path or the name of a set"):
        read_cases(source)
