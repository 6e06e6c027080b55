"""The items of MedQA-CS's two files, `med-student.json` and `med-exam.json`: read, checked and put together.

Source: the authors' description of the files and the program that reads and writes them (bio-nlp/MedQA-CS); the files
themselves were not at hand. An item has `unique_id`, `section`, `case_id`, `conversation_turn_id`, `input`, `prompt`
and `output`, a student's item `ground_truth_output` too. Both kinds come as a JSON array, or as JSON lines.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field

from openosce.cases.readers.native import json_lines, parse_json
from openosce.cases.readers.validate import described, to_record
from openosce.errors import CaseFileError

QA, PHYSICAL_EXAM, CLOSURE, DIAGNOSIS = "qa", "physical_exam", "closure", "diagnosis"
SECTIONS = (QA, PHYSICAL_EXAM, CLOSURE, DIAGNOSIS)
ANSWERS = ("question", "pred")
"""The inputs of an examiner that hold what each student wrote, by the student's name."""

_TELLING = {"section", "case_id", "conversation_turn_id", "input", "output"}
_KNOWN = _TELLING | {"unique_id", "prompt", "ground_truth_output"}

Files = Sequence[tuple[Path, str]]
"""Paths with their texts."""


def _whole_number(value: object) -> object:
    return int(value) if isinstance(value, str) and re.fullmatch(r"\s*\d{1,6}\s*", value) else value


_Number = Annotated[int, BeforeValidator(_whole_number), Field(strict=True, ge=1, le=999_999)]


class _Line(BaseModel):
    """What we read of an item."""

    section: str
    case_id: _Number
    conversation_turn_id: _Number
    input: dict[str, Any]
    output: dict[str, Any] = {}
    ground_truth_output: Any = None


@dataclass(frozen=True)
class Item:
    """One question to a student, or one to an examiner about it."""

    place: str
    """The file, with the line where one is known."""
    is_exam: bool
    section: str
    case: int
    turn: int
    """Of `qa`, counted from 1, the chief complaint; 1 elsewhere."""
    input: Mapping[str, Any]
    """For an examiner, without what the students wrote."""
    truth: Any
    """What a student should have written."""
    written: Mapping[str, Any]
    """What each student wrote."""
    verdicts: Mapping[str, Mapping[str, Any]]
    """By student, what each examiner said."""
    other: Mapping[str, Any]
    """What stands in it under a key that is not known."""

    @property
    def key(self) -> tuple[bool, int, str, int]:
        """What there is one item of."""
        return self.is_exam, self.case, self.section, self.turn


def is_medqa_cs(text: str) -> bool:
    """Whether a file's first object has the telling keys."""
    start = re.match(r"\s*\[?\s*(?=\{)", text)
    if start is None:
        return False
    try:
        first, _ = json.JSONDecoder().raw_decode(text, start.end())
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and first.keys() >= _TELLING


def read_items(files: Files) -> list[Item]:
    """Every item of all files in their order; what several files hold of one item is put together.

    Raises:
        CaseFileError: Something is no such item, or two items of one case, section and turn contradict each other.
    """
    found: dict[tuple[bool, int, str, int], Item] = {}
    for path, text in files:
        for item in _items(path, text):
            earlier = found.get(item.key)
            found[item.key] = _together(earlier, item) if earlier else item
    return list(found.values())


def _items(path: Path, text: str) -> Iterator[Item]:
    for line, data in _objects(path, text):
        yield _item(to_record(_Line, data, path, lambda _, line=line: line), data, path, line)  # type: ignore[misc]


def _objects(path: Path, text: str) -> Iterator[tuple[int | None, dict[str, Any]]]:
    """The objects of an array, or of JSON lines, with their lines."""
    if not text.lstrip().startswith("["):
        yield from json_lines(text, path)
        return
    try:
        array = parse_json(text)
    except json.JSONDecodeError as failure:
        raise CaseFileError(path, failure.lineno, f"not valid JSON: {failure.msg}; is the file whole?") from None
    except (ValueError, RecursionError) as failure:
        raise CaseFileError(path, None, f"not valid JSON: {failure}") from None
    lines = _lines(text)
    lines = lines if len(lines) == len(array) else []
    for n, data in enumerate(array):
        line = lines[n] if lines else None
        if not isinstance(data, dict):
            raise CaseFileError(path, line, f"item {n + 1}: expected a JSON object, found {described(data)}")
        yield line, data


def _lines(text: str) -> list[int]:
    """The lines where items begin. Inside a text the key's quotes would be escaped: each find is an item's own."""
    lines, line, end = [], 1, 0
    for found in re.finditer(r'"unique_id"\s*:', text):
        line += text.count("\n", end, found.start())
        end = found.start()
        lines.append(line)
    return lines


def _item(read: _Line, data: Mapping[str, Any], path: Path, line: int | None) -> Item:
    answers = next((name for name in ANSWERS if isinstance(read.input.get(name), dict)), None)
    is_exam = any(name in read.input for name in ANSWERS) or "ground_truth_output" not in data
    wrong = [student for student, by in read.output.items() if is_exam and not isinstance(by, dict)]
    if wrong:
        problem = f"output.{wrong[0]!r:.60}: expected the examiners with their verdicts"
        raise CaseFileError(path, line, f"{problem}, found {described(read.output[wrong[0]])}")
    return Item(
        place=f"{path}:{line}" if line else str(path),
        is_exam=is_exam,
        section=read.section,
        case=read.case_id,
        turn=read.conversation_turn_id,
        input={name: value for name, value in read.input.items() if name != answers},
        truth=read.ground_truth_output,
        written=(read.input[answers] if answers else {}) if is_exam else read.output,
        verdicts=read.output if is_exam else {},
        other={key: value for key, value in data.items() if key not in _KNOWN},
    )


def _together(one: Item, other: Item) -> Item:
    """What two files hold of one item: the authors' program writes a whole file for every model it runs."""
    where = f"case {one.case}, {one.section}, turn {one.turn}"
    for name, before, after in (("input", one.input, other.input), ("ground_truth_output", one.truth, other.truth)):
        if before != after:
            problem = f"{where}: another `{name}` than in {one.place}; give files of one release"
            raise CaseFileError(other.place, None, problem)
    written = dict(one.written)
    verdicts = {student: dict(by) for student, by in one.verdicts.items()}
    _add(written, other.written, where, one, other)
    for student, by in other.verdicts.items():
        _add(verdicts.setdefault(student, {}), by, f"{where}, {student!r:.60}", one, other)
    return replace(one, written=written, verdicts=verdicts, other={**one.other, **other.other})


def _add(known: dict[str, Any], more: Mapping[str, Any], where: str, one: Item, other: Item) -> None:
    for name, value in more.items():
        if known.setdefault(name, value) != value:
            problem = f"{where}: another output of {name!r:.60} than in {one.place}; take one of the two out"
            raise CaseFileError(other.place, None, problem)
