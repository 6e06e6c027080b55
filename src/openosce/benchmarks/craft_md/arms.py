"""The arms of CRAFT-MD: information times question, read from one conversation.

Source: CRAFT-MD 2025, Methods, "Experimental setups"; `multi_turn_own` is the 2023 preprint's multi-turn FRQ.
"""

from openosce.encounters import DOCTOR, PATIENT, Encounter, EndReason, Transcript

INFORMATION = ("vignette", "multi_turn", "single_turn", "summarized")
OWN = "multi_turn_own"
SUMMARY = "summary"
"""The name under which a summary is kept beside the answers; it is no arm."""
ARMS = (*(f"{information}_{question}" for information in INFORMATION for question in ("mcq", "frq")), OWN)


def information_of(arm: str) -> str:
    """What an arm shows the doctor; `own` for the conversation's own diagnosis."""
    return arm.rsplit("_", 1)[0] if arm != OWN else "own"


def is_mcq(arm: str) -> bool:
    """Whether an arm gives choices."""
    return arm.endswith("_mcq")


def multi_turn(encounter: Encounter) -> Transcript:
    """The conversation without the doctor's closing message; all of it when the cap ended it."""
    transcript = encounter.transcript
    closed_by_doctor = encounter.ended is not EndReason.MESSAGE_CAP and transcript[-1].speaker == DOCTOR
    return transcript[:-1] if closed_by_doctor else transcript


def single_turn(encounter: Encounter) -> Transcript | None:
    """The greeting and the patient's first reply; None where the patient never spoke."""
    if len(encounter.transcript) < 2:
        return None
    return encounter.transcript[:2]


def statements(encounter: Encounter) -> list[str]:
    """What the patient said, oldest first."""
    return [message.text for message in encounter.transcript if message.speaker == PATIENT]


def last_words(encounter: Encounter) -> str | None:
    """The doctor's last message of its own, the fixed greeting left out; None if it said nothing."""
    said = [message.text for message in encounter.transcript[1:] if message.speaker == DOCTOR]
    return said[-1] if said else None
