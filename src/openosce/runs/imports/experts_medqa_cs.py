"""The experts' marks that the MedQA-CS paper prints, as ratings in a run of their own.

The file holds Tables 19-27 (three experts mark ten cases: parts and totals as printed) and Tables 33 and 40 (the same
cases by six models as examiners, beside the experts' mean). Nothing is corrected here: misprints stay, and
`reports/papers/medqa_cs.py` says what they are.

Source: MedQA-CS (2024), Appendix F and I; whose answers were marked: Table 5's caption.
"""

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from openosce.errors import ResultsFileError
from openosce.grading.record import Rating
from openosce.runs.imports.experts_craft_md import ExpertImport
from openosce.runs.imports.rating_cells import NOT_APPLICABLE, rated, read_text
from openosce.runs.imports.writing import ImportedStudy, imported_run

STUDENT = "medqa-cs/GPT-4"
"""Whose answers the experts marked, as the paper names it."""
CONDITION, TRIAL = "text", 0
PHYSICAL_EXAM, CLOSURE, DIFFERENTIAL = "physical_exam", "closure", "differential"
PHYSICAL_EXAM_ITEMS = {"s1": "coverage", "s2": "reasons", "s3": "extra_exams"}
"""0-60, 0-40, and 10 less for each extra examination."""
CLOSURE_ITEMS = {
    "s1": "diagnostic_impressions",
    "s2": "management_plans",
    "s3": "challenging_question",
    "s4": "language_accessibility",
    "s5": "compassion",
}
"""0-20, 0-30, 0-30, 0-10, 0-10."""
DIAGNOSIS_ITEMS = ("name", "historical", "physical")
"""0-10, 0-3, 0-3 for each of three diagnoses, as `diagnosis_1_name`."""
TOTAL, MAXIMUM, PERCENT = "total_printed", "maximum_printed", "percent_printed"
OVERALL = "overall"
"""A mark from 0 to 100 as the tables of examiners print it."""
EXPERTS = "experts"
"""Rater of the experts' mean as those tables print it."""

_EXPERTS_COLUMN = "Experts"
_MEND = "expected the marks of Tables 19-27, 33 and 40"


class _Printed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _PhysicalExam(_Printed):
    overall: FiniteFloat
    s1: FiniteFloat
    s1frac: FiniteFloat
    """What the printed working of s1 comes to."""
    s2: FiniteFloat
    s3: FiniteFloat


class _Closure(_Printed):
    overall: FiniteFloat
    s1: FiniteFloat
    s2: FiniteFloat
    s3: FiniteFloat
    s4: FiniteFloat
    s5: FiniteFloat


class _Diagnosis(_Printed):
    order: FiniteFloat
    tot: FiniteFloat
    max: FiniteFloat
    pct: FiniteFloat
    quality: FiniteFloat
    parts: tuple[tuple[str, str, str], tuple[str, str, str], tuple[str, str, str]]
    sum: FiniteFloat


_Case = Annotated[str, Field(pattern=r"^\d{1,3}$")]
_Experts = Field(min_length=1)


class _Annotations(_Printed):
    physical_exam: dict[_Case, Annotated[tuple[_PhysicalExam, ...], _Experts]]
    closure: dict[_Case, Annotated[tuple[_Closure, ...], _Experts]]
    diagnosis: dict[_Case, Annotated[tuple[_Diagnosis, ...], _Experts]]
    table33: dict[_Case, tuple[FiniteFloat, ...]]
    table40: dict[_Case, tuple[FiniteFloat, ...]]
    columns: tuple[str, ...]


def import_medqa_cs_experts(file: Path, run: Path) -> ExpertImport:
    """Make a run folder of the experts' marks; again into the same folder is no harm.

    Raises:
        ResultsFileError: The file is missing, no JSON, or of another shape.
        RunFolderError: The folder holds another run, or something else, or cannot be written.
    """
    text = read_text(file)
    annotations = _read(file, text)
    ratings = (*_marks(annotations), *_examiners(file, annotations))
    study = _study(file.name, hashlib.sha256(text.encode()).hexdigest()[:16])
    with imported_run(run, study) as (writer, _):
        for rating in ratings:
            writer.write(rating)
    return ExpertImport(ratings, {})


