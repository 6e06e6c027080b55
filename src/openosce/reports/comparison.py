"""Run against run, paired by case: two of them, or several as a trend."""

import hashlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openosce.errors import StudyError
from openosce.grading.record import ACCURACY
from openosce.reports.guard import Differing, differing
from openosce.reports.scores import ScoreTable, read_scores
from openosce.reports.sheets import NOTHING, Sheet, interval, p_value
from openosce.reports.text import one_line
from openosce.runs.folder import RunReader
from openosce.statistics import Difference, Estimate, holm, mean_over_cases, paired_difference

_GROUP = "all"


@dataclass(frozen=True)
class RunSide:
    """One side of a comparison: one doctor of one run in one arm."""

    run: str
    model: str
    arm: str


@dataclass(frozen=True)
class RunComparison:
    """A minus B on the common cases that are valid in both."""

    a: RunSide
    b: RunSide
    difference: Difference
    p_adjusted: float | None = None
    """Adjusted within the family: all arms of one doctor, in all runs that are compared with the same one."""

    def to_json(self, metric: str) -> dict[str, Any]:
        """One entry of `comparisons`."""
        place = {"a": asdict(self.a), "b": asdict(self.b), "group": _GROUP, "metric": metric}
        return place | asdict(self.difference) | {"p_adjusted": self.p_adjusted, "adjustment": "holm"}


@dataclass(frozen=True)
class Point:
    """How one doctor of one run did in one arm."""

    side: RunSide
    estimate: Estimate
    comparison: RunComparison | None
    """With the first run; None for the first itself."""

    def to_json(self, metric: str) -> dict[str, Any]:
        """One point of an entry of `trend`."""
        place = {"run": self.side.run, "model": self.side.model}
        return place | asdict(self.estimate) | {"to_first": self.comparison and self.comparison.to_json(metric)}


@dataclass(frozen=True)
class Line:
    """One doctor's way through the runs: a point an arm and run."""

    doctors: tuple[str, ...]
    """By run: names may differ where every run has one doctor."""
    arms: tuple[tuple[Point, ...], ...]


@dataclass(frozen=True)
class RunsCompared:
    """Everything that tables and JSON tell about several runs."""

    runs: tuple[str, ...]
    n_cases: int
    """Cases that all runs have, with the same record."""
    left_out: tuple[int, ...]
    """By run: cases that are not among them."""
    without_partner: tuple[str, ...]
    """Doctors and arms that not every run has, in words."""
    differs: tuple[Differing, ...]
    lines: tuple[Line, ...]
    comparisons: tuple[RunComparison, ...]
    """Of two runs the first minus the second; of more, each minus the first."""
    metric: str = ACCURACY
    """What is compared: the headline of the runs."""

    def to_json(self) -> dict[str, Any]:
        """The document of `osce compare --json`: what cannot be computed is null, with a reason; never NaN."""
        arms = [arm for line in self.lines for arm in line.arms]
        what = {"group": _GROUP, "metric": self.metric}
        points = [[point.to_json(self.metric) for point in arm] for arm in arms]
        trend = [{"arm": arm[0].side.arm, **what, "points": told} for arm, told in zip(arms, points, strict=True)]
        return {
            "runs": list(self.runs),
            "n_cases": self.n_cases,
            "left_out": dict(zip(self.runs, self.left_out, strict=True)),
            "without_partner": list(self.without_partner),
            "comparisons": [comparison.to_json(self.metric) for comparison in self.comparisons],
            "trend": trend,
            "differs": [one.to_json() for one in self.differs],
        }


def compare_runs(folders: Sequence[Path], factors: Collection[str] = ()) -> RunsCompared:
    """Compare runs on the cases that all of them have; a case's value is the mean over its valid trials.

    Args:
        folders: Two runs or more; of more than two, each is compared with the first.
        factors: What may differ between the studies besides the doctor (`guard.FACTORS`).

    Raises:
        StudyError: Fewer than two runs, one of them twice, studies that differ in something that is no factor, or
            nothing in common.
        RunFolderError: A run cannot be read.
    """
    if len(folders) < 2:
        raise StudyError(f"a comparison needs two runs or more, found {len(folders)}; name another run folder")
    twice = next((one for n, one in enumerate(folders) if one.resolve() in [f.resolve() for f in folders[:n]]), None)
    if twice is not None:
        raise StudyError(f"{twice}: is named twice; a run cannot be compared with itself")
    with ExitStack() as stack:
        readers = [stack.enter_context(RunReader(folder)) for folder in folders]
        found = differing(readers, factors)
        runs = tuple(str(folder) for folder in folders)
        common, left_out = _common_cases(readers, may_differ="cases" in factors)
        tables = [read_scores(reader) for reader in readers]
    means = [_means_of(table, common) for table in tables]
    doctors, arms, without_partner = _partners(runs, tables)
    lines = tuple(_line(runs, names, arms, means) for names in doctors)
    comparisons = tuple(point.comparison for line in lines for arm in line.arms for point in arm if point.comparison)
    metric = tables[0].metric.name
    return RunsCompared(runs, len(common), left_out, without_partner, found, lines, comparisons, metric)


