"""Rows of the database that are no records of another room."""

import json
from dataclasses import dataclass

from openosce.grading.record import Score, TrialKey


def call_address(key: TrialKey, step: str, repeat: int = 0) -> str:
    """Where a call of a trial stands in the journal: JSON list of doctor, condition, case, trial, step, repeat."""
    return json.dumps([key.doctor, key.condition, key.case_id, key.trial, step, repeat], ensure_ascii=False)


@dataclass(frozen=True)
class Call:
    """One row of the journal: a call that was made, and what came of it."""

    address: str
    """JSON list of doctor, condition, case, trial, step, repeat."""
    request_hash: str
    role: str
    reply: str | None
    model_id: str | None = None
    """The model as the provider names it."""
    tokens_in: int | None = None
    tokens_cached: int | None = None
    tokens_out: int | None = None
    dollars: float | None = None
    ms: float | None = None
    repeated: float | None = None
    """The share of the prompt that repeats an earlier request's prefix, between 0 and 1."""
    error: str | None = None


@dataclass(frozen=True)
class CaseRow:
    """A planned case, as far as the analysis needs it."""

    id: str
    specialty: str | None
    dataset: str


@dataclass(frozen=True)
class ScoreRow:
    """One score with the place it belongs to."""

    key: TrialKey
    arm: str
    score: Score
    answer_missing_reason: str | None


@dataclass(frozen=True)
class AddedScores:
    """Scores that a later grading adds to an answer that is stored; they go in together."""

    key: TrialKey
    arm: str
    scores: tuple[Score, ...]


@dataclass(frozen=True)
class Judge:
    """Whose verdicts: those of these graders under one policy."""

    policy: str
    """`name@version`."""
    graders: tuple[str, ...]


@dataclass(frozen=True)
class CallSums:
    """What one role's calls came to."""

    role: str
    answered: int
    failed: int
    """Tries that failed, those that a later try made good included."""
    tokens_in: int | None
    tokens_cached: int | None
    tokens_out: int | None
    dollars: float | None
    """None where the price or the tokens of any call are unknown."""
    milliseconds: float | None
    """The mean time of an answered call, waiting and new tries included."""
    repeated: float | None
    """The share of prompt tokens that repeat an earlier request's prefix."""


@dataclass(frozen=True)
class Column:
    """One column of results: an arm of one condition, under the name that tables and JSON call `arm`."""

    label: str
    condition: str
    arm: str
    trials: int | None = None
    """In which it is asked of a case at the most; None: in all that the study has."""
