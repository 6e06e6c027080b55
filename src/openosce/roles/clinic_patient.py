"""The patient of AgentClinic on a language model: it talks, and afterwards it rates the doctor.

Source: AgentClinic (2024), section "Language agents", patient agent, "Bias and patient agent perception", appendix B.
"""

from openosce.cases import PatientPart
from openosce.encounters import PATIENT, Transcript
from openosce.models import ChatMessage, Model, PromptPack, Request
from openosce.roles.ask import ask
from openosce.roles.clinic_chat import clinic_chat


class ClinicPatient:
    """It is handed all that the patient may know, and perhaps a bias; never the diagnosis."""

    def __init__(self, name: str, model: Model, prompts: PromptPack, part: PatientPart, bias: str = "") -> None:
        """`name` is the model's, as written in the study: it signs the ratings."""
        self.name = name
        self._model = model
        self._prompts = prompts
        self._system = prompts.render("patient", story=part.story, informant=part.informant, bias=bias)

    async def speak(self, transcript: Transcript) -> str:
        """Answer the doctor's last words."""
        messages = clinic_chat(self._system, transcript, PATIENT)
        return await ask(self._model, messages, f"talk/{len(transcript)}", PATIENT)

    async def rate(self, item: str, transcript: Transcript, repeat: int = 0) -> str:
        """Rate the doctor after the visit; the reply as it came.

        Args:
            item: `confidence`, `compliance` or `consultation`.
            transcript: The whole encounter, of which it recalls what it heard.
            repeat: Counts new tries after a reply that could not be read.

        Raises:
            ProviderError: The model gave no reply.
        """
        messages = self._after(transcript, self._prompts.render(f"rate_{item}"))
        return (await self._model.complete(Request(messages, f"rate/{item}", repeat))).text

    async def explain(self, item: str, transcript: Transcript, reply: str) -> str:
        """Say why it replied so when it was asked to rate.

        Raises:
            RoleError: Every reply is empty.
            ProviderError: The model gave no reply.
        """
        messages = (
            *self._after(transcript, self._prompts.render(f"rate_{item}")),
            ChatMessage("assistant", reply),
            ChatMessage("user", self._prompts.render("rate_why")),
        )
        return await ask(self._model, messages, f"rate/{item}/why", PATIENT)

    def _after(self, transcript: Transcript, prompt: str) -> tuple[ChatMessage, ...]:
        *talk, last = clinic_chat(self._system, transcript, PATIENT)
        if last.role == "user":  # some endpoints refuse two of a kind in a row
            return (*talk, ChatMessage("user", f"{last.content}\n\n{prompt}"))
        return (*talk, last, ChatMessage("user", prompt))
