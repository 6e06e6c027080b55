"""One trial of AgentClinic: the encounter, the diagnosis with all that is measured of it, and the written question."""

from itertools import pairwise

from openosce.benchmarks.agentclinic.biases import refusals, split_names
from openosce.benchmarks.agentclinic.perception import perceive, unrated
from openosce.benchmarks.agentclinic.settings import DIALOGUE, VIGNETTE_MCQ, AgentClinicSettings
from openosce.benchmarks.agentclinic.station import OBJECTIVE, AgentClinicStation
from openosce.benchmarks.agentclinic.tests_ordered import METRICS, count_orders
from openosce.benchmarks.benchmark import Cast
from openosce.cases import Case, MeasurementPart, grader_part, measurement_part
from openosce.encounters import DOCTOR, PATIENT, Encounter, EndReason, Transcript, run_encounter
from openosce.errors import EncounterError
from openosce.grading import ACCURACY, Answer, Missing, Score, find_policy, reason_for, score_answer
from openosce.grading.grader import NO_DIAGNOSIS
from openosce.grading.options import named_options
from openosce.roles import Question
from openosce.roles.clinic_tokens import read_diagnosis
from openosce.roles.measurement import MEASUREMENT, check_readings

_OTHERS = tuple(find_policy(name) for name in ("paper", "strict"))
"""The match policies under which diagnoses are shown besides."""
REFUSED = "refused"
"""Whether a biased role refused to act out its bias, or an unbiased one left its role in such words; 0 or 1."""
INVENTED, LEFT_OUT = "readings_invented", "readings_left_out"
"""How many readings the measurement agent made up, and how many it left out of what was asked for."""
_COUNTED = (*METRICS, INVENTED, LEFT_OUT, REFUSED)
"""What every encounter is counted for."""
HIDDEN_OPTION = "hidden_option"
"""Whether a wrong diagnosis of an image case is one of its other options, which no doctor has seen; 0 or 1."""


async def run_trial(
    case: Case,
    cast: Cast,
    settings: AgentClinicSettings,
    arms: tuple[str, ...],
    station: type[AgentClinicStation] = AgentClinicStation,
) -> tuple[Encounter, tuple[Answer, ...]]:
    """Hold the encounter if an arm needs it, and answer the arms. `station`: other rules, for more roles than ours."""
    encounter = Encounter((), EndReason.NOT_HELD)
    answers = []
    if DIALOGUE in arms:
        encounter, answer = await _examine(case, cast, settings, station)
        answers.append(answer)
    if VIGNETTE_MCQ in arms:
        written = await _answer_vignette(case, cast)
        answers.append(await _graded(written, case, cast, settings, mcq=True))
    return encounter, tuple(answers)


async def _examine(
    case: Case, cast: Cast, settings: AgentClinicSettings, station: type[AgentClinicStation]
) -> tuple[Encounter, Answer]:
    """The encounter, and its diagnosis with every score of the trial."""
    if settings.images != "none" and not case.images:
        # Never silently held as text: such a trial is missing.
        lacking = Answer(DIALOGUE, None, Missing.CASE_LACKS_PART.because("images"))
        return Encounter((), EndReason.NOT_HELD), await _with_scores(lacking, (), case, cast, settings)
    paths = tuple(image.path for image in case.images) if settings.images != "none" else ()
    rules = station(case.objective or OBJECTIVE, settings.turns, settings.images, paths)
    speaking = {role: who for role, who in cast.roles.items() if role != "grader"}
    encounter = await run_encounter(rules, speaking)
    return encounter, await _with_scores(_diagnosis(encounter), encounter.transcript, case, cast, settings)


def _diagnosis(encounter: Encounter) -> Answer:
    """What the doctor committed to; that it did not is an answer too, and a wrong one."""
    if encounter.ended.is_failure:
        return Answer(DIALOGUE, None, Missing.ENCOUNTER_FAILED.because(f"{encounter.ended.value}: {encounter.error}"))
    return Answer(DIALOGUE, read_diagnosis(encounter.transcript[-1].text) or NO_DIAGNOSIS)


