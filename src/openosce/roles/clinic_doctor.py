"""The doctor of AgentClinic on a language model: a budget of turns, tests to order, and perhaps a bias.

Source: AgentClinic (2024), section "Language agents", doctor agent, and appendix B.
"""

from collections.abc import Mapping

from openosce.cases import tidy
from openosce.encounters import DOCTOR, STATION, Message, Transcript
from openosce.models import ChatMessage, Model, PromptPack
from openosce.roles.ask import ask
from openosce.roles.clinic_chat import clinic_chat
from openosce.roles.doctor import LETTERS, Question


class ClinicDoctor:
    """It knows its budget, how images are had, and its bias; of the case it is told the station's objective.

    Args:
        model: The model under test.
        prompts: The prompt pack.
        turns: Its replies at the most.
        image_mode: `none`, `initial` or `on_request`.
        bias: The text that pulls its judgement; none for an unbiased doctor.
        images: By path, the case's images as data URLs.
    """

    def __init__(
        self,
        model: Model,
        prompts: PromptPack,
        turns: int,
        image_mode: str = "none",
        bias: str = "",
        images: Mapping[str, str] | None = None,
    ) -> None:
        self._model = model
        self._prompts = prompts
        self._turns = turns
        self._images = images
        self._system = prompts.render("doctor", turns=turns, images=image_mode, bias=bias)

    async def speak(self, transcript: Transcript) -> str:
        """Talk to the patient, order a test, ask for the images, or give the diagnosis."""
        messages = clinic_chat(self._system, transcript, DOCTOR, self._images, self._with_count)
        return await ask(self._model, messages, f"talk/{len(transcript)}", DOCTOR)

    async def answer(self, question: Question) -> str:
        """Answer a written multiple-choice question on a vignette, without bias and conversation.

        Raises:
            ValueError: The question is another one: AgentClinic has no other written arm.
        """
        if not isinstance(question.told, str) or not question.choices:
            raise ValueError(f"AgentClinic puts vignettes with choices, not {question.arm!r}")
        choices = "\n".join(f"{LETTERS[i]}. {tidy(choice)}" for i, choice in enumerate(question.choices))
        prompt = self._prompts.render(
            "answer_vignette", told=question.told, question=question.question, choices=choices
        )
        return await ask(self._model, (ChatMessage("user", prompt),), f"answer/{question.arm}", DOCTOR)

    def _with_count(self, message: Message, used: int) -> str:
        """A message with the turns used so far, which stays as it is in every later request."""
        speaker = "" if message.speaker == STATION else f"{message.speaker.capitalize()}: "
        return f"{speaker}{message.text}\n[{used} of {self._turns} turns used]"
