import base64
import hashlib
import html.parser
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib import resources

import pytest

from openosce.encounters import EndReason
from openosce.errors import RunFolderError
from openosce.reports import accuracy_figure, analyze_run, write_report
from openosce.runs.folder import RunReader

TWO_DOCTORS = {
    "openai/gpt-4o": {"vignette_mcq": [[1, 1], [1, 0], [0, None]], "multi_turn_frq": [[1, 0], [0, 0], [1, 0]]},
    "builtin/interviewer": {"vignette_mcq": [[1, 1], [1, 1], [1, 1]], "multi_turn_frq": [[None, None]] * 3},
}


class Tags(html.parser.HTMLParser):
    """Every tag of a page with its attributes, and its text."""

    def __init__(self, page):
        super().__init__()
        self.found, self.text = [], ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data


def figure_of(run):
    with RunReader(run) as reader:
        return accuracy_figure(analyze_run(reader))


def content_policy(page):
    (policy,) = [a["content"] for _, a in page.found if a.get("http-equiv") == "Content-Security-Policy"]
    return dict(part.strip().split(" ", 1) for part in policy.split(";"))


def test_what_follows_from_the_study_is_not_repeated_line_by_line(sweep_run):
    values = {
        "d": {"turns=20": {"accuracy": [1, 0], "cost": [10, 20]}, "turns=10": {"accuracy": [0, 0], "cost": [5, 5]}}
    }
    page = Tags(write_report(sweep_run(values)).read_text(encoding="utf-8"))
    assert "plan.conditions" in page.text
    assert "plan.columns" not in page.text
    assert "plan.metrics" not in page.text


def test_the_page_tells_everything_and_loads_nothing(simple_run):
    path = write_report(simple_run(TWO_DOCTORS, specialties=["Cardiology", "Cardiology", "Dermatology"]))
    assert path.name == "report.html"
    page = Tags(path.read_text(encoding="utf-8"))
    for heading in ("Accuracy", "By specialty", "Comparisons", "How encounters ended", "What is missing, and why"):
        assert heading in page.text
    for fact in ("not for patient care", "cases_hash", "0f3a", "builtin/record", "paper@1", "doctors in each arm"):
        assert fact in page.text
    assert not {"link", "iframe", "img", "object"} & {tag for tag, _ in page.found}
    attributes = [pair for _, of_tag in page.found for pair in of_tag.items()]
    assert all(value.startswith("#") for key, value in attributes if key in ("src", "href", "xlink:href"))
    assert not {key for key, _ in attributes if key == "style" or key.startswith("on")}
    (alternative, *_) = [of_tag["aria-label"] for tag, of_tag in page.found if tag == "figure"]
    assert "openai/gpt-4o: vignette_mcq 0.50" in alternative


def test_the_page_may_run_its_own_script_and_style_and_nothing_else(simple_run):
    text = write_report(simple_run(TWO_DOCTORS)).read_text(encoding="utf-8")
    policy = content_policy(Tags(text))
    for tag in ("style", "script"):
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert policy[f"{tag}-src"] == f"'sha256-{digest}'"
    assert (policy["default-src"], policy["img-src"], policy["base-uri"]) == ("'none'", "data:", "'none'")


def test_the_script_puts_in_text_never_markup():
    script = resources.files("openosce.reports").joinpath("templates", "report.js").read_text(encoding="utf-8")
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "fetch("):
        assert way not in script


def test_every_link_of_the_page_leads_to_a_place_on_it(simple_run):
    page = Tags(write_report(simple_run(TWO_DOCTORS)).read_text(encoding="utf-8"))
    links = {attributes["href"][1:] for tag, attributes in page.found if tag == "a"}
    places = [attributes["id"] for _, attributes in page.found if "id" in attributes]
    assert links <= set(places)
    assert len(places) == len(set(places))


