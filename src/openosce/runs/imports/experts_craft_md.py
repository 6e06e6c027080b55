"""CRAFT-MD's released expert annotations, as ratings in a run that was imported from the authors' results.

Three things were judged: the cases themselves (`case_vignette_qc.csv`), the grader (`validation_graderai.csv`: of how
many of GPT-4's five vignette diagnoses a dermatologist says that they are right), and conversations (`*.xlsx`). Raters
are named as the files name them; the 2025 article numbers its dermatologists otherwise.

Source: CRAFT-MD 2025, Methods, "Assessment of clinical LLMs", "of patient-AI agent", "of grader-AI agent".
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from openosce.cases import Case
from openosce.errors import ResultsFileError, RunFolderError
from openosce.grading.record import Rating
from openosce.runs.folder import MANIFEST, RunReader, RunWriter, write_whole
from openosce.runs.imports.experts_workbook import CONDITION, DOCTORS, TRIAL, Review, read_workbook
from openosce.runs.imports.rating_cells import rated, read_table, yes_or_no

GRADER_SHEET, CASE_SHEET = "validation_graderai.csv", "case_vignette_qc.csv"
ABOUT_CASE = "case"
"""Stands for the doctor in a judgement of the case itself."""
GRADER_COUNT = "grader_count"
"""How many of a case's trials are right: 0 to the number of trials."""
GRADED_ARM = "vignette_frq"
CASE_ITEMS = ("only_possible_answer", "single_most_likely_answer")

_GRADER_RATER, _CASE_RATER = "dermatologist", "case-review"
_DERMATOLOGY = "Dermatology"
_ANSWERS, _COUNTS, _TRIALS = "correct_ans", "dermatologist_accuracy", re.compile(r"trial_\d+")
_VIGNETTE = re.compile(r"(public|private)_case(\d{1,3})")
_FIRST = {"public": -1, "private": 99}
"""`public_case01` is case_0, `private_case01` is case_100."""
_SPEAKER = re.compile(r"(?:Doctor|Patient)-AI\s*:")


@dataclass(frozen=True)
class ExpertImport:
    """What was written, and how the reviewed conversations compare with those of the run."""

    ratings: tuple[Rating, ...]
    conversations: Mapping[str, int]
    """Conversations by what was found: the run's own, in other words, or not in the run."""


def import_craft_md_experts(folder: Path, run: Path) -> ExpertImport:
    """Write the annotations of a folder into a run that holds all dermatology cases; again is no harm.

    Raises:
        ResultsFileError: A file is missing, or has another shape than the released one.
        RunFolderError: The run is none of CRAFT-MD, lacks the cases, or cannot be written.
    """
    books = sorted(folder.glob("*.xlsx"))
    absent = [name for name in (GRADER_SHEET, CASE_SHEET) if not (folder / name).is_file()]
    if absent or not books:
        missing = ", ".join([*absent, *([] if books else ["*.xlsx"])])
        raise ResultsFileError(folder, None, f"expected CRAFT-MD's expert_annotations; {missing} not found there")
    with RunReader(run) as reader:
        if reader.manifest["study"].get("benchmark") != "craft-md":
            raise RunFolderError(f"{run}: is no run of craft-md; import its results first with `osce import craft-md`")
        cases = {case_id: Case.model_validate_json(record) for case_id, record in reader.case_records()}
        counts = list(_grader_counts(folder / GRADER_SHEET, list(cases.values()), run))
        judged = list(_case_judgements(folder / CASE_SHEET, cases, run))
        reviews = list(_reviews(books, cases, run))
        conversations = _compared(reviews, reader)
    ratings = (*counts, *judged, *(rating for review in reviews for rating in review.ratings))
    with RunWriter(run) as writer:
        for rating in ratings:
            writer.write(rating)
        _note(run, f"{len(ratings)} expert ratings were imported: {', '.join(sorted({r.rater for r in ratings}))}")
    return ExpertImport(ratings, conversations)


