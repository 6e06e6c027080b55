"""MedQA-CS's two files become a run: what the students wrote, and what the examiners said of it."""

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from openosce.benchmarks import find_benchmark
from openosce.benchmarks.medqa_cs.handing_in import invalid, read_back
from openosce.benchmarks.medqa_cs.rounds import read_rounds
from openosce.benchmarks.medqa_cs.sections import doorway_sheet, station_of
from openosce.benchmarks.medqa_cs.settings import MedQACSSettings
from openosce.benchmarks.medqa_cs.trial import mark
from openosce.cases import Case, read_cases
from openosce.cases.checks import duplicate_ids
from openosce.cases.readers import case_files
from openosce.cases.readers.medqa_cs import case_id
from openosce.cases.readers.medqa_cs_items import CLOSURE as UPSTREAM_CLOSURE
from openosce.cases.readers.medqa_cs_items import DIAGNOSIS, QA, Item, is_medqa_cs, read_items
from openosce.cases.readers.medqa_cs_items import PHYSICAL_EXAM as UPSTREAM_PHYSICAL_EXAM
from openosce.encounters import Encounter, EndReason
from openosce.errors import ResultsFileError, StudyError
from openosce.grading import Answer, Trial, TrialKey
from openosce.grading.examiner import ExaminerContext, ExaminerPart
from openosce.grading.marks import bounded, missing_scores
from openosce.grading.student_output import CLOSURE, DIFFERENTIAL, INFO_GATHERING, PHYSICAL_EXAM, SECTIONS
from openosce.runs.imports.irregular import Irregular, Tally, whole_text
from openosce.runs.imports.medqa_cs_answers import read_questions, read_section
from openosce.runs.imports.medqa_cs_marks import ReleasedExaminer
from openosce.runs.imports.writing import ImportedStudy, imported_run

PROVIDER = "medqa-cs"
CONDITION = "text"
SECTION_OF = {
    QA: INFO_GATHERING,
    UPSTREAM_PHYSICAL_EXAM: PHYSICAL_EXAM,
    UPSTREAM_CLOSURE: CLOSURE,
    DIAGNOSIS: DIFFERENTIAL,
}
"""Our sections by the names that the files have for them."""


_Place = tuple[str, int]
"""Our section, and the turn."""


@dataclass(frozen=True)
class ReleasedStudent:
    """What the files hold of one student, by case."""

    doctor: str
    outputs: Mapping[str, Mapping[_Place, Any]]
    verdicts: Mapping[str, Mapping[str, Mapping[_Place, str]]]
    """By case and examiner."""
    content_hash: str
    tally: Tally

    def trial(self, case: Case, examiner: str | None) -> Trial:
        """The one trial of a case, with verdicts as scores; what is missing has its reason.

        Args:
            case: The case.
            examiner: The run's; its scores are there even where it said nothing.
        """
        place = case.id
        outputs = self.outputs.get(case.id, {})
        for section, turn in outputs:
            if section != INFO_GATHERING and turn != 1:
                self.tally.note(Irregular.OTHER_ROUND, f"{place}, {section}, turn {turn}")
        questions = {turn: value for (section, turn), value in outputs.items() if section == INFO_GATHERING}
        answers = [read_questions(questions, station_of(case).dialogue, self.tally, place)]
        answers += [
            read_section(section, outputs.get((section, 1)), self.tally, f"{place}, {section}")
            for section in SECTIONS
            if section != INFO_GATHERING
        ]
        key = TrialKey(self.doctor, CONDITION, case.id, 0)
        marked = tuple(self._marked(answer, case, examiner, place) for answer in answers)
        return Trial(key, Encounter((), EndReason.NOT_HELD), marked)

    def _marked(self, answer: Answer, case: Case, examiner: str | None, place: str) -> Answer:
        """An answer with the scores of everybody who said anything of it, and of the run's examiner."""
        by = self.verdicts.get(case.id, {})
        others = [name for name, said in by.items() if any(section == answer.arm for section, _ in said)]
        for name in dict.fromkeys([*([examiner] if examiner else []), *others]):
            said = by.get(name, {})
            if unused := _unused(answer, said):
                where = f"{place}, {answer.arm}, turn {unused[0]}, by {name}"
                self.tally.note(Irregular.UNUSED_VERDICT, where, len(unused))
            answer = _with_scores(answer, case, ReleasedExaminer(name, said, self.tally, place), said)
        return answer