def _common_cases(readers: Sequence[RunReader], *, may_differ: bool) -> tuple[list[str], tuple[int, ...]]:
    """The ids of the cases that all runs have with the same record, and how many each run has besides."""
    # A digest a case: the records of a large set would fill memory once for every run.
    sets = [{key: hashlib.sha256(record.encode()).digest() for key, record in r.case_records()} for r in readers]
    common = [key for key, record in sets[0].items() if all(other.get(key) == record for other in sets[1:])]
    left_out = tuple(len(one) - len(common) for one in sets)
    sizes = ", ".join(f"{len(one)} in {reader.folder}" for one, reader in zip(sets, readers, strict=True))
    if not common:
        raise StudyError(f"the runs have no case in common, by id and record ({sizes}); nothing can be paired")
    if any(left_out) and not may_differ:
        raise StudyError(
            f"the runs cannot be compared: they hold different cases ({sizes}; {len(common)} in common); "
            "to compare on those, add --factor cases"
        )
    return common, left_out


_Means = dict[tuple[str, str], NDArray[np.float64]]


def _means_of(table: ScoreTable, common: Sequence[str]) -> _Means:
    """By doctor and arm the values of the common cases, shape (n_cases,), NaN for a case without a valid answer."""
    places = {case.id: n for n, case in enumerate(table.cases)}
    chosen = [places[case_id] for case_id in common]
    means = table.case_means()[:, :, chosen]
    plan = table.plan
    return {(doctor, arm): means[d, a] for d, doctor in enumerate(plan.doctors) for a, arm in enumerate(plan.arms)}


def _partners(
    runs: Sequence[str], tables: Sequence[ScoreTable]
) -> tuple[list[tuple[str, ...]], list[str], tuple[str, ...]]:
    """The doctors that belong together, a name a run; the arms that all runs have; and what has no partner."""
    named = {kind: [getattr(table.plan, kind) for table in tables] for kind in ("doctors", "arms")}
    shared = {kind: [one for one in lists[0] if all(one in other for other in lists)] for kind, lists in named.items()}
    if all(len(doctors) == 1 for doctors in named["doctors"]):
        lines = [tuple(doctors[0] for doctors in named["doctors"])]
        del named["doctors"]
    else:
        lines = [(name,) * len(runs) for name in shared["doctors"]]
    without = [
        f"{run}: the {kind.removesuffix('s')} {one}"
        for kind, lists in named.items()
        for run, names in zip(runs, lists, strict=True)
        for one in names
        if one not in shared[kind]
    ]
    if not lines or not shared["arms"]:
        raise StudyError(
            f"the runs have no {'arm' if lines else 'doctor'} in common, so nothing can be paired: {'; '.join(without)}"
        )
    return lines, shared["arms"], tuple(without)


def _line(runs: Sequence[str], doctors: tuple[str, ...], arms: Sequence[str], means: Sequence[_Means]) -> Line:
    """One doctor's points in every arm, the comparisons with the first run adjusted together."""
    points = []
    for arm in arms:
        sides = [RunSide(run, doctor, arm) for run, doctor in zip(runs, doctors, strict=True)]
        values = [of_run[side.model, arm] for of_run, side in zip(means, sides, strict=True)]
        points.append([_point(sides, values, n) for n in range(len(runs))])
    compared = [point.comparison for row in points for point in row if point.comparison]
    adjusted = iter(holm([one.difference.p for one in compared]))
    return Line(doctors, tuple(tuple(_adjusted(point, adjusted) for point in row) for row in points))


def _point(sides: Sequence[RunSide], values: Sequence[NDArray[np.float64]], n: int) -> Point:
    estimate = mean_over_cases(values[n][~np.isnan(values[n])])
    if n == 0:
        return Point(sides[0], estimate, None)
    a, b = (0, n) if len(sides) == 2 else (n, 0)
    both = ~np.isnan(values[a]) & ~np.isnan(values[b])
    return Point(
        sides[n], estimate, RunComparison(sides[a], sides[b], paired_difference(values[a][both], values[b][both]))
    )


