"""The doctor under test: it talks, and it answers the questions of the arms."""

from dataclasses import dataclass
from typing import Protocol

from openosce.cases import DoctorPart, tidy
from openosce.encounters import DOCTOR, Participant, Transcript
from openosce.models import ChatMessage, Model, PromptPack
from openosce.roles.ask import ask, chat

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class Question:
    """What an arm puts to the doctor: what it is told, and what it may choose from."""

    arm: str
    told: str | Transcript
    """A vignette or a summary, or the conversation that the doctor has led."""
    question: str | None = None
    """The vignette's own question, in the arms that show the vignette."""
    choices: tuple[str, ...] = ()
    """The options of a multiple-choice question; none for a free response."""


class Doctor(Participant, Protocol):
    """A participant that can also be examined in writing."""

    async def answer(self, question: Question) -> str:
        """Answer an arm's question.

        Raises:
            RoleError: The reply is empty.
            ProviderError: The model gave no reply.
        """
        ...


class ModelDoctor:
    """A language model as doctor. It is handed the specialty and the objective, and nothing else of the case."""

    def __init__(self, model: Model, prompts: PromptPack, part: DoctorPart) -> None:
        self._model = model
        self._prompts = prompts
        self._part = part
        self._system = prompts.render("doctor", specialty=part.specialty, objective=part.objective)

    async def speak(self, transcript: Transcript) -> str:
        """Ask the next question, or give the diagnosis."""
        return await ask(self._model, self._conversation(transcript), f"talk/{len(transcript)}", DOCTOR)

    async def answer(self, question: Question) -> str:
        """Answer in writing: after the conversation it led, or on a text alone."""
        kind = "mcq" if question.choices else "frq"
        values = {
            "specialty": self._part.specialty,
            "question": question.question,
            "choices": "\n".join(f"{LETTERS[i]}. {tidy(choice)}" for i, choice in enumerate(question.choices)),
        }
        if isinstance(question.told, str):
            prompt = self._prompts.render(f"answer_text_{kind}", told=question.told, **values)
            messages: tuple[ChatMessage, ...] = (ChatMessage("user", prompt),)
        else:
            prompt = self._prompts.render(f"answer_talk_{kind}", **values)
            messages = (*self._conversation(question.told), ChatMessage("user", prompt))
        return await ask(self._model, messages, f"answer/{question.arm}", DOCTOR)

    def _conversation(self, transcript: Transcript) -> tuple[ChatMessage, ...]:
        return chat(self._system, transcript, DOCTOR)
