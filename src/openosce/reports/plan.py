"""What a study planned: doctors, columns of results, trials, and what is measured."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from openosce.errors import RunFolderError
from openosce.grading.metric import Metric
from openosce.runs.folder import MANIFEST, Column, RunReader

COST = "cost"
"""The metric that says what the tests ordered in an encounter cost, in US dollars."""


@dataclass(frozen=True)
class Plan:
    """What the study planned to ask: every doctor, case, trial and column."""

    doctors: tuple[str, ...]
    columns: tuple[Column, ...]
    trials: int
    """Planned per case and column."""
    policy: str
    """The headline policy; scores of other policies stay out of the estimates."""
    development: frozenset[str] = frozenset()
    """Cases that prompts were tried on; no estimate uses them."""
    metrics: tuple[Metric, ...] = (Metric(),)
    """The headline first."""
    reference: str | None = None
    """The column that a sweep's others are compared with; None: nothing is swept, and every pair is compared."""
    averages_arms: bool = False
    """Whether the arms are parts of one examination: they are averaged, not compared with each other."""

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.label for column in self.columns)

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions, in the order of the columns."""
        return tuple(dict.fromkeys(column.condition for column in self.columns))

    @property
    def headline(self) -> Metric:
        """What the first tables and figures are about."""
        return self.metrics[0]

    @property
    def swept(self) -> tuple[Column, ...]:
        """The columns of arms that were asked in several conditions; none where nothing is swept."""
        counts = Counter(column.arm for column in self.columns)
        return tuple(column for column in self.columns if self.reference is not None and counts[column.arm] > 1)

    def metric(self, name: str) -> Metric | None:
        """The metric of that name, if it is planned."""
        return next((metric for metric in self.metrics if metric.name == name), None)

    def baseline(self, arm: str) -> str | None:
        """The column of the same arm in the reference's condition; None for itself, and where there is none."""
        of = {column.label: column for column in self.columns}
        if self.reference not in of or arm not in of:
            return None
        places = {(column.condition, column.arm): column.label for column in self.columns}
        found = places.get((of[self.reference].condition, of[arm].arm))
        return found if found != arm else None

    def compared_with(self, arm: str) -> str | None:
        """The column that one is compared with: its baseline, else the reference; None for the reference itself."""
        return self.baseline(arm) or (self.reference if arm != self.reference else None)

    def trials_of(self, arm: str) -> int:
        """How often a column is asked of a case."""
        column = next(column for column in self.columns if column.label == arm)
        return self.trials if column.trials is None else min(column.trials, self.trials)

    def arms_of(self, metric: Metric) -> tuple[str, ...]:
        """The names of the columns in which something is measured."""
        return tuple(column.label for column in self.columns if not metric.arms or column.arm in metric.arms)


def read_plan(reader: RunReader) -> Plan:
    """Read from the manifest what was planned.

    Raises:
        RunFolderError: The manifest does not say it.
    """
    try:
        plan = reader.manifest["plan"]
        return Plan(
            doctors=tuple(map(str, plan["doctors"])),
            columns=_columns(plan),
            trials=int(plan["trials"]),
            policy=str(reader.manifest["policy"]),
            development=frozenset(map(str, plan.get("development", ()))),
            metrics=tuple(_metric(metric) for metric in plan.get("metrics", ())) or (Metric(),),
            reference=plan.get("reference"),
            averages_arms=bool(plan.get("averages_arms", False)),
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        raise RunFolderError(
            f"{reader.folder / MANIFEST}: does not say what was planned: "
            "a plan with doctors, conditions, arms and trials, and a policy"
        ) from None


def _columns(plan: Mapping[str, Any]) -> tuple[Column, ...]:
    """The columns as noted or, without a note, every arm of every condition."""
    if "columns" in plan:
        return tuple(
            Column(
                str(c["label"]), str(c["condition"]), str(c["arm"]), None if (n := c.get("trials")) is None else int(n)
            )
            for c in plan["columns"]
        )
    conditions, arms = tuple(map(str, plan["conditions"])), tuple(map(str, plan["arms"]))
    several = len(conditions) > 1
    return tuple(Column(f"{one} {arm}" if several else arm, one, arm) for one in conditions for arm in arms)


def _metric(noted: Mapping[str, Any]) -> Metric:
    known = {key: value for key, value in noted.items() if value is not None}
    scale = {
        key: None if noted.get(key, 0) is None else float(noted.get(key, n)) for n, key in enumerate(("low", "high"))
    }
    return Metric(**(known | scale | {"arms": tuple(noted.get("arms", ()))}))