def _adjusted(point: Point, p_values: Iterator[float | None]) -> Point:
    if point.comparison is None:
        return point
    return replace(point, comparison=replace(point.comparison, p_adjusted=next(p_values)))


def comparison_sheets(found: RunsCompared) -> list[Sheet]:
    """A table for every doctor: of two runs side by side, of more as a trend; what holds for all below the last."""
    make = _pair_sheet if len(found.runs) == 2 else _trend_sheet
    sheets = [make(found, line) for line in found.lines]
    return [*sheets[:-1], replace(sheets[-1], notes=(*sheets[-1].notes, *_notes(found)))]


def _pair_sheet(found: RunsCompared, line: Line) -> Sheet:
    rows = []
    for first, second in line.arms:
        pair = second.comparison
        if pair is not None:
            p_values = (p_value(pair.difference.p), p_value(pair.p_adjusted))
            n_both = pair.difference.n_cases
            n_cases = str(n_both) if n_both == found.n_cases else f"{n_both} of {found.n_cases}"
            means = [NOTHING if p.estimate.mean is None else f"{p.estimate.mean:.3f}" for p in (first, second)]
            rows.append((first.side.arm, *means, _difference(pair), n_cases, *p_values))
    heads = ("arm", "A", "B", "A minus B\n[95% interval]", "cases", "p", "p (Holm)")
    title = f"{found.metric.capitalize()} in two runs"
    return Sheet(title, heads, tuple(rows), (*_legend(found, line), *_reasons(line, differences=True)))


def _trend_sheet(found: RunsCompared, line: Line) -> Sheet:
    """A run a column: the mean, and below it the difference to the first with its adjusted p."""
    rows = [(arm[0].side.arm, *map(_trend_cell, arm)) for arm in line.arms]
    heads = ("arm", *(_letter(n) for n in range(len(found.runs))))
    told = "below each mean with its 95% interval: the difference to A with its own, and p (Holm)"
    title = f"{found.metric.capitalize()} in {len(found.runs)} runs"
    return Sheet(title, heads, tuple(rows), (*_legend(found, line), told, *_reasons(line)))


def _trend_cell(point: Point) -> str:
    estimate = point.estimate
    lines = [interval(estimate.mean, estimate.ci_low, estimate.ci_high, estimate.n_cases)]
    if point.comparison is not None:
        lines += [_difference(point.comparison), f"p {p_value(point.comparison.p_adjusted)}"]
    return "\n".join(lines)


def _difference(pair: RunComparison) -> str:
    found = pair.difference
    return interval(found.difference, found.ci_low, found.ci_high, found.n_cases, sign="+")


def _letter(n: int) -> str:
    return chr(ord("A") + n) if n < 26 else str(n + 1)


def _legend(found: RunsCompared, line: Line) -> tuple[str, ...]:
    pairs = zip(found.runs, line.doctors, strict=True)
    return tuple(f"{_letter(n)}: {run}, doctor {doctor}" for n, (run, doctor) in enumerate(pairs))


def _reasons(line: Line, *, differences: bool = False) -> tuple[str, ...]:
    """Why something could not be computed, and in which arms; with `differences`, only what concerns those."""
    places: dict[str, dict[str, None]] = {}
    for arm in line.arms:
        for point in arm:
            found = [] if differences else [point.estimate.reason]
            found += [point.comparison.difference.reason] if point.comparison else []
            for reason in filter(None, found):
                places.setdefault(reason, {})[point.side.arm] = None
    return tuple(f"{reason}: {', '.join(arms)}" for reason, arms in places.items())


def _notes(found: RunsCompared) -> Iterator[str]:
    yield (
        f"paired by case over {found.n_cases} cases that all runs have: means over those valid in the run, "
        "differences over those valid in both; p (Holm) is adjusted over the tests of a table"
    )
    for run, n in zip(found.runs, found.left_out, strict=True):
        if n:
            yield f"{n} cases of {run} are left out: the others do not have them, or with another record"
    yield from (f"no partner for {place}" for place in found.without_partner)
    for one in found.differs:
        # Doctors of different names stand above; those of one name differ in their endpoint or settings.
        if one.factor != "doctor" or any(len(set(line.doctors)) == 1 for line in found.lines):
            yield f"differs: {one.key}: {' | '.join(one_line(str(value), 80) for value in one.values)}"
