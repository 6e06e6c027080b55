"""Illness scripts: the typical findings of a disease, and how well they fit what has been said.

The scripts are data (`illness_scripts.yaml`), written from general medical knowledge and not from any case.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

import yaml

from openosce.cases.diseases import find_disease
from openosce.roles.language import Clause, clauses

AGAINST = -2.0
"""Weight of a finding that speaks against a disease."""
DENIED = -0.5
"""Share of a finding's weight that its denial takes away."""
WRONG_AGE, WRONG_SEX = -2.0, -20.0


@dataclass(frozen=True)
class Phrase:
    """One way of saying a finding: stems that one clause must hold, said or denied."""

    said: frozenset[str]
    denied: frozenset[str]


@dataclass(frozen=True)
class IllnessScript:
    """The typical picture of one disease."""

    name: str
    ages: tuple[int, int]
    sex: str
    weights: tuple[float, ...]
    """One weight a finding: 3 points strongly to the disease, 1 is common and unspecific, negative speaks against."""


@dataclass(frozen=True)
class Findings:
    """What was said of a patient: clauses, age and sex."""

    clauses: tuple[Clause, ...]
    age: float | None = None
    sex: str | None = None


@dataclass(frozen=True)
class _Library:
    scripts: Mapping[str, IllnessScript]
    phrases: Mapping[str, tuple[tuple[Phrase, str, int], ...]]
    """By one of its stems: the phrase, and the script and finding it belongs to."""


@cache
def _library() -> _Library:
    text = (resources.files("openosce.roles") / "illness_scripts.yaml").read_text(encoding="utf-8")
    scripts: dict[str, IllnessScript] = {}
    phrases: dict[str, list[tuple[Phrase, str, int]]] = {}
    for entry in yaml.load(text, Loader=yaml.CSafeLoader):
        findings = [(float(f["weight"]), f["words"]) for f in entry["findings"]]
        findings += [(AGAINST, [words]) for words in entry.get("against", ())]
        name, (youngest, oldest) = entry["name"], entry["age"]
        scripts[name] = IllnessScript(name, (youngest, oldest), entry["sex"], tuple(w for w, _ in findings))
        for number, (_, ways) in enumerate(findings):
            for phrase in _phrases(ways):
                # The longest stem is the rarest, near enough: it finds the phrase with the fewest tries.
                key = max(phrase.said | phrase.denied, key=lambda word: (len(word), word))
                phrases.setdefault(key, []).append((phrase, name, number))
    return _Library(scripts, {key: tuple(found) for key, found in phrases.items()})


def _phrases(ways: Iterable[str]) -> Iterator[Phrase]:
    for way in ways:
        parts = clauses(way)
        said = frozenset[str]().union(*(part.said for part in parts))
        denied = frozenset[str]().union(*(part.denied for part in parts))
        if said or denied:
            yield Phrase(said, denied)


def script_names() -> tuple[str, ...]:
    """The diseases we have a script for."""
    return tuple(_library().scripts)


def find_script(name: str) -> str | None:
    """The name of the script for a diagnosis, by any of the disease's names."""
    disease = find_disease(name)
    return disease.name if disease and disease.name in _library().scripts else None


def rank(findings: Findings, candidates: Iterable[str]) -> list[tuple[float, str]]:
    """The candidates' scripts with their fit, best first.

    Fit: the weights of the findings said, less half the weights of those denied, less 2 for each finding against, less
    2 outside the usual age, less 20 for the wrong sex. No unit; 0 means that nothing fits.
    """
    library = _library()
    said, denied = _matched(findings.clauses)
    fits = []
    for name in candidates:
        script = library.scripts[name]
        fit = sum(script.weights[n] for n in said.get(name, ()))
        fit += DENIED * sum(max(script.weights[n], 0) for n in denied.get(name, set()) - said.get(name, set()))
        fits.append((fit + _demographics(script, findings), name))
    return sorted(fits, key=lambda pair: (-pair[0], pair[1]))


def _matched(said_clauses: Iterable[Clause]) -> tuple[dict[str, set[int]], dict[str, set[int]]]:
    """The findings of each script that some clause says, and those that some clause denies."""
    said: dict[str, set[int]] = {}
    denied: dict[str, set[int]] = {}
    phrases = _library().phrases
    for clause in said_clauses:
        for word in clause.said | clause.denied:
            for phrase, name, number in phrases.get(word, ()):
                if phrase.said <= clause.said and phrase.denied <= clause.denied:
                    said.setdefault(name, set()).add(number)
                elif not phrase.denied and phrase.said <= clause.denied:
                    denied.setdefault(name, set()).add(number)
    return said, denied


def _demographics(script: IllnessScript, findings: Findings) -> float:
    fit = 0.0
    if findings.age is not None and not script.ages[0] <= findings.age <= script.ages[1]:
        fit += WRONG_AGE
    if findings.sex is not None and script.sex not in {"any", findings.sex}:
        fit += WRONG_SEX
    return fit
