"""From the names in a study to the roles of a trial. Names are checked before anything is run or written."""

import asyncio
from collections.abc import Mapping
from typing import Any

from openosce.benchmarks import Benchmark, Cast, Place
from openosce.cases import Case
from openosce.errors import StudyError
from openosce.grading import TrialKey
from openosce.models import Closable, Gate, Lane, Model, ModelSpec, PacedModel, PromptPack, Rate
from openosce.models.providers import build_model
from openosce.runs.journal import Journal, JournaledModel
from openosce.runs.study import Limits, Study


class Casting:
    """Builds the roles of every trial of a study; the models behind them are built once."""

    def __init__(self, study: Study, prompts: PromptPack) -> None:
        """Look up every name of the study.

        Raises:
            StudyError: A role or model that nobody knows; the message lists those there are. Or a grader that cannot
                follow the match policy.
        """
        for condition in study.conditions:
            if "grader" in condition.roles:
                policy = study.benchmark.policy(condition.settings)
                refuse_policy(study.benchmark, condition.roles["grader"], policy.partition("@")[0])
        self._study = study
        self._prompts = prompts
        lanes = Lanes(study.limits)
        built = [(role, spec, build_role_model(study.benchmark, role, spec)) for role, spec in study.models]
        self._models = {
            (role, spec.fingerprint): PacedModel(model, lanes.of(spec), role)
            for role, spec, model in built
            if model is not None
        }

    def cast(self, case: Case, key: TrialKey, journal: Journal, images: Mapping[str, str] | None = None) -> Cast:
        """The roles of one trial, each handed its own part of the case."""
        study, condition = self._study, self._study.condition(key.condition)
        seed = f"{study.seed}|{key.case_id}|{key.trial}"
        place = Place(case, key, seed, condition.settings, self._prompts, images or {})

        def fill(role: str, spec: ModelSpec) -> Any:
            kind, model = study.benchmark.roles[role], self._models.get((role, spec.fingerprint))
            if model is None or kind.modelled is None:
                return kind.builtins[spec.name](place)
            journaled = JournaledModel(model, role, spec, journal, None if kind.outside_trials else key)
            return kind.modelled(spec.name, journaled, place)

        specs = {"doctor": condition.doctors[key.doctor], **condition.roles}
        return Cast({role: fill(role, spec) for role, spec in specs.items()}, study.grader_repeats)

    async def close(self) -> None:
        """Close the connections of every model that has some."""
        for paced in self._models.values():
            if isinstance(paced.model, Closable):
                await paced.model.close()


class Lanes:
    """One lane for each endpoint, whatever roles share it."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._overall = asyncio.Semaphore(limits.in_flight)
        self._lanes: dict[str, Lane] = {}

    def of(self, spec: ModelSpec) -> Lane:
        """The lane of a model's endpoint."""
        endpoint = spec.base_url or spec.provider
        if endpoint not in self._lanes:
            limits = self._limits
            self._lanes[endpoint] = Lane(
                Gate(limits.in_flight),
                self._overall,
                Rate(limits.requests_per_minute) if limits.requests_per_minute else None,
                Rate(limits.tokens_per_minute) if limits.tokens_per_minute else None,
            )
        return self._lanes[endpoint]


def refuse_policy(benchmark: Benchmark, spec: ModelSpec, policy: str) -> None:
    """See that the grader of a study can follow its match policy.

    Raises:
        StudyError: It is a model, and the benchmark's models ask another question; the message says what can be done.
    """
    kind = benchmark.roles["grader"]
    if spec.name not in kind.builtins and kind.policies and policy not in kind.policies:
        raise StudyError(
            f"{spec.name} cannot grade by the policy {policy!r}: models that grade {benchmark.name} know "
            f"{', '.join(kind.policies)} alone; choose that, or a built-in grader ({', '.join(kind.builtins)})"
        )


def build_role_model(benchmark: Benchmark, role: str, spec: ModelSpec) -> Model | None:
    """The model behind a role; None for a built-in role, which needs none.

    Raises:
        StudyError: Nobody knows the name, or it cannot play this role.
    """
    kinds = benchmark.roles
    builtins = kinds[role].builtins
    if spec.name in builtins:
        return None
    elsewhere = [other for other, kind in kinds.items() if spec.name in kind.builtins]
    there_is = ", ".join(builtins)
    if kinds[role].modelled is None:
        raise StudyError(f"{spec.name} cannot be the {role}: no model can; there is {there_is}")
    if elsewhere:
        raise StudyError(f"{spec.name} cannot be the {role}, only the {', '.join(elsewhere)}; "
                         f"for the {role} there is {there_is}, or any model")  # fmt: skip
    if "/" not in spec.name:
        raise StudyError(f"the {role}'s model {spec.name!r} has no provider; write it provider/name")
    if spec.provider == "builtin" and not spec.name.endswith(("/script", "/recorded")):
        raise StudyError(f"unknown built-in {spec.name!r} for the {role}; there is {there_is}, "
                         "builtin/script and builtin/recorded")  # fmt: skip
    return build_model(spec, role)
