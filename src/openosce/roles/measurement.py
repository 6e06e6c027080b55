"""The measurement agent: it returns readings of the examination and the tests, and knows nothing else of a case.

`builtin/record` finds them in the record by name and cannot invent; a model is checked afterwards (`check_readings`).
Source: AgentClinic (2024), section "Language agents", measurement agent.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from openosce.cases import MeasurementPart
from openosce.encounters import DOCTOR, Message, Transcript
from openosce.models import Model, PromptPack
from openosce.roles.ask import ask
from openosce.roles.clinic_chat import clinic_chat
from openosce.roles.clinic_tokens import NORMAL_READINGS, RESULTS, requested_tests
from openosce.roles.test_names import PHYSICAL, is_examination, is_weak, parts_of, single_orders, terms

MEASUREMENT = "measurement"
_OTHERS = f"Everything else that was asked for: {NORMAL_READINGS}"
_NO_NAME = re.compile(r"findings?|results?|values?|levels?|comments?|impression|interpretation|\d+", re.IGNORECASE)


@dataclass(frozen=True)
class Reading:
    """One finding of a record."""

    path: tuple[str, ...]
    """The names that lead to it: system and maneuver, or the steps of a test's name."""
    aliases: tuple[str, ...]
    result: str
    is_test: bool

    @property
    def line(self) -> str:
        """As it is told."""
        return f"{': '.join(self.path)}: {self.result}"


class ModelMeasurement:
    """A language model as measurement agent. It is handed the findings, never the history or the diagnosis."""

    def __init__(self, model: Model, prompts: PromptPack, part: MeasurementPart) -> None:
        self._model = model
        self._system = prompts.render("measurement", readings=part.readings)

    async def speak(self, transcript: Transcript) -> str:
        """Return the readings that the doctor's last message asks for."""
        messages = clinic_chat(self._system, transcript, MEASUREMENT, words=_attributed)
        return await ask(self._model, messages, f"talk/{len(transcript)}", MEASUREMENT)


def _attributed(message: Message, used: int) -> str:
    return f"{'Doctor' if message.speaker == DOCTOR else 'Patient'}: {message.text}"


class RecordMeasurement:
    """Finds readings by name. What the record does not hold is normal, as the protocol has it."""

    def __init__(self, part: MeasurementPart) -> None:
        self._readings = all_readings(part)

    async def speak(self, transcript: Transcript) -> str:
        """Return the readings that the doctor's last message asks for; never fails."""
        found, missed = find_readings(transcript[-1].text, self._readings)
        lines = [reading.line for reading in found]
        return f"{RESULTS}: " + "\n".join([*lines, *([_OTHERS if lines else NORMAL_READINGS] if missed else [])])


def all_readings(part: MeasurementPart) -> tuple[Reading, ...]:
    """Every finding of the examination and the tests, in the record's order."""
    examined = [
        Reading((system, what), (what, f"{what} {system}"), finding, False)
        for system, by_maneuver in part.examination.items()
        for what, finding in by_maneuver.items()
    ]
    tested = [Reading(tuple(test.name.split(": ")), test.aliases, test.result, True) for test in part.tests]
    return (*examined, *tested)


def find_readings(request: str, readings: Iterable[Reading]) -> tuple[tuple[Reading, ...], bool]:
    """The readings that a doctor's message asks for, each once, and whether something asked for is not among them."""
    known = tuple(readings)
    orders = [single for order in requested_tests(request) or (request,) for single in single_orders(order)]
    by_order = [find_order(order, known) for order in orders]
    wanted = {reading for found in by_order for reading in found}
    return tuple(reading for reading in known if reading in wanted), not all(by_order) or not by_order


def find_order(order: str, readings: tuple[Reading, ...]) -> tuple[Reading, ...]:
    """The readings of one test or examination; those of its parts where the record does not name a panel."""
    asked = terms(order)
    examined = is_examination(order)
    if PHYSICAL in asked or (examined and not asked):
        named_parts = asked - {PHYSICAL, "vital signs"}
        return tuple(r for r in readings if not r.is_test and (not named_parts or named_parts & _all_terms(r)))
    fitting = tuple(r for r in readings if r.is_test is not examined) if asked else ()
    found = _best(asked, fitting)
    parts = [part for term in asked for part in parts_of(term)] if len(asked) == 1 else []
    named = {reading for part in parts for reading in _best(frozenset({part}), fitting)}
    if found or named:
        return tuple(reading for reading in fitting if reading in named or reading in found)
    # Where a panel is one reading ("Hemoglobin 10.2 g/dL, platelets ..."), its text names the parts.
    others = tuple(r for r in readings if r.is_test is examined) if not _tests_only(asked) else ()
    return _best(asked, others) or tuple(r for r in fitting if r.is_test and asked <= terms(r.result))