@dataclass(frozen=True)
class PreparedMedQACS:
    """An import with everything read and scored: nothing is left that could be unusable input."""

    folder: Path
    results: Sequence[ReleasedStudent]
    trials: Sequence[Trial]
    study: ImportedStudy


def prepare_medqa_cs(source: str | Path, cases_source: str, folder: Path) -> PreparedMedQACS:
    """Read and score everything. Writes nothing.

    Args:
        source: The two files' folder, one of them, or the name of the fetched set.
        cases_source: The set that the cases are read from; mostly the same.
        folder: The run folder to be.

    Raises:
        InputError: Anything that cannot be used.
    """
    files = [(path, text) for path, text in case_files(source) if is_medqa_cs(text)]
    if not files:
        raise ResultsFileError(source, None, "expected MedQA-CS's med-student.json, med-exam.json or both")
    read = read_items(files)
    items = [item for item in read if item.section in SECTION_OF]
    cases = read_cases(cases_source)
    if duplicates := duplicate_ids(cases):
        raise StudyError(f"{cases_source}: the id {duplicates[0]!r} occurs more than once; see `osce cases check`")
    planned = _planned(items, cases, cases_source)
    results = _results(items)
    if not results:
        raise ResultsFileError(source, None, "holds no student's output; give files that a student has answered")
    examiner = next((name for name, _ in _counts(results).most_common(1)), None)
    trials = [found.trial(case, examiner) for case in planned for found in results]
    notes = _notes(results, len(cases) - len(planned), len(read) - len(items))
    study = _study(results, planned, Path(cases_source).name, examiner, tuple(notes))
    return PreparedMedQACS(folder, results, trials, study)


def import_medqa_cs(prepared: PreparedMedQACS, on_trial: Callable[[Trial], None] = lambda trial: None) -> int:
    """Write what is not there yet. Stopped at any moment, the same call goes on from there.

    Returns:
        How many trials were there already.

    Raises:
        RunFolderError: The folder holds something else, is in use, or cannot be written.
        KeyboardInterrupt: Ctrl-C; everything written is on disk.
    """
    with imported_run(prepared.folder, prepared.study) as (writer, reader):
        done = reader.finished()
        for trial in prepared.trials:
            if trial.key not in done:
                writer.write(trial)
                on_trial(trial)
    return len(done)


def _planned(items: Sequence[Item], cases: Sequence[Case], source: str) -> list[Case]:
    known = {case.id: case for case in cases}
    for item in items:
        if case_id(item.case) not in known:
            problem = f"case {item.case} is no {case_id(item.case)!r} in {source}; give the cases of the same release"
            raise ResultsFileError(item.place, None, problem)
        if known[case_id(item.case)].station is None:
            raise StudyError(f"{source}: {case_id(item.case)} has no station; give the cases of the same release")
    wanted = {case_id(item.case) for item in items}
    return [case for case in cases if case.id in wanted]


def _results(items: Sequence[Item]) -> list[ReleasedStudent]:
    """What the files hold of every student, in the order of their first occurrence."""
    names = dict.fromkeys(name for item in items for name in (*item.written, *item.verdicts))
    return [_student(name, items) for name in names]


def _student(name: str, items: Sequence[Item]) -> ReleasedStudent:
    tally = Tally()
    outputs: dict[str, dict[_Place, Any]] = {}
    verdicts: dict[str, dict[str, dict[_Place, str]]] = {}
    for item in sorted(items, key=lambda item: not item.is_exam):  # what was marked comes first
        case, place = case_id(item.case), (SECTION_OF[item.section], item.turn)
        where = f"{case}, {place[0]}, turn {item.turn}"
        if item.written.get(name) is not None:
            kept = outputs.setdefault(case, {}).setdefault(place, item.written[name])
            if kept != item.written[name]:
                tally.note(Irregular.OTHER_OUTPUT, where)
        for examiner, said in item.verdicts.get(name, {}).items():
            if not isinstance(said, str):
                tally.note(Irregular.OTHER_TYPE, f"{where}, by {examiner:.60}")
                continue
            text = whole_text(said, tally, f"{where}, by {examiner:.60}")
            verdicts.setdefault(case, {}).setdefault(_named(examiner, item), {})[place] = text
    content = json.dumps([repr(sorted(outputs.items())), repr(sorted(verdicts.items()))])
    content_hash = hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:16]
    return ReleasedStudent(_named(name, items[0]), outputs, verdicts, content_hash, tally)


