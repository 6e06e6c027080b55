"""Further examiners mark the stored answers of a run: their scores stand beside the earlier ones, for comparison.

An examiner is a model, a rule or a text metric. What it has marked stays marked, a marking that stopped goes on, and a
question that an examiner of this name has answered in this run is not asked again. A trial that `osce run` holds anew
is written anew, without these scores; the same command then marks it.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from openosce.benchmarks import Benchmark, Place, find_benchmark
from openosce.cases import Case
from openosce.errors import RunFolderError, StudyError
from openosce.grading import Answer, TrialKey
from openosce.grading.rubrics import SCORE
from openosce.grading.text_metrics import PREFIX, MetricExaminer, TextCollector, TextMetric, find_metric
from openosce.models import Model, ModelSpec, PacedModel, PromptPack, load_prices, load_prompts
from openosce.models.providers import require_key
from openosce.runs.cast import Lanes, build_role_model
from openosce.runs.folder import MANIFEST, AddedScores, Judge, RunReader, RunWriter
from openosce.runs.journal import Journal, JournaledModel
from openosce.runs.stored import Marker, OnMarked, marker_noted, note_in_manifest, refuse_a_mixture, work_off
from openosce.runs.study import Limits, to_study

_EXAMINER = "examiner"


@dataclass(frozen=True)
class Examined:
    """How the run itself was examined, as its manifest tells."""

    benchmark: Benchmark
    own: Marker
    policy: str
    """Of the headline."""
    arms: tuple[str, ...]
    settings: Mapping[str, Any]
    """By condition, the benchmark's settings."""
    repeats: int
    """How often an examiner that is a model marks one answer."""


@dataclass(frozen=True)
class PreparedExamination:
    """One examiner's marking with everything looked up: nothing is left that could be unusable input."""

    folder: Path
    marker: Marker
    run: Examined
    limits: Limits
    prompts: PromptPack
    model: Model | None = None
    """None for a rule and for a metric."""
    metric: TextMetric | None = None

    @property
    def name(self) -> str:
        """The examiner's name, as its scores carry it."""
        return self.marker.spec.name

    @property
    def is_own(self) -> bool:
        """Whether this is the examiner of the run itself."""
        return self.name == self.run.own.spec.name


def prepare_examinations(
    folder: Path,
    examiners: Sequence[str],
    metrics: Sequence[str] = (),
    *,
    base_url: str | None = None,
    in_flight: int = 50,
    own_prompts: Path | None = None,
    settings: Mapping[str, Any] | None = None,
) -> tuple[PreparedExamination, ...]:
    """Read what the run says of itself, and look up every examiner and metric. Writes nothing.

    Args:
        folder: The run folder.
        examiners: Examiners, `provider/name` or a built-in one. The run's own keeps its base URL and settings, unless
            others are given.
        metrics: Text metrics by name, or `umls=COMMAND`.
        base_url: The endpoint of those that are models.
        in_flight: Calls open at once.
        own_prompts: A folder of templates that replace ours.
        settings: The settings of those that are models (temperature, max_tokens, ...).

    Raises:
        InputError: Anything that cannot be used.
    """
    named = [*examiners, *(PREFIX + metric.partition("=")[0] for metric in metrics)]
    twice = next((name for name in named if named.count(name) > 1), None)
    if twice:
        raise StudyError(f"{twice} is named twice; once is enough")
    with RunReader(folder) as reader:
        run = _examined(reader)
    prompts = load_prompts(run.benchmark.prompts, own_prompts)
    given = {"base_url": base_url, **(settings or {})}
    found = [_of_examiner(folder, run, name, given, in_flight, prompts) for name in examiners]
    limits = found[0].limits if found else Limits(in_flight=in_flight)
    return (*found, *(_of_metric(folder, run, find_metric(text), limits, prompts) for text in metrics))


def _of_examiner(
    folder: Path, run: Examined, name: str, given: Mapping[str, Any], in_flight: int, prompts: PromptPack
) -> PreparedExamination:
    own = run.own.spec
    role = {"model": name, **{key: value for key, value in given.items() if value is not None}}
    if name == own.name:
        role = {**own.settings, **({"base_url": own.base_url} if own.base_url else {}), **role}
    tables = {
        "study": {"benchmark": run.benchmark.name},
        "roles": {_EXAMINER: role},
        "limits": {"in_flight": in_flight},
    }
    study = to_study(tables)
    spec = study.roles[_EXAMINER]
    model = build_role_model(run.benchmark, _EXAMINER, spec)
    marker = Marker(spec, None, prompts.hash if model else None)
    return PreparedExamination(folder, marker, run, study.limits, prompts, model)


def _of_metric(
    folder: Path, run: Examined, metric: TextMetric, limits: Limits, prompts: PromptPack
) -> PreparedExamination:
    spec = ModelSpec(PREFIX + metric.name, None, metric.identity)
    return PreparedExamination(folder, Marker(spec, None, None), run, limits, prompts, metric=metric)


