"""What a study sweeps: the conditions, each with its settings and roles."""

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from openosce.benchmarks import Benchmark, Settings
from openosce.errors import StudyError
from openosce.models import ModelSpec
from openosce.runs.folder import Column

_MOST = 1_000
_FIXED = ("roles.doctor.model", "roles.doctor.models")


@dataclass(frozen=True)
class Condition:
    """One setting of everything that a study sweeps."""

    name: str
    settings: Settings
    doctors: Mapping[str, ModelSpec]
    roles: Mapping[str, ModelSpec]
    """Every role but the doctor."""
    arms: tuple[str, ...]
    """What is asked in it: arms that no sweep changes are asked in the first condition alone."""
    most_trials: Mapping[str, int] = field(default_factory=dict)
    """Arms that are asked in so many trials of a case at the most."""

    def arms_of(self, trial: int) -> tuple[str, ...]:
        """What is asked in one trial, counted from 0."""
        return tuple(arm for arm in self.arms if trial < self.most_trials.get(arm, trial + 1))


def swept(tables: Mapping[str, Any], benchmark: Benchmark) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every condition's name with the tables of a study in which the swept settings have its values.

    A study without the table `[sweep]` has one condition, under the benchmark's own name for it.

    Raises:
        StudyError: A key that cannot be swept, or no list of values.
    """
    rest = {name: table for name, table in tables.items() if name != "sweep"}
    if "sweep" not in tables:
        yield benchmark.condition, rest
        return
    values = _values(tables["sweep"], benchmark)
    n_conditions = 1
    for listed in values.values():
        n_conditions *= len(listed)
    if n_conditions > _MOST:
        raise StudyError(f"[sweep] amounts to {n_conditions} conditions; {_MOST} is the most")
    for chosen in itertools.product(*values.values()):
        changed = deepcopy(rest)
        for key, value in zip(values, chosen, strict=True):
            _put(changed, key, value)
        yield ", ".join(_said(key, value) for key, value in zip(values, chosen, strict=True)), changed


def refuse_unlike(conditions: tuple[Condition, ...], benchmark: Benchmark) -> None:
    """See that all conditions ask the same arms and grade by one policy: the report has one of each.

    Raises:
        StudyError: A sweep changes them.
    """
    own, first = benchmark.name.replace("-", "_"), conditions[0]
    for other in conditions[1:]:
        if other.arms != first.arms:
            raise StudyError(
                f"sweep.{own}: {other.name!r} asks other arms than {first.name!r}; arms stand side by side without a "
                f"sweep: {own}.arms names them all"
            )
        if benchmark.policy(other.settings) != benchmark.policy(first.settings):
            raise StudyError(
                f"sweep.{own}: {other.name!r} has another match policy than {first.name!r}; the report shows others "
                "beside the headline's, without a sweep"
            )


def refuse_swept(keys: Iterable[str], tables: Mapping[str, Any]) -> None:
    """See that no flag sets what a study sweeps: every condition would pass over it.

    Raises:
        StudyError: One does.
    """
    table = tables.get("sweep")
    both = {key for key, _ in _flat(table)} & set(keys) if isinstance(table, Mapping) else set()
    if both:
        raise StudyError(f"{min(both)}: is swept by the study, so it cannot be set besides; change [sweep] instead")


def columns(conditions: tuple[Condition, ...], benchmark: Benchmark) -> tuple[Column, ...]:
    """The columns of results: conditions by name where one arm is swept, arms by name where nothing is."""
    several = len(conditions) > 1
    n_swept = sum(arm not in benchmark.unswept_arms for arm in conditions[0].arms)

    def label(condition: Condition, arm: str) -> str:
        if not several or arm in benchmark.unswept_arms:
            return arm
        return condition.name if n_swept == 1 else f"{condition.name} {arm}"

    return tuple(
        Column(label(one, arm), one.name, arm, one.most_trials.get(arm)) for one in conditions for arm in one.arms
    )


def reference(conditions: tuple[Condition, ...], benchmark: Benchmark) -> str | None:
    """The column that a sweep's others are compared with: the first that is swept; None where nothing is."""
    found = (column.label for column in columns(conditions, benchmark) if column.arm not in benchmark.unswept_arms)
    return next(found, None) if len(conditions) > 1 else None


def _values(table: object, benchmark: Benchmark) -> dict[str, list[Any]]:
    """The values of every swept key, `agentclinic.turns` quoted or not."""
    own = benchmark.name.replace("-", "_")
    if not isinstance(table, Mapping) or not table:
        raise StudyError("[sweep] expected settings with their values, as agentclinic.turns = [10, 15, 20]")
    values: dict[str, list[Any]] = {}
    for key, listed in _flat(table):
        if key in _FIXED:
            raise StudyError(f"sweep.{key}: several doctors stand in [roles.doctor] models; they need no sweep")
        if key.partition(".")[0] not in (own, "roles"):
            raise StudyError(f"sweep.{key}: cannot be swept; settings of [{own}] and [roles.*] can")
        if not isinstance(listed, list) or not listed:
            raise StudyError(f"sweep.{key}: expected a list of values, found {listed!r}")
        names = [_said(key, value) for value in listed]
        if len(set(names)) < len(names):
            raise StudyError(f"sweep.{key}: a value is named twice")
        values[key] = listed
    return values


def _flat(table: Mapping[str, Any], place: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        path = f"{place}.{key}" if place else str(key)
        if isinstance(value, Mapping):
            yield from _flat(value, path)
        else:
            yield path, value


def _put(tables: dict[str, Any], key: str, value: Any) -> None:
    *path, last = key.split(".")
    for step in path:
        tables = tables.setdefault(step, {})
        if not isinstance(tables, dict):
            raise StudyError(f"sweep.{key}: {step!r} is no table in the study file")
    tables[last] = value


def _said(key: str, value: Any) -> str:
    """`turns=10`, `patient=openai/gpt-4o`, `bias=none`."""
    first, _, rest = key.partition(".")
    name = rest.removesuffix(".model") if first == "roles" else rest
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"{name}={shown or 'none'}"
