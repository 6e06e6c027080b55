"""The summarizer turns what the patient said into a third-person vignette, and adds nothing."""

import re
from collections.abc import Sequence
from typing import Protocol

from openosce.models import ChatMessage, Model, PromptPack
from openosce.roles.ask import ask
from openosce.roles.grammar import to_third_person
from openosce.roles.record_patient import is_unknown


class Summarizer(Protocol):
    """Rewrites a patient's statements."""

    async def summarize(self, statements: Sequence[str]) -> str:
        """Rewrite the statements of one conversation, oldest first, as a vignette.

        Raises:
            RoleError: The reply is empty, or there is nothing to summarize.
            ProviderError: The model gave no reply.
        """
        ...


class ModelSummarizer:
    """A language model as summarizer (CRAFT-MD 2025, Methods, "Summarized conversations")."""

    def __init__(self, model: Model, prompts: PromptPack) -> None:
        self._model = model
        self._prompts = prompts

    async def summarize(self, statements: Sequence[str]) -> str:
        """Ask the model for the vignette."""
        prompt = self._prompts.render("summarize", statements=" ".join(statements))
        return await ask(self._model, (ChatMessage("user", prompt),), "summarize", "summarizer")


class RecordSummarizer:
    """`builtin/record` as summarizer: the patient's own sentences in the third person."""

    async def summarize(self, statements: Sequence[str]) -> str:
        """Shift the person, and leave out what the patient could not tell."""
        told = [statement for statement in statements if statement.strip() and not is_unknown(statement)]
        shift = _of_a_relative if told and _OF_A_RELATIVE.match(told[0]) else to_third_person
        return " ".join(map(shift, told)) or "The patient could not say anything about the complaint."


_RELATIVE = r"my\s+(?:\w+\s+)?(?:son|daughter|boy|girl|child|baby|toddler|husband|wife|mother|father)\b"
_OF_A_RELATIVE = re.compile(rf"{_RELATIVE}(?!.*\b(?:I|me|my|we|us)\b)", re.IGNORECASE | re.DOTALL)
"""An opening that tells of somebody else only: an informant speaks."""


def _of_a_relative(statement: str) -> str:
    """An informant's words in the third person: "My son is hot. I feel it." tells of the patient and the informant."""
    patient = "\N{OBJECT REPLACEMENT CHARACTER}"
    text = to_third_person(re.sub(rf"\b(?:{_RELATIVE}|the patient\b)", patient, statement, flags=re.IGNORECASE))
    text = re.sub(r"\bthe patient\b", "the informant", text)
    text = re.sub(r"\bThe patient\b", "The informant", text)
    return re.sub(rf"(^|[.!?]\s+){patient}", r"\1The patient", text).replace(patient, "the patient")