def _examined(reader: RunReader) -> Examined:
    try:
        study, plan = reader.manifest["study"], reader.manifest["plan"]
        benchmark = find_benchmark(str(study["benchmark"]))
        if benchmark.mark is None or _EXAMINER not in study["roles"]:
            raise StudyError(
                f"{reader.folder}: nobody examines in this run of {benchmark.name}; --examiner and --metric are for "
                "runs whose sections an examiner marks"
            )
        changed = {str(name): of["settings"] for name, of in study.get("conditions", {}).items()}
        by_condition = {name: changed.get(name, {}) for name in map(str, plan["conditions"])}
        return Examined(
            benchmark=benchmark,
            own=marker_noted(study["roles"][_EXAMINER], None, study.get("prompts_hash")),
            policy=str(reader.manifest["policy"]),
            arms=tuple(map(str, plan["arms"])),
            settings={
                name: benchmark.settings.model_validate({**study["settings"], **of})
                for name, of in by_condition.items()
            },
            repeats=int(study.get("grader_repeats", 1)),
        )
    except (AttributeError, KeyError, TypeError, ValueError, ValidationError):
        raise RunFolderError(
            f"{reader.folder / MANIFEST}: does not say how the run was examined: a study with a benchmark, settings "
            "and roles, a plan with conditions and arms, and a policy"
        ) from None


def examine_again(prepared: PreparedExamination, on_start: Callable[[int], None], on_marked: OnMarked) -> None:
    """Mark every planned answer that this examiner has not marked.

    An answer that is missing gets missing scores. Where scores are missing because the endpoint failed, it is asked
    again.

    Args:
        prepared: The marking.
        on_start: Told how many answers there are to mark.
        on_marked: Told of the scores of every answer.

    Raises:
        StudyError: A key is missing in the environment, or a metric's command fails.
        RunFolderError: The folder is in use or cannot be written, or this examiner has marked here otherwise.
        RunStopped: No call of the model can succeed; everything marked is on disk.
        KeyboardInterrupt: Ctrl-C; everything marked is on disk.
    """
    with RunWriter(prepared.folder) as writer, RunReader(prepared.folder) as reader:
        n_to_mark = sum(1 for _ in _to_mark(reader, prepared))
        if n_to_mark > 0 and (prepared.model or prepared.metric):
            require_key(prepared.marker.spec)
            refuse_a_mixture(prepared.folder, prepared.marker, prepared.run.own, reader.manifest)
        on_start(n_to_mark)
        if n_to_mark == 0:
            return
        stopped = asyncio.run(_Marking(prepared, reader, writer, on_marked).work_off())
    if stopped is not None:
        raise stopped


def _to_mark(reader: RunReader, prepared: PreparedExamination) -> Iterator[tuple[TrialKey, Answer]]:
    run = prepared.run
    rows = reader.to_grade(SCORE, Judge(run.policy, (prepared.name,)))
    return ((key, answer) for key, answer in rows if answer.arm in run.arms and key.condition in run.settings)


class _Marking:
    """One start of a marking."""

    def __init__(
        self, prepared: PreparedExamination, reader: RunReader, writer: RunWriter, on_marked: OnMarked
    ) -> None:
        self._prepared = prepared
        self._reader, self._writer = reader, writer
        self._on_marked = on_marked
        spec, limits = prepared.marker.spec, prepared.limits
        journal = Journal(writer, load_prices(), limits)
        self._model = prepared.model and JournaledModel(
            PacedModel(prepared.model, Lanes(limits).of(spec), _EXAMINER), _EXAMINER, spec, journal, None
        )
        self._cases: dict[str, Case] = {}
        self._is_noted = prepared.is_own  # the run's own stands in the manifest already

    async def work_off(self) -> Exception | None:
        """Mark with as many workers as calls may be open; returns why it stopped before its end."""
        prepared = self._prepared
        metric = prepared.metric
        if metric is not None and metric.prepare is not None:
            metric.prepare(await self._texts())
        in_flight = prepared.limits.in_flight
        return await work_off(_to_mark(self._reader, prepared), self._mark, in_flight, prepared.model)

    async def _texts(self) -> list[str]:
        """Every text that a metric will be asked about: the marking is done once with one that only listens."""
        collector = TextCollector()
        listening = MetricExaminer(collector.metric)
        for key, answer in _to_mark(self._reader, self._prepared):
            await self._marked(answer, key, listening)
        return collector.texts

    async def _mark(self, item: tuple[TrialKey, Answer]) -> None:
        key, answer = item
        marked = await self._marked(answer, key, self._examiner(key))
        if not self._is_noted:
            note_in_manifest(self._prepared.folder, self._prepared.marker)
            self._is_noted = True
        added = AddedScores(key, answer.arm, marked.scores)
        self._writer.write(added)
        self._on_marked(added)

    async def _marked(self, answer: Answer, key: TrialKey, examiner: Any) -> Answer:
        run = self._prepared.run
        repeats = 1 if examiner.is_rule else run.repeats
        if run.benchmark.mark is None:
            raise RunFolderError(f"{self._prepared.folder}: nobody examines in a run of {run.benchmark.name}")
        return await run.benchmark.mark(replace(answer, scores=()), self._case(key.case_id), examiner, repeats)

    def _examiner(self, key: TrialKey) -> Any:
        """The examiner at one case, under the settings of its condition."""
        prepared = self._prepared
        if prepared.metric is not None:
            return MetricExaminer(prepared.metric)
        kind, name = prepared.run.benchmark.roles[_EXAMINER], prepared.name
        place = Place(self._case(key.case_id), key, "", prepared.run.settings[key.condition], prepared.prompts)
        if self._model is None or kind.modelled is None:
            return kind.builtins[name](place)
        return kind.modelled(name, self._model, place)

    def _case(self, case_id: str) -> Case:
        if case_id not in self._cases:
            self._cases[case_id] = self._reader.case(case_id)
        return self._cases[case_id]
