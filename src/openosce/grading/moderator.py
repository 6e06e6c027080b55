"""AgentClinic's moderator on any model: are the doctor's diagnosis and the correct one the same disease, yes or no?

Source: AgentClinic (2024), section "Language agents", moderator agent. The verdict is read: the released code takes
anything but a bare `yes` for a no, `Yes.` among them.
"""

import re

from openosce.cases import GraderPart
from openosce.errors import GraderError
from openosce.grading.model_grader import ModelGrader
from openosce.grading.options import Verdict
from openosce.grading.policies import MatchPolicy

_VERDICT = r"[\W_]*(?:(?:the\s+)?(?:final\s+)?(?:answer|verdict)\W{1,4}(?:is\W{1,4})?)?(yes|no)\b"
_FIRST = re.compile(_VERDICT, re.IGNORECASE)
_ALONE = re.compile(rf"{_VERDICT}[\W_]*", re.IGNORECASE)
_NO_NOUN = re.compile(r"no\s+(?:idea|way|clue|information|answer|diagnosis|one|verdict)\b", re.IGNORECASE)
_AGREED = r"(?:\w+\s+)?(?:difference|distinction|discrepancy|doubt|question)"
"""After "no", what makes it no verdict: "Yes, there is no real difference"."""


class Moderator(ModelGrader):
    """Asks one question, whatever the policy; the same pair of texts is the same request."""

    async def grade(self, answer: str, part: GraderPart, policy: MatchPolicy, repeat: int = 0) -> Verdict:
        """Compare the doctor's words with the reference.

        Raises:
            GraderError: No yes or no could be read, within the limit of tries.
            ProviderError: The model gave no reply.
        """
        reference, said = part.diagnosis.name.strip(), answer.strip()
        prompt = self._prompts.render("moderator", reference=reference, answer=said)
        same = await self._ask("grade/moderate", prompt, repeat, read_yes_no)
        return Verdict(float(same), f"{'same' if same else 'other'}: {said[:200]!r} as {reference!r}")


def read_yes_no(reply: str) -> bool:
    """Read `Yes.`, `**no**`, `Yes, both are gout`, `Answer: no`: the first word, or else a line of its own.

    Raises:
        GraderError: The reply says neither, both, or something else that begins so ("No idea").
    """
    text = reply.strip().lstrip("*_`\"'“#> ")
    first = _FIRST.match(text)
    sentence = re.split(r"[.!?\n]", text, maxsplit=1)[0]
    if first and not _NO_NOUN.match(text) and len(_said(sentence)) == 1 and len(_alone(text) | _said(sentence)) == 1:
        return first[1].casefold() == "yes"
    alone = _alone(text)
    if not first and len(alone) == 1:
        return alone == {"yes"}
    raise GraderError(f"expected yes or no; the moderator replied {reply[:80]!r}")


def _said(text: str) -> set[str]:
    return {word.casefold() for word in re.findall(rf"\b(?:yes|no(?!\s+{_AGREED}))\b", text, re.IGNORECASE)}


def _alone(text: str) -> set[str]:
    """The verdicts that stand alone in a line."""
    return {found[1].casefold() for line in text.splitlines() if (found := _ALONE.fullmatch(line))}
