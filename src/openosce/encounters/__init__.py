"""THE CONVERSATION: messages, transcripts, who takes part, and the loop that lets them talk."""

from openosce.encounters.engine import Participant, Station, run_encounter
from openosce.encounters.record import DOCTOR, PATIENT, Encounter, EndReason, Message, Transcript

__all__ = [
    "DOCTOR",
    "PATIENT",
    "Encounter",
    "EndReason",
    "Message",
    "Participant",
    "Station",
    "Transcript",
    "run_encounter",
]
