"""MediQ's JSONL: vignettes broken into numbered atomic facts.

Source: the released `*_convo.jsonl` files of MediQ (keys id, question, context, options, answer, answer_idx, facts,
patient). Facts that report an examination or a test go to the examination, so that the patient cannot tell them.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from openosce.cases.readers.native import json_lines
from openosce.cases.readers.validate import to_case, to_record
from openosce.cases.record import Case, Reading
from openosce.cases.text import is_examination, is_test

_NUMBER = re.compile(r"^\s*\d+[.)]\s*")


class _Person(BaseModel):
    age: Reading | None = None
    gender: str | None = None
    gpt_specialty: str | None = None


class _Line(BaseModel):
    """What we read of a line; MediQ's further keys are passed over."""

    id: int | str
    question: str
    context: tuple[str, ...]
    options: dict[str, str]
    answer: str
    facts: tuple[str, ...] | None = None
    patient: _Person | None = None


def is_mediq(first: dict[str, Any]) -> bool:
    """Whether the first line has MediQ's telling keys."""
    return {"context", "options", "answer_idx"} <= first.keys()


def read_mediq(text: str, path: Path) -> Iterator[Case]:
    """Read cases from MediQ's lines."""
    for number, data in json_lines(text, path):
        line = to_record(_Line, data, path, lambda _, number=number: number)  # type: ignore[misc]
        yield to_case(_record(line), path, lambda _, number=number: number)  # type: ignore[misc]


def _record(line: _Line) -> dict[str, object]:
    told: list[dict[str, str]] = []
    found: dict[str, str] = {}
    for text in filter(None, (_NUMBER.sub("", fact).strip() for fact in line.facts or ())):
        if is_examination(text) or is_test(text):
            found[f"finding {len(found) + 1}"] = text
        else:
            told.append({"fact": text})
    patient = line.patient or _Person()
    return {
        "id": f"mediq-{line.id}",
        "source": "mediq",
        "specialty": patient.gpt_specialty or None,
        "vignette": " ".join(_sentence(part) for part in line.context) or None,
        "question": line.question or None,
        "choices": list(line.options.values()),
        "diagnosis": {"name": line.answer},
        "patient": {"age": patient.age or None, "sex": patient.gender or None, "facts": told},
        "examination": {"Reported": found} if found else {},
    }


def _sentence(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "?", "!", '"')) else f"{text}."
