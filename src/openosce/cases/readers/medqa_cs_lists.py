"""The lists inside MedQA-CS's items: examinations and differentials, those asked for and those of students.

A student's have the wording that the authors' program gives them; of the others only those of one case were known
(2024, Appendix B), and of the targets' findings that the program counts the lines under their heading.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from openosce.cases.readers.medqa_cs_texts import lines_of, says_nothing, without_bullet

_EXAM = re.compile(
    r"(?P<component>[^:\t|–]{1,60}?)\s*(?:[:\t|–]|\s-\s)\s*(?P<maneuvers>.+)"
    r"|(?P<named>.{1,40}?\bexam(?:ination)?|extremities|VS|HEENT|CV)\s+(?P<done>.+)",
    re.IGNORECASE,
)
_HEADER = re.compile(r"(?:exam(?:ination)? )?component\W+maneuvers?|[-|:\s]+", re.IGNORECASE)


def read_targets(text: str) -> list[tuple[str, list[str]]]:
    """Target examinations, one a line: the component, and its maneuvers; a line that is neither is a component."""
    rows: list[tuple[str, list[str]]] = []
    for line in lines_of(text):
        line = line.strip("| ")
        if says_nothing(line) or _HEADER.fullmatch(line):
            continue
        found = _EXAM.fullmatch(line)
        if found is None:
            rows.append((line, []))
            continue
        component, done = found["component"] or found["named"], found["maneuvers"] or found["done"]
        # A comma inside brackets parts nothing.
        maneuvers = [part.strip(" .") for part in re.split(r"[,;](?![^(]*\))", done)]
        rows.append((component.strip(), [part for part in maneuvers if part]))
    return rows


@dataclass
class NotedDiagnosis:
    """One diagnosis of a differential that is written as text."""

    diagnosis: str
    findings: dict[str, list[str]] = field(
        default_factory=lambda: {name: [] for name in ("historical", "why_historical", "physical", "why_physical")}
    )


_DIAGNOSIS = re.compile(r"[\s*#\-]*diagnosis\s*#?\s*\d{1,2}\s*[:.)]?[\s*]*(.*)", re.IGNORECASE)
_FINDINGS = tuple(
    (name, re.compile(rf"[\s*#\-]*{pattern}[\s*]*:?[\s*]*(.*)", re.IGNORECASE))
    for name, pattern in (
        ("why_historical", r"historical reasons?"),
        ("why_physical", r"physical exam(?:ination)? data reasons?"),
        ("historical", r"histor(?:y|ical) (?:findings?|data)(?:\(s\))?"),
        ("physical", r"physical exam(?:ination)? (?:findings?|data)(?:\(s\))?"),
    )
)


def read_differential(text: str) -> tuple[list[NotedDiagnosis], list[str]]:
    """The diagnoses of a differential under `Diagnosis #1:`, and the lines that stand under none.

    A finding is a line; on the heading's own line, a comma before a capital parts two.
    """
    found: list[NotedDiagnosis] = []
    loose: list[str] = []
    under: list[str] | None = None
    for line in text.splitlines():
        begun = _DIAGNOSIS.fullmatch(line)
        if begun:
            found.append(NotedDiagnosis(begun[1].strip(" *")))
            under = None
            continue
        head = next(((name, hit) for name, is_head in _FINDINGS if (hit := is_head.fullmatch(line))), None)
        if head and found:
            under = found[-1].findings[head[0]]
            under += _findings(re.split(r";|,(?=\s+[A-Z])", head[1][1]))
        elif under is not None:
            under += _findings([line])
        elif found and not found[-1].diagnosis:
            found[-1].diagnosis = line.strip(" *")
        elif line.strip():
            loose.append(line.strip())
    return found, loose


def _findings(lines: Sequence[str]) -> list[str]:
    texts = (without_bullet(line).strip("* ") for line in lines)
    return [text for text in texts if not says_nothing(text)]


def read_exams(text: str) -> list[tuple[str, str, str]] | None:
    """A student's examinations as the authors' program words them: component, maneuver, reason; None if it is not so.

    `Heart: auscultation`, and on the next line `reason: ...`.
    """
    first, *rest = re.split(r"^reason:", text.strip(), flags=re.MULTILINE)
    exams: list[tuple[str, str, str]] = []
    head = first
    for n, part in enumerate(rest):
        lines = part.strip().splitlines()
        is_last = n == len(rest) - 1
        component, colon, maneuver = head.partition(":")
        reason, head = (lines, "") if is_last else (lines[:-1], lines[-1] if lines else "")
        if not colon or not component.strip():
            return None
        exams.append((component.strip(), maneuver.strip(), "\n".join(reason).strip()))
    return exams if not head.strip() else None


def read_additional(text: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Additional diagnoses, `name: why` each, and the lines that are none."""
    found: list[tuple[str, str]] = []
    loose: list[str] = []
    for line in lines_of(text):
        name, colon, why = (part.strip(" *") for part in line.partition(":"))
        if colon and why and len(name) <= 120:
            found.append((name, why))
        elif found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {line}")
        elif not says_nothing(line):
            loose.append(line)
    return found, loose