def _named(name: str, item: Item) -> str:
    if not name.strip() or not name.isprintable() or len(name) > 200:
        raise ResultsFileError(item.place, None, f"expected a model's name in printable characters, found {name!r:.60}")
    return f"{PROVIDER}/{name}"


def _with_scores(answer: Answer, case: Case, examiner: ReleasedExaminer, said: Mapping[_Place, str]) -> Answer:
    """An answer with the scores of one examiner beside those that it has."""
    section = answer.arm
    if section == INFO_GATHERING or answer.text is None:
        return asyncio.run(mark(answer, case, examiner))
    read = read_back(section, answer.text)
    if read.value is None:
        evidence = bounded(said.get((section, 1), ""))
        scores = missing_scores(section, examiner.name, invalid(read.problem), evidence or None)
    else:
        # Not by `mark`: that asks for all that a student must be shown, which a verdict does not need.
        station = station_of(case)
        context = ExaminerContext(doorway_sheet(case), station.dialogue)
        part = ExaminerPart(station, case.diagnosis)
        scores = asyncio.run(examiner.mark(section, read.value, part, context))
    return replace(answer, scores=(*answer.scores, *scores))


def _unused(answer: Answer, said: Mapping[_Place, str]) -> list[int]:
    """The turns on which there is a verdict, and in the answer nothing to mark."""
    turns = sorted(turn for section, turn in said if section == answer.arm)
    if answer.arm == INFO_GATHERING:
        asked = {one.round + 1 for one in read_rounds(answer.text or "") or () if one.output}
    else:
        asked = {1} if answer.text is not None and read_back(answer.arm, answer.text).value is not None else set()
    return [turn for turn in turns if turn not in asked]


def _counts(results: Sequence[ReleasedStudent]) -> Counter[str]:
    """How many verdicts every examiner gave."""
    by_case = (by for found in results for by in found.verdicts.values())
    return Counter(name for by in by_case for name, said in by.items() for _ in said)


def _study(
    results: Sequence[ReleasedStudent], planned: Sequence[Case], source: str, examiner: str | None, notes: Sequence[str]
) -> ImportedStudy:
    settings, benchmark = MedQACSSettings(weighting="as_published"), find_benchmark("medqa-cs")
    return ImportedStudy(
        command="osce import medqa-cs",
        benchmark="medqa-cs",
        cases_file=source,
        cases=planned,
        doctors={found.doctor: {"content_hash": found.content_hash} for found in results},
        roles={"examiner": examiner} if examiner else {},
        arms=SECTIONS,
        trials=1,
        settings=settings.model_dump(mode="json"),
        policy=settings.policy,
        notes=tuple(notes),
        conditions=(CONDITION,),
        metrics=benchmark.measures(settings),
        averages_arms=benchmark.averages_arms,
    )


def _notes(results: Sequence[ReleasedStudent], n_unplanned: int, n_unknown: int) -> Iterator[str]:
    if n_unplanned:
        yield f"{n_unplanned} cases of the set have no results here and are not planned"
    if n_unknown:
        yield f"{n_unknown} items are of sections that are not known, and are not read"
    said = _counts(results)
    for name, count in said.most_common():
        yield f"{name} gave {count} verdicts"
    if not said:
        yield "no examiner's verdict is in the files"
    yield "the question about the chief complaint is a round here, as in the files; our own runs give it to the student"
    yield "totals are ours, from the examiner's parts; its own totals are not read"
    for found in results:
        tally = found.tally
        for kind, count in tally.counts.items():
            yield f"{found.doctor}: {kind.value}: {count}, first in {tally.first[kind]}"
