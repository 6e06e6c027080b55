"""The measured work: conversations of CRAFT-MD's shape, one doctor call and one patient call a turn.

A doctor asks ten questions and then gives its diagnosis: with the patient's replies 22 calls. Every client holds the
same conversations with the simulated endpoint, on the same cases; the requests are the same to the letter.
"""

import asyncio
import json
import random
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

GREETING = "Hello! What symptoms have brought you here today?"
CLOSING = "Final Diagnosis"

_COMPLAINTS = ("a rash", "joint pain", "a cough", "belly pain", "headaches", "fatigue", "chest pain", "a swollen leg")
_PLACES = ("the left hand", "the right knee", "the scalp", "the lower back", "both feet", "the neck", "one elbow")
_HABITS = ("smokes a pack a day", "drinks a beer in the evening", "runs three times a week", "works night shifts")
_DIAGNOSES = ("Gout", "Psoriasis", "Herpes zoster", "Acute appendicitis", "Graves disease", "Tinea pedis")


@dataclass(frozen=True)
class Work:
    """What one client is to do."""

    base_url: str
    cases: str
    """The case file, JSON lines; one conversation is held on each case."""
    conversations: int
    in_flight: int
    """Conversations at once; each has one call open."""
    latency_ms: float = 200
    questions: int = 10
    """How many questions the doctor asks before its diagnosis."""

    @property
    def calls(self) -> int:
        """The patient answers the greeting and every question; the doctor asks them and ends with its diagnosis."""
        return self.conversations * self.calls_each

    @property
    def calls_each(self) -> int:
        """Calls of one conversation."""
        return 2 * self.questions + 2

    @property
    def ideal_seconds(self) -> float:
        """What the endpoint's latency alone takes: no conversation is shorter than its own calls one by one."""
        return max(self.calls / self.in_flight, self.calls_each) * self.latency_ms / 1000

    @property
    def doctor(self) -> str:
        """The doctor's model; its name tells the simulator how many questions it asks."""
        return f"doctor-q{self.questions}"

    def to_json(self) -> str:
        """For the command line of a client's process."""
        return json.dumps(asdict(self))


def write_cases(path: Path, count: int) -> None:
    """Write made-up cases, all different, in the project's own format.

    Every case has a specialty of its own, so that no two conversations ever send the same request.
    """
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            file.write(json.dumps(_case(number)) + "\n")


def _case(number: int) -> dict[str, Any]:
    chance = random.Random(number)
    complaint, place = chance.choice(_COMPLAINTS), chance.choice(_PLACES)
    vignette = (
        f"A {chance.randint(18, 90)}-year-old {chance.choice(('man', 'woman'))}, number {number} of the day, comes to "
        f"the clinic with {complaint} for {chance.randint(2, 60)} days. It began at {place} and has become "
        f"{chance.choice(('better', 'worse', 'no different'))} since. There was {chance.choice(('no', 'a low'))} fever "
        f"at home, and the patient has {chance.choice(('lost', 'gained'))} {chance.randint(1, 9)} kg. The patient "
        f"{chance.choice(_HABITS)} and takes {chance.choice(('no medication', 'ibuprofen', 'metformin'))}. A "
        f"{chance.choice(('brother', 'mother', 'daughter'))} had something similar {chance.randint(1, 30)} years ago. "
        f"On examination the temperature is {chance.randint(362, 391) / 10} C, the pulse {chance.randint(55, 120)}/min "
        f"and the blood pressure {chance.randint(95, 180)}/{chance.randint(55, 105)} mm Hg; {place} is "
        f"{chance.choice(('warm and red', 'tender', 'scaly', 'normal'))}."
    )
    return {
        "id": f"made-up-{number:05d}",
        "source": "made-up",
        "synthetic": True,
        "specialty": f"general medicine, room {number}",
        "vignette": vignette,
        "choices": list(_DIAGNOSES[:4]),
        # A synonym of its own, or the grader could take what it looked up for an earlier case.
        "diagnosis": {"name": _DIAGNOSES[number % 4], "synonyms": [f"made-up disorder {number}"]},
    }


Ask = Callable[[str, list[Any]], Awaitable[str]]
"""Asks a model, with the messages so far; returns the reply's text."""
AsMessage = Callable[[str, str], Any]
"""Makes a client's kind of message of a role (`system`, `user`, `assistant`) and a text."""


def as_dict(role: str, text: str) -> dict[str, str]:
    """A message as chat completions spell it."""
    return {"role": role, "content": text}


async def talk_all(work: Work, ask: Ask, message: AsMessage = as_dict) -> None:
    """Hold every conversation in a plain loop, as many at once as may be in flight."""
    systems = system_prompts(work)

    async def hold() -> None:
        for doctor, patient in systems:
            await _talk(work, doctor, patient, ask, message)

    async with asyncio.TaskGroup() as group:
        for _ in range(min(work.in_flight, work.conversations)):
            group.create_task(hold())


async def _talk(work: Work, doctor: str, patient: str, ask: Ask, message: AsMessage) -> None:
    """One conversation, each side with its own growing list of messages."""
    doctor_sees = [message("system", doctor), message("assistant", GREETING)]
    patient_sees = [message("system", patient), message("user", GREETING)]
    said = ""
    while CLOSING not in said:
        answer = await ask("patient", patient_sees)
        patient_sees.append(message("assistant", answer))
        doctor_sees.append(message("user", answer))
        said = await ask(work.doctor, doctor_sees)
        doctor_sees.append(message("assistant", said))
        patient_sees.append(message("user", said))


def system_prompts(work: Work) -> Iterator[tuple[str, str]]:
    """The doctor's and the patient's system prompt of each conversation: CRAFT-MD's templates."""
    import jinja2

    folder = resources.files("openosce.benchmarks.craft_md") / "prompts"
    doctor, patient = (
        jinja2.Template((folder / f"{role}.txt").read_text(encoding="utf-8").strip()) for role in ("doctor", "patient")
    )
    with Path(work.cases).open(encoding="utf-8") as file:
        for _, line in zip(range(work.conversations), file, strict=False):
            case = json.loads(line)
            yield doctor.render(specialty=case["specialty"]), patient.render(vignette=case["vignette"])
