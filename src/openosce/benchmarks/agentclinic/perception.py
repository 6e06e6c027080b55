"""What the patient thinks of the doctor: three ratings from 1 to 10 after the encounter, and perhaps why.

Source: AgentClinic (2024), "Bias and patient agent perception", and Fig. 3.
"""

import re
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from openosce.encounters import Transcript
from openosce.errors import EncounterError, GraderError
from openosce.grading import Missing, Score, reason_for

ITEMS = ("confidence", "compliance", "consultation")
TRIES = 3
"""How often a patient is asked before its rating counts as missing."""
LEAST, MOST = 1, 10

_WORDS = dict(zip("one two three four five six seven eight nine ten".split(), range(1, 11), strict=True))
_OUT_OF_TEN = re.compile(r"\s*(?:/|\bout of\b|\bof\b)\s*(?:10|ten)\b", re.IGNORECASE)
_SCALE = re.compile(
    r"\b(?:on |from |between )?(?:a )?(?:scale (?:of|from) )?(?:1|one)\s*(?:-|–|to|and)\s*(?:10|ten)\b", re.IGNORECASE
)
_FIRST = re.compile(
    r"[\s#>({[]*(?:\w+(?:\s+rating)?\s*:\W*)?(?P<value>\d+)"
    r"(?!\d|[.,]\d|\s*%|\s*[-–]\s*\d|\W*\b(?:or|to|and)\s+\d|\s*(?:/|\bout of\b|\bof\b)\s*\d)(?=\W|$)"
)
_NUMBER = re.compile(r"(?<![\w.,])[-–]?\d+(?:[.,]\d+)?")


@runtime_checkable
class RatingPatient(Protocol):
    """A patient that can be asked for ratings."""

    @property
    def name(self) -> str:
        """The model's, as written in the study."""
        ...

    async def rate(self, item: str, transcript: Transcript, repeat: int = 0) -> str:
        """Rate the doctor; the reply as it came."""
        ...

    async def explain(self, item: str, transcript: Transcript, reply: str) -> str:
        """Say why."""
        ...


async def perceive(patient: object, transcript: Transcript, why: bool = False) -> tuple[Score, ...]:
    """The patient's three ratings; each that cannot be had is missing with its reason.

    Args:
        patient: Who is asked; a built-in patient has no opinion.
        transcript: The whole encounter.
        why: Whether it is asked for its reasons, which are kept as the evidence.
    """
    if not isinstance(patient, RatingPatient):
        return unrated(Missing.NO_ANSWER.because("the built-in patient does not rate; name a model"), "builtin/record")
    return tuple([await _rated(patient, item, transcript, why) for item in ITEMS])


def unrated(reason: str, grader: str, items: Sequence[str] = ITEMS) -> tuple[Score, ...]:
    """The ratings that are missing, for one reason."""
    return tuple(Score(item, None, "-", grader, missing_reason=reason) for item in items)


async def _rated(patient: RatingPatient, item: str, transcript: Transcript, why: bool) -> Score:
    try:
        value, reply = await _ask(patient, item, transcript)
    except EncounterError as failure:
        return unrated(reason_for(failure), patient.name, (item,))[0]
    evidence = reply.strip()[:200]
    if why:
        try:
            evidence = await patient.explain(item, transcript, reply)
        except EncounterError as failure:  # the rating is there all the same
            evidence = f"{evidence} (no reason given: {reason_for(failure)})"
    return Score(item, float(value), "-", patient.name, evidence)


async def _ask(patient: RatingPatient, item: str, transcript: Transcript) -> tuple[int, str]:
    for repeat in range(TRIES):
        reply = await patient.rate(item, transcript, repeat)
        try:
            return read_rating(reply), reply
        except GraderError as unreadable:
            problem = unreadable
    raise GraderError(f"{problem} ({TRIES} tries)")


def read_rating(reply: str) -> int:
    """Read a whole number from 1 to 10: `8`, `8/10`, `**8** out of 10`, `Confidence: 8. I trust her`, `eight`.

    Raises:
        GraderError: There is none, there are several ("between 7 and 8"), it lies outside, or on another scale ("4/5").
    """
    text = _OUT_OF_TEN.sub("", _SCALE.sub("", re.sub(r"[*_`\"“”]", "", reply)))
    first = _FIRST.match(text)
    values = {float(first["value"])} if first else {float(found.replace(",", ".").replace("–", "-"))
                                                    for found in _NUMBER.findall(text)}  # fmt: skip
    if not values and (word := re.sub(r"\W", "", text).casefold()) in _WORDS:
        values = {float(_WORDS[word])}
    value = values.pop() if len(values) == 1 else None
    if value is None or not value.is_integer() or not LEAST <= value <= MOST:
        raise GraderError(f"expected one whole number from {LEAST} to {MOST}; the patient replied {reply[:80]!r}")
    return int(value)
