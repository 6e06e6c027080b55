"""Which parts of a case a section needs, and what the door and the examination tell."""

import pytest

from openosce.benchmarks.medqa_cs import BENCHMARK, sections
from openosce.benchmarks.medqa_cs.rounds import BANK_COVERAGE, AskedRound, bank_coverage, read_rounds, write_rounds
from openosce.benchmarks.medqa_cs.settings import MedQACSSettings
from openosce.cases import STARTER, Case, read_cases
from openosce.cases.record import Diagnosis, Round, StationPart, TargetExamination
from openosce.errors import StudyError
from openosce.grading.student_output import SECTIONS
from openosce.models import load_prompts
from openosce.runs import to_study

CASES = read_cases(STARTER)
CASE = next(case for case in CASES if case.id == "acute-pericarditis-01")
STATION = sections.station_of(CASE)
BANK = (
    Round(question="What brings you in today?", answer="My chest hurts.", topic="Chief complaint"),
    Round(question="Have you had a fever?", answer="No.", topic="Fever"),
    Round(question="Do you smoke?", answer="No.", topic="Smoking"),
    Round(question="Are you allergic to anything?", answer="No.", topic="Allergies"),
)


def without(*parts: str) -> Case:
    """The case with these parts of its station empty."""
    empty = StationPart()
    return CASE.model_copy(
        update={"station": STATION.model_copy(update={part: getattr(empty, part) for part in parts})}
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_every_starter_case_gives_all_four_sections(case: Case):
    assert [sections.lacking(case, section) for section in SECTIONS] == [None] * 4


@pytest.mark.parametrize(
    ("part", "gone"),
    [
        ("doorway", set(SECTIONS)),
        ("dialogue", set(SECTIONS)),
        ("closure", {"closure", "differential"}),
        ("challenge", {"closure"}),
        ("note", {"differential"}),
        ("differential", {"differential"}),
        ("target_examinations", set()),
        ("additional", set()),
    ],
)
def test_a_missing_part_takes_the_sections_that_need_it_and_no_other(part: str, gone: set[str]):
    lacking = {section: sections.lacking(without(part), section) for section in SECTIONS}
    assert {section for section, reason in lacking.items() if reason} == gone
    assert all(reason == f"case_lacks_part: {part}" for reason in lacking.values() if reason)


def test_a_case_without_a_station_gives_no_section():
    case = Case(id="x", source="x", diagnosis=Diagnosis(name="Gout"))
    assert [sections.lacking(case, section) for section in SECTIONS] == ["case_lacks_part: station"] * 4


def test_a_dialogue_of_the_chief_complaint_alone_has_no_round_to_ask():
    case = CASE.model_copy(update={"station": STATION.model_copy(update={"dialogue": STATION.dialogue[:1]})})
    assert sections.lacking(case, "info_gathering") == "case_lacks_part: dialogue after the chief complaint"
    assert sections.lacking(case, "physical_exam") is None


def test_the_door_tells_name_age_sex_vital_signs_and_tasks():
    sheet = sections.doorway_sheet(CASE).splitlines()
    assert sheet[0] == "Patient: Mr. Marcus Feld"
    assert sheet[1] == "Age and sex: 31 years old, male"
    assert any(line.startswith("Vital signs: pulse 98/min regular; blood pressure 126/78 mmHg") for line in sheet)
    assert any("Write the patient note" in line for line in sheet)


def test_the_examination_is_the_targets_with_their_findings_and_without_them_the_notes():
    assert "Heart (auscultation, auscultation leaning forward): scratching sound" in sections.examination(STATION)
    bare = StationPart(note=STATION.note, target_examinations=(TargetExamination(component="Neck"),))
    assert STATION.note is not None
    assert sections.examination(bare) == STATION.note.examination
    assert sections.examination(StationPart()) == sections.NOT_EXAMINED


def test_rounds_survive_being_written_and_read():
    rounds = (
        AskedRound(round=1, symptom="a", reason="“b”", question='c "d"\n?', reference=BANK[1]),
        AskedRound(round=2, problem="not JSON", reply="\u2028]", reference=BANK[2]),
        AskedRound(round=3, missing="refused: x"),
    )
    text = write_rounds(rounds)
    assert read_rounds(text) == rounds
    assert len(text.split("\n")) == 5


@pytest.mark.parametrize("text", ["", "Do you smoke?", "{}", '[{"round": 1, "unknown": 2}]', "[" * 5_000, "[NaN]"])
def test_what_is_no_list_of_rounds_reads_as_none(text: str):
    assert read_rounds(text) is None


def test_the_topics_that_no_round_asked_are_named_with_their_rounds():
    rounds = [
        AskedRound(round=1, question="Do you smoke or drink alcohol?"),
        AskedRound(round=2, question="Do you smoke cigarettes?"),
        AskedRound(round=3, problem="not JSON"),
    ]
    score = bank_coverage(BANK, rounds)
    assert (score.metric, score.grader, score.policy) == (BANK_COVERAGE, "rule", "-")
    assert score.value == pytest.approx(1 / 3)
    assert score.evidence == "1 of 3 asked; never asked: Fever (round 1); Allergies (round 3)"


def test_a_student_that_asks_what_comes_next_reaches_the_whole_bank():
    rounds = [AskedRound(round=n, question=one.question) for n, one in enumerate(STATION.dialogue) if n]
    assert bank_coverage(STATION.dialogue, rounds).value == 1


def test_settings_name_sections_weighting_and_rules():
    settings = MedQACSSettings(sections=("closure", "info_gathering"), weighting="as_prompted", configuration=2)
    assert BENCHMARK.arms(settings) == ("info_gathering", "closure")
    assert BENCHMARK.policy(settings) == "as_prompted@1"
    assert settings.rules.configuration == 2
    assert BENCHMARK.most_trials(MedQACSSettings()) == {"info_gathering": 1}


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"sections": ["history"]}, "known are info_gathering"),
        ({"sections": []}, "no section"),
        ({"sections": ["closure", "closure"]}, "named twice"),
        ({"weighting": "mine"}, "medqa_cs.weighting"),
        ({"configuration": 4}, "medqa_cs.configuration"),
        ({"info_trials": 0}, "medqa_cs.info_trials"),
        ({"arms": ["closure"]}, "unknown key medqa_cs.arms"),
    ],
)
def test_a_wrong_setting_is_refused_by_its_name(table: dict[str, object], told: str):
    with pytest.raises(StudyError, match=told):
        to_study({"study": {"benchmark": "medqa-cs"}, "medqa_cs": table})


