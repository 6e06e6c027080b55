"""A language model as simulated patient. It is handed the patient's part of a case, never the diagnosis."""

from openosce.cases import PatientPart
from openosce.encounters import PATIENT, Transcript
from openosce.models import Model, PromptPack
from openosce.roles.ask import ask, chat


class ModelPatient:
    """Answers from the vignette, one sentence at a time."""

    def __init__(self, model: Model, prompts: PromptPack, part: PatientPart) -> None:
        self._model = model
        self._system = prompts.render("patient", vignette=part.vignette, informant=part.informant)

    async def speak(self, transcript: Transcript) -> str:
        """Answer the doctor's last question."""
        return await ask(self._model, chat(self._system, transcript, PATIENT), f"talk/{len(transcript)}", PATIENT)
