import pytest
from typer.testing import CliRunner

from openosce.cli import app, main
from openosce.errors import InputError

TWO = """\
{"id": "a", "source": "s", "diagnosis": {"name": "Gout"}, "vignette": "He has gout.", "question": "Why?", "choices": ["Gout", "B", "C", "D"]}
{"id": "b\\u202e", "source": "s", "diagnosis": {"name": "[bold]M[/bold]\\u001b[2J"}, "choices": ["X", "x"]}
"""  # noqa: E501


def invoke(*arguments):
    return CliRunner().invoke(app, ["cases", *map(str, arguments)])


@pytest.fixture
def two(tmp_path):
    path = tmp_path / "two.jsonl"
    path.write_text(TWO, encoding="utf-8")
    return path


def test_the_starter_set_is_listed_and_checked_by_default():
    assert invoke("list").stdout.endswith("12 cases\n")
    checked = invoke("check")
    assert checked.stdout.startswith("starter: 12 cases\n")
    assert "nothing wrong and nothing risky found" in checked.stdout
    assert "12  can serve craft-md\n" in checked.stdout
    assert checked.exit_code == 0


def test_case_ids_are_listed_whole_since_other_commands_ask_for_them(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    listed = invoke("list").stdout
    assert "infectious-mononucleosis-01" in listed
    assert "…" not in listed


def test_each_problem_is_a_line_and_each_kind_is_counted(two):
    lines = invoke("check", two).stdout.splitlines()
    assert lines[0] == f"{two}: 2 cases"
    assert (
        "a: risky: diagnosis named to the patient: the patient's part (opening, facts or vignette) names 'Gout'"
        in lines
    )
    assert any(line.startswith("b<U+202E>: wrong: answer equals no choice exactly: ") for line in lines)
    assert "     1  wrong: repeated choice" in lines
    assert "     1  can serve craft-md; lacking: vignette 1, four choices 1" in lines


def test_a_benchmark_s_lacks_are_listed_case_by_case(two):
    result = invoke("check", two, "--for", "craft-md")
    assert "b<U+202E>: lacks for craft-md: vignette, four choices" in result.stdout
    assert "a: lacks for" not in result.stdout


def test_an_unknown_benchmark_is_unusable_input(two):
    failure = invoke("check", two, "--for", "usmle").exception
    assert isinstance(failure, InputError)
    assert "known are craft-md, agentclinic, medqa-cs" in str(failure)


@pytest.mark.parametrize("verb", ["list", "show", "check"])
def test_control_signs_and_markup_of_a_case_reach_the_terminal_as_text(two, verb):
    result = invoke(verb, two, *(["b\u202e"] if verb == "show" else []))
    assert result.exit_code == 0
    assert "[bold]M[/bold]" in result.stdout
    assert "\x1b" not in result.stdout
    assert "\u202e" not in result.stdout


def test_a_case_is_shown_role_by_role():
    shown = invoke("show", "starter", "multiple-myeloma-01").stdout
    doctor, patient = shown.index("The doctor is handed"), shown.index("The patient is handed")
    grader = shown.index("The grader is handed")
    assert doctor < patient < grader
    assert "multiple myeloma" not in shown[doctor:grader].casefold()
    assert "diagnosis: Multiple myeloma" in shown[grader:]


def test_without_a_name_the_first_case_is_shown_and_an_unknown_name_is_refused(two):
    assert "a (s)" in invoke("show", two).stdout
    failure = invoke("show", two, "c").exception
    assert isinstance(failure, InputError)
    assert "holds no case 'c'" in str(failure)


@pytest.mark.parametrize("verb", ["list", "show", "check"])
def test_unusable_input_ends_with_one_line_and_code_2(verb, tmp_path, monkeypatch, capsys):
    path = tmp_path / "bad.yaml"
    path.write_text("id: a\nsource: s\ndiagnosis: {name: ''}\n", encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["osce", "cases", verb, str(path)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(f"error: {path}:3: diagnosis.name: expected some text")
