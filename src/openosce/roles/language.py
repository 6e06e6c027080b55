"""What the built-in roles understand of English: word stems, concepts, and what a sentence confirms or denies."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources

import snowballstemmer
import yaml

from openosce.cases.text import sentences

_STOPWORDS = frozenset(
    (
        "a about am an and any anything are as at be been being but by can could did do does doing ever every "
        "for from get getting got had has have having he her here him his how i if in into is it its just me "
        "my of on or our out she so some than that the their them then there these they this those to too up "
        "us was we were what when which while who will with would you your also tell noticed notice please "
        "patient man woman boy girl old year m ve s re d ll t"
    ).split()
)
_WORD = re.compile(r"[a-z0-9]+")
_CLAUSE = re.compile(
    r"\s*(?:;|\bbut\b|\bhowever\b|\balthough\b|\bthough\b|\bexcept\b"
    r"|,\s*(?=(?:and|or)?\s*(?:no|not|without|denies|has|is|with)\b))\s*",
    re.IGNORECASE,
)
_DENIAL = re.compile(
    r"\b(?:no|not|never|none|nor|neither|without|denies|denied|denying|negative for|free of|lack of|cannot|nobody"
    r"|nothing)\b|n['’]t\b",
    re.IGNORECASE,
)
_stemmer = snowballstemmer.stemmer("english")


@dataclass(frozen=True)
class Clause:
    """A clause as two sets of word stems: what it says, and what it denies."""

    said: frozenset[str]
    denied: frozenset[str]


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """The stem of a lower-case word."""
    return str(_stemmer.stemWord(word))


@lru_cache(maxsize=20_000)
def stems(text: str) -> frozenset[str]:
    """The stems of a text's telling words."""
    return frozenset(stem(word) for word in _spelled(text) if word not in _STOPWORDS)


def _spelled(text: str) -> list[str]:
    """The words of a text as they are spelled, without possessive endings."""
    return _WORD.findall(text.lower().replace("’", "'").replace("'s ", " "))


@dataclass(frozen=True)
class Meaning:
    """What a text asks for, or tells of."""

    concepts: frozenset[str]
    words: frozenset[str]
    """The stems of its telling words that are part of no phrase."""
    plain: frozenset[str]
    """Those of them that belong to no concept."""


@cache
def _phrases() -> dict[str, dict[tuple[str, ...], frozenset[str]]]:
    """By its first stem: every word or phrase, as stems, with the concepts it belongs to."""
    text = (resources.files("openosce.roles") / "concepts.yaml").read_text(encoding="utf-8")
    found: dict[tuple[str, ...], set[str]] = {}
    for concept, phrases in yaml.load(text, Loader=yaml.CSafeLoader).items():
        for phrase in phrases:
            found.setdefault(tuple(stem(word) for word in phrase.split()), set()).add(f"@{concept}")
    by_first: dict[str, dict[tuple[str, ...], frozenset[str]]] = {}
    for stemmed in sorted(found, key=len, reverse=True):
        by_first.setdefault(stemmed[0], {})[stemmed] = frozenset(found[stemmed])
    return by_first


@lru_cache(maxsize=20_000)
def meaning(text: str) -> Meaning:
    """What a text asks for: its phrases first, the longest before the others, then the words that are left."""
    spelled = _spelled(text)
    stemmed = [stem(word) for word in spelled]
    found: list[tuple[str, ...]] = []
    place = 0
    while place < len(stemmed):
        phrase = _phrase_at(stemmed, place)
        if len(phrase) > 1 or spelled[place] not in _STOPWORDS:
            found.append(phrase)
        place += len(phrase)
    concepts = {phrase: _phrases().get(phrase[0], {}).get(phrase, frozenset[str]()) for phrase in found}
    words = frozenset(phrase[0] for phrase in found if len(phrase) == 1)
    plain = frozenset(word for word in words if not concepts[(word,)])
    return Meaning(frozenset[str]().union(*concepts.values()), words, plain)


def _phrase_at(stemmed: list[str], place: int) -> tuple[str, ...]:
    """The longest phrase that starts at a place, or the word there."""
    known = _phrases().get(stemmed[place], {})
    here = (tuple(stemmed[place : place + len(phrase)]) for phrase in known)
    return next((phrase for phrase in here if phrase in known), (stemmed[place],))


@lru_cache(maxsize=20_000)
def clauses(text: str) -> tuple[Clause, ...]:
    """The clauses of a text. What follows a denial in a clause is denied; what stands before it is said."""
    return tuple(_clauses(text))


def _clauses(text: str) -> Iterator[Clause]:
    for sentence in sentences(text):
        for part in _CLAUSE.split(sentence):
            denial = _DENIAL.search(part)
            if denial is None:
                yield Clause(stems(part), frozenset())
            else:
                yield Clause(stems(part[: denial.start()]), stems(part[denial.end() :]))


def is_denial(reply: str) -> bool:
    """Whether a reply begins by denying."""
    return re.match(r"\W*(?:no|not|never|none|nope)\b", reply, re.IGNORECASE) is not None


def is_affirmation(reply: str) -> bool:
    """Whether a reply begins by confirming."""
    return (
        re.match(r"\W*(?:yes|yeah|yep|right|correct|sure|definitely|i do|i have)\b", reply, re.IGNORECASE) is not None
    )
