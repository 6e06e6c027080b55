"""One trial of CRAFT-MD: one conversation, and every arm's answer, graded."""

import re

from openosce.benchmarks.benchmark import Cast
from openosce.benchmarks.craft_md.arms import (
    OWN,
    SUMMARY,
    information_of,
    is_mcq,
    last_words,
    multi_turn,
    single_turn,
    statements,
)
from openosce.benchmarks.craft_md.settings import CraftMDSettings
from openosce.benchmarks.craft_md.station import CraftMDStation
from openosce.benchmarks.together import together
from openosce.cases import Case, grader_part
from openosce.encounters import DOCTOR, PATIENT, Encounter, EndReason, Transcript, run_encounter
from openosce.errors import EncounterError
from openosce.grading import Answer, Missing, Score, find_policy, reason_for, score_answer
from openosce.grading.policies import CRAFT_MD
from openosce.roles import Question

LEFTOVERS = "summary_leftovers"
"""The metric that counts what a summary should have dropped: words of the machinery behind the patient."""

_LEFTOVER = re.compile(
    r"\b(?:vignette|paragraph|passage|given text|language model|AI (?:model|assistant))\b", re.IGNORECASE
)


async def run_trial(
    case: Case, cast: Cast, settings: CraftMDSettings, arms: tuple[str, ...]
) -> tuple[Encounter, tuple[Answer, ...]]:
    """Hold the conversation, then put every arm's question and grade the answers, all arms at once."""
    encounter = await _talk(cast, settings, arms)
    summary = await _summarize(cast, encounter, arms)

    async def examine(arm: str) -> Answer:
        answer = await _answer(arm, case, cast, encounter, summary)
        return await score_answer(
            answer,
            mcq=is_mcq(arm),
            part=grader_part(case),
            policy=find_policy(settings.policy),
            grader=cast.roles["grader"],
            repeats=cast.grader_repeats,
            others=CRAFT_MD,
        )

    answers = await together(examine(arm) for arm in arms)
    return encounter, (*([summary] if summary else []), *answers)


async def _talk(cast: Cast, settings: CraftMDSettings, arms: tuple[str, ...]) -> Encounter:
    if all(information_of(arm) == "vignette" for arm in arms):
        return Encounter((), EndReason.NOT_HELD)
    station = CraftMDStation(settings.cap, any_case=settings.stop_rule == "any_case")
    return await run_encounter(station, {role: cast.roles[role] for role in (DOCTOR, PATIENT)})


async def _summarize(cast: Cast, encounter: Encounter, arms: tuple[str, ...]) -> Answer | None:
    """The summary that the summarized arms read, kept as an answer of its own; None where no arm asks for it."""
    if not any(information_of(arm) == "summarized" for arm in arms):
        return None
    if encounter.ended.is_failure:
        return Answer(SUMMARY, None, Missing.ENCOUNTER_FAILED.because(encounter.ended.value))
    try:
        text = await cast.roles["summarizer"].summarize(statements(encounter))
    except EncounterError as failure:
        return Answer(SUMMARY, None, reason_for(failure))
    return kept_summary(text)


def kept_summary(text: str) -> Answer:
    """A summary as it is kept beside the answers, with the count of what it should have dropped."""
    count = len(_LEFTOVER.findall(text))
    return Answer(SUMMARY, text, None, (Score(LEFTOVERS, float(count), "-", "rule"),))


async def _answer(arm: str, case: Case, cast: Cast, encounter: Encounter, summary: Answer | None) -> Answer:
    """What the doctor answers in one arm, ungraded."""
    if is_mcq(arm) and not case.choices:
        return Answer(arm, None, Missing.CASE_LACKS_PART.because("choices"))
    told, missing = _told(arm, case, encounter, summary)
    if missing or told is None:
        return Answer(arm, None, missing)
    if arm == OWN:
        return Answer(arm, str(told))
    shown = information_of(arm) == "vignette" and case.question not in (None, case.vignette)
    question = case.question if shown else None
    choices = case.choices if is_mcq(arm) else ()
    try:
        return Answer(arm, await cast.roles[DOCTOR].answer(Question(arm, told, question, choices)))
    except EncounterError as failure:
        return Answer(arm, None, reason_for(failure))


def _told(
    arm: str, case: Case, encounter: Encounter, summary: Answer | None
) -> tuple[str | Transcript | None, str | None]:
    """What an arm tells the doctor, or the reason why it cannot."""
    information = information_of(arm)
    if information == "vignette":
        return case.vignette, None if case.vignette else Missing.CASE_LACKS_PART.because("vignette")
    if information == "single_turn" and (first := single_turn(encounter)):
        return first, None
    if encounter.ended.is_failure:
        return None, _failed(encounter)
    if information == "summarized":
        text, failure = (summary.text, summary.missing_reason) if summary else (None, "there is none")
        return text, None if text is not None else Missing.SUMMARY_FAILED.because(failure or "")
    if information == "own":
        said = last_words(encounter)
        return said, None if said else Missing.NO_ANSWER.because("the cap left the doctor no message of its own")
    return multi_turn(encounter), None


def _failed(encounter: Encounter) -> str:
    return Missing.ENCOUNTER_FAILED.because(f"{encounter.ended.value}: {encounter.error}")
