"""THE CONVERSATION: messages, transcripts, who takes part, and the loop that lets them talk."""

from openosce.encounters.engine import Participant, Station, run_encounter
from openosce.encounters.record import DOCTOR, PATIENT, STATION, Encounter, EndReason, Message, Transcript, heard

__all__ = [
    "DOCTOR",
    "PATIENT",
    "STATION",
    "Encounter",
    "EndReason",
    "Message",
    "Participant",
    "Station",
    "Transcript",
    "heard",
    "run_encounter",
]
