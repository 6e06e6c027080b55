import io
from dataclasses import replace

import pytest
from rich.console import Console

from openosce.encounters import EndReason
from openosce.reports import analysis_tables, analyze_run, transcript
from openosce.reports.conduct import endings
from openosce.reports.sheets import side_by_side
from openosce.reports.table import sheet_table
from openosce.reports.text import visible
from openosce.runs.folder import RunReader

ARMS = [f"{information}_{question}" for information in ("vignette", "multi_turn", "single_turn", "summarized")
        for question in ("mcq", "frq")] + ["multi_turn_own"]  # fmt: skip


def rendered(renderable, width=100):
    console = Console(file=io.StringIO(), width=width, highlight=False, force_terminal=False)
    console.print(renderable)
    return console.file.getvalue()


def tables(run):
    with RunReader(run) as reader:
        return rendered(analysis_tables(analyze_run(reader)))


def test_nine_arms_stay_readable_at_100_columns(simple_run):
    marks = {arm: [[1, 0], [1, None], [None, None], [0, 0]] for arm in ARMS}
    specialties = ["Pediatrics and Neonatology", "Cardiology", "Cardiology", "Nephrology and Urology"]
    text = tables(simple_run({"openai/gpt-4o": marks}, specialties=specialties))
    assert max(map(len, text.splitlines())) <= 100
    assert "…" not in text
    for arm in ARMS:
        assert arm in text
    assert "0.500 [-0.74, 1.74] (1)  3 of 4" in text
    assert "(1) few cases right or few wrong" in text
    assert "3: refused=3" in text
    assert "vign. = vignette, summ. = summarized" in text
    assert "n=1" in text


def test_a_title_longer_than_its_table_is_not_broken(simple_run):
    with RunReader(simple_run({"openai/gpt-4o-mini-2024-07-18": {"x": [[1], [0]]}})) as reader:
        sheet = endings(analyze_run(reader))[0]
    long = replace(sheet, title="a title that is wider than any table of two short columns", heads=("a",), rows=())
    assert rendered(sheet_table(long)).splitlines()[0] == long.title


def test_what_cannot_be_computed_is_a_dash_with_a_footnote(simple_run):
    text = tables(simple_run({"d": {"same": [[1], [1], [1]], "none": [[None], [None], [None]]}}))
    assert "1.000 [-] (1)" in text
    assert "(1) all 3 cases have the same value" in text
    assert "- (2)" in text
    assert "(2) no case has a valid answer" in text


def test_markup_and_escapes_in_names_are_shown_as_text(records, tmp_path):
    doctor, arm = "[bold red]evil[/] :smile: \x1b[2J", "x[/y]"
    trials = [
        records.trial(doctor, "[link=http://x]c", 0, [], ended=EndReason.ROLE_FAILED, error="[/] \x1b]0;hi\x07 \\")
    ]
    cases = [records.case("[link=http://x]c", "[b]Heart[/b]"), records.case("2", "[/i]")]
    text = tables(records.write(tmp_path / "run", records.manifest([doctor], [arm], 1), cases, trials))
    assert "[bold red]evil[/] :smile: <U+001B>[2J" in text
    assert "x[/y]" in text
    assert "[b]Heart[/b]" in text
    assert "[link=http://x]c" in text
    assert "\x1b" not in text


def test_the_first_ten_failures_are_listed_and_the_rest_counted(records, tmp_path):
    cases = [records.case(f"case-{n}") for n in range(12)]
    trials = [records.trial("d", c.id, 0, [], ended=EndReason.REFUSED, error="filtered") for c in cases]
    text = tables(records.write(tmp_path / "run", records.manifest(["d"], ["x"], 1), cases, trials))
    assert "Failed encounters: 12" in text
    assert "case-9" in text
    assert "case-10" not in text
    assert "and 2 more" in text


def test_a_transcript_says_who_spoke_why_it_ended_and_what_it_was_worth(records):
    answers = [
        records.answer("vignette_mcq", 1.0, evidence="named: B"),
        records.answer("frq", None, reason="no_answer", why_no_answer="refused: content filter"),
    ]
    text = rendered(transcript(records.trial("d", "case-1", 2, answers, ended=EndReason.REFUSED, error="HTTP 400")))
    for part in (
        "case case-1, trial 2",
        "doctor to patient",
        "What brings you in?",
        "patient to doctor",
        "My chest hurts.",
        "ended refused: HTTP 400",
        "accuracy 1 · graded by builtin/lexicon · policy paper@1 · named: B",
        "missing: refused: content filter",
        "accuracy not scored",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("a\r\nb", "a\nb"),
        ("\x1b[31mred", "<U+001B>[31mred"),
        ("a\rb\x00\x07\x7f\x9b", "a<U+000D>b<U+0000><U+0007><U+007F><U+009B>"),
        ("abc\u202edef\u2066", "abc<U+202E>def<U+2066>"),
        ("Grüße, 心臓, שלום", "Grüße, 心臓, שלום"),
    ],
)
def test_control_characters_become_visible_and_ordinary_text_stays(text, shown):
    assert visible(text) == shown


def test_several_doctors_stand_side_by_side_and_parts_of_one_examination_are_averaged(simple_run):
    plan = {"conditions": ["text"], "arms": ["history", "closure"], "trials": 1, "doctors": ["a/b", "c/d"]}
    marks = {
        "a/b": {"history": [[1.0], [0.0]], "closure": [[1.0], [1.0]]},
        "c/d": {"history": [[1.0], [1.0]], "closure": [[None], [None]]},
    }
    with RunReader(simple_run(marks, plan={**plan, "averages_arms": True})) as reader:
        analysis = analyze_run(reader)
    sheet = side_by_side(analysis)
    assert sheet.heads == ("doctor", "history", "closure", "average")
    assert sheet.rows == (("a/b", "0.500", "1.000", "0.750"), ("c/d", "1.000", "-", "-"))
    assert not [row for row in analysis.comparisons if row.a.model == row.b.model]
