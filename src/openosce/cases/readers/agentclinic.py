"""AgentClinic's JSONL of the MedQA and MIMIC-IV kind: one `OSCE_Examination` a line, free-form below its sections.

Source: AgentClinic (2024), appendices C and D, and the authors' released `agentclinic_medqa.jsonl` (107 cases). No word
of the patient's part, the examination or the tests is lost; a leaf without a value (null, empty) says nothing.
"""

import re
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import Any

from openosce.cases.readers.native import json_lines
from openosce.cases.readers.validate import described, to_case
from openosce.cases.record import Case
from openosce.cases.text import sentences
from openosce.errors import CaseFileError

ROOT = "OSCE_Examination"
SECTIONS = (
    "Objective_for_Doctor",
    "Patient_Actor",
    "Physical_Examination_Findings",
    "Test_Results",
    "Correct_Diagnosis",
)
_DEEPEST = 50

Leaf = tuple[tuple[str, ...], str]
"""The readable names that lead to a text, and the text."""

_NAMES_NO_TEST = set(
    "finding findings result results level levels value values comment comments interpretation report impression "
    "conclusion description notes status other others test tests".split()
)
_SAYS_NOTHING_ALONE = set("yes no none normal negative positive present absent".split())
_AGE = re.compile(r"\b(\d{1,3})[ -](year|month|week|day|hour)s?[ -]old\b|\b(newborn)\b", re.IGNORECASE)
_SEX = re.compile(r"\b(?:(male|man|boy|gentleman)|(female|woman|girl|lady))\b", re.IGNORECASE)


def is_agentclinic(first: dict[str, Any]) -> bool:
    """Whether the first line has the telling key."""
    return ROOT in first


def read_agentclinic(text: str, path: Path) -> Iterator[Case]:
    """Read cases from the lines; a case's number is its place among the cases.

    Raises:
        CaseFileError: A line is no such case, holds an unknown section, or lacks the diagnosis.
    """
    kind = "mimic" if "mimic" in path.stem.casefold() else "medqa"  # the two differ in nothing else
    for number, (line, data) in enumerate(json_lines(text, path), start=1):
        try:
            record = _record(_sections(data), f"agentclinic-{kind}", number)
        except ValueError as problem:
            raise CaseFileError(path, line, str(problem)) from None
        yield to_case(record, path, lambda _, line=line: line)  # type: ignore[misc]


def _sections(data: dict[str, Any]) -> dict[str, Any]:
    """What stands under `OSCE_Examination`, whose five sections are known by name."""
    sections = data.get(ROOT)
    if not isinstance(sections, dict):
        raise ValueError(f"{ROOT}: expected keys with values, found {described(sections)}")
    unknown = [repr(key[:40]) for key in (data.keys() - {ROOT}) | (sections.keys() - set(SECTIONS))]
    if unknown:
        message = f"{ROOT}: unknown section(s) {', '.join(sorted(unknown))}"
        raise ValueError(f"{message}; known are {', '.join(SECTIONS)}; rename them, or take them out")
    if not isinstance(sections.get("Correct_Diagnosis"), str):
        raise ValueError(f"Correct_Diagnosis: expected text, found {described(sections.get('Correct_Diagnosis'))}")
    return sections


def _record(sections: dict[str, Any], source: str, number: int) -> dict[str, object]:
    objective, patient, examination, tests = (list(leaves(sections.get(name))) for name in SECTIONS[:4])
    return {
        "id": f"{source}-{number:03}",
        "source": source,
        "objective": "; ".join(text for _, text in objective) or None,
        "patient": _patient(patient) if patient else None,
        "examination": _examination(examination),
        "tests": _tests(tests),
        "diagnosis": {"name": sections["Correct_Diagnosis"]},
    }


def leaves(value: object, names: tuple[str, ...] = ()) -> Iterator[Leaf]:
    """Every text of a free-form section in its order, with the names that lead to it.

    The texts of a list share the names of the list; lists and objects inside a list are numbered.

    Raises:
        ValueError: It is nested too deep, or holds a number that is none.
    """
    if len(names) > _DEEPEST:
        raise ValueError(f"{names[0][:40]}: nested more than {_DEEPEST} levels deep; no part of a case is")
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*names, _readable(key)))
    elif isinstance(value, list):
        for place, inner in enumerate(value, start=1):
            nested = isinstance(inner, dict | list)
            yield from leaves(inner, (*names, str(place)) if nested else names)
    elif text := _text(value):
        yield names, text


def _readable(key: str) -> str:
    return " ".join(key.replace("_", " ").split()) or "unnamed"


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and not isfinite(value):
        raise ValueError(f"expected a number, found {value}")
    return str(value).strip() if value is not None else ""


def _joined(found: list[Leaf]) -> dict[tuple[str, ...], str]:
    """The texts by their names; texts of the same names stand side by side."""
    texts: dict[tuple[str, ...], list[str]] = {}
    for names, text in found:
        texts.setdefault(names, []).append(text)
    return {names: "; ".join(several) for names, several in texts.items()}


def _patient(found: list[Leaf]) -> dict[str, object]:
    demographics = " ".join(text for names, text in found if names[:1] == ("Demographics",))
    primary = [text for names, text in found if names and names[-1].casefold() == "primary symptom"]
    return {
        **age_and_sex(demographics),
        "opening": primary[0] if primary else None,
        "facts": [
            {"fact": fact, "topic": ", ".join(names).lower() or None}
            for names, text in found
            for fact in _facts(names, text)
        ],
    }


def _facts(names: tuple[str, ...], text: str) -> list[str]:
    """One thing each; a bare yes or a number is told with its name."""
    if names and (text.casefold().rstrip(".") in _SAYS_NOTHING_ALONE or not any(map(str.isalpha, text))):
        return [f"{names[-1]}: {text}"]
    return sentences(text)


def age_and_sex(text: str) -> dict[str, str | None]:
    """Age ("35", "8 months", "newborn") and sex as a text tells them; None for what it does not tell."""
    age, sex = _AGE.search(text), _SEX.search(text)
    spoken = None
    if age:
        unit = "" if age[2] and age[2].lower() == "year" else f" {(age[2] or '').lower()}s"
        spoken = f"{age[1]}{unit}" if age[1] else "newborn"
    return {"age": spoken, "sex": ("male" if sex[1] else "female") if sex else None}


def _examination(found: list[Leaf]) -> dict[str, dict[str, str]]:
    """System, maneuver, finding; what lies deeper has its names in the maneuver's."""
    systems: dict[str, dict[str, str]] = {}
    for names, finding in _joined(found).items():
        system = names[0] if names else "Physical examination"
        systems.setdefault(system, {})[": ".join(names[1:]) or "findings"] = finding
    return systems


def _tests(found: list[Leaf]) -> list[dict[str, object]]:
    """One test a leaf, named by its whole path, and found by each step of it that names a test."""
    return [
        {"name": ": ".join(names) or "Test results", "aliases": _aliases(names), "result": result}
        for names, result in _joined(found).items()
    ]


def _aliases(names: tuple[str, ...]) -> list[str]:
    telling = [name for name in names if name.casefold() not in _NAMES_NO_TEST and not name.isdecimal()]
    return list(dict.fromkeys(telling)) if len(names) > 1 else []
