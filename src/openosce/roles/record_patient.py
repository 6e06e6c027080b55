"""`builtin/record` as patient: answers from the record's facts by retrieval, and cannot invent.

A question and a fact meet through shared words (rare ones count more) and shared concepts. Nothing that meets: the
patient says so. A case without facts is answered from its vignette's own sentences, in the first person.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence

from openosce.cases import Fact, PatientPart
from openosce.encounters import PATIENT, Transcript
from openosce.roles.grammar import to_first_person
from openosce.roles.language import concepts, stems

UNKNOWN = "I can't tell you anything about that."
NOTHING_MORE = "I can't think of anything else."

_AT_MOST = 2
"""Facts told in one answer."""
_ENOUGH = 1.3
"""The least weight at which a fact answers a question; a shared topic alone reaches it."""
_TOPIC_WEIGHT, _CONCEPT_WEIGHT, _WORD_WEIGHT = 1.5, 0.6, 0.5

_GENERIC = stems(
    "feel feeling felt feels trouble problem change changed certain such instance week month day hour "
    "worse better before bring use anyone rather unusually without need know think help come go start "
    "begin first last look something"
)
"""Words of a question that ask for nothing in particular; their concepts still count."""

_OPEN = re.compile(
    r"\b(?:anything|something|what) else\b|\bother (?:symptoms|complaints|concerns|problems)\b|\btell me more\b", re.I
)
_AGE = re.compile(r"\bhow old\b|\byour (?:exact )?age\b|\bage and\b|\bage\?", re.IGNORECASE)
_SEX = re.compile(r"\b(?:your|and) (?:sex|gender)\b|\bwhat sex\b|\bmale or female\b|\bage and sex\b", re.IGNORECASE)
_OCCUPATION = re.compile(r"\b(?:occupation|profession|for a living|your (?:job|work)|do you work)\b", re.IGNORECASE)
_IN_VIGNETTE = re.compile(r"\b(\d{1,3})[ -](year|month|week|day)s?[ -]old\b(?:\s+[\w-]+){0,3}?\s+(\w+)", re.IGNORECASE)
_SEXES = {
    "man": "male", "male": "male", "boy": "male", "gentleman": "male",
    "woman": "female", "female": "female", "girl": "female", "lady": "female", "primigravid": "female",
}  # fmt: skip


class RecordPatient:
    """Tells what its record holds, in lay words."""

    def __init__(self, part: PatientPart) -> None:
        self._part = part
        self._index = _Index(part.facts)

    async def speak(self, transcript: Transcript) -> str:
        """Answer the doctor's last message."""
        question = transcript[-1].text
        told = {message.text for message in transcript if message.speaker == PATIENT}
        if not told:
            return self._opening()
        about_me = self._about_me(question)
        if about_me:
            return about_me
        if _OPEN.search(question):
            return self._untold(told)
        found = self._index.find(question)
        return " ".join(found) if found else UNKNOWN

    def _opening(self) -> str:
        if self._part.opening:
            return self._part.opening
        return in_lay_words(self._part.facts[0]) if self._part.facts else UNKNOWN

    def _about_me(self, question: str) -> str | None:
        """Age, sex and occupation, which are fields of the record and no facts."""
        age, sex = _age_and_sex(self._part)
        subject = "The patient is" if self._part.informant else "I'm"
        said = [age] if age and _AGE.search(question) else []
        said += [sex] if sex and _SEX.search(question) else []
        if said:
            return f"{subject} {' and '.join(said)}."
        if self._part.occupation and _OCCUPATION.search(question):
            return f"I work as {_article(self._part.occupation)}."
        return None

    def _untold(self, told: set[str]) -> str:
        spoken = " ".join(told)
        # The opening is free text: a fact counts as told when most of its words have been said.
        said = stems(spoken)
        for fact in sorted(self._part.facts, key=lambda fact: not fact.key):
            words = in_lay_words(fact)
            if words not in spoken and len(stems(words) & said) < 0.7 * len(stems(words)):
                return words
        return NOTHING_MORE


class _Index:
    """The facts by the words and concepts they hold."""

    def __init__(self, facts: Sequence[Fact]) -> None:
        self._facts = [(in_lay_words(fact), _words(fact), _concepts(fact), fact.topic or "") for fact in facts]
        self._seen = Counter(word for _, words, touched, _ in self._facts for word in words | touched)

    def find(self, question: str) -> list[str]:
        """The facts that answer a question, at most two, best first."""
        asked, touched = stems(question) - _GENERIC, concepts(question)
        weighed = [(self._weigh(fact, asked, touched), n) for n, fact in enumerate(self._facts)]
        best = sorted((pair for pair in weighed if pair[0] >= _ENOUGH), key=lambda pair: (-pair[0], pair[1]))
        if not best:
            return []
        good = [n for weight, n in best if weight >= 0.7 * best[0][0]]
        return [self._facts[n][0] for n in sorted(good[:_AT_MOST])]

    def _weigh(
        self, fact: tuple[str, frozenset[str], frozenset[str], str], asked: frozenset[str], touched: frozenset[str]
    ) -> float:
        _, words, fact_concepts, topic = fact
        weight = _TOPIC_WEIGHT * bool(topic and stems(topic) and stems(topic) <= asked)
        weight += _WORD_WEIGHT * sum(self._rarity(word) for word in asked & words)
        return weight + _CONCEPT_WEIGHT * sum(self._rarity(concept) for concept in touched & fact_concepts)

    def _rarity(self, term: str) -> float:
        """Between 1 (in every fact) and about 5 (in one of many): inverse document frequency."""
        return 1 + math.log((1 + len(self._facts)) / (1 + self._seen[term]))


def in_lay_words(fact: Fact) -> str:
    """The patient's own words for a fact."""
    return fact.lay or to_first_person(fact.fact)


def is_unknown(statement: str) -> bool:
    """Whether a statement says only that there is nothing to tell."""
    return statement in {UNKNOWN, NOTHING_MORE}


def _words(fact: Fact) -> frozenset[str]:
    return stems(f"{fact.topic or ''} {fact.fact} {fact.lay or ''}")


def _concepts(fact: Fact) -> frozenset[str]:
    # A topic says what the fact is about; without one its own words must.
    return concepts(fact.topic) if fact.topic and concepts(fact.topic) else concepts(fact.fact)


def _age_and_sex(part: PatientPart) -> tuple[str | None, str | None]:
    found = _IN_VIGNETTE.search(part.vignette)
    age = part.age or (f"{found[1]} {found[2]}s" if found else None)
    if age and age.isdigit():
        age = f"{age} years"
    words = re.findall(r"\w+", part.vignette[:300].lower())
    sex = part.sex or next((_SEXES[word] for word in words if word in _SEXES), None)
    return f"{age.removesuffix(' old')} old" if age else None, sex


def _article(noun: str) -> str:
    if re.match(r"(?:an?|the|retired|self)\b", noun, re.IGNORECASE):
        return noun
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"
