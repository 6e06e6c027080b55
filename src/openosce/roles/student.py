"""The student of a clinical-skills station: told what a student knows at a section, it hands in what the section asks.

Source: MedQA-CS 2024, Table 8; the prompts in `benchmarks/medqa_cs/prompts/` are in our own words.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from openosce.cases.record import Round
from openosce.encounters import DOCTOR, PATIENT, Message, Transcript
from openosce.models import ChatMessage, Model, PromptPack
from openosce.roles.ask import ask

CHALLENGE = "challenge"
"""The second step of a closure: the patient's challenging question."""


@dataclass(frozen=True)
class StudentTask:
    """What is asked of the student, and all that it knows by then; nothing else of the case reaches it."""

    kind: str
    """A section or, for the second step of a closure, `challenge`: the prompt is `student_<kind>`."""
    step: str
    """The place on the path."""
    doorway: str
    dialogue: tuple[Round, ...]
    """The reference dialogue so far, oldest first."""
    examination: str = ""
    """What was examined, and found."""
    closure: str = ""
    """What was told to the patient at the end: in the second step of a closure, by the student itself."""
    challenge: str = ""
    """The patient's challenging question."""
    note: str = ""
    """History and examination as the patient note has them."""
    schema: Mapping[str, Any] | None = None
    """A JSON schema for the reply, where one is to be sent."""

    @property
    def transcript(self) -> Transcript:
        """The dialogue as a conversation."""
        turns = [(Message(DOCTOR, PATIENT, r.question), Message(PATIENT, DOCTOR, r.answer)) for r in self.dialogue]
        return tuple(message for turn in turns for message in turn)


class Student(Protocol):
    """Anything that can be examined at a clinical-skills station."""

    async def hand_in(self, task: StudentTask) -> str:
        """Hand in what a task asks, as the student writes it.

        Raises:
            RoleError: The reply is empty.
            ProviderError: The model gave no reply.
        """
        ...


class ModelStudent:
    """A language model as student. Every task is a request of its own, save that a closure goes on to its question."""

    def __init__(self, model: Model, prompts: PromptPack) -> None:
        self._model = model
        self._prompts = prompts

    async def hand_in(self, task: StudentTask) -> str:
        """Ask the model."""
        return await ask(self._model, self._messages(task), task.step, "student", task.schema)

    def _messages(self, task: StudentTask) -> tuple[ChatMessage, ...]:
        if task.kind != CHALLENGE:
            return (ChatMessage("user", self._prompt(task.kind, task)),)
        before = (ChatMessage("user", self._prompt("closure", task)), ChatMessage("assistant", task.closure))
        return (*before, ChatMessage("user", self._prompt(CHALLENGE, task)))

    def _prompt(self, kind: str, task: StudentTask) -> str:
        return self._prompts.render(
            f"student_{kind}",
            doorway=task.doorway,
            dialogue="\n".join(f"Doctor: {r.question}\nPatient: {r.answer}" for r in task.dialogue),
            examination=task.examination,
            closure=task.closure,
            challenge=task.challenge,
            note=task.note,
        )
