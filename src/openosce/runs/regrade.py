"""Regrading: another grader, or another policy, decides on the stored answers. Conversations are not touched.

New scores stand beside the old ones. Calls go through the journal: what was graded stays graded, a grading that stopped
goes on, and a question that the run's grader has answered before is not asked again. A trial that `osce run` holds anew
is written anew, without them; the same command then grades it.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openosce.benchmarks import BENCHMARKS, Benchmark, Place, Settings
from openosce.cases import Case, grader_part
from openosce.errors import RunFolderError, StudyError
from openosce.grading import ACCURACY, Answer, TrialKey, find_policy, score_answer
from openosce.grading.grader import OPTIONS, Grader
from openosce.grading.policies import MatchPolicy
from openosce.models import Model, ModelSpec, PacedModel, PromptPack, load_prices, load_prompts
from openosce.models.providers import require_key
from openosce.runs.cast import Lanes, build_role_model, refuse_policy
from openosce.runs.folder import MANIFEST, AddedScores, Judge, RunReader, RunWriter
from openosce.runs.journal import Journal, JournaledModel
from openosce.runs.stored import Marker, OnMarked, marker_noted, note_in_manifest, refuse_a_mixture, work_off
from openosce.runs.study import Limits, to_study


@dataclass(frozen=True)
class Headline:
    """How the run itself graded, as its manifest tells."""

    judge: Judge
    grader: Mapping[str, Any]
    """The grader's name (`grader`), base URL and settings, as notes of later gradings hold them."""
    prompts_hash: str | None
    repeats: int
    """How often a grader that is a model decides on one answer."""
    arms: tuple[str, ...]
    benchmark: str


@dataclass(frozen=True)
class PreparedGrading:
    """A grading with everything read and looked up: nothing is left that could be unusable input."""

    folder: Path
    benchmark: Benchmark
    settings: Settings
    """The benchmark's defaults: a grader stands outside trials, and none of it hangs on settings."""
    spec: ModelSpec
    policy: MatchPolicy
    model: Model | None
    """None for a grader that is a rule."""
    prompts: PromptPack
    limits: Limits
    own: Headline

    @property
    def judge(self) -> Judge:
        """Whose verdicts are to be there in the end."""
        return Judge(str(self.policy), (self.spec.name, OPTIONS))

    @property
    def is_own(self) -> bool:
        """Whether this is the grading that the run's headline rests on."""
        return self.judge == self.own.judge

    @property
    def arms_decided_anew(self) -> tuple[str, ...]:
        """The arms in which these verdicts can differ from the run's own: not those that one rule decides for both."""
        if self.is_own:
            return ()
        by_rule = self.judge.policy == self.own.judge.policy and self.policy.mcq != "grader"
        return tuple(arm for arm in self.own.arms if not (by_rule and self.benchmark.is_mcq(arm)))

    @property
    def marker(self) -> Marker:
        """Who grades, as the manifest notes it."""
        return Marker(self.spec, str(self.policy), None if self.model is None else self.prompts.hash)


def prepare_grading(
    folder: Path,
    *,
    grader: str | None = None,
    policy: str | None = None,
    base_url: str | None = None,
    in_flight: int = 50,
    own_prompts: Path | None = None,
    settings: Mapping[str, Any] | None = None,
) -> PreparedGrading:
    """Read what the run says of itself, and look up grader, policy and prompts. Writes nothing.

    Args:
        folder: The run folder.
        grader: The grader, `provider/name` or a built-in one; the run's own where it is None. The run's own keeps its
            base URL and settings, unless others are given.
        policy: The match policy by name; the run's own where it is None.
        base_url: The grader's endpoint.
        in_flight: Calls open at once.
        own_prompts: A folder of templates that replace ours.
        settings: The grader's settings (temperature, max_tokens, ...).

    Raises:
        InputError: Anything that cannot be used.
    """
    with RunReader(folder) as reader:
        own = _headline(reader)
    if grader is None and own.grader["grader"].partition("/")[0] in BENCHMARKS:
        raise StudyError(f"{folder}: its verdicts were imported, and {own.grader['grader']} cannot be asked; "
                         "name a grader with --grader")  # fmt: skip
    role = _role(own, grader, base_url, settings or {})
    head = {"benchmark": own.benchmark}
    study = to_study({"study": head, "roles": {"grader": role}, "limits": {"in_flight": in_flight}})
    spec = study.roles["grader"]
    match_policy = find_policy(policy or own.judge.policy.partition("@")[0])
    refuse_policy(study.benchmark, spec, match_policy.name)
    return PreparedGrading(
        folder,
        study.benchmark,
        study.settings,
        spec,
        match_policy,
        build_role_model(study.benchmark, "grader", spec),
        load_prompts(study.benchmark.prompts, own_prompts),
        study.limits,
        own,
    )


