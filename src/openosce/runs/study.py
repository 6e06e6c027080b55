"""What a study is: doctors, cases, trials, roles and settings, from a TOML file, from flags, or both."""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import tomli_w
from pydantic import Field, ValidationError

from openosce.benchmarks import Benchmark, Settings, find_benchmark
from openosce.cases.record import Record
from openosce.errors import StudyError
from openosce.models import ModelSpec

FALLBACKS = {
    "doctor": "builtin/interviewer",
    "patient": "builtin/record",
    "summarizer": "builtin/record",
    "grader": "builtin/lexicon",
}
"""The built-in role that a role nobody named falls back to."""

_Table = TypeVar("_Table", bound=Record)

ALIASES = {"student": "doctor", "moderator": "grader"}


NO_ENDPOINT = ("builtin/", "local/")
"""Models in process: a base URL does not concern them."""


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
    extra_body: dict[str, Any] = Field(default_factory=dict)
    """Anything else that the endpoint understands, sent as it is."""

    @property
    def names(self) -> tuple[str, ...]:
        """The models named, one or several."""
        return (*([self.model] if self.model else []), *self.models)

    def spec(self, name: str, base_url: str | None) -> ModelSpec:
        """The model of this name with this role's settings; `base_url` for a role that has none of its own."""
        settings = self.model_dump(exclude={"model", "models", "base_url"}, exclude_defaults=True, mode="json")
        needs_none = name.startswith(NO_ENDPOINT)
        return ModelSpec(name, None if needs_none else self.base_url or base_url, settings)


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
    doctors: tuple[ModelSpec, ...]
    roles: Mapping[str, ModelSpec]
    """Every role but the doctor."""
    fallbacks: tuple[str, ...]
    """Roles nobody named, which fell back to a built-in one."""
    settings: Settings
    limits: Limits
    text: str
    """The study file: as given, or as the flags amount to."""


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
    unknown = sorted(set(tables) - {"study", "roles", "limits", own})
    if unknown:
        raise StudyError(f"unknown table(s) [{'], ['.join(unknown)}]; known are [study], [roles.*], [limits], [{own}]")
    roles, fallbacks = _roles(tables.get("roles", {}))
    urls = {name: environment.get(f"OPENOSCE_{name.upper()}_BASE_URL") or head.base_url for name in roles}
    doctor = roles.pop("doctor")
    if len(set(doctor.names)) < len(doctor.names):
        raise StudyError("roles.doctor: a model is named twice")
    return Study(
        benchmark=benchmark,
        cases=head.cases,
        trials=head.trials,
        seed=head.seed,
        development=head.development,
        grader_repeats=head.grader_repeats,
        doctors=tuple(doctor.spec(name, urls["doctor"]) for name in doctor.names),
        roles={name: role.spec(role.names[0], urls[name]) for name, role in roles.items()},
        fallbacks=fallbacks,
        settings=_table(benchmark.settings, own, tables.get(own, {})),
        limits=_table(Limits, "limits", tables.get("limits", {})),
        text=text if text is not None else tomli_w.dumps(tables),
    )


def _roles(tables: Mapping[str, Any]) -> tuple[dict[str, Role], tuple[str, ...]]:
    named: dict[str, Role] = {}
    for given, table in tables.items():
        name = ALIASES.get(given, given)
        if name not in FALLBACKS:
            raise StudyError(f"unknown role {given!r}; known are {', '.join((*FALLBACKS, *ALIASES))}")
        if name in named:
            raise StudyError(f"the role {name!r} is given twice, once as {given!r}")
        role = _table(Role, f"roles.{given}", table)
        if name != "doctor" and len(role.names) > 1:
            raise StudyError(f"roles.{given}: only the doctor can have several models")
        if not role.names:
            raise StudyError(f'[roles.{given}] names no model; add model = "provider/name"')
        named[name] = role
    if "patient" in named:
        named.setdefault("summarizer", named["patient"])  # CRAFT-MD: the patient's model, unless it is named
    fallbacks = []
    for name, builtin in FALLBACKS.items():
        if name not in named:
            named[name] = Role(model=builtin)
            fallbacks.append(f"{name}: {builtin}")
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
