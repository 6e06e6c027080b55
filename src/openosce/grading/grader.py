"""The grader decides whether an answer names the reference diagnosis."""

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

    async def grade(self, answer: str, part: GraderPart, policy: MatchPolicy, repeat: int = 0) -> Verdict:
        """Decide whether `answer` is right under `policy`; `repeat` counts deliberate repetitions of the verdict.

        Raises:
            GraderError: No verdict could be read, within the limit of tries.
            ProviderError: The grader's model gave no reply.
        """
        ...


OPTIONS = "options"
"""The name under which the multiple-choice rule signs its scores."""


async def score_answer(
    answer: Answer, *, mcq: bool, part: GraderPart, policy: MatchPolicy, grader: Grader, repeats: int = 1
) -> Answer:
    """Give an answer its accuracy scores, or the reason why there is none. A blank text is no answer.

    A grader scores it `repeats` times, and every verdict is kept; a rule scores it once.
    """
    by_rule = mcq and policy.mcq != "grader"
    signed = OPTIONS if by_rule else grader.name
    if answer.text is None or not answer.text.strip():
        score = Score(ACCURACY, None, str(policy), signed, missing_reason=Missing.NO_ANSWER.value)
        return Answer(answer.arm, None, answer.missing_reason or Missing.EMPTY_REPLY.value, (*answer.scores, score))
    text = answer.text

    async def judge(repeat: int) -> Score:
        try:
            verdict = match_option(text, part, policy) if by_rule else await grader.grade(text, part, policy, repeat)
        except EncounterError as failure:
            return Score(ACCURACY, None, str(policy), signed, missing_reason=reason_for(failure))
        return Score(ACCURACY, verdict.value, str(policy), signed, verdict.evidence)

    scores = [await judge(repeat) for repeat in range(1 if by_rule else repeats)]
    return Answer(answer.arm, text, None, (*answer.scores, *scores))
