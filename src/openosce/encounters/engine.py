"""The conversation itself: whose turn it is, until the station ends it or a role fails."""

from collections.abc import Mapping
from typing import Protocol

from openosce.encounters.record import Encounter, EndReason, Transcript
from openosce.errors import EncounterError, ProviderError, RefusedError


class Participant(Protocol):
    """Anything that can take a turn: a model, a rule, a script, a human at a keyboard."""

    async def speak(self, transcript: Transcript) -> str:
        """Answer the last message of `transcript`.

        Raises:
            RoleError: No usable turn could be produced; the message says why.
            ProviderError: The model behind the role gave no reply.
        """
        ...


class Station(Protocol):
    """The rules of one task: how it opens, whom a message addresses, and when it ends."""

    @property
    def opening(self) -> Transcript:
        """What has been said before the first turn; its last message addresses the first to speak."""
        ...

    def address(self, speaker: str, text: str, transcript: Transcript) -> Transcript:
        """Turn what `speaker` said, after `transcript`, into a message to somebody, or to nobody if it ends.

        A notice of the station may follow it; the last message addresses who speaks next.
        """
        ...

    def ending(self, transcript: Transcript) -> EndReason | None:
        """Why the encounter ends here; None while it goes on."""
        ...


async def run_encounter(station: Station, roles: Mapping[str, Participant]) -> Encounter:
    """Let the roles talk until the station ends the encounter, or a role fails.

    `roles` holds everyone who may be addressed at this station, the doctor included.
    """
    transcript = station.opening
    try:
        while (ended := station.ending(transcript)) is None:
            speaker = transcript[-1].listener
            if speaker is None:
                raise ValueError(f"the station lets nobody speak after {transcript[-1]!r}, yet does not end")
            text = await roles[speaker].speak(transcript)
            transcript += station.address(speaker, text, transcript)
    except EncounterError as failure:
        return Encounter(transcript, _failure(failure), str(failure))
    return Encounter(transcript, ended)


def _failure(error: EncounterError) -> EndReason:
    if isinstance(error, RefusedError):
        return EndReason.REFUSED
    return EndReason.PROVIDER_FAILED if isinstance(error, ProviderError) else EndReason.ROLE_FAILED
