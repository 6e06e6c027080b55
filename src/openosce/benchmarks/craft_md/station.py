"""CRAFT-MD's conversation: a fixed greeting, then question and answer, until one of three rules ends it.

Source: CRAFT-MD 2025, Methods, "Multi-turn conversations"; the cap is in the authors' data, not in the article.
"""

import re
from dataclasses import dataclass

from openosce.encounters import DOCTOR, PATIENT, EndReason, Message, Transcript

GREETING = "Hello! What symptoms have brought you here today?"

# The authors looked for `Final Diagnosis` in this spelling, which missed 475 lower-case ones of two models. In other
# spellings only with a colon or dash behind it: "before I give a final diagnosis, ..." is not one.
_AS_PUBLISHED = re.compile(r"Final Diagnosis")
_ANY_CASE = re.compile(r"(?-i:Final Diagnosis)|final\s+diagnosis\W{0,3}(?:[:–-]|\bis\b(?!\s*\?))", re.IGNORECASE)


@dataclass(frozen=True)
class CraftMDStation:
    """Doctor and patient alternate; the doctor's replies end it, or the cap does."""

    cap: int
    any_case: bool

    @property
    def opening(self) -> Transcript:
        """The doctor's fixed greeting: the patient speaks first in substance."""
        return (Message(DOCTOR, PATIENT, GREETING),)

    def address(self, speaker: str, text: str, transcript: Transcript) -> Transcript:
        """Each speaks to the other."""
        return (Message(speaker, PATIENT if speaker == DOCTOR else DOCTOR, text),)

    def ending(self, transcript: Transcript) -> EndReason | None:
        """The three stop rules: a final diagnosis, a reply that asks nothing, the cap."""
        last = transcript[-1]
        if last.speaker == DOCTOR and len(transcript) > 1:
            asks = "?" in last.text
            if (_ANY_CASE if self.any_case else _AS_PUBLISHED).search(last.text):
                return EndReason.DIAGNOSED_WITH_QUESTION if asks else EndReason.DIAGNOSED
            if not asks:
                return EndReason.NO_QUESTION
        return EndReason.MESSAGE_CAP if len(transcript) >= self.cap else None
