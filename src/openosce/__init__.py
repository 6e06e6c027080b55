"""OpenOSCE examines language models the way medical schools examine students.

One path: case file, encounter, transcript, answers, scores, statistics, report. The rooms follow it.
"""

from openosce.cases import Case, read_cases
from openosce.encounters import Encounter, EndReason, Message, Participant, Station, Transcript, run_encounter
from openosce.errors import OpenOSCEError
from openosce.grading import Answer, MatchPolicy, Score
from openosce.models import Model, Reply
from openosce.runs import Study

__all__ = [
    "Answer",
    "Case",
    "Encounter",
    "EndReason",
    "MatchPolicy",
    "Message",
    "Model",
    "OpenOSCEError",
    "Participant",
    "Reply",
    "Score",
    "Station",
    "Study",
    "Transcript",
    "read_cases",
    "run_encounter",
]
