"""The questions of `info_gathering` as they are stored: one answer, a JSON list with a line a round.

A line holds what the reference asked in that round and was told, beside what the student asked there.
"""

from collections.abc import Iterable, Sequence

from pydantic import TypeAdapter, ValidationError

from openosce.cases.record import Record, Round
from openosce.grading import Missing, Score
from openosce.grading.json_reply import ReadReply
from openosce.grading.overlap import Overlap, parts
from openosce.grading.record_examiner import CONSISTENT
from openosce.grading.rubrics import NO_POLICY
from openosce.grading.student_output import AskedQuestion
from openosce.roles.language import meaning

BANK_COVERAGE = "bank_coverage"
"""The metric: the share of the bank's questions, the chief complaint left out, that some round asked; 0 to 1."""
RULE = "rule"
"""The grader of what is counted, not judged."""


class AskedRound(Record):
    """One round: what was asked there, or why there is nothing."""

    round: int
    """Counted from 0, the chief complaint; as in the reference dialogue."""
    symptom: str | None = None
    reason: str | None = None
    question: str | None = None
    repairs: tuple[str, ...] = ()
    """What was mended to read the reply."""
    problem: str | None = None
    """Why the reply is not of the asked shape."""
    reply: str | None = None
    """The reply that could not be read."""
    missing: str | None = None
    """Why there is no reply, as a stored reason."""
    reference: Round | None = None

    @property
    def output(self) -> AskedQuestion | None:
        """The question, where there is one."""
        if self.question is None:
            return None
        return AskedQuestion(symptom=self.symptom or "", reason=self.reason or "", question=self.question)

    @property
    def gap(self) -> str | None:
        """Why the round has no question, as a stored reason."""
        return self.missing or (Missing.INVALID_OUTPUT.because(self.problem) if self.problem else None)


_ROUNDS = TypeAdapter(tuple[AskedRound, ...])


def read_round(number: int, reference: Round, reply: str, read: ReadReply[AskedQuestion]) -> AskedRound:
    """One round from a student's reply, as it was read."""
    asked = read.value
    if asked is None:
        return AskedRound(round=number, problem=read.problem, reply=reply, reference=reference)
    return AskedRound(
        round=number,
        symptom=asked.symptom,
        reason=asked.reason,
        question=asked.question,
        repairs=read.repairs,
        reference=reference,
    )


def write_rounds(rounds: Iterable[AskedRound]) -> str:
    """The rounds as JSON, a line each."""
    lines = ",\n".join(one.model_dump_json(exclude_defaults=True) for one in rounds)
    return f"[\n{lines}\n]"


def read_rounds(text: str) -> tuple[AskedRound, ...] | None:
    """The rounds of a stored answer; None where it holds something else."""
    try:
        return _ROUNDS.validate_json(text)
    except ValidationError:
        return None


def concepts(text: str) -> frozenset[str]:
    """What a question is about: its concepts, and the words that belong to none."""
    found = meaning(text)
    return found.concepts | found.plain


def bank_coverage(bank: Sequence[Round], rounds: Iterable[AskedRound]) -> Score:
    """Which questions of the bank some round asked, by a rule, and which none did: their rounds and topics.

    The rounds are independent, so that a student that always asks what comes next reaches all of them.
    """
    overlap = Overlap([_with_topic(entry) for entry in bank], concepts)
    asked = [part for one in rounds if one.question for part in parts(one.question)]
    wanted = list(enumerate(bank))[1:]
    missed = [(n, entry) for n, entry in wanted if not _is_asked(entry, asked, overlap)]
    named = "; ".join(f"{entry.topic or entry.question} (round {n})" for n, entry in missed)
    share = 1 - len(missed) / len(wanted) if wanted else None
    reason = None if wanted else Missing.CASE_LACKS_PART.because("dialogue after the chief complaint")
    evidence = f"{len(wanted) - len(missed)} of {len(wanted)} asked; never asked: {named or 'none'}"
    return Score(BANK_COVERAGE, share, NO_POLICY, RULE, evidence, reason)


def _with_topic(entry: Round) -> str:
    return f"{entry.topic or ''} {entry.question}"


def _is_asked(entry: Round, asked: Iterable[str], overlap: Overlap) -> bool:
    wordings = (entry.question, _with_topic(entry))
    return any(overlap.likeness(part, wording) >= CONSISTENT for part in asked for wording in wordings)
