"""How alike two texts are by the words they share, the rarer the weightier. It never compares names of diseases."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from math import log

import snowballstemmer

_STOPWORDS = frozenset(
    (
        "a about am an and any anything are as at be been but by can could did do does doing ever every for "
        " from get had has have having he her him his how i if in into is it its just me my of on or our please she "
        "so some tell that the their them then there these they this those to too up us was we were what when which "
        "while who will with would you your also notice noticed patient"
    ).split()
)
_WORD = re.compile(r"[a-z0-9]+(?:\.\d+)?")
_PARTS = re.compile(r"[,;?]|\b(?:and|or|whether)\b", re.IGNORECASE)
_stemmer = snowballstemmer.stemmer("english")

Words = Callable[[str], Collection[str]]
"""What a text is about, as a set of words or concepts."""


@lru_cache(maxsize=20_000)
def stems(text: str) -> frozenset[str]:
    """The stems of a text's telling words."""
    words = _WORD.findall(text.lower().replace("’", "'").replace("'s ", " "))
    return frozenset(_stem(word) for word in words if word not in _STOPWORDS)


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    return str(_stemmer.stemWord(word))


def parts(question: str) -> list[str]:
    """A question and, where it asks for several things at once, each of them."""
    return [question, *(part for part in _PARTS.split(question) if part.strip() and part != question)]


class Overlap:
    """Likeness of texts, each word weighted by how rare it is in a bank of texts."""

    def __init__(self, bank: Iterable[str], words: Words = stems) -> None:
        self._words = words
        texts = [frozenset(words(text)) for text in bank]
        self._size = len(texts)
        self._found_in = Counter(word for text in texts for word in text)

    def likeness(self, one: str, other: str) -> float:
        """Twice the weight of the words in common over the weight of both texts' words (Dice), 0 to 1."""
        first, second = frozenset(self._words(one)), frozenset(self._words(other))
        both = self._weight(first) + self._weight(second)
        return 2 * self._weight(first & second) / both if both else 0.0

    def _weight(self, words: Iterable[str]) -> float:
        return sum(log((self._size + 1) / (self._found_in[word] + 0.5)) for word in words)
