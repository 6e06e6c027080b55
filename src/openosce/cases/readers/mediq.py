"""MediQ's JSONL: vignettes broken into numbered atomic facts.

Source: the released `*_convo.jsonl` files of MediQ (keys id, question, context, options, answer, answer_idx, facts,
patient). Facts that report an examination or a test go to the examination, so that the patient cannot tell them.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from openosce.cases.readers.native import json_lines
from openosce.cases.readers.validate import to_case
from openosce.cases.record import Case
from openosce.cases.text import is_examination, is_test
from openosce.errors import CaseFileError

_NUMBER = re.compile(r"^\s*\d+[.)]\s*")


def is_mediq(first: dict[str, Any]) -> bool:
    """Whether the first line has MediQ's telling keys."""
    return {"context", "options", "answer_idx"} <= first.keys()


def read_mediq(text: str, path: Path) -> Iterator[Case]:
    """Read cases from MediQ's lines."""
    for number, line in json_lines(text, path):
        try:
            record = _record(line)
        except (KeyError, TypeError, AttributeError) as failure:
            raise CaseFileError(path, number, f"not a MediQ case: {type(failure).__name__}: {failure}") from None
        yield to_case(record, path, lambda _, number=number: number)  # type: ignore[misc]


def _record(line: dict[str, Any]) -> dict[str, object]:
    told: list[dict[str, str]] = []
    found: dict[str, str] = {}
    for fact in line.get("facts") or ():
        text = _NUMBER.sub("", fact)
        if is_examination(text) or is_test(text):
            found[f"finding {len(found) + 1}"] = text
        else:
            told.append({"fact": text})
    patient = line.get("patient") or {}
    return {
        "id": f"mediq-{line['id']}",
        "source": "mediq",
        "specialty": patient.get("gpt_specialty"),
        "vignette": " ".join(_sentence(part) for part in line["context"]),
        "question": line["question"],
        "choices": list(line["options"].values()),
        "diagnosis": {"name": line["answer"]},
        "patient": {"age": patient.get("age"), "sex": patient.get("gender"), "facts": told},
        "examination": {"Reported": found} if found else {},
    }


def _sentence(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "?", "!", '"')) else f"{text}."
