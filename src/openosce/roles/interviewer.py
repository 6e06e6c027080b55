"""`builtin/interviewer`, a rule-based baseline doctor: a history checklist, then illness scripts.

It is handed what every doctor is handed: the specialty, the conversation, or an arm's text and choices. It never sees a
case. Its scores measure nothing but the plumbing.
"""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import yaml

from openosce.cases import tidy
from openosce.encounters import DOCTOR, Message, Transcript
from openosce.roles.doctor import Question
from openosce.roles.illness_scripts import Findings, find_script, rank, script_names
from openosce.roles.language import Clause, clauses, is_affirmation, is_denial, stems

FINAL = "Final Diagnosis:"
_BY_CHANCE = "By chance"
MOST_QUESTIONS = 24
"""Questions it asks at the most; a conversation then has 51 messages, under the cap of 60."""

_AGE = re.compile(r"\b(\d{1,3})[ -](year|month|week|day)s?[ -]old\b", re.IGNORECASE)
_IN_YEARS = {"year": 1.0, "month": 1 / 12, "week": 1 / 52, "day": 1 / 365}
# A noun names the patient's sex before a pronoun does, which may mean a relative: "My wife worries; she sent me."
_SEX = (
    re.compile(r"\b(?:(?P<female>woman|female|girl|lady)|(?P<male>man|male|boy|gentleman))\b", re.IGNORECASE),
    re.compile(r"\b(?:(?P<female>she|her)|(?P<male>he|his))\b", re.IGNORECASE),
)


class Interviewer:
    """Asks, listens, and ranks. `seed` decides the order of its questions and what it does by chance."""

    def __init__(self, seed: str) -> None:
        self._seed = seed

    async def speak(self, transcript: Transcript) -> str:
        """Ask the next question that has not been asked; after the last one, give the diagnosis."""
        question = self.next_question(transcript)
        return question if question is not None else f"{FINAL} {self.diagnosis(transcript)}"

    def next_question(self, transcript: Transcript) -> str | None:
        """The next question worth asking; None once all are asked, or as many as it asks at the most."""
        asked = {message.text for message in transcript if message.speaker == DOCTOR}
        if len(asked) <= MOST_QUESTIONS:
            for question in planned_questions(transcript, random.Random(self._seed)):
                if not any(_same_question(question, other) for other in asked):
                    return question
        return None

    def diagnosis(self, transcript: Transcript) -> str:
        """The disease whose script fits best what the conversation told."""
        return self._best(transcript, script_names(), "talk")[0]

    async def answer(self, question: Question) -> str:
        """Choose the option, or name the disease, whose script fits best."""
        if not question.choices:
            name, why = self._best(question.told, script_names(), question.arm)
            return f"{why}{FINAL} {name}"
        choices = [tidy(choice) for choice in question.choices]
        scripts = {script: choice for choice in choices if (script := find_script(choice))}
        if not scripts:
            chance = random.Random(f"{self._seed}|{question.arm}").choice(choices)
            return f"{_BY_CHANCE}, for want of an illness script for any of these names: {chance}"
        name, why = self._best(question.told, tuple(scripts), question.arm, choices)
        return f"{why}{scripts.get(name, name)}"

    def _best(
        self, told: str | Transcript, candidates: Sequence[str], arm: str, otherwise: Sequence[str] = ()
    ) -> tuple[str, str]:
        """The best-fitting candidate; where none fits, one of `otherwise` or of the candidates, by chance."""
        fits = rank(findings_heard(told), candidates)
        chance = random.Random(f"{self._seed}|{arm}")
        if fits[0][0] <= 0:
            return chance.choice(otherwise or candidates), f"{_BY_CHANCE}, since the findings fit none: "
        return chance.choice([name for fit, name in fits if fit == fits[0][0]]), ""


@dataclass(frozen=True)
class _Module:
    """Questions that are worth asking once one of the words has been confirmed."""

    words: frozenset[str]
    ask: tuple[str, ...]


@dataclass(frozen=True)
class _Checklist:
    first: tuple[str, ...]
    modules: tuple[_Module, ...]
    background: tuple[str, ...]
    close: tuple[str, ...]


@cache
def _checklist() -> _Checklist:
    data = yaml.safe_load((resources.files("openosce.roles") / "checklist.yaml").read_text(encoding="utf-8"))
    modules = tuple(_Module(stems(" ".join(m["words"])), tuple(m["ask"])) for m in data["modules"])
    return _Checklist(tuple(data["first"]), modules, tuple(data["background"]), tuple(data["close"]))


def planned_questions(transcript: Transcript, rng: random.Random) -> Iterator[str]:
    """Every question worth asking by now, in this trial's order."""
    checklist = _checklist()
    # The same draws at every turn, whatever was said: the order of a trial does not change while it runs.
    modules = rng.sample(checklist.modules, len(checklist.modules))
    background = rng.sample(checklist.background, len(checklist.background))
    confirmed = frozenset[str]().union(*(clause.said for clause in findings_heard(transcript).clauses))
    chief = _chief_complaint(transcript)
    yield from checklist.first
    for module in sorted(modules, key=lambda module: not module.words & chief):
        if module.words & confirmed:
            yield from module.ask
    yield from background
    yield from checklist.close


def _same_question(question: str, other: str) -> bool:
    """Whether one asks what the other has asked already."""
    words, others = stems(question), stems(other)
    return question == other or len(words & others) > 0.7 * len(words)


def _chief_complaint(transcript: Transcript) -> frozenset[str]:
    first = next((message.text for message in transcript if message.speaker != DOCTOR), "")
    return stems(first)


def findings_heard(told: str | Transcript) -> Findings:
    """What a text, or a conversation, says of the patient."""
    if isinstance(told, str):
        return Findings(tuple(clauses(told)), *_demographics(told))
    said = [clause for question, reply in _exchanges(told) for clause in heard_in_reply(question, reply)]
    return Findings(tuple(said), *_demographics(" ".join(reply for _, reply in _exchanges(told))))


def _exchanges(transcript: Transcript) -> Iterator[tuple[str, str]]:
    """Each reply to the doctor with the question before it."""
    previous: Message | None = None
    for message in transcript:
        if message.speaker != DOCTOR and previous is not None:
            yield previous.text, message.text
        previous = message


def heard_in_reply(question: str, reply: str) -> list[Clause]:
    """A reply's own clauses; a bare yes or no confirms or denies what was asked."""
    own = [clause for clause in clauses(reply) if clause.said or clause.denied]
    content = frozenset[str]().union(*(clause.said | clause.denied for clause in own))
    if len(content - stems("yes no")) > 1:
        return own
    asked = stems(question)
    if is_denial(reply):
        return [Clause(frozenset(), asked)]
    return [Clause(asked, frozenset())] if is_affirmation(reply) else own


def _demographics(text: str) -> tuple[float | None, str | None]:
    age = _AGE.search(text)
    sex = next((match for match in (pattern.search(text) for pattern in _SEX) if match), None)
    return (float(age[1]) * _IN_YEARS[age[2].lower()] if age else None), (sex.lastgroup if sex else None)
