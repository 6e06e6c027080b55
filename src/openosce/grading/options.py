"""Matching a multiple-choice reply with the options: by letter or by text, and only if it names exactly one.

Evidence codes: `named` (the option read), `ambiguous` (several options named), `no_option` (none named).
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from openosce.cases import GraderPart
from openosce.grading.policies import MatchPolicy

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_SEVERAL = r"[A-Z](?:\s*(?:,|/|&|\bor\b|\band\b)+\s*[A-Z]\b)*"
_ALONE = re.compile(
    rf"^[^\w\n]*(?:(?:the\ )?(?:final\ )?(?:option|answer|choice|diagnosis)[^\w\n]+(?:is[^\w\n]+)?)?"
    rf"({_SEVERAL})[^\w\n]*$",
    re.IGNORECASE | re.MULTILINE,
)
# `C. difficile` is no label.
_LABELLED = re.compile(r"^[^\w\n]*([A-Z])\s*(?:\.(?!\s+[a-z])|[):])(?=\s|\*|$)|[({]([A-Z])[)}]", re.MULTILINE)
# `The answer is A patient`, `it is B cell lymphoma`: a noun follows, so it is no letter.
_SPOKEN = re.compile(
    r"\b(?i:option|choice|letter|answer|diagnosis|choose|pick|select|go\ with|it\ is|it's)\b"
    r"(?i:\s+(?:is|would\ be|should\ be|must\ be|option|letter)\b){0,3}\s*:?\W{0,3}"
    rf"(?P<letters>{_SEVERAL})"
    r"(?![\w'-]|\.\s+[a-z])"
    r"(?!\s+(?!(?:and|as|based|because|but|due|for|given|in|is|not|or|over|rather|since|was|with)\b)[a-z])"
)


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is right (1 or 0), and what that rests on."""

    value: float
    evidence: str


def match_option(reply: str, part: GraderPart, policy: MatchPolicy) -> Verdict:
    """Decide a multiple-choice reply under the policy's MCQ rule (all but `grader`)."""
    answer = part.diagnosis.name
    if policy.mcq == "contains":
        # The authors' rule, inferred from their data: the answer is not stripped.
        right = answer.lower() in reply.lower()
        return Verdict(float(right), f"contains: {answer!r} {'is' if right else 'is not'} in the reply")
    named = named_options(reply, part.choices)
    if not named:
        return Verdict(0.0, "no_option: the reply names none of the options")
    if policy.mcq == "one_option" and len(named) > 1:
        return Verdict(0.0, "ambiguous: the reply names " + ", ".join(repr(part.choices[i].strip()) for i in named))
    chosen = part.choices[named[0]].strip()
    return Verdict(float(_same_text(chosen, answer)), f"named: {chosen}")


def named_options(reply: str, choices: Sequence[str]) -> list[int]:
    """The indices of the options that a reply names, in the order of first mention."""
    places: dict[int, int] = {}
    text = _plain(reply)
    # The longest first, each taken out once found: `Type 1 diabetes` is not named inside `Type 1 diabetes insipidus`,
    # nor option C in `C. difficile colitis`.
    for spelling, index in sorted(_spellings(choices).items(), key=lambda pair: -len(pair[0])):
        words = r"\s+".join(re.escape(word) for word in spelling.split())
        for match in re.finditer(rf"(?<!\w){words}(?!\w)", text, re.IGNORECASE):
            places[index] = min(places.get(index, len(text)), match.start())
            text = text[: match.start()] + "\0" * len(match[0]) + text[match.end() :]
    for letter, place in _letters(text):
        index = LETTERS.index(letter)
        if index < len(choices):
            places[index] = min(places.get(index, len(text)), place)
    return sorted(places, key=places.__getitem__)


def _spellings(choices: Sequence[str]) -> dict[str, int]:
    """Each choice as it stands, and without an abbreviation or remark in brackets where that is no other's spelling."""
    whole = [_plain(choice).strip(_EDGES) for choice in choices]
    short = [re.sub(r"\s+\([^()]*\)", "", choice).strip() for choice in whole]
    counts = Counter(spelling.casefold() for pair in zip(whole, short, strict=True) for spelling in set(pair))
    found = {spelling: i for i, spelling in enumerate(short) if counts[spelling.casefold()] == 1}
    found |= {spelling: i for i, spelling in reversed(list(enumerate(whole)))}
    return {spelling: i for spelling, i in found.items() if spelling}


def _letters(text: str) -> Iterator[tuple[str, int]]:
    for match in _ALONE.finditer(text):
        yield from ((letter.upper(), match.start(1)) for letter in re.findall(r"\b[A-Za-z]\b", match[1]))
    for match in _LABELLED.finditer(text):
        yield match[1] or match[2], match.start()
    for match in _SPOKEN.finditer(text):
        yield from ((letter, match.start()) for letter in re.findall(r"\b[A-Z]\b", match["letters"]))


_EDGES = " \t\r\n.,;\"'"
_SIGNS = str.maketrans(dict.fromkeys("’‘ʼ`", "'") | dict.fromkeys("–—‐‑−", "-") | dict.fromkeys("“”", '"'))


def _plain(text: str) -> str:
    """The text without accents, and with one sign for each kind of quote and dash."""
    text = unicodedata.normalize("NFKD", text.translate(_SIGNS))
    return "".join(sign for sign in text if not unicodedata.combining(sign))


def _same_text(one: str, other: str) -> bool:
    first, second = (" ".join(_plain(text).strip(_EDGES).casefold().split()) for text in (one, other))
    return first == second