def _role(own: Headline, grader: str | None, base_url: str | None, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The table `[roles.grader]` of this grading; the run's own grader keeps what is not given."""
    role = {"model": grader, "base_url": base_url, **settings}
    if grader in (None, own.grader["grader"]):
        kept = {"model": own.grader["grader"], "base_url": base_url or own.grader["base_url"]}
        role = own.grader["settings"] | role | kept
    return {key: value for key, value in role.items() if value is not None}


def _headline(reader: RunReader) -> Headline:
    try:
        study, plan = reader.manifest["study"], reader.manifest["plan"]
        if "grader" not in study["roles"] and "examiner" in study["roles"]:
            raise StudyError(f"{reader.folder}: {study['benchmark']} has no grader; use --examiner or --metric")
        grader = study["roles"]["grader"]
        return Headline(
            judge=Judge(str(reader.manifest["policy"]), (str(grader["model"]), OPTIONS)),
            grader={
                "grader": str(grader["model"]),
                "base_url": grader.get("base_url"),
                "settings": dict(grader.get("settings", {})),
            },
            prompts_hash=study.get("prompts_hash"),
            repeats=int(study.get("grader_repeats", 1)),
            arms=tuple(map(str, plan["arms"])),
            benchmark=str(study["benchmark"]),
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        raise RunFolderError(
            f"{reader.folder / MANIFEST}: does not say how the run was graded: "
            "a study with a benchmark and a grader, a plan with arms, and a policy"
        ) from None


def regrade(prepared: PreparedGrading, on_start: Callable[[int], None], on_graded: OnMarked) -> None:
    """Grade every planned answer that this grader has not graded under this policy.

    An answer that is missing gets a missing score. A score that is missing because the endpoint failed is tried anew.

    Args:
        prepared: The grading.
        on_start: Told how many answers there are to grade.
        on_graded: Told of the scores of every answer.

    Raises:
        StudyError: A key is missing in the environment.
        RunFolderError: The folder is in use or cannot be written, or this grading was begun with other prompts.
        RunStopped: No call of the model can succeed; everything graded is on disk.
        KeyboardInterrupt: Ctrl-C; everything graded is on disk.
    """
    with RunWriter(prepared.folder) as writer, RunReader(prepared.folder) as reader:
        n_to_grade = sum(1 for _ in _to_grade(reader, prepared))
        if n_to_grade > 0:
            require_key(prepared.spec)
            _refuse_a_mixture(reader, prepared)
        on_start(n_to_grade)
        if n_to_grade == 0:
            return
        grading = _Grading(prepared, reader, writer, on_graded)
        answers, in_flight = _to_grade(reader, prepared), prepared.limits.in_flight
        stopped = asyncio.run(work_off(answers, grading.grade, in_flight, prepared.model))
    if stopped is not None:
        raise stopped


def _to_grade(reader: RunReader, prepared: PreparedGrading) -> Iterator[tuple[TrialKey, Answer]]:
    return (row for row in reader.to_grade(ACCURACY, prepared.judge) if row[1].arm in prepared.own.arms)


class _Grading:
    """One start of a grading."""

    def __init__(self, prepared: PreparedGrading, reader: RunReader, writer: RunWriter, on_graded: OnMarked) -> None:
        self._prepared = prepared
        self._reader, self._writer = reader, writer
        self._on_graded = on_graded
        self._journal = Journal(writer, load_prices(), prepared.limits)
        self._model = _paced(prepared)
        self._cases: dict[str, Case] = {}
        self._is_noted = False

    async def grade(self, item: tuple[TrialKey, Answer]) -> None:
        """Grade one answer, and write its scores."""
        key, answer = item
        if key.case_id not in self._cases:
            self._cases[key.case_id] = self._reader.case(key.case_id)
        prepared, case = self._prepared, self._cases[key.case_id]
        graded = await score_answer(
            answer,
            mcq=prepared.benchmark.is_mcq(answer.arm),
            part=grader_part(case),
            policy=prepared.policy,
            grader=self._grader(case, key),
            repeats=prepared.own.repeats,
        )
        if not self._is_noted and not prepared.is_own:  # the run's own stands there already
            note_in_manifest(prepared.folder, prepared.marker)
            self._is_noted = True
        added = AddedScores(key, answer.arm, graded.scores)
        self._writer.write(added)
        self._on_graded(added)

    def _grader(self, case: Case, key: TrialKey) -> Grader:
        """As the benchmark fills the role: AgentClinic's models are moderators."""
        prepared = self._prepared
        kind, spec = prepared.benchmark.roles["grader"], prepared.spec
        place = Place(case, key, "", prepared.settings, prepared.prompts)
        grader: Grader
        if self._model is None or kind.modelled is None:
            grader = kind.builtins[spec.name](place)
        else:
            journaled = JournaledModel(self._model, "grader", spec, self._journal, None)
            grader = kind.modelled(spec.name, journaled, place)
        return grader


def _paced(prepared: PreparedGrading) -> PacedModel | None:
    """The grader's model at the pace of its endpoint; None for a rule."""
    if prepared.model is None:
        return None
    return PacedModel(prepared.model, Lanes(prepared.limits).of(prepared.spec), "grader")


def _refuse_a_mixture(reader: RunReader, prepared: PreparedGrading) -> None:
    if prepared.model is not None:
        own = marker_noted(prepared.own.grader, prepared.own.judge.policy, prepared.own.prompts_hash)
        refuse_a_mixture(prepared.folder, prepared.marker, own, reader.manifest)
