"""Experts' ratings from a table of one's own, into the run whose answers they rated.

A row is one judgement: `case_id, doctor, arm, rater, item, value`, and if need be `condition`, `trial` and `note`. An
item that names a criterion of the section's rubric (`coverage`, or as the experts of MedQA-CS call it) keeps its range.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openosce.errors import ResultsFileError, RunFolderError
from openosce.grading.criterion_names import bounds_of
from openosce.grading.record import Rating
from openosce.runs.folder import MANIFEST, RunReader, RunWriter, write_whole
from openosce.runs.imports.rating_cells import BLANK, read_table

REQUIRED = ("case_id", "doctor", "arm", "rater", "item", "value")
OPTIONAL = ("condition", "trial", "note")
LONGEST = {"rater": 200, "item": 200, "note": 10_000}
"""Characters of a field."""

_SHOWN = 60
_NOTE = "ratings were imported from "


@dataclass(frozen=True)
class _Run:
    """What a rating may be about."""

    cases: frozenset[str]
    doctors: tuple[str, ...]
    conditions: tuple[str, ...]
    arms: tuple[str, ...]
    trials: int


def import_ratings(file: Path, run: Path) -> tuple[Rating, ...]:
    """Write the ratings of a CSV file into a run: all of them, or none where one cannot be used.

    A blank value is a rating without a value, and counted as such. The same rater's later word on the same thing takes
    the place of the earlier one, so that the same file again is no harm.

    Raises:
        ResultsFileError: The file is no such table, or a row is about something that the run does not have.
        RunFolderError: There is no run, or it cannot be written.
    """
    with RunReader(run) as reader:
        known = _known(reader)
    rows = read_table(file)
    columns = _columns(file, *rows[0])
    ratings: dict[tuple[object, ...], Rating] = {}
    lines: dict[tuple[object, ...], int] = {}
    for line, fields in rows[1:]:
        rating = _Row(file, line, dict(zip(columns, fields, strict=True))).rating(known)
        place = (rating.doctor, rating.condition, rating.case_id, rating.trial, rating.arm, rating.rater, rating.item)
        if place in lines:
            problem = f"{rating.rater} rates {rating.item!r} of case {rating.case_id} a second time"
            raise ResultsFileError(file, line, f"{problem}, first in line {lines[place]}; leave one of them out")
        ratings[place], lines[place] = rating, line
    if not ratings:
        raise ResultsFileError(file, None, "holds no rating below its first row; add one row a judgement")
    with RunWriter(run) as writer:
        for rating in ratings.values():
            writer.write(rating)
        _note(run, file.name, tuple(ratings.values()))
    return tuple(ratings.values())


def _known(reader: RunReader) -> _Run:
    try:
        plan = reader.manifest["plan"]
        return _Run(
            frozenset(case.id for case in reader.cases()),
            tuple(map(str, plan["doctors"])),
            tuple(map(str, plan["conditions"])),
            tuple(map(str, plan["arms"])),
            int(plan["trials"]),
        )
    except (KeyError, TypeError, ValueError):
        raise RunFolderError(f"{reader.folder / MANIFEST}: does not say what was planned") from None


def _columns(file: Path, line: int, heads: Sequence[str]) -> tuple[str, ...]:
    columns = tuple(head.strip().lower() for head in heads)
    missing = [name for name in REQUIRED if name not in columns]
    unknown = [name for name in columns if name not in (*REQUIRED, *OPTIONAL)]
    twice = [name for name in columns if columns.count(name) > 1]
    problems = (("lacks the column", missing), ("has an unknown column", unknown), ("has two columns", twice))
    for problem, names in problems:
        if names:
            known = f"{', '.join(REQUIRED)} and, if need be, {', '.join(OPTIONAL)}"
            raise ResultsFileError(file, line, f"{problem} {names[0][:_SHOWN]!r}; expected {known}")
    return columns


@dataclass(frozen=True)
class _Row:
    """One row, while it is checked."""

    file: Path
    line: int
    fields: Mapping[str, str]

    def rating(self, run: _Run) -> Rating:
        """The rating, or a refusal that names the place."""
        case_id = self._text("case_id")
        if case_id not in run.cases:
            raise self._refusal("case_id", "a case of the run", "see `osce show RUN`")
        arm = self._one_of("arm", run.arms) or None
        value = self._value(arm)
        return Rating(
            doctor=self._one_of("doctor", run.doctors, needed=True),
            case_id=case_id,
            rater=self._text("rater", needed=True),
            item=self._text("item", needed=True),
            value=value,
            condition=self._condition(run),
            trial=self._trial(run),
            arm=arm,
            note=self._text("note") or None,
            missing_reason=f"{BLANK}: the cell is blank" if value is None else None,
        )

    def _text(self, name: str, needed: bool = False) -> str:
        text = self.fields.get(name, "").strip()
        if needed and not text:
            raise self._refusal(name, "a name", "fill it in")
        if len(text) > LONGEST.get(name, len(text)):
            raise self._refusal(name, f"at most {LONGEST[name]:,} characters", "shorten it")
        return text

    def _one_of(self, name: str, known: Sequence[str], needed: bool = False) -> str:
        text = self._text(name)
        if text not in known and (text or needed):
            raise self._refusal(name, f"one of {', '.join(known)}", "write it as the run does")
        return text

    def _condition(self, run: _Run) -> str:
        """The condition; a run that has but one needs no word of it."""
        return self._one_of("condition", run.conditions, needed=len(run.conditions) > 1) or run.conditions[0]

    def _trial(self, run: _Run) -> int | None:
        text = self._text("trial")
        if text and not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) < run.trials):
            raise self._refusal("trial", f"0 to {run.trials - 1}, or nothing for all trials together", "mend it")
        return int(text) if text else None

    def _value(self, arm: str | None) -> float | None:
        text = self._text("value")
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self._refusal("value", "a number, or nothing where it was not rated", "mend it")
        criterion = bounds_of(arm or "", self._text("item"))
        if criterion is not None and not criterion.low <= value <= criterion.high:
            scale = f"{criterion.low:g} to {criterion.high:g} for {criterion.name}"
            raise self._refusal("value", scale, "rate on the rubric's own scale")
        return value

    def _refusal(self, name: str, expected: str, mend: str) -> ResultsFileError:
        came = self.fields.get(name, "").strip()
        return ResultsFileError(self.file, self.line, f"{name}: expected {expected}, found {came[:_SHOWN]!r}; {mend}")


def _note(run: Path, name: str, ratings: Sequence[Rating]) -> None:
    """Say it in the manifest, in the place of an earlier note on the file. Call it with the folder's lock held."""
    path = run / MANIFEST
    manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    notes = [note for note in manifest.get("notes", ()) if not str(note).endswith(f"{_NOTE}{name}")]
    raters = ", ".join(sorted({rating.rater for rating in ratings}))
    notes.append(f"by {raters}, {len(ratings)} {_NOTE}{name}")
    write_whole(path, json.dumps({**manifest, "notes": notes}, indent=2, ensure_ascii=False) + "\n")
