"""What a trial leaves behind: answers and their scores. Missing is a state with a reason, never a zero."""

from dataclasses import dataclass
from enum import StrEnum

from openosce.encounters import Encounter
from openosce.errors import EncounterError, GraderError, ProviderError, RefusedError

ACCURACY = "accuracy"


class Missing(StrEnum):
    """Why an answer or a score is not there, named after the boundary that was crossed."""

    EMPTY_REPLY = "empty_reply"
    PROVIDER_FAILED = "provider_failed"
    REFUSED = "refused"
    ENCOUNTER_FAILED = "encounter_failed"
    SUMMARY_FAILED = "summary_failed"
    CASE_LACKS_PART = "case_lacks_part"
    UNREADABLE_VERDICT = "unreadable_verdict"
    NO_ANSWER = "no_answer"
    """Of a score: there is no answer to grade; the answer says why."""
    INVALID_OUTPUT = "invalid_output"
    """Of a score: the answer is not of the asked shape, a failure to follow instructions."""
    NOT_JUDGED = "not_judged"
    """Of a criterion: whoever marks cannot judge it."""
    NOT_RELEASED = "not_released"
    """Of an imported run: the released data do not hold it."""
    LEFT_OUT = "left_out"
    """Of a published score: the authors' own analysis leaves this answer out."""
    DOES_NOT_APPLY = "does_not_apply"
    """Of a score: there is nothing that it could be about."""
    NOT_RUN = "not_run"
    """Planned, and not there yet."""

    def because(self, detail: str) -> str:
        """The reason with its detail, as it is stored."""
        return f"{self.value}: {detail}"


def reason_for(error: EncounterError) -> str:
    """The stored reason for a failure."""
    kinds = ((RefusedError, Missing.REFUSED), (ProviderError, Missing.PROVIDER_FAILED))
    kind = next((missing for error_type, missing in kinds if isinstance(error, error_type)), None)
    if kind is None:
        kind = Missing.UNREADABLE_VERDICT if isinstance(error, GraderError) else Missing.EMPTY_REPLY
    return kind.because(str(error))


def may_be_closed(reason: str | None) -> bool:
    """Whether a later try may close this gap: the endpoint failed, or it was never asked."""
    return reason is not None and reason.partition(":")[0] in _OPEN


_OPEN = {Missing.PROVIDER_FAILED, Missing.NOT_RUN}


@dataclass(frozen=True)
class Score:
    """One judgement of one answer."""

    metric: str
    value: float | None
    policy: str
    grader: str
    evidence: str | None = None
    """What the judgement rests on: the option read, the diagnosis extracted, the rule applied."""
    missing_reason: str | None = None


@dataclass(frozen=True)
class Answer:
    """What the doctor answered in one arm, with its scores."""

    arm: str
    text: str | None
    missing_reason: str | None = None
    scores: tuple[Score, ...] = ()


@dataclass(frozen=True)
class TrialKey:
    """Which trial: one repetition of a case by one doctor under one condition."""

    doctor: str
    condition: str
    case_id: str
    trial: int
    """Counted from 0 (Inspect calls it an epoch)."""


@dataclass(frozen=True)
class Rating:
    """One judgement of one expert. It outlives the encounter it is about, which may be held anew."""

    doctor: str
    case_id: str
    rater: str
    item: str
    """What was asked."""
    value: float | None
    condition: str | None = None
    trial: int | None = None
    """None for a judgement of all trials of the case together."""
    arm: str | None = None
    """None for a judgement of the conversation."""
    note: str | None = None
    missing_reason: str | None = None


@dataclass(frozen=True)
class Trial:
    """One finished trial: the conversation, and what it was worth."""

    key: TrialKey
    encounter: Encounter
    answers: tuple[Answer, ...]
