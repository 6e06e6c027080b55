"""Running a study: many trials at once in one event loop, each written down the moment it is finished."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from openosce.cases import Case, read_cases
from openosce.cases.checks import duplicate_ids
from openosce.errors import RunStopped, StudyError
from openosce.grading import Trial, TrialKey
from openosce.models import PriceBook, PromptPack, load_prices, load_prompts
from openosce.models.providers import require_key
from openosce.runs.cast import Casting
from openosce.runs.folder import DATABASE, RunReader, RunWriter
from openosce.runs.journal import Journal
from openosce.runs.manifest import build_manifest, claim_folder, note_models, refuse_foreign_folder
from openosce.runs.pictures import Pictures
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
    prices: PriceBook
    casting: Casting
    pictures: Pictures
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
    prices = load_prices(Path(study.limits.price_book) if study.limits.price_book else None)
    _refuse_unknown_prices(study, prices)
    for condition in study.conditions:
        study.benchmark.check(condition.settings, prompts)
    casting = Casting(study, prompts)
    cases = read_cases(study.cases)
    _refuse_unusable(cases, study)
    chosen = _choose(cases, limit, only)
    return PreparedStudy(study, cases, chosen, prompts, prices, casting, Pictures(study, cases), folder)


def _refuse_unknown_prices(study: Study, prices: PriceBook) -> None:
    """A limit in dollars needs to know what every model costs."""
    if study.limits.dollars is None:
        return
    for _, spec in study.models:
        if prices.cost(spec.name, 0, 0) is None:
            raise StudyError(f"limits.dollars: the price of {spec.name!r} is unknown; give it in a price book")


def _refuse_unusable(cases: Sequence[Case], study: Study) -> None:
    duplicates = duplicate_ids(cases)
    if duplicates:
        raise StudyError(f"{study.cases}: the id {duplicates[0]!r} occurs more than once; see `osce cases check`")
    unknown = set(study.development) - {case.id for case in cases}
    if unknown:
        raise StudyError(f"study.development: no case has the id {min(unknown)!r}; `osce cases list` shows them")
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
        TrialKey(doctor.name, condition.name, case.id, trial)
        for trial in range(study.trials)
        for case in prepared.chosen
        for condition in study.conditions
        for doctor in study.doctors
        if condition.arms_of(trial) or not condition.arms
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
        StudyError: A key is missing in the environment.
        RunFolderError: The folder holds another study, is in use, or cannot be written.
        RunStopped: A limit is reached, or no call of a model can succeed; everything done is on disk.
        KeyboardInterrupt: Ctrl-C; everything finished is on disk.
    """
    for _, spec in prepared.study.models:
        require_key(spec)
    manifest = build_manifest(prepared.study, prepared.cases, prepared.prompts, prepared.prices, prepared.pictures.hash)
    with RunWriter(prepared.folder, lambda: claim_folder(prepared.folder, manifest, prepared.study.text)) as writer:
        for case in prepared.chosen:
            writer.write(case)
        todo = unfinished(prepared)
        on_start(len(planned(prepared)), len(todo))
        stopped = asyncio.run(_run(prepared, todo, writer, on_trial))
    note_models(prepared.folder)
    if stopped is not None:
        raise stopped


async def _run(
    prepared: PreparedStudy, todo: Sequence[TrialKey], writer: RunWriter, on_trial: OnTrial
) -> RunStopped | None:
    """Work through the trials with as many workers as calls may be open.

    Returns:
        Why the run stopped before its end; calls that were open then have been answered and written down.
    """
    limits = prepared.study.limits
    journal = Journal(writer, prepared.prices, limits)
    cases = {case.id: case for case in prepared.chosen}
    keys: Iterator[TrialKey] = iter(todo)

    stopped: list[RunStopped] = []

    async def work() -> None:
        for key in keys:
            try:
                trial = await _run_trial(prepared, cases[key.case_id], key, journal)
            except RunStopped as reason:
                stopped.append(reason)
                return
            writer.write(trial)
            on_trial(trial)
            if stopped:
                return
            await asyncio.sleep(0)  # rules never wait: without this, Ctrl-C would not be heard

    try:
        async with asyncio.TaskGroup() as group:
            # Somebody at the keyboard holds one conversation at a time.
            for _ in range(1 if prepared.study.is_interactive else min(limits.in_flight, len(todo))):
                group.create_task(work())
    except ExceptionGroup as failures:
        raise _first_leaf(failures) from failures
    finally:
        await prepared.casting.close()
    return stopped[0] if stopped else None


def _first_leaf(group: ExceptionGroup) -> Exception:
    """One error out of a group of them: workers fail together when the disk is full."""
    first = group.exceptions[0]
    return _first_leaf(first) if isinstance(first, ExceptionGroup) else first


async def _run_trial(prepared: PreparedStudy, case: Case, key: TrialKey, journal: Journal) -> Trial:
    study = prepared.study
    cast = prepared.casting.cast(case, key, journal, prepared.pictures.of(case))
    condition = study.condition(key.condition)
    encounter, answers = await study.benchmark.run_trial(case, cast, condition.settings, condition.arms_of(key.trial))
    return Trial(key, encounter, answers)
