"""Matching a multiple-choice reply with the options: by letter or by text, and only if it names exactly one.

Evidence codes: `named` (the option read), `ambiguous` (several options named), `no_option` (none named).
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from openosce.cases import GraderPart
from openosce.grading.policies import MatchPolicy

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_ALONE = re.compile(r"^\W*(?:(?:option|answer|choice)\W+(?:is\W+)?)?\(?([A-Z])\)?\W*$", re.IGNORECASE)
_LABELLED = re.compile(r"(?:^|\n)\W*([A-Z])\s*[.):](?=\s|\*|$)|\(([A-Z])\)")
_SPOKEN = re.compile(r"\b(?:option|choice|answer(?:\s+is)?)\s*:?\W{0,3}([A-Z])\b(?![\w'’-])(?!\s+[a-z])")


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
    return Verdict(float(_normal(chosen) == _normal(answer)), f"named: {chosen}")


def named_options(reply: str, choices: Sequence[str]) -> list[int]:
    """The indices of the options that a reply names, in the order of first mention."""
    places: dict[int, int] = {}
    text = _normal(reply)
    # The longest first, each taken out once found: `Type 1 diabetes` is not named inside `Type 1 diabetes insipidus`.
    spellings = [(spelling, i) for i, choice in enumerate(choices) for spelling in _spellings(choice)]
    for spelling, index in sorted(spellings, key=lambda pair: -len(pair[0])):
        for match in list(re.finditer(rf"(?<!\w){re.escape(spelling)}(?!\w)", text)):
            places[index] = min(places.get(index, len(text)), match.start())
            text = text[: match.start()] + "\0" * len(spelling) + text[match.end() :]
    for letter, place in _letters(reply):
        index = LETTERS.index(letter)
        if index < len(choices):
            places[index] = min(places.get(index, len(reply)), place)
    return sorted(places, key=places.__getitem__)


def _spellings(choice: str) -> set[str]:
    """A choice as it stands, and without a closing abbreviation in brackets."""
    whole = _normal(choice).rstrip(".")
    return {spelling for spelling in (whole, re.sub(r"\s*\([^()]*\)$", "", whole)) if spelling}


def _letters(reply: str) -> list[tuple[str, int]]:
    alone = _ALONE.match(reply)
    if alone:
        return [(alone[1].upper(), 0)]
    labelled = [(match[1] or match[2], match.start()) for match in _LABELLED.finditer(reply)]
    return labelled + [(match[1], match.start()) for match in _SPOKEN.finditer(reply)]


def _normal(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).translate({0x2019: "'", 0x2013: "-", 0x2014: "-", 0x2011: "-"})
    return re.sub(r"\s+", " ", text).strip().casefold()
