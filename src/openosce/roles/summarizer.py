"""The summarizer turns what the patient said into a third-person vignette, and adds nothing."""

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
        told = [to_third_person(statement) for statement in statements if not is_unknown(statement)]
        return " ".join(told) or "The patient could not say anything about the complaint."
