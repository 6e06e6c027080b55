"""Released values with two faces, and the count of everything that is not as it should be.

A value of the authors' results is text, null, or a list of one of these with what the call cost. Nothing irregular is
dropped: it is recorded with the answer or conversation it concerns, and counted here by kind.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from openosce.grading import Missing


class Irregular(StrEnum):
    """What can be irregular, in the words of the printed table."""

    NULL = "value is null"
    NULL_WITH_COST = "value is a list of null and a cost"
    TEXT_WITH_COST = "value is a list of a text and its cost"
    BLANK = "value is blank"
    OTHER_TYPE = "value is of another type"
    HALF_CHARACTER = "half a character (a lone surrogate), replaced by U+FFFD"
    NO_KEY = "key is missing"
    OTHER_KEY = "key is not known; not read"
    NO_VERDICT = "verdict is neither 0 nor 1"
    NO_TRIAL = "trial is missing"
    NO_CASE = "case is missing, though another model has it"
    NO_CONVERSATION = "conversation is missing"
    BLANK_MESSAGE = "message is blank"
    NO_MESSAGE = "message is unreadable; left out"
    NO_PROMPT = "conversation does not begin with one prompt and a greeting"
    NOT_IN_TURN = "message is out of turn"
    TWO_FACED = "last reply asks and gives a final diagnosis"
    OTHER_SPELLING = "final diagnosis in a spelling that the authors' test misses"
    CUT_OFF = "conversation ends by none of the authors' rules"
    OTHER_NAME = "file is named after another case"
    OTHER_ANSWER = "reference answer differs from the cases file's"
    OTHER_VIGNETTE = "vignette differs from the cases file's"
    OTHER_DATASET = "data set differs from the cases file's"
    COPY = "copy of what is there already; not read"
    OTHER_FILE = "file is no results file; not read"
    LEFT_OUT = "answer is marked invalid"
    OTHER_COLUMN = "column is not known; not read"
    NO_OUTPUT = "student's output is missing"
    NO_JSON = "the authors' program found no JSON in the reply"
    OTHER_OUTPUT = "student's output is another in the two files; the one that was marked counts"
    OTHER_SHAPE = "output has not the asked shape"
    OTHER_ROUND = "turn has no round in the case; not read"
    VERDICT_MISSING = "verdict is missing, though the examiner gave others"
    VERDICT_AS_TEXT = "verdict is text, not JSON"
    NUMBER_AS_TEXT = "verdict's number is written as text"
    NO_EXPLANATION = "verdict lacks an explanation"
    OTHER_TOTAL = "verdict's own total is not the sum of its parts; not read"
    UNREADABLE_VERDICT = "verdict cannot be read, or is out of the rubric's range"
    UNUSED_VERDICT = "verdict is on an output that is missing or has not the asked shape; not read"


@dataclass
class Tally:
    """How often each irregularity occurred in the results of one doctor, and where first."""

    counts: Counter[Irregular] = field(default_factory=Counter)
    first: dict[Irregular, str] = field(default_factory=dict)
    """The first place, as `case_12.json: trial_0.vignette_mcq`."""
    n_costs: int = 0
    cost: float = 0.0
    """The sum of the costs that stand beside values; the data do not tell the currency."""

    def note(self, kind: Irregular, place: str, times: int = 1) -> None:
        """Count an irregularity."""
        self.counts[kind] += times
        # A file's name may be no text, and the manifest is.
        self.first.setdefault(kind, place.encode(errors="replace").decode())

    def note_cost(self, cost: float | None) -> None:
        """Add a cost, where there is one."""
        if cost is not None:
            self.n_costs += 1
            self.cost += cost


@dataclass(frozen=True)
class Reply:
    """A released text, or why there is none."""

    text: str | None
    """As released; blank where it was blank."""
    missing_reason: str | None = None
    left_out: str | None = None
    """Why the authors' analysis leaves it out, though there is a text."""

    @property
    def answer(self) -> str | None:
        """The text, None where it says nothing."""
        return None if self.missing_reason else self.text


def read_reply(record: Mapping[str, Any], key: str, tally: Tally, place: str) -> Reply:
    """Read a text of two faces: text, null, or a list of one of them with its cost."""
    where = f"{place}.{key}"
    if key not in record:
        tally.note(Irregular.NO_KEY, where)
        return Reply(None, Missing.NOT_RELEASED.because(f"the results have no {key!r}"))
    value, cost, is_list = _unwrapped(record[key])
    tally.note_cost(cost)
    beside = f" beside a cost of {cost:g}" if cost is not None else ""
    if value is None:
        tally.note(Irregular.NULL_WITH_COST if is_list else Irregular.NULL, where)
        return Reply(None, Missing.EMPTY_REPLY.because(f"null in the results{beside}"))
    if not isinstance(value, str):
        tally.note(Irregular.OTHER_TYPE, where)
        return Reply(None, Missing.NOT_RELEASED.because(f"the results hold no text but {type(value).__name__}"))
    text = whole_text(value, tally, where)
    left_out = Missing.LEFT_OUT.because(f"a list of the text{beside}") if is_list else None
    if is_list:
        tally.note(Irregular.TEXT_WITH_COST, where)
    if not text.strip():
        tally.note(Irregular.BLANK, where)
        return Reply(text, Missing.EMPTY_REPLY.because(f"blank in the results{beside}"), left_out)
    return Reply(text, left_out=left_out)


def read_verdict(record: Mapping[str, Any], key: str, tally: Tally, place: str) -> tuple[float | None, str | None]:
    """A stored verdict, 1 or 0, or the reason why there is none."""
    where = f"{place}.{key}"
    if key not in record:
        tally.note(Irregular.NO_KEY, where)
        return None, Missing.NOT_RELEASED.because(f"the results have no {key!r}")
    value, cost, _ = _unwrapped(record[key])
    tally.note_cost(cost)
    if isinstance(value, int | float) and value in (0, 1):
        return float(value), None
    tally.note(Irregular.NO_VERDICT, where)
    return None, Missing.UNREADABLE_VERDICT.because(f"{value!r:.40} in the results")


def whole_text(text: str, tally: Tally, where: str) -> str:
    """The text, with U+FFFD in the place of what no database can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        tally.note(Irregular.HALF_CHARACTER, where)
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _unwrapped(value: Any) -> tuple[Any, float | None, bool]:
    """A value without its list, its cost, and whether there was a list."""
    if not isinstance(value, list) or not value or len(value) > 2:
        return value, None, False
    return value[0], _cost(value[1]) if len(value) > 1 else None, True


def _cost(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) < 1e9 else None  # neither NaN nor a slip
