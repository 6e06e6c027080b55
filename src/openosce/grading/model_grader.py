"""The two-step grader of CRAFT-MD on any model: name the diagnosis, then compare it with the reference.

Source: CRAFT-MD 2025, Methods, "Grader-AI agent"; the prompts in `prompts/` are in our own words.
"""

import hashlib
import re
from collections.abc import Callable
from typing import TypeVar

from openosce.cases import GraderPart
from openosce.errors import GraderError
from openosce.grading.options import Verdict
from openosce.grading.policies import MatchPolicy
from openosce.models import ChatMessage, Model, PromptPack, Request

TRIES = 3
"""How often a grader is asked before its verdict counts as unreadable."""

_EXTRACT = {"main": "grade_extract", "any": "grade_extract_all", "multiple": "grade_extract_single"}
_LONGEST_NAME = 200
_Read = TypeVar("_Read")


class ModelGrader:
    """Grades with a language model; the same answer to the same reference is the same request."""

    is_rule = False

    def __init__(self, name: str, model: Model, prompts: PromptPack) -> None:
        self.name = name
        self._model = model
        self._prompts = prompts

    async def grade(self, answer: str, part: GraderPart, policy: MatchPolicy, repeat: int = 0) -> Verdict:
        """Extract the diagnosis, then compare."""
        prompt = self._prompts.render(_EXTRACT[policy.concurrent], answer=answer, specialty=part.specialty)
        extracted = await self._ask("grade/extract", prompt, repeat, read_extracted)
        if extracted.casefold() in {"none", "multiple"}:
            return Verdict(0.0, f"{extracted.casefold()}: as extracted by the grader")
        references = [part.diagnosis.name, *(part.diagnosis.accepted if policy.accepted else ())]
        template = "grade_compare" if policy.broader else "grade_same"
        names = extracted.split(";") if policy.concurrent == "any" else [extracted]
        for name in filter(str.strip, names):
            for reference in references:
                prompt = self._prompts.render(template, reference=reference.strip(), answer=name.strip())
                if await self._ask("grade/compare", prompt, repeat, read_verdict):
                    return Verdict(1.0, f"same: {name.strip()!r} as {reference.strip()!r}")
        return Verdict(0.0, f"other: {extracted!r}")

    async def _ask(self, step: str, prompt: str, repeat: int, read: Callable[[str], _Read]) -> _Read:
        """Ask until the reply can be read, within the limit of tries."""
        # Verdicts stand outside case and trial: the step names the question itself.
        step = f"{step}/{hashlib.sha256(prompt.encode()).hexdigest()[:16]}"
        for number in range(repeat * TRIES, (repeat + 1) * TRIES):
            reply = await self._model.complete(Request((ChatMessage("user", prompt),), step, number))
            try:
                return read(reply.text)
            except GraderError as unreadable:
                problem = unreadable
        raise GraderError(f"{problem} ({TRIES} tries)")


def read_extracted(reply: str) -> str:
    """Read the diagnosis name, `Multiple` or `None`, out of the first step's reply.

    Raises:
        GraderError: The reply is empty, or too long to be a name.
    """
    lines = [re.sub(r"[*_`#\"]", "", line).strip() for line in reply.splitlines()]
    name = next((line for line in lines if line), "")
    name = re.sub(r"^(?:diagnos[ie]s(?: name)?|answer)\s*:\s*", "", name, flags=re.IGNORECASE).strip(" .'")
    if not name or len(name) > _LONGEST_NAME:
        raise GraderError(f"expected a diagnosis name, `Multiple` or `None`; the grader replied {reply[:80]!r}")
    return name


def read_verdict(reply: str) -> bool:
    """Read yes or no: the first word, unless the other follows at once, or the only one of the two in the reply.

    Raises:
        GraderError: The reply says neither, or both.
    """
    words = re.findall(r"[a-z]+", reply.casefold())
    first = re.match(r"\W*(yes|no)\b(?!\W*(?:or|and)?\W*(?:yes|no)\b)", reply, re.IGNORECASE)
    if first:
        return first[1].casefold() == "yes"
    said = {"yes", "no"} & set(words)
    if len(said) != 1:
        raise GraderError(f"expected yes or no; the grader replied {reply[:80]!r}")
    return said == {"yes"}
