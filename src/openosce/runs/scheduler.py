"""Running a study: many trials at once in one event loop, each written down the moment it is finished."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from openosce.cases import Case, read_cases
from openosce.cases.checks import duplicate_ids
from openosce.errors import StudyError
from openosce.grading import Trial, TrialKey
from openosce.models import PromptPack, load_prompts
from openosce.runs.cast import Casting
from openosce.runs.folder import DATABASE, RunReader, RunWriter
from openosce.runs.journal import Journal
from openosce.runs.manifest import build_manifest, claim_folder, refuse_foreign_folder
from openosce.runs.study import Study

OnTrial = Callable[[Trial], None]


@dataclass(frozen=True)
class PreparedStudy:
    """A study with everything read and looked up: nothing is left that could be unusable input."""

    study: Study
    cases: Sequence[Case]
    """Every case of the set."""
    chosen: Sequence[Case]
    """Those that this start is to run."""
    prompts: PromptPack
    casting: Casting
    folder: Path


def prepare(
    study: Study,
    folder: Path,
    *,
    own_prompts: Path | None = None,
    limit: int | None = None,
    only: Sequence[str] = (),
) -> PreparedStudy:
    """Read cases and prompts and look up every model. Writes nothing.

    Args:
        study: What to run.
        folder: The run folder.
        own_prompts: A folder of templates that replace ours.
        limit: Run the first so many cases only.
        only: Run the cases of these ids only.

    Raises:
        InputError: Anything that cannot be used.
    """
    refuse_foreign_folder(folder)
    prompts = load_prompts(study.benchmark.prompts, own_prompts)
    casting = Casting(study, prompts)
    cases = read_cases(study.cases)
    _refuse_unusable(cases, study)
    return PreparedStudy(study, cases, _choose(cases, limit, only), prompts, casting, folder)


def _refuse_unusable(cases: Sequence[Case], study: Study) -> None:
    duplicates = duplicate_ids(cases)
    if duplicates:
        raise StudyError(f"{study.cases}: the id {duplicates[0]!r} occurs more than once; see `osce cases check`")
    blank = [case.id for case in cases if not case.diagnosis.name.strip()]
    if blank:
        raise StudyError(f"{study.cases}: the case {blank[0]!r} has no answer; see `osce cases check`")


def _choose(cases: Sequence[Case], limit: int | None, only: Sequence[str]) -> list[Case]:
    unknown = set(only) - {case.id for case in cases}
    if unknown:
        raise StudyError(f"no case has the id {min(unknown)!r}; `osce cases list` shows them")
    return [case for case in cases if not only or case.id in only][:limit]


def planned(prepared: PreparedStudy) -> list[TrialKey]:
    """Every trial of this start: all cases once, then all cases again, doctors side by side."""
    study = prepared.study
    return [
        TrialKey(doctor.name, condition, case.id, trial)
        for trial in range(study.trials)
        for case in prepared.chosen
        for condition in study.benchmark.conditions
        for doctor in study.doctors
    ]


def unfinished(prepared: PreparedStudy) -> list[TrialKey]:
    """The planned trials that are not finished yet."""
    keys = planned(prepared)
    if not (prepared.folder / DATABASE).is_file():
        return keys
    with RunReader(prepared.folder) as reader:
        finished = reader.finished()
    return [key for key in keys if key not in finished]


def run_study(prepared: PreparedStudy, on_start: Callable[[int, int], None], on_trial: OnTrial) -> None:
    """Run what is unfinished. Stopped at any moment, the same call goes on from there.

    Args:
        prepared: The study.
        on_start: Told how many trials are planned, and how many of them are to be run now.
        on_trial: Told of every finished trial.

    Raises:
        RunFolderError: The folder holds another study, is in use, or cannot be written.
        KeyboardInterrupt: Ctrl-C; everything finished is on disk.
    """
    manifest = build_manifest(prepared.study, prepared.cases, prepared.prompts)
    with RunWriter(prepared.folder, lambda: claim_folder(prepared.folder, manifest, prepared.study.text)) as writer:
        for case in prepared.chosen:
            writer.write(case)
        todo = unfinished(prepared)
        on_start(len(planned(prepared)), len(todo))
        asyncio.run(_run(prepared, todo, writer, on_trial))


async def _run(prepared: PreparedStudy, todo: Sequence[TrialKey], writer: RunWriter, on_trial: OnTrial) -> None:
    """Work through the trials with as many workers as calls may be open."""
    in_flight = prepared.study.limits.in_flight
    journal = Journal(writer, in_flight)
    cases = {case.id: case for case in prepared.chosen}
    keys: Iterator[TrialKey] = iter(todo)

    async def work() -> None:
        for key in keys:
            trial = await _run_trial(prepared, cases[key.case_id], key, journal)
            writer.write(trial)
            on_trial(trial)
            await asyncio.sleep(0)  # rules never wait: without this, Ctrl-C would not be heard

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(in_flight, len(todo))):
                group.create_task(work())
    except ExceptionGroup as failures:
        raise _first_leaf(failures) from failures


def _first_leaf(group: ExceptionGroup) -> Exception:
    """One error out of a group of them: workers fail together when the disk is full."""
    first = group.exceptions[0]
    return _first_leaf(first) if isinstance(first, ExceptionGroup) else first


async def _run_trial(prepared: PreparedStudy, case: Case, key: TrialKey, journal: Journal) -> Trial:
    study = prepared.study
    cast = prepared.casting.cast(case, key, journal)
    encounter, answers = await study.benchmark.run_trial(case, cast, study.settings)
    return Trial(key, encounter, answers)
