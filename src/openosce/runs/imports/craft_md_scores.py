"""Scores of CRAFT-MD's released answers: the published ones, and what our rules make of the same texts."""

from openosce.cases import GraderPart
from openosce.encounters import Encounter, EndReason
from openosce.grading import ACCURACY, POLICIES, Answer, Missing, Score, Trial, TrialKey, Verdict, match_option
from openosce.grading.grader import OPTIONS
from openosce.grading.policies import CRAFT_MD
from openosce.runs.imports.irregular import Reply

EXPERIMENTS = {
    f"{released}_{question}": f"{information}_{question}"
    for released, information in (
        ("vignette", "vignette"),
        ("multiturn", "multi_turn"),
        ("singleturn", "single_turn"),
        ("summarized", "summarized"),
    )
    for question in ("mcq", "frq")
}
"""The arms by the names they have in the released data."""
TRIALS = 5
CONDITION = "text"
PROVIDER = "craft-md"
GRADER = f"{PROVIDER}/grader"
"""Who signs the stored verdicts."""
AS_PUBLISHED = POLICIES["as_published"]

_BY_OPTIONS = tuple(policy for policy in CRAFT_MD if policy.mcq != "grader")


def signed(arm: str) -> str:
    """Who decides about an arm as published: the rule for options, or the authors' grader."""
    return OPTIONS if arm.endswith("_mcq") else GRADER


def published(arm: str, value: float | None, evidence: str | None = None, missing: str | None = None) -> Score:
    """A score of the published analysis."""
    return Score(ACCURACY, value, str(AS_PUBLISHED), signed(arm), evidence, missing)


def missing_answer(arm: str, reason: str) -> Answer:
    """An answer that is not there, and therefore has no score."""
    return Answer(arm, None, reason, (published(arm, None, missing=Missing.NO_ANSWER.value),))


def missing_trial(key: TrialKey, reason: str) -> Trial:
    """A trial of which the released data hold nothing."""
    answers = tuple(missing_answer(arm, reason) for arm in EXPERIMENTS.values())
    return Trial(key, Encounter((), EndReason.NOT_RELEASED), answers)


def choice(arm: str, reply: Reply, part: GraderPart) -> Answer:
    """A multiple-choice answer, scored by every policy whose rule reads options.

    A blank reply is wrong as published, and missing for us.
    """
    if reply.text is None:
        return missing_answer(arm, reply.missing_reason or Missing.NOT_RELEASED.value)
    verdicts: dict[str, Verdict] = {}  # several policies share a rule
    scores = []
    for policy in _BY_OPTIONS:
        if policy != AS_PUBLISHED and reply.answer is None:
            continue
        if policy == AS_PUBLISHED and reply.left_out:
            scores.append(published(arm, None, missing=reply.left_out))
            continue
        if policy.mcq not in verdicts:
            verdicts[policy.mcq] = match_option(reply.text, part, policy)
        verdict = verdicts[policy.mcq]
        scores.append(Score(ACCURACY, verdict.value, str(policy), OPTIONS, verdict.evidence))
    return Answer(arm, reply.answer, reply.missing_reason, tuple(scores))


def free_response(arm: str, reply: Reply, verdict: tuple[float | None, str | None], extracted: str | None) -> Answer:
    """A free response with the verdict that the authors stored.

    Args:
        arm: The arm.
        reply: What the doctor answered.
        verdict: 1 or 0, or None and the reason.
        extracted: The diagnosis that the authors' grader read out of it.
    """
    if reply.text is None:
        return missing_answer(arm, reply.missing_reason or Missing.NOT_RELEASED.value)
    value, missing = (None, reply.left_out) if reply.left_out else verdict
    evidence = None if extracted is None else f"extracted: {extracted}"
    return Answer(arm, reply.answer, reply.missing_reason, (published(arm, value, evidence, missing),))
