"""What a study is: doctors, cases, trials, roles and settings, from a TOML file, from flags, or both."""

import os
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import tomli_w
from pydantic import Field, ValidationError

from openosce.benchmarks import Benchmark, Settings, find_benchmark
from openosce.cases.record import Record
from openosce.errors import StudyError
from openosce.models import ModelSpec
from openosce.runs.conditions import Condition, refuse_unlike, swept

_Table = TypeVar("_Table", bound=Record)

ALIASES = {"student": "doctor", "moderator": "grader"}


HUMAN = "human"
"""The name under which somebody at the keyboard plays a role."""


def in_process(name: str) -> bool:
    """Whether a role needs no endpoint: a base URL does not concern it."""
    return name == HUMAN or name.startswith(("builtin/", "local/"))


class Role(Record):
    """The table `[roles.NAME]`: the model behind a role, and the settings that change its replies."""

    model: str | None = None
    models: tuple[str, ...] = ()
    """Several models: for the doctor only."""
    base_url: str | None = None
    file: str | None = None
    """The replies of `builtin/script` or `builtin/recorded`."""
    temperature: float | None = Field(default=None, ge=0)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, gt=0)
    seed: int | None = None
    stop: tuple[str, ...] = ()
    vision: bool | None = None
    """Whether the model reads images; by default it does, unless it is known not to."""
    extra_body: dict[str, Any] = Field(default_factory=dict)
    """Anything else that the endpoint understands, sent as it is."""

    @property
    def names(self) -> tuple[str, ...]:
        """The models named, one or several."""
        return (*([self.model] if self.model else []), *self.models)

    def spec(self, name: str, base_url: str | None) -> ModelSpec:
        """The model of this name with this role's settings; `base_url` for a role that has none of its own."""
        settings = self.model_dump(
            exclude={"model", "models", "base_url", "vision"}, exclude_defaults=True, mode="json"
        )
        needs_none = in_process(name)
        return ModelSpec(name, None if needs_none else self.base_url or base_url, settings, self.vision)


class StudyTable(Record):
    """The table `[study]`."""

    benchmark: str
    cases: str = "starter"
    trials: int = Field(default=5, ge=1, le=1000)
    seed: int = 1
    development: tuple[str, ...] = ()
    """Ids of cases that prompts were tried on: they are run, and no estimate uses them."""
    grader_repeats: int = Field(default=1, ge=1, le=100)
    """How often a grader that is a model decides on one answer; its verdicts are averaged."""
    base_url: str | None = None
    """For every chat-completions role that has none of its own."""


class Limits(Record):
    """The table `[limits]`: what may change between two starts of one study."""

    in_flight: int = Field(default=50, ge=1, le=10_000)
    """Calls open at once."""
    calls: int | None = Field(default=None, ge=1)
    """Calls of the whole run at the most; the run then stops, and can go on."""
    dollars: float | None = Field(default=None, gt=0)
    """What the whole run may cost; calls that are open when it is reached are still paid."""
    requests_per_minute: float | None = Field(default=None, gt=0)
    """Of each endpoint."""
    tokens_per_minute: float | None = Field(default=None, gt=0)
    """Of each endpoint, prompt tokens as estimated."""
    price_book: str | None = None
    """A file of prices that take the place of ours."""


