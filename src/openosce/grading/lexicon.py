"""`builtin/lexicon`: a grader by names, synonyms and subtypes; it needs no model.

It knows the case's own names and the diseases of `cases/diseases.yaml`. Similar spelling never makes two diagnoses one
(osteoclastoma is not osteoblastoma): a name is known, or it is another diagnosis.
"""

from dataclasses import dataclass
from functools import lru_cache

from openosce.cases import Diagnosis, GraderPart
from openosce.cases.diseases import find_disease, normal_name
from openosce.grading.diagnosis_text import stated_diagnoses, without_remarks
from openosce.grading.options import Verdict
from openosce.grading.policies import MatchPolicy


@dataclass(frozen=True)
class _Reference:
    """The reference diagnosis as sets of names in normal spelling."""

    same: frozenset[str]
    broader: frozenset[str]
    narrower: frozenset[str]
    accepted: frozenset[str]

    def knows(self, name: str) -> bool:
        """Whether this is one of the names."""
        return normal_name(name) in self.same | self.broader | self.narrower | self.accepted


class LexiconGrader:
    """Grades by looking names up."""

    name = "builtin/lexicon"
    is_rule = True

    async def grade(self, answer: str, part: GraderPart, policy: MatchPolicy, repeat: int = 0) -> Verdict:
        """Decide by names; never fails, and always decides alike."""
        reference = _reference(part.diagnosis)
        stated = stated_diagnoses(answer, lambda name: find_disease(name) is not None or reference.knows(name))
        if not stated:
            return Verdict(0.0, "none: the reply names no diagnosis")
        rivals = _distinct([main for main, _ in stated], reference)
        named = _distinct([name for pair in stated for name in pair if name], reference)
        several = named if policy.concurrent == "multiple" else rivals
        if len(several) > 1:
            return Verdict(0.0, "multiple: " + ", ".join(repr(name) for name in several))
        if policy.concurrent == "main":
            named = rivals
        verdicts = [_compare(name, reference, policy) for name in named]
        return max(verdicts, key=lambda verdict: verdict.value)


def _distinct(names: list[str], reference: _Reference) -> list[str]:
    """One name for each disease, in the order given."""
    found: dict[str, str] = {}
    for name in names:
        disease = find_disease(name)
        spelled = normal_name(disease.name if disease else name)
        found.setdefault("the reference" if spelled in reference.same else spelled, name)
    return list(found.values())


@lru_cache(maxsize=4096)
def _reference(diagnosis: Diagnosis) -> _Reference:
    known = find_disease(diagnosis.name)
    return _Reference(
        same=_normal(diagnosis.name, *diagnosis.synonyms),
        broader=_normal(*diagnosis.broader, *(known.broader if known else ())),
        narrower=_normal(*diagnosis.narrower),
        accepted=_normal(*diagnosis.accepted),
    )


def _normal(*names: str) -> frozenset[str]:
    """The names in normal spelling, with the other names of the diseases we know among them.

    A name with a remark in brackets, as `Osteoarthritis (OA)`, goes without it too.
    """
    found = set()
    for name in (*names, *(without_remarks(name) for name in names)):
        disease = find_disease(name)
        found |= {normal_name(other) for other in (name, *((disease.name, *disease.synonyms) if disease else ()))}
    return frozenset(found - {""})


def _compare(name: str, reference: _Reference, policy: MatchPolicy) -> Verdict:
    spelled = normal_name(name)
    if spelled in reference.same:
        return Verdict(1.0, f"same: {name}")
    if policy.accepted and spelled in reference.accepted:
        return Verdict(1.0, f"accepted: {name}")
    if spelled in reference.broader:
        return Verdict(float(policy.broader), f"broader: {name}")
    if spelled in reference.narrower:
        return Verdict(0.0, f"narrower: {name}")
    return Verdict(0.0, f"other: {name}")