def test_a_sample_of_the_conversations_is_stated(simple_run):
    run = simple_run(TWO_DOCTORS)
    whole = " ".join(Tags(write_report(run).read_text(encoding="utf-8")).text.split())
    assert "All 12 conversations, with every answer and grade" in whole
    part = " ".join(Tags(write_report(run, conversations=5).read_text(encoding="utf-8")).text.split())
    assert "A random sample of 5 of 12 conversations" in part
    none = Tags(write_report(run, conversations=0).read_text(encoding="utf-8"))
    assert "script" not in {tag for tag, _ in none.found}


def test_hostile_text_stays_text(records, tmp_path):
    evil = "<script>alert(1)</script>{{ 7*7 }}$x_{$\u202e"
    trials = [records.trial(evil, '"><img src=x>', 0, [], ended=EndReason.ROLE_FAILED, error="</td><b onload=x>\x1b")]
    cases = [records.case('"><img src=x>', "<i>Heart</i>", "a&b"), records.case("2", "]]>", "<!--")]
    manifest = records.manifest([evil], ["x_mcq", "<u>", "_hidden"], 1, notes=[evil], fallbacks=[evil])
    page = write_report(records.write(tmp_path / "<b>run", manifest, cases, trials)).read_text(encoding="utf-8")
    tags = Tags(page)
    assert not {"b", "i", "u", "img"} & {tag for tag, _ in tags.found}
    # The list of conversations, one pack, and the page's own script.
    assert [attributes.get("type") for tag, attributes in tags.found if tag == "script"] == ["text/plain"] * 2 + [None]
    assert "<script>alert(1)</script>{{ 7*7 }}$x_{$<U+202E>" in tags.text
    assert "</td><b onload=x><U+001B>" in tags.text


def test_a_name_of_megabytes_does_not_swell_the_page(records, tmp_path):
    endless = "x" * 10_000_000
    trials = [records.trial("d", "1", 0, [records.answer("x", 1.0, evidence=endless)], error=endless)]
    manifest = records.manifest(["d"], ["x"], 1, notes=[endless])
    run = records.write(
        tmp_path / "run", manifest, [records.case("1", endless[:9_000]), records.case("2", "y")], trials
    )
    page = write_report(run)
    assert page.stat().st_size < 300_000
    assert "9,995,000 more characters" in page.read_text(encoding="utf-8")


def test_an_empty_run_still_has_a_page(records, tmp_path):
    run = records.write(tmp_path / "run", records.manifest(["d"], ["x"], 1), [], [])
    assert "no case has a valid answer" in write_report(run).read_text(encoding="utf-8")


def test_the_same_run_gives_the_same_page_byte_by_byte(simple_run):
    run = simple_run(TWO_DOCTORS)
    once = write_report(run).read_bytes()
    assert write_report(run).read_bytes() == once
    assert sorted(p.name for p in run.iterdir() if "report" in p.name) == ["report.html"]


def test_a_page_that_cannot_be_written_is_an_error_of_the_run_folder(simple_run):
    run = simple_run(TWO_DOCTORS)
    (run / "report.html").mkdir()
    with pytest.raises(RunFolderError, match="cannot be written"):
        write_report(run)
    assert not [p for p in run.iterdir() if p.name.startswith(".report")]


def test_the_figure_is_well_formed_and_the_same_each_time(simple_run):
    run = simple_run(TWO_DOCTORS)
    svg = figure_of(run)
    assert ET.fromstring(svg).tag.endswith("svg")
    assert figure_of(run) == svg


@pytest.mark.parametrize("doctor", ["_hidden", "$\\frac{$", "模型 ü", "a" * 300])
def test_any_model_name_can_be_drawn(simple_run, doctor):
    assert ET.fromstring(figure_of(simple_run({doctor: {"x_mcq": [[1], [0]]}})))


def test_a_figure_without_any_value_is_drawn_empty(simple_run):
    assert ET.fromstring(figure_of(simple_run({"d": {"x": [[None]]}})))


def test_importing_reports_loads_no_slow_library():
    code = "import sys, openosce.reports; print([m for m in ('scipy', 'matplotlib') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
