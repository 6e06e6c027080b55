"""How many calls and tokens one trial of CRAFT-MD will take, as far as can be told before it is held."""

from openosce.benchmarks.craft_md.arms import information_of, is_mcq
from openosce.benchmarks.craft_md.settings import CraftMDSettings
from openosce.benchmarks.expectation import Expected
from openosce.cases import Case
from openosce.grading import find_policy
from openosce.models import PromptPack

PATIENT_TURNS = 10
"""Replies of the patient in a conversation: what GPT-4's had on average (10.15; GPT-3.5's 5.79, Mistral-v2's 2.94)."""
QUESTION, STATEMENT, DIAGNOSIS = 70, 90, 40
"""Characters of a doctor's question, a patient's statement and a short answer."""


def expect(case: Case, settings: CraftMDSettings, arms: tuple[str, ...], prompts: PromptPack) -> Expected:
    """Expected calls and tokens of one trial, for every role as if a model played it.

    The length of a conversation is the great unknown: ten replies of the patient, or what the cap allows, are assumed.
    """
    size = {name: len(text) for name, text in prompts.texts.items()}
    vignette = len(case.vignette or "")
    turns = min(PATIENT_TURNS, settings.cap // 2)
    talk = turns * (QUESTION + STATEMENT)
    informations = {information_of(arm) for arm in arms}
    expected = Expected()
    if informations != {"vignette"}:
        expected.add("doctor", size["doctor"] + talk / 2, QUESTION, turns)
        expected.add("patient", size["patient"] + vignette + talk / 2, STATEMENT, turns)
    if "summarized" in informations:
        expected.add("summarizer", size["summarize"] + turns * STATEMENT, turns * STATEMENT)
    told = {
        "vignette": vignette,
        "multi_turn": size["doctor"] + talk,
        "single_turn": size["doctor"] + QUESTION + STATEMENT,
        "summarized": turns * STATEMENT,
    }
    for arm in arms:
        _expect_arm(expected, arm, told, case, size)
    _expect_grading(expected, settings, arms, size)
    return expected


def _expect_arm(expected: Expected, arm: str, told: dict[str, int], case: Case, size: dict[str, int]) -> None:
    information = information_of(arm)
    if information == "own" or (is_mcq(arm) and not case.choices):
        return
    kind = "talk" if information in {"multi_turn", "single_turn"} else "text"
    choices = sum(len(choice) + 4 for choice in case.choices) if is_mcq(arm) else 0
    template = size[f"answer_{kind}_{'mcq' if is_mcq(arm) else 'frq'}"]
    expected.add("doctor", told[information] + template + choices, DIAGNOSIS)


def _expect_grading(expected: Expected, settings: CraftMDSettings, arms: tuple[str, ...], size: dict[str, int]) -> None:
    """Two steps for every answer that no rule can grade; identical ones, which are graded once, are not foreseen."""
    graded_by_rule = find_policy(settings.policy).mcq != "grader"
    answers = sum(not (is_mcq(arm) and graded_by_rule) for arm in arms)
    expected.add("grader", size["grade_extract"] + DIAGNOSIS, DIAGNOSIS / 2, answers)
    expected.add("grader", size["grade_compare"] + DIAGNOSIS, 3, answers)
