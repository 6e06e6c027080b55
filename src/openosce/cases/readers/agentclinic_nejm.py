"""AgentClinic's JSONL of the NEJM kind: an image, a question with five options, and two texts for the roles.

Source: AgentClinic (2024), and the authors' released `agentclinic_nejm.jsonl`; a later file adds `type`, the kinds of
the image. Only the grader is handed the options.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from openosce.cases.readers.agentclinic import age_and_sex
from openosce.cases.readers.native import json_lines
from openosce.cases.readers.validate import to_case, to_record
from openosce.cases.record import Case, Text
from openosce.cases.text import sentences, split_question
from openosce.errors import CaseFileError

SOURCE = "agentclinic-nejm"
OBJECTIVE = "What is the most likely diagnosis?"
"""All that a doctor is told: the source holds no objective, and its question names the findings."""

# A bullet before a capital, a number after a stop, or a heading before a bullet; "10 - 20" and "aged 5." are none.
_ITEM = re.compile(
    r"""(?:^|(?<!\d)\s+)-\s+(?=[A-Z*"'(])|(?:^|(?<=[.:;?!])\s+)\d{1,2}\.\s+(?=\S)"""
    r"""|\s+(?=[A-Z][a-z]+(?: [a-z]+){0,6}:\s+-\s)"""
)
_LABEL = re.compile(r"([^:.]{2,80}):\s+(.+)", re.DOTALL)


class _Option(BaseModel):
    text: Text
    correct: bool


class _Line(BaseModel):
    """What we read of a line; further keys are passed over."""

    question: Text
    image_url: Text | tuple[Text, ...]
    patient_info: str = ""
    physical_exams: str = ""
    answers: tuple[_Option, ...]
    type: str | tuple[str, ...] = ()


def is_nejm(first: dict[str, Any]) -> bool:
    """Whether the first line has the telling keys."""
    return {"image_url", "question", "answers"} <= first.keys()


def read_nejm(text: str, path: Path) -> Iterator[Case]:
    """Read cases from the lines; a case's number is its place among the cases.

    Raises:
        CaseFileError: A line is no such case, or not just one of its options is correct.
    """
    for number, (place, data) in enumerate(json_lines(text, path), start=1):
        line = to_record(_Line, data, path, lambda _, place=place: place)  # type: ignore[misc]
        right = [option.text for option in line.answers if option.correct]
        if len(right) != 1:
            raise CaseFileError(path, place, f"answers: expected one correct option, found {len(right)}")
        yield to_case(_record(line, right[0], number), path, lambda _, place=place: place)  # type: ignore[misc]


def _record(line: _Line, diagnosis: str, number: int) -> dict[str, object]:
    vignette, question = split_question(line.question)
    told = pieces(line.patient_info)
    kinds = (line.type,) if isinstance(line.type, str) else line.type
    urls = (line.image_url,) if isinstance(line.image_url, str) else line.image_url
    return {
        "id": f"{SOURCE}-{number:03}",
        "source": SOURCE,
        "vignette": vignette,
        "question": question,
        "choices": [option.text for option in line.answers],
        "diagnosis": {"name": diagnosis},
        "objective": OBJECTIVE,
        "patient": {
            **age_and_sex(f"{line.patient_info} {line.question}"),
            "facts": [{"fact": fact} for fact in told],
        },
        "examination": {"Reported": _findings(line.physical_exams)} if line.physical_exams.strip() else {},
        "images": [{"path": url, "kind": ", ".join(kinds) or None} for url in urls],
    }


def pieces(text: str) -> list[str]:
    """The items and sentences of a text; its bullets and their numbers are left out, every other word stays."""
    return [piece for item in _ITEM.split(text) for piece in sentences(item)]


def _findings(text: str) -> dict[str, str]:
    """The items of the findings, each under its own label where it has one."""
    found: dict[str, str] = {}
    for item in filter(None, map(str.strip, _ITEM.split(text))):
        label = _LABEL.fullmatch(item)
        name, finding = (label[1].strip(), label[2].strip()) if label else (f"finding {len(found) + 1}", item)
        found[name] = f"{found[name]}; {finding}" if name in found else finding
    return found
