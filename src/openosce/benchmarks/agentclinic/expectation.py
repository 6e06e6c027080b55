"""How many calls and tokens one trial of AgentClinic will take, as far as can be told before it is held."""

from openosce.benchmarks.agentclinic.perception import ITEMS
from openosce.benchmarks.agentclinic.settings import DIALOGUE, VIGNETTE_MCQ, AgentClinicSettings
from openosce.benchmarks.expectation import Expected
from openosce.cases import Case, measurement_part, patient_part
from openosce.models import PromptPack

MOST_TURNS = 20
"""Doctor turns assumed at the most: the paper's budget; a doctor may diagnose sooner."""
TEST_SHARE = 0.25
"""Share of the turns that order a test: an assumption, the paper reports none."""
QUESTION, STATEMENT, RESULT, DIAGNOSIS_LENGTH, BIAS, RATING = 150, 200, 200, 60, 250, 4
"""Characters of a doctor's turn, a patient's answer, a result, a diagnosis, a bias and a rating."""


def expect(case: Case, settings: AgentClinicSettings, arms: tuple[str, ...], prompts: PromptPack) -> Expected:
    """Expected calls and tokens of one trial, for every role as if a model played it. Images are not foreseen.

    The length of an encounter is the great unknown: the whole budget, up to twenty turns, is assumed.
    """
    size = {name: len(text) for name, text in prompts.texts.items()}
    expected = Expected()
    if DIALOGUE in arms and not (settings.images != "none" and not case.images):
        _expect_encounter(expected, case, settings, size)
    if VIGNETTE_MCQ in arms and case.vignette and case.choices and not case.images:
        choices = sum(len(choice) + 4 for choice in case.choices)
        expected.add("doctor", size["answer_vignette"] + len(case.vignette) + choices, DIAGNOSIS_LENGTH)
    return expected


def _expect_encounter(expected: Expected, case: Case, settings: AgentClinicSettings, size: dict[str, int]) -> None:
    turns = min(settings.turns, MOST_TURNS)
    tests = round((turns - 1) * TEST_SHARE)
    answers = turns - 1 - tests
    said = turns * QUESTION + answers * STATEMENT + tests * RESULT
    patient = size["patient"] + len(patient_part(case).story) + BIAS * bool(settings.bias)
    expected.add("doctor", size["doctor"] + said / 2, QUESTION, turns)
    expected.add("patient", patient + said / 2, STATEMENT, answers)
    readings = len(measurement_part(case).readings)
    expected.add("measurement", size["measurement"] + readings + answers * STATEMENT / 2, RESULT, tests)
    expected.add("grader", size["moderator"] + DIAGNOSIS_LENGTH, RATING)
    if settings.perception:
        expected.add("patient", patient + said + size["rate_confidence"], RATING, len(ITEMS))
    if settings.why:
        expected.add("patient", patient + said + size["rate_confidence"] + size["rate_why"], STATEMENT, len(ITEMS))
