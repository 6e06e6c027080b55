import html.parser
import subprocess
import sys
import xml.etree.ElementTree as ET

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


def test_the_page_tells_everything_and_loads_nothing(simple_run):
    path = write_report(simple_run(TWO_DOCTORS, specialties=["Cardiology", "Cardiology", "Dermatology"]))
    assert path.name == "report.html"
    page = Tags(path.read_text(encoding="utf-8"))
    for heading in ("Accuracy", "By specialty", "Comparisons", "How encounters ended", "What is missing, and why"):
        assert heading in page.text
    for fact in ("not for patient care", "cases_hash", "0f3a", "builtin/record", "paper@1", "doctors in each arm"):
        assert fact in page.text
    assert not {"script", "link", "iframe"} & {tag for tag, _ in page.found}
    addresses = [value for _, attributes in page.found for key, value in attributes.items() if key in ("src", "href")]
    assert addresses
    assert all(address.startswith("data:") for address in addresses)
    (policy,) = [a["content"] for _, a in page.found if a.get("http-equiv") == "Content-Security-Policy"]
    assert "default-src 'none'" in policy
    (alternative,) = [attributes["alt"] for tag, attributes in page.found if tag == "img"]
    assert "openai/gpt-4o: vignette_mcq 0.50" in alternative


def test_hostile_text_stays_text(records, tmp_path):
    evil = "<script>alert(1)</script>{{ 7*7 }}$x_{$\u202e"
    trials = [records.trial(evil, '"><img src=x>', 0, [], ended=EndReason.ROLE_FAILED, error="</td><b onload=x>\x1b")]
    cases = [records.case('"><img src=x>', "<i>Heart</i>", "a&b"), records.case("2", "]]>", "<!--")]
    manifest = records.manifest([evil], ["x_mcq", "<u>", "_hidden"], 1, notes=[evil], fallbacks=[evil])
    page = write_report(records.write(tmp_path / "<b>run", manifest, cases, trials)).read_text(encoding="utf-8")
    tags = Tags(page)
    assert not {"script", "b", "i", "u"} & {tag for tag, _ in tags.found}
    assert [attributes["src"][:5] for tag, attributes in tags.found if tag == "img"] == ["data:"]
    assert "<script>alert(1)</script>{{ 7*7 }}$x_{$<U+202E>" in tags.text
    assert "</td><b onload=x><U+001B>" in tags.text


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
