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
    text = text.lower().replace("’", "'").replace("'s ", " ")
    return frozenset(stem(word) for word in _WORD.findall(text) if word not in _STOPWORDS)


@cache
def _concepts() -> dict[str, frozenset[str]]:
    """Every stem with the concepts it belongs to."""
    text = (resources.files("openosce.roles") / "concepts.yaml").read_text(encoding="utf-8")
    found: dict[str, set[str]] = {}
    for concept, words in yaml.load(text, Loader=yaml.CSafeLoader).items():
        for word in words:
            if " " not in word:
                found.setdefault(stem(word), set()).add(f"@{concept}")
    return {word: frozenset(names) for word, names in found.items()}


@lru_cache(maxsize=20_000)
def concepts(text: str) -> frozenset[str]:
    """The concepts a text touches."""
    words = (stem(word) for word in _WORD.findall(text.lower()))
    return frozenset(name for word in words for name in _concepts().get(word, ()))


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
