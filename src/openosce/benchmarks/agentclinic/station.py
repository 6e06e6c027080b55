"""AgentClinic's encounter: a doctor with a budget of turns, a patient, a measurement agent and an image reader.

Source: AgentClinic (2024), sections "Language agents" and "Number of interactions"; what counts as a token stands in
`roles/clinic_tokens.py`. Who hears what: the doctor hears everything that is said to it; the patient the doctor's words
to it and every result; the measurement agent the requests to it and the patient's replies; the image reader the
requests to it.
"""

from dataclasses import dataclass
from typing import Literal

from openosce.encounters import DOCTOR, PATIENT, STATION, EndReason, Message, Transcript
from openosce.roles.clinic_tokens import as_results, asks_for_images, read_diagnosis, requested_tests
from openosce.roles.image_reader import IMAGES
from openosce.roles.measurement import MEASUREMENT

ImageMode = Literal["none", "initial", "on_request"]

OBJECTIVE = "Find out what is wrong with this patient, and diagnose it."
"""What a doctor is told where a case names no objective."""
LAST_TURN = "This is your last turn: give your diagnosis now, as DIAGNOSIS READY: and its name."


@dataclass(frozen=True)
class AgentClinicStation:
    """The rules of one encounter. Only the doctor's replies are searched for tokens."""

    objective: str
    turns: int
    """Replies of the doctor at the most; the last one must be the diagnosis."""
    images: ImageMode = "none"
    image_paths: tuple[str, ...] = ()

    @property
    def opening(self) -> Transcript:
        """The objective, with the images if the doctor has them from the start."""
        shown = self.image_paths if self.images == "initial" else ()
        return (Message(STATION, DOCTOR, self.objective, shown, (DOCTOR,)),)

    def address(self, speaker: str, text: str, transcript: Transcript) -> Transcript:
        """The doctor's reply goes to whom its token names; all others answer the doctor."""
        if speaker == DOCTOR:
            return (self._from_doctor(text, doctor_turns(transcript) + 1),)
        reply = self._to_doctor(speaker, text, transcript)
        if doctor_turns(transcript) == self.turns - 1:
            return (reply, Message(STATION, DOCTOR, LAST_TURN, heard_by=(DOCTOR,)))
        return (reply,)

    def ending(self, transcript: Transcript) -> EndReason | None:
        """A diagnosis, or the last turn without one."""
        if transcript[-1].listener is not None:
            return None
        return EndReason.DIAGNOSED if read_diagnosis(transcript[-1].text) else EndReason.NO_DIAGNOSIS

    def _from_doctor(self, text: str, used: int) -> Message:
        # A diagnosis wins over a request in the same reply.
        listener = None if read_diagnosis(text) is not None else self._asked(text)
        ends = listener is None or used >= self.turns
        return Message(DOCTOR, None if ends else listener, text, heard_by=(listener or PATIENT,))

    def _asked(self, text: str) -> str:
        if self.images == "on_request" and asks_for_images(text):
            return IMAGES
        return MEASUREMENT if requested_tests(text) else PATIENT

    def _to_doctor(self, speaker: str, text: str, transcript: Transcript) -> Message:
        if speaker == MEASUREMENT:
            return Message(speaker, DOCTOR, as_results(text), heard_by=(DOCTOR, PATIENT))
        if speaker == IMAGES:
            # The doctor keeps an image from then on: handed over once, it stays in the conversation.
            held = any(message.images for message in transcript)
            return Message(speaker, DOCTOR, text, () if held else self.image_paths, (DOCTOR,))
        return Message(speaker, DOCTOR, text, heard_by=(DOCTOR, MEASUREMENT))


def doctor_turns(transcript: Transcript) -> int:
    """How many turns the doctor has used."""
    return sum(message.speaker == DOCTOR for message in transcript)


def image_requests(transcript: Transcript) -> int:
    """How often the doctor asked the image reader."""
    return sum(message.speaker == DOCTOR and message.listener == IMAGES for message in transcript)
