"""Replies written beforehand."""

import asyncio
from pathlib import Path

import pytest

from openosce.errors import ProviderError, StudyError
from openosce.models import ChatMessage, Request, Script, read_script


def reply(script: Script, step: str, content: str = "x", repeat: int = 0) -> str:
    request = Request((ChatMessage("user", content),), step, repeat)
    return asyncio.run(script.complete(request)).text


def test_a_step_has_the_reply_of_the_first_pattern_that_fits():
    script = Script({"talk/2": "Any fever?", "talk/*": "Final Diagnosis: gout", "*": "gout"})
    assert reply(script, "talk/2") == "Any fever?"
    assert reply(script, "talk/20") == "Final Diagnosis: gout"
    assert reply(script, "answer/vignette_mcq") == "gout"
    assert reply(script, "grade/extract/0123abcd") == "gout"


def test_a_reply_depends_on_the_step_alone_and_not_on_what_was_asked_before():
    script = Script({"talk/2": "a", "talk/4": "b"})
    steps = ["talk/4", "talk/2", "talk/2", "talk/4"]
    assert [reply(script, step) for step in steps] == ["b", "a", "a", "b"]
    assert [reply(script, step, "other words", repeat=3) for step in steps] == ["b", "a", "a", "b"]


def test_patterns_tell_capital_letters_apart():
    with pytest.raises(ProviderError):
        reply(Script({"TALK/*": "a"}), "talk/2")


def test_a_step_without_a_reply_is_named_with_the_steps_that_have_one():
    with pytest.raises(ProviderError, match=r"'talk/9'.*talk/2, answer/\*"):
        reply(Script({"talk/2": "a", "answer/*": "b"}), "talk/9")


def test_a_script_is_read_from_a_yaml_mapping(tmp_path: Path):
    file = tmp_path / "script.yaml"
    file.write_text("talk/2: 'Any fever?'\nanswer/*: |\n  Gout\n", encoding="utf-8")
    assert reply(read_script(file), "answer/vignette_frq") == "Gout\n"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"- talk/2",
        b"just text",
        b"talk/2: yes",
        b"talk/2: 5",
        b"2: text",
        b"talk/2: [a, b]",
        b"talk/2: {a: b}",
        b"talk/2: 'unclosed",
        b"talk/2: 2020-13-45",
        b"\xff\xfe\x00",
        b"talk/2: \x00",
        b"talk/2: !!python/object:os.system x",
    ],
)
def test_a_file_that_is_no_script_is_refused_in_one_line(tmp_path: Path, content: bytes):
    file = tmp_path / "script.yaml"
    file.write_bytes(content)
    with pytest.raises(StudyError) as failure:
        read_script(file)
    assert str(failure.value).startswith(f"{file}: ")
    assert "\n" not in str(failure.value)


def test_a_script_that_is_missing_or_a_folder_is_refused(tmp_path: Path):
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(StudyError, match="cannot be read"):
            read_script(path)
