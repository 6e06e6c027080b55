"""`builtin/record` as patient: answers from the record's facts by retrieval, and cannot invent.

A question and a fact meet through shared words (rare ones count more) and shared concepts. Nothing that meets: the
patient says so. A case without facts is answered from its vignette's own sentences, in the first person.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from openosce.cases import Fact, PatientPart
from openosce.encounters import PATIENT, Transcript
from openosce.roles.grammar import to_first_person
from openosce.roles.language import Meaning, meaning, stems

UNKNOWN = "I can't tell you anything about that."
NOTHING_MORE = "I can't think of anything else."

_AT_MOST = 2
"""Facts told in one answer."""
_ENOUGH = 1.0
"""The least weight at which a fact answers a question; a shared topic alone reaches it."""
_NEARLY_AS_GOOD = 0.8
"""Share of the best fact's weight from which a second fact is told as well."""
_MANY = 20
"""Facts that tell how common a word is."""
_TOPIC_WEIGHT, _CONCEPT_WEIGHT, _BESIDES_WEIGHT, _WORD_WEIGHT = 1.5, 0.6, 0.3, 0.35

_GENERIC = stems(
    "feel feeling felt feels trouble problem change changed certain such instance week month day hour "
    "worse better before bring use anyone rather unusually without need know think help come go start "
    "begin first last look something take taken took keep type kind body thing"
)
"""Words of a question that ask for nothing in particular; their concepts still count."""

_OPEN = re.compile(
    r"\b(?:anything|something|what) else\b(?:.*\b(?:would|want|like) to (?:tell|say|add|mention|share)\b)?"
    r"|\b(?:other|additional|associated) (?:symptoms|complaints|concerns|problems)\b|\btell me more\b",
    re.IGNORECASE,
)
_AGE = re.compile(
    r"\bhow old (?:are|is)\b|\b(?:your|his|her|patient's) (?:exact )?age\b|\bage and\b|\bage\?", re.IGNORECASE
)
_SEX = re.compile(
    r"\b(?:your|his|her|and|what) (?:biological )?(?:sex|gender)\b|\bmale or (?:a )?female\b|\bman or (?:a )?woman\b",
    re.IGNORECASE,
)
_OCCUPATION = re.compile(r"\b(?:occupation|profession|for a living|your (?:job|work)|do you work)\b", re.IGNORECASE)
_IN_VIGNETTE = re.compile(r"\b(\d{1,3})[ -]((?:year|month|week|day)s?)[ -]old\b", re.IGNORECASE)
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
        # "Any other symptoms, such as fever?" asks for the fever first.
        found = self._index.find(_OPEN.sub(" ", question))
        if found:
            return " ".join(found)
        return self._untold(told) if _OPEN.search(question) else UNKNOWN

    def _opening(self) -> str:
        if self._part.opening:
            return self._part.opening
        return in_lay_words(self._part.facts[0]) if self._part.facts else UNKNOWN

    def _about_me(self, question: str) -> str | None:
        """Age, sex and occupation, which are fields of the record and no facts."""
        age, sex = _age_and_sex(self._part)
        subject = "The patient is" if self._part.informant else "I'm"
        occupation = self._part.occupation
        said = [age] if age and _AGE.search(question) else []
        said += [sex] if sex and _SEX.search(question) else []
        if said:
            return f"{subject} {' and '.join(said)}."
        if occupation and _OCCUPATION.search(question):
            return f"Occupation: {occupation}." if self._part.informant else f"I'm {_article(occupation)}."
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


@dataclass(frozen=True)
class _Entry:
    """One fact as the index sees it."""

    lay: str
    words: frozenset[str]
    topic: frozenset[str]
    about: frozenset[str]
    """The concepts of its topic: what the fact is about. Without a topic its own words must say so."""
    besides: frozenset[str]
    """Further concepts that its words touch."""


class _Index:
    """The facts by the words and concepts they hold."""

    def __init__(self, facts: Sequence[Fact]) -> None:
        self._entries = [_entry(fact) for fact in facts]
        terms = (entry.words | entry.about | entry.besides for entry in self._entries)
        self._seen = Counter(term for held in terms for term in held)

    def find(self, question: str) -> list[str]:
        """The facts that answer a question, at most two, best first."""
        asked = meaning(question)
        weighed = [(self._weigh(entry, asked), entry.lay) for entry in self._entries]
        best = sorted((pair for pair in weighed if pair[0] >= _ENOUGH), key=lambda pair: -pair[0])
        return [lay for weight, lay in best[:_AT_MOST] if weight >= _NEARLY_AS_GOOD * best[0][0]]

    def _weigh(self, entry: _Entry, asked: Meaning) -> float:
        # A fact about more than was asked answers less well: "Does it itch?" is not asked for where the itch began.
        shared = entry.about & asked.concepts
        share = min(1.0, len(shared) / min(2, len(entry.about) or 1))
        weight = _TOPIC_WEIGHT * bool(entry.topic and entry.topic <= asked.words)
        weight += _WORD_WEIGHT * sum(map(self._rarity, entry.words & asked.plain - _GENERIC))
        weight += _CONCEPT_WEIGHT * sum(map(self._rarity, shared)) * (1 + share) / 2
        return weight + _BESIDES_WEIGHT * sum(map(self._rarity, entry.besides & asked.concepts))

    def _rarity(self, term: str) -> float:
        """Between 1 (in every fact) and about 5 (in one of many): inverse document frequency."""
        # In a handful of facts a word is not common for being in one of them.
        return 1 + math.log((1 + max(len(self._entries), _MANY)) / (1 + self._seen[term]))


def in_lay_words(fact: Fact) -> str:
    """The patient's own words for a fact."""
    return fact.lay or to_first_person(fact.fact)


def is_unknown(statement: str) -> bool:
    """Whether a statement says only that there is nothing to tell."""
    return statement in {UNKNOWN, NOTHING_MORE}


def _entry(fact: Fact) -> _Entry:
    topic = fact.topic or ""
    own = meaning(fact.fact).concepts
    about = meaning(topic).concepts or own
    besides = (own | meaning(fact.lay or "").concepts) - about
    words = stems(f"{topic} {fact.fact} {fact.lay or ''}")
    return _Entry(in_lay_words(fact), words, stems(topic), about, besides)


def _age_and_sex(part: PatientPart) -> tuple[str | None, str | None]:
    found = _IN_VIGNETTE.search(part.vignette)
    words = re.findall(r"\w+", part.vignette[:300].lower())
    sex = part.sex or next((_SEXES[word] for word in words if word in _SEXES), None)
    return _spoken_age(part.age or (found[0] if found else None)), sex


def _spoken_age(age: str | None) -> str | None:
    """`31`, `31 years` and `31-year-old` as "31 years old"; anything else as it stands."""
    found = re.fullmatch(r"(\d+)(?:[ -]+(year|month|week|day)s?)?(?:[ -]old)?", age or "", re.IGNORECASE)
    if not found:
        return age
    return f"{found[1]} {(found[2] or 'year').lower()}{'' if found[1] == '1' else 's'} old"


def _article(noun: str) -> str:
    """A noun with its article; `retired` and its like are no nouns."""
    if re.match(r"(?:an?|the)\b|\w+ed$|self-", noun, re.IGNORECASE):
        return noun
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"