async def _with_scores(
    answer: Answer, transcript: Transcript, case: Case, cast: Cast, settings: AgentClinicSettings
) -> Answer:
    graded = await _graded(answer, case, cast, settings, mcq=False)
    if answer.text is None:
        reason = answer.missing_reason or Missing.ENCOUNTER_FAILED.value
        counted = (*_COUNTED, *([HIDDEN_OPTION] if settings.images != "none" else []))
        scores = (*graded.scores, *(Score(metric, None, "-", "rule", missing_reason=reason) for metric in counted))
        ratings = unrated(reason, getattr(cast.roles[PATIENT], "name", "builtin/record")) if settings.perception else ()
        return Answer(graded.arm, None, graded.missing_reason, (*scores, *ratings))
    part = measurement_part(case)
    scores = (
        *graded.scores,
        *count_orders(transcript, part, settings.prices),
        *_faithfulness(transcript, part),
        *_refused(transcript, settings),
        *_hidden_option(graded, transcript, case, settings),
    )
    if settings.perception:
        scores += await perceive(cast.roles[PATIENT], transcript, settings.why)
    return Answer(graded.arm, graded.text, graded.missing_reason, scores)


async def _graded(answer: Answer, case: Case, cast: Cast, settings: AgentClinicSettings, *, mcq: bool) -> Answer:
    return await score_answer(
        answer,
        mcq=mcq,
        part=grader_part(case),
        policy=find_policy(settings.policy),
        grader=cast.roles["grader"],
        repeats=cast.grader_repeats,
        others=_OTHERS,
    )


async def _answer_vignette(case: Case, cast: Cast) -> Answer:
    if case.images:
        reason = "choices that a doctor may see: those of an image case are hidden"
        return Answer(VIGNETTE_MCQ, None, Missing.CASE_LACKS_PART.because(reason))
    lacking = [name for name, part in (("vignette", case.vignette), ("choices", case.choices)) if not part]
    if lacking or case.vignette is None:
        return Answer(VIGNETTE_MCQ, None, Missing.CASE_LACKS_PART.because(", ".join(lacking)))
    question = Question(VIGNETTE_MCQ, case.vignette, case.question, case.choices)
    try:
        return Answer(VIGNETTE_MCQ, await cast.roles[DOCTOR].answer(question))
    except EncounterError as failure:
        return Answer(VIGNETTE_MCQ, None, reason_for(failure))


def _faithfulness(transcript: Transcript, part: MeasurementPart) -> tuple[Score, ...]:
    """What the measurement agent invented or left out, over the whole encounter."""
    invented: list[str] = []
    left_out: list[str] = []
    for asked, told in pairwise(transcript):
        if told.speaker == MEASUREMENT:
            found = check_readings(told.text, part, asked.text)
            invented += found.invented
            left_out += found.left_out
    return tuple(
        Score(metric, float(len(found)), "-", "rule", "; ".join(found)[:1000] or None)
        for metric, found in ((INVENTED, invented), (LEFT_OUT, left_out))
    )


def _refused(transcript: Transcript, settings: AgentClinicSettings) -> tuple[Score, ...]:
    biased = frozenset(name.partition(":")[0] for name in split_names(settings.bias))
    roles = biased or frozenset((DOCTOR, PATIENT))  # what refusals a bias brings shows beside those without any
    found = refusals(transcript, roles)
    return (Score(REFUSED, float(bool(found)), "-", "rule", found[0][:500] if found else None),)


def _hidden_option(
    graded: Answer, transcript: Transcript, case: Case, settings: AgentClinicSettings
) -> tuple[Score, ...]:
    """Where images are shown: whether a wrong diagnosis names just one option, and not the correct one.

    Source: AgentClinic (2024), section on AgentClinic-NEJM: a share of the incorrect answers, so that a right diagnosis
    has no such score, and neither has a doctor that gives none.
    """
    if settings.images == "none":
        return ()
    said = graded.text if read_diagnosis(transcript[-1].text) else None
    reason = _no_wrong_diagnosis(said, graded, case, settings)
    if said is None or reason is not None:
        return (Score(HIDDEN_OPTION, None, "-", "rule", missing_reason=reason),)
    named = [case.choices[place] for place in named_options(said, case.choices)]
    other = len(named) == 1 and named[0].strip().casefold() != case.diagnosis.name.strip().casefold()
    return (Score(HIDDEN_OPTION, float(other), "-", "rule", ", ".join(named) or None),)


def _no_wrong_diagnosis(said: str | None, graded: Answer, case: Case, settings: AgentClinicSettings) -> str | None:
    """Why nothing can be said of a wrong diagnosis; None where there is one, and options."""
    policy = str(find_policy(settings.policy))
    verdicts = [score for score in graded.scores if score.metric == ACCURACY and score.policy == policy]
    values = [score.value for score in verdicts if score.value is not None]
    if not case.choices:
        return Missing.CASE_LACKS_PART.because("choices")
    if said is None:
        return Missing.DOES_NOT_APPLY.because("no diagnosis")
    if not values:
        return verdicts[0].missing_reason
    return Missing.DOES_NOT_APPLY.because("the diagnosis is right") if sum(values) > len(values) / 2 else None
