"""Prompts are files, and any of them can be replaced by name."""

from pathlib import Path

import pytest

from openosce.benchmarks import find_benchmark
from openosce.errors import PromptError
from openosce.models import PromptPack, load_prompts

SHIPPED = find_benchmark("craft-md").prompts
VALUES = {
    "specialty": "Cardiology",
    "objective": "Assess a man with chest pain.",
    "vignette": "A man has chest pain.",
    "informant": None,
    "statements": "My chest hurts.",
    "told": "A man has chest pain.",
    "question": "What is it?",
    "choices": "A. Gout\nB. Angina",
    "answer": "Angina",
    "reference": "Angina pectoris",
}
HOSTILE = "{{ 7*7 }} {% for x in y %}{# #} </s> ${x} %s {0}"


def own(folder: Path, **templates: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in templates.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return folder


def test_every_shipped_template_renders_with_the_variables_the_roles_give():
    pack = load_prompts(SHIPPED)
    assert {"doctor", "patient", "summarize", "grade_extract", "grade_compare"} <= set(pack.texts)
    assert {f"answer_{told}_{kind}" for told in ("text", "talk") for kind in ("mcq", "frq")} <= set(pack.texts)
    for name in pack.texts:
        rendered = pack.render(name, **VALUES)
        assert rendered == rendered.strip() != ""
        assert "{{" not in rendered
        assert "None" not in rendered or name.startswith("grade")


def test_the_literal_tokens_that_are_read_again_stand_in_their_prompts():
    pack = load_prompts(SHIPPED)
    assert "Final Diagnosis:" in pack.render("doctor", **VALUES)
    for name in ("grade_extract", "grade_extract_all", "grade_extract_single"):
        rendered = pack.render(name, **VALUES)
        assert "Multiple" in rendered
        assert "None" in rendered


def test_a_template_of_ones_own_replaces_the_shipped_one_of_its_name_and_no_other(tmp_path: Path):
    shipped = load_prompts(SHIPPED)
    pack = load_prompts(SHIPPED, own(tmp_path / "mine", doctor="Ask about {{ specialty }}.\n"))
    assert pack.render("doctor", **VALUES) == "Ask about Cardiology."
    assert {name for name in pack.texts if pack.texts[name] != shipped.texts[name]} == {"doctor"}


def test_other_files_beside_ones_own_templates_are_left_alone(tmp_path: Path):
    folder = own(tmp_path / "mine", doctor="Ask.")
    (folder / "README.md").write_text("notes", encoding="utf-8")
    assert load_prompts(SHIPPED, folder).render("doctor") == "Ask."


def test_a_byte_order_mark_is_no_part_of_a_template(tmp_path: Path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "doctor.txt").write_bytes(b"\xef\xbb\xbfAsk.\r\n")
    assert load_prompts(SHIPPED, folder).render("doctor") == "Ask."


@pytest.mark.parametrize(
    ("templates", "problem"),
    [
        ({"docter": "x"}, r"no template has this name; known names are .*doctor\.txt"),
        ({"doctor": "{{ vignette }}"}, r"unknown variable\(s\) vignette; this template has .*specialty"),
        ({"doctor": "{% if specialty %}"}, r"doctor\.txt:1: not a template"),
        ({"doctor": "{{ specialty"}, r"doctor\.txt:1: not a template"),
        ({"doctor": "{{ specialty|nosuchfilter }}"}, "nosuchfilter"),
        ({"doctor": "{{ specialty.a.b }}"}, "does not render"),
        ({"doctor": "{{ 1 / 0 }}"}, "does not render"),
        ({"doctor": "{% include 'patient.txt' %}"}, "does not render"),
        ({"doctor": "{{ ''.__class__.__mro__ }}"}, "does not render"),
        ({"doctor": "{% for i in range(10000000) %}x{% endfor %}"}, "does not render"),
        ({"doctor": " \n"}, "is empty"),
    ],
)
def test_an_unusable_template_is_refused_in_one_line_before_anything_is_asked(
    tmp_path: Path, templates: dict[str, str], problem: str
):
    with pytest.raises(PromptError, match=problem) as failure:
        load_prompts(SHIPPED, own(tmp_path / "mine", **templates))
    assert "\n" not in str(failure.value)


def test_a_folder_that_is_missing_a_file_or_empty_is_refused_in_one_line(tmp_path: Path):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    for folder, problem in (("none", "no such prompt folder"), ("file", "no such"), ("empty", "holds no template")):
        with pytest.raises(PromptError, match=problem) as failure:
            load_prompts(SHIPPED, tmp_path / folder)
        assert "\n" not in str(failure.value)


def test_a_template_that_is_no_text_or_a_folder_is_refused(tmp_path: Path):
    (tmp_path / "binary").mkdir()
    (tmp_path / "binary" / "doctor.txt").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "nested" / "doctor.txt").mkdir(parents=True)
    for folder in ("binary", "nested"):
        with pytest.raises(PromptError, match="cannot be read"):
            load_prompts(SHIPPED, tmp_path / folder)


def test_the_hash_changes_with_every_template_and_with_nothing_else(tmp_path: Path):
    shipped = load_prompts(SHIPPED)
    assert load_prompts(SHIPPED).hash == shipped.hash
    assert load_prompts(reversed(SHIPPED)).hash == shipped.hash
    same = own(tmp_path / "same", doctor=f"\n{shipped.texts['doctor']}\n\n")
    assert load_prompts(SHIPPED, same).hash == shipped.hash
    hashes = {PromptPack({**shipped.texts, name: f"{text.strip()}."}).hash for name, text in shipped.texts.items()}
    assert len(hashes | {shipped.hash}) == len(shipped.texts) + 1


def test_swapping_two_templates_changes_the_hash():
    assert PromptPack({"a": "x", "b": "y"}).hash != PromptPack({"a": "y", "b": "x"}).hash


def test_template_syntax_in_a_value_stays_text():
    pack = load_prompts(SHIPPED)
    for name, value in (("patient", "vignette"), ("answer_text_frq", "told"), ("grade_extract", "answer")):
        assert HOSTILE in pack.render(name, **{**VALUES, value: HOSTILE})


def test_a_template_cannot_reach_behind_its_values():
    pack = PromptPack({"spy": "{{ told.__class__.__base__.__subclasses__() }}"})
    with pytest.raises(PromptError, match="does not render"):
        pack.render("spy", told="x")


def test_an_unknown_template_and_a_variable_not_given_are_named():
    pack = PromptPack({"doctor": "{{ specialty }}"})
    with pytest.raises(PromptError, match=r"no template 'docter'; it has doctor"):
        pack.render("docter")
    with pytest.raises(PromptError, match="specialty"):
        pack.render("doctor")
