"""What a conversation is: messages, the transcript, and why it ended."""

from dataclasses import dataclass
from enum import StrEnum

DOCTOR = "doctor"
PATIENT = "patient"
STATION = "station"
"""The speaker of what no role says: the task at the opening, a notice of the last turn."""


@dataclass(frozen=True)
class Message:
    """Who said what to whom."""

    speaker: str
    listener: str | None
    """The role addressed; None for the message that ends the encounter."""
    text: str
    images: tuple[str, ...] = ()
    """Images of the case that are handed over with the words, by their path in the case record."""
    heard_by: tuple[str, ...] | None = None
    """The roles that hear it besides the speaker; None: everybody."""

    def is_heard_by(self, role: str) -> bool:
        """Whether a role knows of this message."""
        return self.heard_by is None or role == self.speaker or role in self.heard_by


Transcript = tuple[Message, ...]
"""An immutable sequence of messages, oldest first."""


def heard(transcript: Transcript, role: str) -> Transcript:
    """What a role knows of a conversation: all that it said or heard."""
    return tuple(message for message in transcript if message.is_heard_by(role))


class EndReason(StrEnum):
    """Why an encounter ended: behaviour of the doctor first, then infrastructure."""

    DIAGNOSED = "diagnosed"
    """The doctor committed to a diagnosis."""
    DIAGNOSED_WITH_QUESTION = "diagnosed_with_question"
    """As above, in a reply that also asks: the model may have played both sides."""
    NO_QUESTION = "no_question"
    """The doctor stopped asking without a diagnosis."""
    NOT_HELD = "not_held"
    """No arm of the study needs a conversation."""
    NOT_RELEASED = "not_released"
    """It was held, and is not part of the released data that the run was imported from."""
    MESSAGE_CAP = "message_cap"
    """The station's limit was reached."""
    NO_DIAGNOSIS = "no_diagnosis"
    """The doctor used up its turns and did not commit to a diagnosis."""
    ROLE_FAILED = "role_failed"
    """A role produced no usable turn; the doctor's conduct cannot be judged from here on."""
    PROVIDER_FAILED = "provider_failed"
    """A model's endpoint gave no reply; another try may close the gap."""
    REFUSED = "refused"
    """A model's endpoint refused the request for good."""

    @property
    def is_failure(self) -> bool:
        """Whether infrastructure, not the doctor, ended the encounter."""
        return self in {EndReason.ROLE_FAILED, EndReason.PROVIDER_FAILED, EndReason.REFUSED}


@dataclass(frozen=True)
class Encounter:
    """One conversation and why it ended."""

    transcript: Transcript
    ended: EndReason
    error: str | None = None
    """What failed, where `ended` is a failure."""
