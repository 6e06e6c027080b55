"""CRAFT-MD's released results become a run: raw results and tables of correctness, several models in one."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from openosce.cases import Case, read_cases
from openosce.cases.checks import duplicate_ids
from openosce.errors import ResultsFileError, StudyError
from openosce.grading import Trial, TrialKey
from openosce.runs.imports.craft_md import FILES, results_files, survey
from openosce.runs.imports.craft_md_scores import AS_PUBLISHED, CONDITION, EXPERIMENTS, GRADER, PROVIDER, TRIALS
from openosce.runs.imports.craft_md_table import TabledResults, read_table
from openosce.runs.imports.irregular import Irregular, Tally
from openosce.runs.imports.writing import ImportedStudy, imported_run


class Results(Protocol):
    """What was released of one model, read through once."""

    @property
    def doctor(self) -> str:
        """`craft-md/` and the model's name in the released data."""
        ...

    @property
    def released_as(self) -> str:
        """Raw results, or a table."""
        ...

    @property
    def content_hash(self) -> str:
        """What identifies the files."""
        ...

    @property
    def case_ids(self) -> frozenset[str]:
        """The cases that there are results of."""
        ...

    @property
    def tally(self) -> Tally:
        """What is irregular."""
        ...

    def trials(self, case: Case) -> Iterator[Trial]:
        """Every trial of a case, scored; missing ones as such."""
        ...


@dataclass(frozen=True)
class PreparedImport:
    """An import with every file read and checked: nothing is left that could be unusable input."""

    folder: Path
    results: Sequence[Results]
    study: ImportedStudy

    @property
    def n_trials(self) -> int:
        """Planned trials of all models."""
        return len(self.results) * len(self.study.cases) * TRIALS


def prepare_craft_md(
    paths: Sequence[Path], cases_file: str, folder: Path, on_file: Callable[[int, int], None] = lambda done, total: None
) -> PreparedImport:
    """Read everything through once. Writes nothing.

    Args:
        paths: Results folders, folders that hold such folders, and tables of correctness.
        cases_file: The authors' cases file, or any other that has these cases.
        folder: The run folder to be.
        on_file: Told how many files have been read, and how many there are.

    Raises:
        InputError: Anything that cannot be used.
    """
    cases = read_cases(cases_file)
    duplicates = duplicate_ids(cases)
    if duplicates:
        raise StudyError(f"{cases_file}: the id {duplicates[0]!r} occurs more than once; see `osce cases check`")
    results = _read(_located(paths), {case.id: case for case in cases}, on_file)
    with_results = frozenset[str]().union(*(found.case_ids for found in results))
    planned = [case for case in cases if case.id in with_results]
    for found in results:
        absent = [case.id for case in planned if case.id not in found.case_ids]
        if absent:
            found.tally.note(Irregular.NO_CASE, absent[0], len(absent))
    return PreparedImport(folder, results, _study(results, planned, Path(cases_file).name, len(cases)))


def _located(paths: Sequence[Path]) -> list[Path]:
    """The results folders and tables that the paths stand for."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inner = [folder for folder in sorted(path.iterdir()) if folder.is_dir() and results_files(folder)]
            folders = [path] if results_files(path) else inner
            if not folders:
                raise ResultsFileError(
                    path, None, f"expected results files ({FILES}) in it or in its folders; found none"
                )
            found += folders
        elif path.is_file():
            found.append(path)
        else:
            raise ResultsFileError(path, None, "no such folder of results, nor table of correctness")
    return found


def _read(places: Sequence[Path], cases: Mapping[str, Case], on_file: Callable[[int, int], None]) -> list[Results]:
    n_files = [len(results_files(place)) if place.is_dir() else 1 for place in places]
    n_read = 0
    known: dict[str, tuple[Results, Path]] = {}

    def step() -> None:
        nonlocal n_read
        n_read += 1
        on_file(n_read, sum(n_files))

    for place in places:
        found: Sequence[Results]
        if place.is_dir():
            found = [survey(place, _name(place), cases, step)]
        else:
            found = read_table(place, cases)
            step()
        for one in found:
            if one.doctor in known:
                earlier = known[one.doctor]
                problem = (
                    f"holds {one.doctor}, and so does {earlier[1]} ({earlier[0].released_as}); leave one of them out"
                )
                raise ResultsFileError(place, None, problem)
            known[one.doctor] = one, place
    return [one for one, _ in known.values()]


def _name(folder: Path) -> str:
    name = folder.resolve().name
    if not name.isprintable():
        raise ResultsFileError(folder, None, "expected a folder named after a model, in printable characters")
    return f"{PROVIDER}/{name}"


def _study(results: Sequence[Results], planned: Sequence[Case], cases_file: str, n_cases: int) -> ImportedStudy:
    return ImportedStudy(
        command="osce import craft-md",
        benchmark="craft-md",
        cases_file=cases_file,
        cases=planned,
        doctors={
            found.doctor: {"released_as": found.released_as, "content_hash": found.content_hash} for found in results
        },
        roles={"patient": f"{PROVIDER}/patient", "summarizer": f"{PROVIDER}/summarizer", "grader": GRADER},
        arms=tuple(EXPERIMENTS.values()),
        trials=TRIALS,
        settings={
            "arms": list(EXPERIMENTS.values()),
            "cap": None,
            "stop_rule": "as_published",
            "policy": AS_PUBLISHED.name,
        },
        policy=str(AS_PUBLISHED),
        notes=tuple(_notes(results, len(planned), n_cases)),
        conditions=(CONDITION,),
    )


def _notes(results: Sequence[Results], n_planned: int, n_cases: int) -> Iterator[str]:
    if n_planned < n_cases:
        yield f"{n_cases - n_planned} of the {n_cases} cases of the cases file have no results here and are not planned"
    yield (
        "patient, summarizer and grader are not named in the released data; by the 2025 article GPT-4 was patient and "
        "grader, GPT-3.5 the summarizer, whoever was the doctor"
    )
    yield (
        "the doctors' prompts are left out of the conversations; open models were stopped at 30 messages, prompt "
        "included, GPT models never"
    )
    for found in results:
        yield f"{found.doctor}: {len(found.case_ids)} cases, imported from {found.released_as}"
        if isinstance(found, TabledResults):
            yield f"{found.doctor}: conversations, replies and extracted diagnoses are not part of that table"
        tally = found.tally
        for kind, count in tally.counts.items():
            yield f"{found.doctor}: {kind.value}: {count}, first in {tally.first[kind]}"
        if tally.n_costs:
            yield f"{found.doctor}: {tally.n_costs} values stand beside a cost, {tally.cost:.4f} together"


def import_craft_md(
    prepared: PreparedImport, on_start: Callable[[int, int], None], on_trial: Callable[[Trial], None]
) -> None:
    """Write what is not there yet. Stopped at any moment, the same call goes on from there.

    Args:
        prepared: The import.
        on_start: Told how many trials are planned, and how many of them are there already.
        on_trial: Told of every trial.

    Raises:
        RunFolderError: The folder holds something else, is in use, or cannot be written.
        KeyboardInterrupt: Ctrl-C; everything written is on disk.
    """
    with imported_run(prepared.folder, prepared.study) as (writer, reader):
        done = reader.finished()
        on_start(prepared.n_trials, len(done))
        for case in prepared.study.cases:
            for found in prepared.results:
                if all(TrialKey(found.doctor, CONDITION, case.id, n) in done for n in range(TRIALS)):
                    continue
                for trial in found.trials(case):
                    if trial.key not in done:
                        writer.write(trial)
                        on_trial(trial)
