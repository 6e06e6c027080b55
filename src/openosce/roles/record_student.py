"""`builtin/interviewer` as student: a rule-based baseline for every section of a clinical-skills station.

It is handed what every student is handed, and never sees a case. Its scores measure nothing but the plumbing.
"""

import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources

import yaml

from openosce.cases.record import Round
from openosce.cases.text import sentences
from openosce.roles.illness_scripts import Findings, rank, script_names
from openosce.roles.interviewer import findings_heard, heard_in_reply, planned_questions
from openosce.roles.language import Clause, clauses, meaning, stems
from openosce.roles.student import CHALLENGE, StudentTask

LAST_QUESTION = "Is there anything else you would like to tell me?"
_DIAGNOSES = 3
_MOST_FINDINGS = 3
_MOST_TESTS = 4
_SHORT = 3
"""Telling words up to which a reply needs its question beside it to be understood."""


class RecordStudent:
    """Hands in every section by rule; `seed` decides the order of its questions."""

    def __init__(self, seed: str) -> None:
        self._seed = seed

    async def hand_in(self, task: StudentTask) -> str:
        """Hand in a task as the JSON that the prompts ask for.

        Raises:
            KeyError: There is no such kind of task.
        """
        handed_in = {
            "info_gathering": self._question,
            "physical_exam": _exams,
            "closure": _closure,
            CHALLENGE: _answer,
            "differential": _differential,
        }[task.kind](task)
        return json.dumps(handed_in, ensure_ascii=False)

    def _question(self, task: StudentTask) -> object:
        """A question of the history checklist that the dialogue does not hold; which one, the round decides."""
        known = [_about(f"{one.topic or ''} {one.question}") for one in task.dialogue]
        known += [_about(line.partition(":")[0]) for line in task.doorway.splitlines()]
        worth_asking = planned_questions(task.transcript, random.Random(self._seed))
        left = [question for question in worth_asking if not _is_asked(question, known)]
        question = random.Random(f"{self._seed}|{task.step}").choice(left or [LAST_QUESTION])
        reason = "It stands on the history checklist and has not been asked yet."
        return {"symptom": question, "reason": reason, "question": question}


def _about(text: str) -> frozenset[str]:
    """The concepts of a question, and the words that belong to none."""
    found = meaning(text)
    return found.concepts | found.plain


def _is_asked(question: str, known: Iterable[frozenset[str]]) -> bool:
    """Whether half of what a question is about stands in one that was asked, or on the door."""
    wanted = _about(question)
    return any(2 * len(wanted & one) >= len(wanted) for one in known)


@dataclass(frozen=True)
class _Plan:
    """What a complaint calls for: components with their maneuvers, and tests."""

    words: frozenset[str]
    exams: tuple[tuple[str, str], ...]
    tests: tuple[str, ...]


@cache
def _plans() -> tuple[_Plan, ...]:
    """Those of the complaints, then what is always done."""
    data = yaml.safe_load((resources.files("openosce.roles") / "station_plan.yaml").read_text(encoding="utf-8"))
    return tuple(
        _Plan(
            stems(" ".join(entry.get("words", ()))),
            tuple((exam["exam"], exam["maneuver"]) for exam in entry["exams"]),
            tuple(entry["tests"]),
        )
        for entry in (*data["complaints"], data["always"])
    )


def _called_for(dialogue: tuple[Round, ...]) -> list[_Plan]:
    """The plans for the chief complaint, and the last one, which is for everyone."""
    complaint = stems(dialogue[0].answer) if dialogue else frozenset[str]()
    return [plan for plan in _plans() if plan.words & complaint or not plan.words]


def _exams(task: StudentTask) -> object:
    maneuvers: dict[str, list[str]] = {}
    for plan in _called_for(task.dialogue):
        for component, named in plan.exams:
            known = maneuvers.setdefault(component, [])
            known += [maneuver for maneuver in named.split(", ") if maneuver not in known]
    complaint = task.dialogue[0].answer if task.dialogue else "the complaint"
    reason = f"To look for what may lie behind: {complaint}"
    exams = [
        {"physical exam": component, "maneuver": ", ".join(named), "reason": reason}
        for component, named in maneuvers.items()
    ]
    return {"exams": exams}


def _closure(task: StudentTask) -> object:
    complaint = task.dialogue[0].answer if task.dialogue else ""
    possible = ", ".join(_likeliest(task))
    planned = [test for plan in _called_for(task.dialogue) for test in plan.tests][:_MOST_TESTS]
    closure = (
        f"Thank you for talking with me and letting me examine you. You came because you said: “{complaint}” I "
        "listened to what else you told me, and I have finished examining you. I cannot say for certain yet what the "
        f"cause is. It may be one of these: {possible}; there are other possibilities too. To find out, I would like "
        f"to order these tests: {', '.join(dict.fromkeys(planned))}. We will go through the results together. What "
        "questions do you have?"
    )
    return {"closure": closure}


def _answer(task: StudentTask) -> object:
    answer = (
        "I understand that this worries you, and I am glad that you asked. I do not know the answer yet, and I do not "
        "want to promise anything before we have the results. We will look into it carefully, I will tell you honestly "
        "what we find, and you can ask me at any time."
    )
    return {"answer": answer}


def _differential(task: StudentTask) -> object:
    diagnoses = {}
    for number, name in enumerate(_likeliest(task), 1):
        historical = _supporting(name, _told(task.dialogue))
        physical = _supporting(name, ((text, clauses(text)) for text in sentences(_examined(task))))
        reason = f"It is typical of {name}."
        diagnoses[f"diagnosis{number}"] = {
            "diagnosis": name,
            "Historical Findings": historical or "N/A",
            "Historical reasons": [reason] * len(historical) or "N/A",
            "Physical exam data": physical or "N/A",
            "Physical exam data reasons": [reason] * len(physical) or "N/A",
        }
    return diagnoses


_Evidence = tuple[str, Iterable[Clause]]
"""A finding in words, and what it says."""


def _told(dialogue: tuple[Round, ...]) -> Iterator[_Evidence]:
    """What the patient told, a finding a round; a bare yes or no goes with its question."""
    for one in dialogue:
        bare = len(stems(one.answer) - stems("yes no")) < _SHORT
        yield (f"{one.question} {one.answer}" if bare else one.answer), heard_in_reply(one.question, one.answer)


def _examined(task: StudentTask) -> str:
    """Findings of the examination, a line each."""
    return task.examination.replace("; ", ".\n")


def _likeliest(task: StudentTask) -> list[str]:
    """The diseases whose scripts fit best what was told and found."""
    who = findings_heard(task.doorway)
    said = [clause for _, told in _told(task.dialogue) for clause in told]
    fits = rank(Findings((*said, *clauses(_examined(task))), who.age, who.sex), script_names())
    return [name for _, name in fits[:_DIAGNOSES]]


def _supporting(name: str, found: Iterable[_Evidence]) -> list[str]:
    """The findings that speak most for a disease, at most three."""
    fits = [(rank(Findings(tuple(said)), [name])[0][0], text) for text, said in found]
    best = sorted((pair for pair in fits if pair[0] > 0), key=lambda pair: -pair[0])
    return [text for _, text in best[:_MOST_FINDINGS]]