@dataclass(frozen=True)
class Study:
    """A study, checked: every name in it is known."""

    benchmark: Benchmark
    cases: str
    trials: int
    seed: int
    development: tuple[str, ...]
    grader_repeats: int
    conditions: tuple[Condition, ...]
    """One, unless something is swept."""
    fallbacks: tuple[str, ...]
    """Roles nobody named, which fell back to a built-in one."""
    limits: Limits
    text: str
    """The study file: as given, or as the flags amount to."""

    @property
    def doctors(self) -> tuple[ModelSpec, ...]:
        """The models under test, as the first condition sets them."""
        return tuple(self.conditions[0].doctors.values())

    @property
    def roles(self) -> Mapping[str, ModelSpec]:
        """Every role but the doctor, in the first condition."""
        return self.conditions[0].roles

    @property
    def settings(self) -> Settings:
        """The benchmark's settings, in the first condition."""
        return self.conditions[0].settings

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms of all conditions: those that no sweep changes are asked in the first alone."""
        return self.conditions[0].arms

    @property
    def models(self) -> tuple[tuple[str, ModelSpec], ...]:
        """Every role with its model, each pair once."""
        pairs = [
            (role, spec)
            for condition in self.conditions
            for role, spec in (*(("doctor", one) for one in condition.doctors.values()), *condition.roles.items())
        ]
        return tuple({(role, spec.fingerprint): (role, spec) for role, spec in pairs}.values())

    @property
    def is_interactive(self) -> bool:
        """Whether somebody at the keyboard takes part."""
        return any(spec.name == HUMAN for _, spec in self.models)

    def condition(self, name: str) -> Condition:
        """The condition of this name."""
        return next(condition for condition in self.conditions if condition.name == name)


def read_study(path: Path) -> dict[str, Any]:
    """Read a study file as nested tables, unchecked.

    Raises:
        StudyError: It cannot be read, or is not TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as failure:
        raise StudyError(f"{path}: cannot be read: {failure.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as failure:
        raise StudyError(f"{path}: not a TOML file: {failure}") from None


def to_study(tables: dict[str, Any], text: str | None = None, environment: Mapping[str, str] = os.environ) -> Study:
    """Check the tables of a study, and fill in what they leave to the defaults.

    Args:
        tables: As read from TOML.
        text: The file they were read from; without it, the tables are written out.
        environment: Where `OPENOSCE_<ROLE>_BASE_URL` is looked up.

    Raises:
        StudyError: An unknown key, name or value; the message names its place.
    """
    head = _table(StudyTable, "study", tables.get("study"))
    benchmark = find_benchmark(head.benchmark)
    own = benchmark.name.replace("-", "_")
    unknown = sorted(set(tables) - {"study", "roles", "limits", "sweep", own})
    if unknown:
        known = f"[study], [roles.*], [limits], [sweep], [{own}]"
        raise StudyError(f"unknown table(s) [{'], ['.join(unknown)}]; known are {known}")
    urls = {name: environment.get(f"OPENOSCE_{name.upper()}_BASE_URL") or head.base_url for name in benchmark.roles}
    found = [_condition(name, changed, benchmark, urls) for name, changed in swept(tables, benchmark)]
    first, *others = (condition for condition, _ in found)
    refuse_unlike((first, *others), benchmark)
    return Study(
        benchmark=benchmark,
        cases=head.cases,
        trials=head.trials,
        seed=head.seed,
        development=head.development,
        grader_repeats=head.grader_repeats,
        conditions=(first, *(_without(condition, benchmark.unswept_arms) for condition in others)),
        fallbacks=found[0][1],
        limits=_table(Limits, "limits", tables.get("limits", {})),
        text=text if text is not None else tomli_w.dumps(tables),
    )


def _condition(
    name: str, tables: Mapping[str, Any], benchmark: Benchmark, urls: Mapping[str, str | None]
) -> tuple[Condition, tuple[str, ...]]:
    """One condition, and the roles in it that nobody named."""
    own = benchmark.name.replace("-", "_")
    roles, fallbacks = _roles(tables.get("roles", {}), benchmark)
    doctor = roles.pop("doctor")
    settings = _table(benchmark.settings, own, tables.get(own, {}))
    condition = Condition(
        name,
        settings,
        doctors={model: doctor.spec(model, urls["doctor"]) for model in doctor.names},
        roles={role: table.spec(table.names[0], urls[role]) for role, table in roles.items()},
        arms=benchmark.arms(settings),
        most_trials=benchmark.most_trials(settings),
    )
    return condition, fallbacks


def _without(condition: Condition, arms: Collection[str]) -> Condition:
    return replace(condition, arms=tuple(arm for arm in condition.arms if arm not in arms))


def _roles(tables: Mapping[str, Any], benchmark: Benchmark) -> tuple[dict[str, Role], tuple[str, ...]]:
    kinds = benchmark.roles
    aliases = {alias: name for alias, name in ALIASES.items() if name in kinds}
    named: dict[str, Role] = {}
    for given, table in tables.items():
        name = aliases.get(given, given)
        if name not in kinds:
            raise StudyError(f"unknown role {given!r}; {benchmark.name} knows {', '.join((*kinds, *aliases))}")
        if name in named:
            raise StudyError(f"the role {name!r} is given twice, once as {given!r}")
        role = _table(Role, f"roles.{given}", table)
        if name != "doctor" and len(role.names) > 1:
            raise StudyError(f"roles.{given}: only the doctor can have several models")
        if not role.names:
            raise StudyError(f'[roles.{given}] names no model; add model = "provider/name"')
        if len(set(role.names)) < len(role.names):
            raise StudyError(f"roles.{given}: a model is named twice")
        named[name] = role
    if "patient" in named and "summarizer" in kinds:
        named.setdefault("summarizer", named["patient"])  # CRAFT-MD: the patient's model, unless it is named
    fallbacks = []
    for name, kind in kinds.items():
        if name not in named:
            named[name] = Role(model=kind.fallback)
            fallbacks.append(f"{name}: {kind.fallback}")
    return named, tuple(fallbacks)


def _table(kind: type[_Table], name: str, table: object) -> _Table:
    """Check one table against its record."""
    if not isinstance(table, Mapping):
        problem = "is missing" if table is None else f"expected a table, found {type(table).__name__}"
        raise StudyError(f"[{name}] {problem}")
    try:
        return kind.model_validate(table)
    except ValidationError as failure:
        first = failure.errors(include_url=False)[0]
        field = ".".join(str(step) for step in (name, *first["loc"]))
        if first["type"] == "extra_forbidden":
            known = ", ".join(kind.model_fields)
            raise StudyError(f"unknown key {field}; [{name}] knows {known}") from None
        raise StudyError(f"{field}: {first['msg']}, found {first['input']!r}") from None


def default_folder(study: Study) -> Path:
    """Where a study goes without `--out`: the same study finds the same folder."""
    names = "+".join(doctor.name for doctor in study.doctors)
    return Path("runs") / re.sub(r"[^A-Za-z0-9.+_-]+", "-", f"{study.benchmark.name}-{names}")[:100]
