"""From the names in a study to the roles of a trial. Names are checked before anything is run or written."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from openosce.benchmarks import Cast
from openosce.cases import Case, doctor_part, patient_part
from openosce.errors import StudyError
from openosce.grading import LexiconGrader, ModelGrader, TrialKey
from openosce.models import Closable, Gate, Lane, Model, ModelSpec, PacedModel, PromptPack, Rate
from openosce.models.providers import build_model
from openosce.roles import (
    Interviewer,
    ModelDoctor,
    ModelPatient,
    ModelSummarizer,
    RecordPatient,
    RecordSummarizer,
)
from openosce.runs.journal import Journal, JournaledModel
from openosce.runs.study import Limits, Study


@dataclass(frozen=True)
class Place:
    """Where a role is needed: which case and trial, and what its chance depends on."""

    case: Case
    key: TrialKey
    seed: str


Builtin = Callable[[Place], Any]
Modelled = Callable[[str, Model, PromptPack, Place], Any]


@dataclass(frozen=True)
class RoleKind:
    """The ways of filling a role: rules by name, or any model."""

    builtins: Mapping[str, Builtin]
    modelled: Modelled
    outside_trials: bool = False
    """Whether its calls stand outside case and trial, and are shared by all that ask the same."""


ROLE_KINDS: dict[str, RoleKind] = {
    "doctor": RoleKind(
        {"builtin/interviewer": lambda place: Interviewer(place.seed)},
        lambda name, model, prompts, place: ModelDoctor(model, prompts, doctor_part(place.case)),
    ),
    "patient": RoleKind(
        {"builtin/record": lambda place: RecordPatient(patient_part(place.case))},
        lambda name, model, prompts, place: ModelPatient(model, prompts, patient_part(place.case)),
    ),
    "summarizer": RoleKind(
        {"builtin/record": lambda place: RecordSummarizer()},
        lambda name, model, prompts, place: ModelSummarizer(model, prompts),
    ),
    "grader": RoleKind(
        {"builtin/lexicon": lambda place: LexiconGrader()},
        lambda name, model, prompts, place: ModelGrader(name, model, prompts),
        outside_trials=True,
    ),
}


class Casting:
    """Builds the roles of every trial of a study; the models behind them are built once."""

    def __init__(self, study: Study, prompts: PromptPack) -> None:
        """Look up every name of the study.

        Raises:
            StudyError: A role or model that nobody knows; the message lists those there are.
        """
        self._study = study
        self._prompts = prompts
        lanes = Lanes(study.limits)
        named = [*study.roles.items(), *(("doctor", doctor) for doctor in study.doctors)]
        built = [(role, spec, build_role_model(role, spec)) for role, spec in named]
        self._models = {
            (role, spec.name): PacedModel(model, lanes.of(spec), role)
            for role, spec, model in built
            if model is not None
        }
        self._doctors = {doctor.name: doctor for doctor in study.doctors}

    def cast(self, case: Case, key: TrialKey, journal: Journal) -> Cast:
        """The roles of one trial, each handed its own part of the case."""
        place = Place(case, key, f"{self._study.seed}|{key.case_id}|{key.trial}")

        def fill(role: str, spec: ModelSpec) -> Any:
            kind, model = ROLE_KINDS[role], self._models.get((role, spec.name))
            if model is None:
                return kind.builtins[spec.name](place)
            journaled = JournaledModel(model, role, spec, journal, None if kind.outside_trials else key)
            return kind.modelled(spec.name, journaled, self._prompts, place)

        roles = {role: fill(role, spec) for role, spec in self._study.roles.items()}
        return Cast(
            doctor=fill("doctor", self._doctors[key.doctor]), **roles, grader_repeats=self._study.grader_repeats
        )

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


def build_role_model(role: str, spec: ModelSpec) -> Model | None:
    """The model behind a role; None for a built-in role, which needs none.

    Raises:
        StudyError: Nobody knows the name, or it cannot play this role.
    """
    builtins = ROLE_KINDS[role].builtins
    if spec.name in builtins:
        return None
    elsewhere = [other for other, kind in ROLE_KINDS.items() if spec.name in kind.builtins]
    if elsewhere:
        raise StudyError(f"{spec.name} cannot be the {role}, only the {', '.join(elsewhere)}; "
                         f"for the {role} there is {', '.join(builtins)}, or any model")  # fmt: skip
    if "/" not in spec.name:
        raise StudyError(f"the {role}'s model {spec.name!r} has no provider; write it provider/name")
    if spec.provider == "builtin" and not spec.name.endswith(("/script", "/recorded")):
        raise StudyError(f"unknown built-in {spec.name!r} for the {role}; there is {', '.join(builtins)}, "
                         "builtin/script and builtin/recorded")  # fmt: skip
    return build_model(spec, role)
