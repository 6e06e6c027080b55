"""What tests and examinations are called: one meaning for `EKG`, `ECG` and `12-lead electrocardiogram`.

The names are data (`test_names.yaml`), written from general medical knowledge and not from any case.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources

import yaml

from openosce.roles.clinic_tokens import several_tests

PHYSICAL = "physical examination"
_VITALS = "vital signs"
_REMARK = re.compile(r"(?<=\w)\s*\([^()]*\)")
_PURPOSE = re.compile(
    r"\s+(?:(?:in order )?to\s+(?:rule|check|assess|look|evaluate|see|confirm|exclude|determine|investigate|help"
    r"|identify|detect|find|get|further|better)|because|since|so that|given)\b.*",
    re.IGNORECASE | re.DOTALL,
)
_WORD = re.compile(r"[a-z0-9]+[+-]?(?![a-z0-9])|[a-z0-9]+|&")
_KINDS = frozenset("xray ultrasound ct mri mra biopsy culture endoscopy angiography antibody".split())
_LONGEST = 500
"""No name is longer; what follows is not read."""


@dataclass(frozen=True)
class _Names:
    words: dict[str, str]
    weak: frozenset[str]
    ignored: frozenset[str]
    examination: frozenset[str]
    phrases: dict[str, dict[tuple[str, ...], str]]
    """By its first word: every name of a test, as words, with the name that stands for it."""
    panels: dict[str, tuple[str, ...]]


@cache
def _names() -> _Names:
    text = (resources.files("openosce.roles") / "test_names.yaml").read_text(encoding="utf-8")
    data = yaml.load(text, Loader=yaml.CSafeLoader)
    words = {other: word for word, others in data["words"].items() for other in others}
    phrases: dict[str, dict[tuple[str, ...], str]] = {}
    for name, others in data["tests"].items():
        for spelled in (name, *others):
            said = tuple(_spelled(str(spelled)))
            phrases.setdefault(said[0], {})[said] = name
    weak, ignored, examination = (frozenset(map(str, data[kind])) for kind in ("weak", "ignored", "examination"))
    panels = {name: tuple(parts) for name, parts in data["panels"].items()}
    return _Names(words, weak, ignored, examination, phrases, panels)


def _spelled(text: str) -> list[str]:
    plain = re.sub(r"\bx[- ]ray", "xray", re.sub(r"\bcxr\b", "chest xray", text[:_LONGEST].lower()))
    return [word if word.endswith("+") else word.rstrip("-") for word in _WORD.findall(plain)]


@lru_cache(maxsize=20_000)
def terms(name: str) -> frozenset[str]:
    """What a name means: known tests by the name that stands for them, and its other telling words."""
    return frozenset(_terms(name))


def _terms(name: str) -> Iterator[str]:
    names, spelled, place = _names(), _spelled(name), 0
    while place < len(spelled):
        known = names.phrases.get(spelled[place], {})
        here = max((phrase for phrase in known if tuple(spelled[place : place + len(phrase)]) == phrase),
                   key=len, default=None)  # fmt: skip
        if here is not None:
            yield known[here]
            place += len(here)
            continue
        word = spelled[place]
        if word not in names.ignored:
            yield names.words.get(word, word)
        place += 1


def name_of(order: str) -> str:
    """The name under which an order is counted: the known test's where it is one, else its telling words."""
    found = sorted(terms(order), key=lambda term: (term in _KINDS, term))
    return " ".join(found) or " ".join(order[:_LONGEST].lower().split())


def single_orders(order: str) -> tuple[str, ...]:
    """The single tests of an order, without remarks in brackets and reasons.

    A known name with `and` in it stays whole (`urea and electrolytes`), and so does an image of several places (`CT of
    the chest and abdomen`).
    """
    plain = _PURPOSE.sub("", _REMARK.sub("", order[:_LONGEST])).strip()
    if len(terms(plain)) == 1 and terms(plain) <= _all_names():
        return (plain,)
    singles: list[str] = []
    for test in several_tests(plain):
        if singles and terms(singles[-1]) & _KINDS and terms(test) and all(map(_is_place, terms(test))):
            singles[-1] = f"{singles[-1]} and {test}"
        else:
            singles.append(test)
    return tuple(singles) or (plain,)


def _is_place(term: str) -> bool:
    return is_weak(term) and term not in _KINDS


@cache
def _all_names() -> frozenset[str]:
    return frozenset(name for by_first in _names().phrases.values() for name in by_first.values())


def parts_of(name: str) -> tuple[str, ...]:
    """What a panel is made of, panels within it taken apart as well; nothing for a single test."""
    parts = _names().panels.get(name, ())
    return tuple(dict.fromkeys(inner for part in parts for inner in (part, *parts_of(part))))


def is_weak(term: str) -> bool:
    """Whether a term names a kind of test, a specimen or a place of the body, so that alone it says too little."""
    return term in _names().weak


def is_examination(order: str) -> bool:
    """Whether an order is for the physical examination or vital signs, and for no test."""
    found = terms(order)
    words = set(_spelled(order))
    return bool(found & _bedside() or (words & _names().examination and not found & _tests()))


@cache
def _bedside() -> frozenset[str]:
    return frozenset({PHYSICAL, _VITALS, "general examination", "mental status", *parts_of(_VITALS)})


@cache
def _tests() -> frozenset[str]:
    """Names of tests proper, and the words for their kinds and specimens."""
    return frozenset((_all_names() - _bedside()) | _KINDS | {"urine", "blood", "stool"})
