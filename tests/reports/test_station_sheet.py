"""The examiner's sheet: what was asked and missed, with its place, and every mark with its explanation."""

import base64
import io
import json
import re
import sqlite3
import zlib

import pytest
from rich.console import Console

from openosce.cases import read_cases
from openosce.encounters import Encounter, EndReason
from openosce.grading.record import Answer, Score, Trial, TrialKey
from openosce.reports.page import write_report
from openosce.reports.station_sheet import criteria, handed_in, stations
from openosce.reports.transcript import transcript
from openosce.runs import prepare, run_study, to_study
from openosce.runs.folder import RunReader

CASE = next(case for case in read_cases("starter") if case.id == "acute-pericarditis-01")
STATION = CASE.station
HOSTILE = "<img src=x onerror=alert(1)>\x1b[31m"


def rounds(*entries):
    return json.dumps(
        [
            {"reference": {"question": "When did it begin?", "answer": "Today.", "topic": "Onset"}, **entry}
            for entry in entries
        ]
    )


def info(text, *scores):
    return Answer("info_gathering", text, None, scores)


def shown(answer, station=STATION):
    key = TrialKey("test/doctor", "text", CASE.id, 0)
    console = Console(width=120, file=io.StringIO())
    console.print(transcript(Trial(key, Encounter((), EndReason.NOT_HELD), (answer,)), station))
    return console.file.getvalue()


def test_every_round_says_what_was_asked_its_marks_and_the_reference():
    text = handed_in(
        info(
            rounds({"round": 3, "question": "Since when?"}),
            Score("round_03", 1.0, "-", "e/one", "it fits the bank"),
            Score("round_03", 0.0, "-", "e/two", "a follow-up"),
        )
    )
    assert text.splitlines() == [
        "Round 3 (Onset): “Since when?”",
        "  1 by e/one: it fits the bank",
        "  0 by e/two: a follow-up",
        "  the reference: “When did it begin?”",
    ]


def test_what_was_never_asked_and_asked_again_stands_below_with_its_round():
    scores = (
        Score("bank_coverage", 0.5, "-", "rule", "1 of 2 asked; never asked: Fever (round 2)"),
        Score("repeated", 0.25, "-", "e/one", "1 of 4 questions had been asked before"),
    )
    lines = handed_in(info(rounds({"round": 1, "question": "Why?"}), *scores)).splitlines()
    assert "Question bank: 1 of 2 asked; never asked: Fever (round 2)" in lines
    assert "Repeated questions, by e/one: 1 of 4 questions had been asked before" in lines


def test_a_round_without_a_question_says_why_and_shows_the_reply():
    text = handed_in(info(rounds({"round": 1, "problem": "not JSON", "reply": "I would rather not"})))
    assert "Round 1 (Onset): no question: not JSON" in text and "replied: I would rather not" in text


def exams(*pairs):
    rows = [{"physical exam": component, "maneuver": maneuver, "reason": "pain"} for component, maneuver in pairs]
    return Answer("physical_exam", json.dumps({"exams": rows}), None)


def test_targets_that_were_not_examined_are_named_and_those_that_were_are_not():
    text = handed_in(exams(("Heart", "auscultation"), ("Chest", "palpation")), STATION)
    assert "Proposed: Heart (auscultation), because: pain" in text
    missed = [line for line in text.splitlines() if line.startswith("Not examined")]
    assert any("pulsus paradoxus" in line for line in missed)
    assert not any("Chest" in line for line in missed)
    assert "Examined in part, 1 of 2: Heart" in text


def test_a_case_that_asks_for_no_examination_says_so():
    station = STATION.model_copy(update={"target_examinations": ()})
    assert "The case asks for no examination." in handed_in(exams(), station)
    assert handed_in(exams()) == "Proposed: nothing"


def test_a_closure_stands_around_the_question_that_the_patient_asks():
    answer = Answer("closure", json.dumps({"closure": "Thank you.", "answer": "I do not know yet."}))
    lines = handed_in(answer, STATION).splitlines()
    assert [line.partition(":")[0] for line in lines] == ["Closure", "The patient's question", "Answer"]


@pytest.mark.parametrize(
    "text", ["no JSON", "[1, 2]", '{"exams": 3}', "[" * 100_000, "null", '[{"question": "x"}]', ""]
)
@pytest.mark.parametrize("section", ["info_gathering", "physical_exam", "closure", "differential"])
def test_what_cannot_be_read_is_shown_as_it_is(section, text):
    assert handed_in(Answer(section, text), STATION) == text


def test_every_criterion_has_its_mark_its_examiner_and_the_explanation():
    scores = (
        Score("score", 62.5, "as_published@1", "e/one", "coverage 45/60 × 0.6"),
        Score("coverage", 45.0, "-", "e/one", "three of four"),
        Score("reasons", None, "-", "e/one", None, "not_judged: cannot"),
        Score("extra_exams", -10.0, "-", "e/one", "one was not needed"),
        Score("valid_output", 1.0, "-", "rule"),
    )
    sheet = criteria(Answer("physical_exam", "{}", None, scores))
    assert sheet.rows == (
        ("coverage", "45 of 60", "e/one", "three of four"),
        ("reasons", "-", "e/one", "missing: not_judged: cannot"),
        ("extra_exams", "-10", "e/one", "one was not needed"),
        ("score as_published@1", "62.5 of 100", "e/one", "coverage 45/60 × 0.6"),
    )
    assert criteria(Answer("physical_exam", "{}")) is None


def test_the_terminal_shows_the_sheet_and_makes_control_characters_visible():
    answer = info(rounds({"round": 1, "question": HOSTILE}), Score("points", 1.0, "-", "e/one", HOSTILE))
    text = shown(answer)
    assert "Round 1 (Onset)" in text and "points" in text
    assert "\x1b[31m" not in text and "<U+001B>" in text


def test_an_answer_that_is_missing_says_why():
    assert "missing: provider_failed: HTTP 503" in shown(Answer("closure", None, "provider_failed: HTTP 503"))


def test_the_page_holds_the_sheet_of_every_case_and_its_texts_only_packed(tmp_path):
    study = to_study({"study": {"benchmark": "medqa-cs", "trials": 1}})
    run_study(prepare(study, tmp_path, limit=1), lambda total, todo: None, lambda trial: None)
    page = write_report(tmp_path).read_text(encoding="utf-8")
    packs = re.findall(r'<script[^>]*class="pack"[^>]*>([^<]+)</script>', page)
    texts = [zlib.decompress(base64.b64decode(pack)).decode() for pack in packs]
    assert any("Not examined: " in text and "Round 1 (" in text for text in texts)
    assert "the reference: “" not in page


def test_a_station_that_cannot_be_read_is_left_out(tmp_path):
    study = to_study({"study": {"benchmark": "medqa-cs", "trials": 1, "cases": "starter"}})
    run_study(prepare(study, tmp_path, limit=1), lambda total, todo: None, lambda trial: None)
    with RunReader(tmp_path) as reader:
        assert set(stations(reader, [CASE.id, "elsewhere"])) == {CASE.id}
    with sqlite3.connect(tmp_path / "run.db") as connection:
        connection.execute("UPDATE cases SET record = json_set(record, '$.station', json('{\"rooms\": 3}'))")
    connection.close()
    with RunReader(tmp_path) as reader:
        assert stations(reader, [CASE.id]) == {}
    assert write_report(tmp_path).is_file()
