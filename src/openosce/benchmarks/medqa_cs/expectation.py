"""How many calls and tokens one trial of MedQA-CS will take."""

from openosce.benchmarks.expectation import Expected
from openosce.benchmarks.medqa_cs.sections import doorway_sheet, examination, lacking, station_of
from openosce.benchmarks.medqa_cs.settings import MedQACSSettings
from openosce.cases import Case
from openosce.cases.record import Round
from openosce.grading.student_output import CLOSURE, DIFFERENTIAL, INFO_GATHERING, PHYSICAL_EXAM
from openosce.models import PromptPack

REPLY = {INFO_GATHERING: 350, PHYSICAL_EXAM: 1_200, CLOSURE: 1_000, DIFFERENTIAL: 2_000}
"""Characters of a student's reply, and roughly those of a verdict on it."""
ANSWER = 500
"""Characters of the answer to the challenging question."""


def expect(case: Case, settings: MedQACSSettings, arms: tuple[str, ...], prompts: PromptPack) -> Expected:
    """Expected calls and tokens of one trial, for every role as if a model played it."""
    expected = Expected()
    for section in arms:
        if lacking(case, section) is None:
            _expect_section(expected, section, case, {name: len(text) for name, text in prompts.texts.items()})
    return expected


def _expect_section(expected: Expected, section: str, case: Case, size: dict[str, int]) -> None:
    station = station_of(case)
    door, talk, found = len(doorway_sheet(case)), _length(station.dialogue), len(examination(station))
    asked, examined, reply = size[f"student_{section}"], size[f"examine_{section}"], REPLY[section]
    if section == INFO_GATHERING:
        rounds = len(station.dialogue) - 1
        bank = sum(len(one.question) for one in station.dialogue)
        expected.add("doctor", asked + door + talk / 2, reply, rounds)
        expected.add("examiner", examined + door + talk / 2 + bank, reply, rounds)
        return
    closure = len(station.closure or "")
    note = len(station.note.history) + len(station.note.examination) if station.note else 0
    told = {PHYSICAL_EXAM: 0, CLOSURE: found, DIFFERENTIAL: found + closure + note}[section]
    expected.add("doctor", asked + door + talk + told, reply)
    if section == CLOSURE:
        expected.add("doctor", asked + door + talk + told + reply + size["student_challenge"], ANSWER)
    expected.add("examiner", examined + reply + (door + talk if section == PHYSICAL_EXAM else closure), reply)


def _length(dialogue: tuple[Round, ...]) -> int:
    return sum(len(one.question) + len(one.answer) + len("Doctor: Patient: ") for one in dialogue)
