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

    async def grade(self, answer: str, part: GraderPart, policy: MatchPolicy) -> Verdict:
        """Decide whether `answer` is right under `policy`.

        Raises:
            GraderError: No verdict could be read, within the limit of tries.
            ProviderError: The grader's model gave no reply.
        """
        ...


OPTIONS = "options"
"""The name under which the multiple-choice rule signs its scores."""


async def score_answer(answer: Answer, *, mcq: bool, part: GraderPart, policy: MatchPolicy, grader: Grader) -> Answer:
    """Give an answer its accuracy score, or the reason why there is none."""
    by_rule = mcq and policy.mcq != "grader"
    signed = OPTIONS if by_rule else grader.name
    if answer.text is None:
        score = Score(ACCURACY, None, str(policy), signed, missing_reason=Missing.NO_ANSWER.value)
        return Answer(answer.arm, None, answer.missing_reason, (*answer.scores, score))
    try:
        verdict = match_option(answer.text, part, policy) if by_rule else await grader.grade(answer.text, part, policy)
        score = Score(ACCURACY, verdict.value, str(policy), signed, verdict.evidence)
    except EncounterError as failure:
        score = Score(ACCURACY, None, str(policy), signed, missing_reason=reason_for(failure))
    return Answer(answer.arm, answer.text, None, (*answer.scores, score))