def _tests_only(asked: frozenset[str]) -> bool:
    """Whether all that is asked for are weak words, by which an examination and a test could be mistaken."""
    return all(map(is_weak, asked))


def _best(asked: frozenset[str], readings: tuple[Reading, ...]) -> tuple[Reading, ...]:
    """The readings that an order fits best: by a name that equals it, holds it, or is held by it."""
    fits = [(max((_fit(asked, named, _all_terms(r)) for named in _named(r)), default=0.0), r) for r in readings]
    best = max((fit for fit, _ in fits), default=0.0)
    return tuple(reading for fit, reading in fits if fit == best > 0)


def _fit(asked: frozenset[str], named: frozenset[str], whole: frozenset[str]) -> float:
    """1 for equal names, less the more one of them holds besides the other, 0 if neither holds the other."""
    if not named or not asked:
        return 0.0
    if asked <= named:
        return len(asked) / len(named)
    if asked <= whole and any(map(is_weak, named)):
        return 0.5 * len(asked) / len(whole)
    # "Biopsy" is no answer to "skin biopsy" unless all that stands over it fits as well.
    held = named <= asked and (not all(map(is_weak, named)) or whole <= asked)
    return 0.4 * len(named) / len(asked) if held else 0.0


def _named(reading: Reading) -> Iterator[frozenset[str]]:
    """What each name of a reading means: the steps of its path, all of it, and its other names."""
    for name in (*reading.path, " ".join(reading.path), *reading.aliases):
        if not _NO_NAME.fullmatch(name.strip()):
            yield terms(name)


def _all_terms(reading: Reading) -> frozenset[str]:
    return frozenset[str]().union(*_named(reading))


@dataclass(frozen=True)
class Unfaithful:
    """Where a measurement agent's answer departs from the record."""

    invented: tuple[str, ...]
    """Numbers with units that the record does not hold."""
    left_out: tuple[str, ...]
    """Readings that were asked for and not returned, though others of the same order were: a panel in part."""


_QUANTITY = re.compile(
    r"(?<![\w.,/])(\d+(?:[.,]\d+)*(?:/\d+(?:[.,]\d+)?)?)(?:\s?[x×*]\s?10\S{1,3})?\s?"
    r"(?:(?:%|°\s?[CF]?|/)|(?:mm\s?Hg|bpm|beats|breaths|[munpµμk]?g|[mdµμ]?l|[munpµμ]?mol|meq|[mkµμu]?iu|[mku]?u|units?|mm"
    r"|cm|m?s|m?sec|seconds|cells|copies)\b)(?:\s?/?\s?[a-zµμ]\w*)?",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def check_readings(text: str, part: MeasurementPart, request: str = "") -> Unfaithful:
    """Compare a measurement agent's answer with the record.

    Args:
        text: What it returned.
        part: What it was handed.
        request: The doctor's words; without them panels are not looked at.
    """
    held = _numbers(f"{part.readings} {request}")
    invented = [found[0].strip() for found in _QUANTITY.finditer(text) if not _numbers(found[1]) <= held]
    return Unfaithful(tuple(dict.fromkeys(invented)), _left_out(text, part, request) if request else ())


def _numbers(text: str) -> set[str]:
    return {_plain(number) for number in _NUMBER.findall(text)}


def _plain(number: str) -> str:
    """`1,200` and `1200`, `4.0` and `4` are one number."""
    plain = re.sub(r",(?=\d{3}\b)", "", number).replace(",", ".")
    return plain.rstrip("0").rstrip(".") if plain.count(".") == 1 else plain


def _left_out(text: str, part: MeasurementPart, request: str) -> tuple[str, ...]:
    readings = all_readings(part)
    orders = [single for order in requested_tests(request) for single in single_orders(order)]
    missing = []
    for found in (find_order(order, readings) for order in orders):
        absent = [reading.line for reading in found if not _is_told(reading, text)]
        missing += absent if len(absent) < len(found) else []
    return tuple(dict.fromkeys(missing))


def _is_told(reading: Reading, text: str) -> bool:
    """Whether an answer holds a reading: its numbers, or else its words or its name."""
    numbers = _numbers(reading.result)
    if numbers:
        return numbers <= _numbers(text)
    said = " ".join(text.casefold().split())
    names = [name for name in reading.path if not _NO_NAME.fullmatch(name)]
    return " ".join(reading.result.casefold().split()) in said and names[-1].casefold() in said