def _grader_counts(path: Path, cases: Sequence[Case], run: Path) -> Iterator[Rating]:
    """One rating a dermatology case: the sheet is transposed, its columns are the cases in file order.

    Its own case ids are others from the 201st on, so the right diagnoses tell whether a column is the case's.
    """
    rows = read_table(path)
    named = {fields[0].strip(): (n, fields[1:]) for n, (_, fields) in enumerate(rows)}
    missing = [name for name in (_ANSWERS, _COUNTS) if name not in named]
    n_trials = sum(bool(_TRIALS.fullmatch(name)) for name in named)
    if missing or not n_trials:
        found = ", ".join(name[:40] for name in list(named)[:9])
        raise ResultsFileError(path, None, f"expected the rows trial_0 ..., {_ANSWERS}, {_COUNTS}; found {found}")
    (at, counts), (_, answers) = named[_COUNTS], named[_ANSWERS]
    remarks = rows[at + 1][1][1:] if at + 1 < len(rows) and not rows[at + 1][1][0].strip() else [""] * len(counts)
    dermatology = [case for case in cases if case.specialty == _DERMATOLOGY]
    if len(dermatology) != len(counts):
        raise RunFolderError(
            f"{run}: holds {len(dermatology)} dermatology cases, expected {len(counts)}, one for each column of "
            f"{path.name}; import the results of all released cases first"
        )
    for n, case in enumerate(dermatology):
        _same_answer(f"{path}, column {n + 2}", answers[n], case, run)
        about = Rating(DOCTORS["GPT-4"], case.id, _GRADER_RATER, GRADER_COUNT, None, CONDITION, None, GRADED_ARM)
        yield rated(about, counts[n], lambda text: _count(text, n_trials), remarks[n])


def _count(text: str, most: int) -> float | None:
    return float(text) if text in {str(n) for n in range(most + 1)} else None


def _case_judgements(path: Path, cases: Mapping[str, Case], run: Path) -> Iterator[Rating]:
    rows = read_table(path)
    header = [name.strip() for name in rows[0][1]]
    if header != ["case_id", *CASE_ITEMS]:
        found_names = ", ".join(name[:40] for name in header[:9])
        problem = f"expected the columns case_id, {', '.join(CASE_ITEMS)}, found {found_names}"
        raise ResultsFileError(path, 1, problem)
    seen: set[str] = set()
    for line, (name, *cells) in rows[1:]:
        found = _VIGNETTE.fullmatch(name.strip())
        if not found or name.strip() in seen:
            raise ResultsFileError(path, line, f"expected another public_caseNN or private_caseNN, found {name[:60]!r}")
        seen.add(name.strip())
        case = cases.get(f"case_{int(found[2]) + _FIRST[found[1]]}")
        if case is None or case.source != f"dermatology_{found[1]}":
            raise RunFolderError(f"{run}: holds no case that is {name} of {path.name}; import all released cases first")
        for item, cell in zip(CASE_ITEMS, cells, strict=True):
            yield rated(Rating(ABOUT_CASE, case.id, _CASE_RATER, item, None), cell, yes_or_no)


def _reviews(books: Sequence[Path], cases: Mapping[str, Case], run: Path) -> Iterator[Review]:
    seen: dict[tuple[str, str, str], str] = {}
    for review in (review for book in books for review in read_workbook(book)):
        case = cases.get(review.case_id)
        if case is None:
            raise RunFolderError(f"{run}: holds no case {review.case_id[:60]!r}, which is reviewed in {review.place}")
        _same_answer(review.place, review.answer, case, run)
        first = seen.setdefault((review.doctor, review.case_id, review.ratings[0].rater), review.place)
        if first != review.place:
            raise ResultsFileError(review.place, None, f"the same rater marks the same conversation in {first}")
        yield review


def _same_answer(place: str, answer: str, case: Case, run: Path) -> None:
    if answer.strip() != case.diagnosis.name.strip():
        raise RunFolderError(
            f"{place}: is about {answer.strip()[:60]!r}, and {case.id} of {run} is {case.diagnosis.name.strip()!r}; "
            "the run must hold the released cases in their order"
        )


def _compared(reviews: Sequence[Review], reader: RunReader) -> Counter[str]:
    """Whether the run's trial holds the words that the raters read; the sheets leave out the doctor's last message."""
    found: Counter[str] = Counter()
    for (doctor, case_id), review in {(review.doctor, review.case_id): review for review in reviews}.items():
        trials = reader.trials(case_id, doctor, TRIAL)
        said = _plain(" ".join(message.text for trial in trials for message in trial.encounter.transcript))
        read = _plain(_SPEAKER.sub(" ", review.conversation))
        found["the run's own" if read and read in said else "other words" if said else "not in the run"] += 1
    return found


def _plain(text: str) -> str:
    return " ".join(text.split())


def _note(run: Path, note: str) -> None:
    """Say it in the manifest, in the place of an earlier import's note. Call it with the folder's lock held."""
    path = run / MANIFEST
    manifest = json.loads(path.read_text(encoding="utf-8"))
    notes = [old for old in manifest.get("notes", ()) if " expert ratings were imported: " not in old]
    write_whole(path, json.dumps({**manifest, "notes": [*notes, note]}, indent=2, ensure_ascii=False) + "\n")
