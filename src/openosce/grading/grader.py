"""The grader decides whether an answer names the reference diagnosis."""

from collections.abc import Iterable
from typing import Protocol

from openosce.cases import GraderPart
from openosce.errors import EncounterError
from openosce.grading.options import Verdict, match_option
from openosce.grading.policies import MatchPolicy
from openosce.grading.record import ACCURACY, Answer, Missing, Score, reason_for


class Grader(Protocol):
    """Reads a free-response answer and says whether it is right."""

    @property
    def name(self) -> str:
        """As written in the study."""
        ...

    @property
    def is_rule(self) -> bool:
        """Whether it costs no call and always decides alike."""
        ...

    async def grade(self, answer: str, part: GraderPart, policy: MatchPolicy, repeat: int = 0) -> Verdict:
        """Decide whether `answer` is right under `policy`; `repeat` counts deliberate repetitions of the verdict.

        Raises:
            GraderError: No verdict could be read, within the limit of tries.
            ProviderError: The grader's model gave no reply.
        """
        ...


NO_DIAGNOSIS = "(no diagnosis)"
"""The answer of a doctor that did not commit to a diagnosis: wrong under every policy, whoever grades."""
OPTIONS = "options"
"""The name under which the multiple-choice rule signs its scores."""


async def score_answer(
    answer: Answer,
    *,
    mcq: bool,
    part: GraderPart,
    policy: MatchPolicy,
    grader: Grader,
    repeats: int = 1,
    others: Iterable[MatchPolicy] = (),
) -> Answer:
    """Give an answer its accuracy scores, or the reason why there is none. A blank text is no answer.

    Under `policy`, a grader that is a model scores it `repeats` times, and every verdict is kept. Under the `others` it
    is scored where a rule can do so, which costs no call and shows how much the policy matters.
    """
    if answer.text is None or not answer.text.strip():
        signed = OPTIONS if _by_options(mcq, policy) else grader.name
        score = Score(ACCURACY, None, str(policy), signed, missing_reason=Missing.NO_ANSWER.value)
        return Answer(answer.arm, None, answer.missing_reason or Missing.EMPTY_REPLY.value, (*answer.scores, score))
    times = 1 if grader.is_rule or _by_options(mcq, policy) else repeats
    by_rule = [other for other in others if other != policy and (_by_options(mcq, other) or grader.is_rule)]
    scores = [await _score(answer.text, mcq, part, policy, grader, repeat) for repeat in range(times)]
    scores += [await _score(answer.text, mcq, part, other, grader, 0) for other in by_rule]
    return Answer(answer.arm, answer.text, None, (*answer.scores, *scores))


def _by_options(mcq: bool, policy: MatchPolicy) -> bool:
    return mcq and policy.mcq != "grader"


async def _score(text: str, mcq: bool, part: GraderPart, policy: MatchPolicy, grader: Grader, repeat: int) -> Score:
    by_options = _by_options(mcq, policy)
    signed = OPTIONS if by_options else grader.name
    if text == NO_DIAGNOSIS:
        return Score(ACCURACY, 0.0, str(policy), signed, "no_diagnosis: the doctor committed to none")
    try:
        verdict = match_option(text, part, policy) if by_options else await grader.grade(text, part, policy, repeat)
    except EncounterError as failure:
        return Score(ACCURACY, None, str(policy), signed, missing_reason=reason_for(failure))
    return Score(ACCURACY, verdict.value, str(policy), signed, verdict.evidence)