def test_the_headline_is_the_score_of_the_examiner_under_the_weighting_and_then_come_the_criteria():
    first, *others = BENCHMARK.measures(MedQACSSettings(weighting="as_prompted"))
    assert (first.name, first.policy, first.role, first.high) == ("score", "as_prompted@1", "examiner", 100)
    assert first.low is None  # the physical examination's total is not clipped
    by_name = {measure.name: measure for measure in others}
    assert len(by_name) == len(others)
    assert by_name["points"].arms == ("info_gathering", "differential")
    assert (by_name["coverage"].low, by_name["coverage"].high) == (0, 60)
    assert (by_name["extra_exams"].low, by_name["extra_exams"].high) == (None, 0)
    assert by_name["impressions"].arms == ("closure",)
    only = {measure.name for measure in BENCHMARK.measures(MedQACSSettings(sections=("closure",)))}
    assert only.isdisjoint({"points", "repeated", "coverage", "bank_coverage"})


def test_the_dry_run_expects_a_call_a_round_and_two_for_a_closure():
    prompts = load_prompts(BENCHMARK.prompts)
    n_rounds = len(STATION.dialogue) - 1
    expected = BENCHMARK.expect(CASE, MedQACSSettings(), SECTIONS, prompts)
    assert expected.calls["doctor"] == n_rounds + 1 + 2 + 1
    assert expected.calls["examiner"] == n_rounds + 3
    assert BENCHMARK.expect(without("dialogue"), MedQACSSettings(), SECTIONS, prompts).calls == {}