def _read(file: Path, text: str) -> _Annotations:
    try:
        return _Annotations.model_validate(json.loads(text, object_pairs_hook=_once))
    except json.JSONDecodeError as failure:
        raise ResultsFileError(file, failure.lineno, f"not valid JSON: {failure.msg}; give the whole file") from None
    except ValidationError as failure:
        first = failure.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise ResultsFileError(file, None, f"{place}: {first['msg']}; {_MEND}") from None
    except (ValueError, RecursionError) as failure:
        raise ResultsFileError(file, None, f"{failure}; {_MEND}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"holds {twice[:60]!r} twice")
    return found


def _about(case_id: str, section: str, rater: str, item: str, value: float, note: str | None = None) -> Rating:
    return Rating(STUDENT, case_id, rater, item, value, CONDITION, TRIAL, section, note)


def _marks(annotations: _Annotations) -> Iterator[Rating]:
    for case_id, exams in annotations.physical_exam.items():
        for n, exam in enumerate(exams, 1):
            working = None if exam.s1 == exam.s1frac else f"its printed working comes to {exam.s1frac:g}"
            notes = {"s1": working}
            for part, item in {**PHYSICAL_EXAM_ITEMS, "overall": TOTAL}.items():
                yield _about(case_id, PHYSICAL_EXAM, _expert(n), item, getattr(exam, part), notes.get(part))
    for case_id, closures in annotations.closure.items():
        for n, closure in enumerate(closures, 1):
            for part, item in {**CLOSURE_ITEMS, "overall": TOTAL}.items():
                yield _about(case_id, CLOSURE, _expert(n), item, getattr(closure, part))
    for case_id, diagnoses in annotations.diagnosis.items():
        for n, found in enumerate(diagnoses, 1):
            yield from _differential(case_id, _expert(n), found)


def _expert(n: int) -> str:
    return f"expert-{n}"


def _differential(case_id: str, rater: str, found: _Diagnosis) -> Iterator[Rating]:
    for n, parts in enumerate(found.parts, 1):
        for name, cell in zip(DIAGNOSIS_ITEMS, parts, strict=True):
            about = Rating(STUDENT, case_id, rater, f"diagnosis_{n}_{name}", None, CONDITION, TRIAL, DIFFERENTIAL)
            yield _not_applicable(about) if cell.strip().upper() == "N/A" else rated(about, cell, _number)
    totals = {"order": found.order, TOTAL: found.tot, MAXIMUM: found.max, PERCENT: found.pct, "quality": found.quality}
    for item, value in totals.items():
        yield _about(case_id, DIFFERENTIAL, rater, item, value)


def _not_applicable(about: Rating) -> Rating:
    return replace(about, missing_reason=f"{NOT_APPLICABLE}: printed as N/A", note="N/A")


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _examiners(file: Path, annotations: _Annotations) -> Iterator[Rating]:
    """The tables of examiners: a column a rater, the first one the experts' mean."""
    raters = [EXPERTS if name == _EXPERTS_COLUMN else name for name in annotations.columns]
    for section, table in ((PHYSICAL_EXAM, annotations.table33), (CLOSURE, annotations.table40)):
        for case_id, marks in table.items():
            if len(marks) != len(raters):
                problem = f"case {case_id} of the {section} examiners has {len(marks)} marks"
                raise ResultsFileError(file, None, f"{problem}, expected {len(raters)}, one for each of `columns`")
            for rater, mark in zip(raters, marks, strict=True):
                yield _about(case_id, section, rater, OVERALL, mark)


def _study(name: str, marks_hash: str) -> ImportedStudy:
    """A study without a case, an arm or an answer: none was released with the marks."""
    note = "holds the marks of experts and examiners that the paper prints; the answers they mark are not released"
    return ImportedStudy(
        command="osce import medqa-cs-experts",
        benchmark="medqa-cs",
        cases_file=name,
        cases=(),
        doctors={STUDENT: {"marks": marks_hash}},
        roles={},
        arms=(),
        trials=1,
        settings={},
        policy="as_published@1",
        notes=(note,),
        conditions=(CONDITION,),
    )
