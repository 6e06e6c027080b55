"""A human in the chair of AgentClinic's doctor or patient: told what a model would be told, and asked what it is."""

from dataclasses import replace
from typing import Any

from openosce.benchmarks.agentclinic.biases import bias_text
from openosce.benchmarks.agentclinic.settings import AgentClinicSettings
from openosce.benchmarks.agentclinic.station import doctor_turns
from openosce.benchmarks.benchmark import Place
from openosce.cases import patient_part
from openosce.encounters import DOCTOR, PATIENT, Transcript
from openosce.models import PromptPack
from openosce.roles import Human, Question

_IMAGES_ARE_FILES = "Images are named by their path beside the case file, or by their address: open them yourself."


class HumanDoctor(Human):
    """A human doctor, who is shown the turns used like a model."""

    def __init__(self, briefing: str, title: str, turns: int) -> None:
        super().__init__(DOCTOR, briefing, title)
        self._turns = turns

    async def speak(self, transcript: Transcript) -> str:
        """Show what was said with the turns used, and read one line."""
        last = transcript[-1]
        counted = f"{last.text}\n[{doctor_turns(transcript)} of {self._turns} turns used]"
        return await super().speak((*transcript[:-1], replace(last, text=counted)))


class HumanPatient(Human):
    """A human patient, who can be asked for ratings after the visit."""

    name = "human"

    def __init__(self, briefing: str, title: str, prompts: PromptPack) -> None:
        super().__init__(PATIENT, briefing, title)
        self._prompts = prompts

    async def rate(self, item: str, transcript: Transcript, repeat: int = 0) -> str:
        """Ask for a rating; the line as it was typed."""
        return await self.answer(Question(f"rating: {item}", "", self._prompts.render(f"rate_{item}")))

    async def explain(self, item: str, transcript: Transcript, reply: str) -> str:
        """Ask for the reason of a rating."""
        return await self.answer(Question(f"rating: {item}", "", self._prompts.render("rate_why")))


def human_doctor(place: Place[AgentClinicSettings]) -> HumanDoctor:
    """The doctor of one trial, at the keyboard."""
    settings = place.settings
    bias = bias_text(settings.bias, DOCTOR, place.prompts, settings.bias_disease)
    briefing = place.prompts.render("doctor", turns=settings.turns, images=settings.images, bias=bias)
    told = f"{_IMAGES_ARE_FILES}\n\n{briefing}" if place.images else briefing
    return HumanDoctor(told, _title(place), settings.turns)


def human_patient(place: Place[AgentClinicSettings]) -> HumanPatient:
    """The patient of one trial, at the keyboard."""
    settings, part = place.settings, patient_part(place.case)
    bias = bias_text(settings.bias, PATIENT, place.prompts, settings.bias_disease)
    briefing = place.prompts.render("patient", story=part.story, informant=part.informant, bias=bias)
    return HumanPatient(briefing, _title(place), place.prompts)


def _title(place: Place[Any]) -> str:
    return f"case {place.key.case_id}, trial {place.key.trial + 1}"
