"""The drawings of a sweep.

A sweep over numbers is drawn as lines, one a doctor (AgentClinic 2024, figure 5 right); one over names as a row a
condition, a panel a doctor (figures 3 and 5 left and middle).
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from openosce.grading.metric import Metric
from openosce.reports.canvas import COLOURS, INK, MARKERS, Drawing, legend, settings
from openosce.reports.figure import bound, dress
from openosce.reports.measures import spoken
from openosce.reports.plan import Plan
from openosce.reports.results import Analysis, ArmEstimate
from openosce.reports.sheets import NOTHING
from openosce.reports.text import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NEXT_KEY = re.compile(r", (?=[A-Za-z_][\w.]*=)")
_LONGEST_LABEL = 48
_LONGEST_TITLE = 42
MOST_LINES = 7
"""In one drawing; more are drawn as rows."""
MOST_PANELS = 3
"""Side by side."""
_MOST_ROWS = 60
_MOST_INCHES = 100
"""In height; panels that would go beyond it are left to the tables."""
_INCHES_A_ROW = 0.24
_LEAST_INCHES = 1.1
_LETTERS_AN_INCH = 13
"""Of a row's label."""
_SHIFT = 0.05
"""Of the least distance between two values lies between two lines, so that their intervals can be told apart."""
_MOST_TICKS = 15
_CROWDED = 25
"""Where two values are nearer than this part of the whole range, all stand at equal distances."""


@dataclass(frozen=True)
class Swept:
    """The settings that a sweep changes, and their values in every condition."""

    plan: Plan

    @cached_property
    def _said(self) -> dict[str, list[tuple[str, str, str]]]:
        return {name: [part.partition("=") for part in _NEXT_KEY.split(name)] for name in self.plan.conditions}

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The settings in the order of a condition's name; none where the names do not say them all alike."""
        found = {tuple(key for key, equals, _ in said if equals) for said in self._said.values()}
        lengths = {len(said) for said in self._said.values()}
        (keys, *others) = found or {()}
        return () if others or lengths != {len(keys)} else keys

    def values(self, condition: str) -> tuple[str, ...]:
        """The values of the settings in a condition."""
        return tuple(value for _, _, value in self._said[condition])

    @cached_property
    def numeric(self) -> int | None:
        """The place of the one setting whose values are all numbers, two or more; None where there is no such one."""
        columns = [[self.values(name)[n] for name in self.plan.conditions] for n in range(len(self.keys))]
        found = [n for n, column in enumerate(columns) if len(set(column)) > 1 and all(map(_is_number, column))]
        return found[0] if len(found) == 1 else None

    def short(self, label: str) -> str:
        """The label of a column without the name of the setting, where there is but one."""
        return label.removeprefix(f"{self.keys[0]}=") if len(self.keys) == 1 else label


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


@dataclass(frozen=True)
class Line:
    """A doctor's arm over the values of a number, everything else the same."""

    name: str
    points: Mapping[float, ArmEstimate]


def lines(analysis: Analysis, swept: Swept) -> Iterator[Line]:
    """The lines of a sweep over one number: one for each doctor, other setting and arm."""
    plan = analysis.plan
    measured = set(plan.arms_of(plan.headline))
    several_arms = len({column.arm for column in plan.swept}) > 1
    for doctor in plan.doctors:
        points: dict[tuple[str, ...], dict[float, ArmEstimate]] = {}
        for column in plan.swept:
            if column.label not in measured or swept.numeric is None:
                continue
            said = list(zip(swept.keys, swept.values(column.condition), strict=True))
            number = float(said.pop(swept.numeric)[1])
            others = (*(f"{key}={value}" for key, value in said), *((column.arm,) if several_arms else ()))
            points.setdefault(others, {})[number] = analysis.find(doctor, column.label)
        yield from (Line(", ".join((doctor, *others)), found) for others, found in points.items())


def lines_drawing(analysis: Analysis, key: str, lines: Sequence[Line]) -> Drawing:
    """The headline over the values of a number, a line each with 95 % intervals; dotted, arms that are not swept."""
    numbers = sorted({number for line in lines for number in line.points})
    places = _places(numbers)
    step = min((b - a for a, b in pairwise(places.values())), default=1.0)
    with settings():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7.5, 4.4), layout="constrained")
        axes = figure.subplots()
        for n, line in enumerate(lines):
            shift = _SHIFT * step * (n - (len(lines) - 1) / 2)
            _draw_line(axes, line, {number: place + shift for number, place in places.items()}, n)
        for n, (name, mean) in enumerate(_unswept_means(analysis)):
            look: dict[str, Any] = {
                "color": COLOURS[n % len(COLOURS)],
                "linestyle": "dotted",
                "linewidth": 1.3,
                "alpha": 0.9,
            }
            axes.axhline(mean, label=f" {one_line(name, 60)}", **look)
        every = -(-len(numbers) // _MOST_TICKS)
        axes.set_xticks(list(places.values())[::every], [f"{number:g}" for number in numbers[::every]], fontsize=9)
        axes.set_xlabel(one_line(key, 60))
        axes.set_ylabel(f"{analysis.plan.headline.name}, 95% interval")
        bound(axes.set_ylim, axes.get_ylim(), analysis.plan.headline)
        dress(axes)
        legend(figure, [axes])
    name = analysis.plan.headline.name.capitalize()
    told = "; ".join(f"{line.name}: {', '.join(_told(line, number) for number in numbers)}" for line in lines)
    return Drawing("sweep", f"{name} by {key}", f"{name} by {key}. {told}", figure, wide=False)


def _places(numbers: Sequence[float]) -> dict[float, float]:
    """Where each number stands: at its value or, where some are too near each other, at its rank."""
    gaps = [b - a for a, b in pairwise(numbers)]
    crowded = bool(gaps) and min(gaps) * _CROWDED < numbers[-1] - numbers[0]
    return {number: float(n) if crowded else number for n, number in enumerate(numbers)}


def _draw_line(axes: "Axes", line: Line, places: Mapping[float, float], n: int) -> None:
    colour, marker = COLOURS[n % len(COLOURS)], MARKERS[n % len(MARKERS)]
    found = [(places[number], line.points[number]) for number in sorted(line.points)]
    shown = [(place, row.estimate.mean) for place, row in found if row.estimate.mean is not None]
    for place, row in found:
        mean, low, high = row.estimate.mean, row.estimate.ci_low, row.estimate.ci_high
        if mean is not None and low is not None and high is not None:
            lengths = [[mean - low], [high - mean]]
            axes.errorbar([place], [mean], lengths, fmt="none", ecolor=colour, elinewidth=1.3, capsize=3)
    label = f" {one_line(line.name, 60)}"
    look: dict[str, Any] = {"color": colour, "markersize": 5.5, "linewidth": 1.2, "label": label, "zorder": 3}
    axes.plot([place for place, _ in shown], [mean for _, mean in shown], marker=marker, **look)


def _unswept_means(analysis: Analysis) -> list[tuple[str, float]]:
    """Doctors' means in arms that no sweep changes, where few enough to be told apart."""
    plan = analysis.plan
    swept = {column.label for column in plan.swept}
    arms = [arm for arm in plan.arms_of(plan.headline) if arm not in swept]
    if len(arms) != 1 or len(plan.doctors) > MOST_PANELS:
        return []
    means = [(f"{doctor}, {arms[0]}", analysis.find(doctor, arms[0]).estimate.mean) for doctor in plan.doctors]
    return [(name, mean) for name, mean in means if mean is not None]


def _told(line: Line, number: float) -> str:
    mean = line.points[number].estimate.mean if number in line.points else None
    return f"{number:g} {NOTHING if mean is None else f'{mean:.2f}'}"


def rows_drawing(analysis: Analysis, name: str, metrics: Sequence[Metric]) -> Drawing:
    """A row a condition, a dot with its interval, the reference as a dashed line; a panel a doctor and metric."""
    plan = analysis.plan
    swept, arms = Swept(plan), _in_rows(plan, metrics[0])[:_MOST_ROWS]
    n_across = len(metrics) if len(metrics) > 1 else min(MOST_PANELS, len(plan.doctors))
    height = max(_LEAST_INCHES, _INCHES_A_ROW * len(arms) + 0.35)
    panels = [(doctor, metric) for doctor in plan.doctors for metric in metrics]
    panels = panels[: n_across * int(_MOST_INCHES // height)]
    n_down = -(-len(panels) // n_across)
    labels = [one_line(swept.short(arm), _LONGEST_LABEL) for arm in arms]
    with settings():
        from matplotlib.figure import Figure

        width = max(map(len, labels), default=1) / _LETTERS_AN_INCH + max(5.0, 2.6 * n_across)
        figure = Figure(figsize=(width, height * n_down + 0.6), layout="constrained")
        grid = figure.subplots(n_down, n_across, sharex=len(metrics) == 1, sharey=True, squeeze=False)
        for n, (axes, (doctor, metric)) in enumerate(zip(grid.flat, panels, strict=False)):
            _draw_rows(axes, analysis, doctor, arms, metric)
            title = one_line(doctor, _LONGEST_TITLE) + (f"\n{spoken(metric)}" if len(metrics) > 1 else "")
            axes.set_title(title, fontsize=8)
            axes.tick_params(axis="x", labelsize=8, labelbottom=True)
            if n % n_across == 0:
                axes.set_yticks(range(len(arms)), labels, fontsize=8)
        for axes in grid.flat[len(panels) :]:
            axes.set_axis_off()
        key = swept.keys[0] if len(swept.keys) == 1 else ""
        figure.supylabel(one_line(key, 40), fontsize=9)
        figure.supxlabel(", ".join(map(spoken, metrics)) + ", 95% interval; dashed: the reference", fontsize=9)
    what = ", ".join(map(spoken, metrics)).capitalize()
    is_whole = len(arms) == len(_in_rows(plan, metrics[0])) and len(panels) == len(plan.doctors) * len(metrics)
    title = f"{what} by condition" + ("" if is_whole else "; the tables have them all")
    return Drawing(name, title, _rows_in_words(analysis, arms, panels, what), figure)


def _in_rows(plan: Plan, metric: Metric) -> tuple[str, ...]:
    """The swept columns, then those that no sweep changes."""
    swept, measured = [column.label for column in plan.swept], plan.arms_of(metric)
    return tuple(arm for arm in (*swept, *(arm for arm in plan.arms if arm not in swept)) if arm in measured)


def _draw_rows(axes: "Axes", analysis: Analysis, doctor: str, arms: Sequence[str], metric: Metric) -> None:
    n = analysis.plan.doctors.index(doctor)
    colour, marker = COLOURS[n % len(COLOURS)], MARKERS[n % len(MARKERS)]
    for place, arm in enumerate(arms):
        found = analysis.find(doctor, arm, metric=metric.name).estimate
        if found.mean is None:
            continue
        if arm == analysis.plan.reference:
            axes.axvline(found.mean, color=INK, alpha=0.7, linestyle="dashed", linewidth=1)
        if found.ci_low is not None and found.ci_high is not None:
            lengths = [[found.mean - found.ci_low], [found.ci_high - found.mean]]
            bar: dict[str, Any] = {"fmt": "none", "ecolor": colour, "elinewidth": 1.3, "capsize": 2}
            axes.errorbar([found.mean], [place], xerr=lengths, **bar)
        axes.plot([found.mean], [place], marker, color=colour, markersize=4.5, zorder=3, clip_on=False)
    bound(axes.set_xlim, axes.get_xlim(), metric)
    axes.set_ylim(len(arms) - 0.4, -0.6)
    axes.grid(axis="x", color=INK, alpha=0.15, linewidth=0.7)
    dress(axes)


def _rows_in_words(analysis: Analysis, arms: Sequence[str], panels: Sequence[tuple[str, Metric]], what: str) -> str:
    parts = []
    for doctor, metric in panels:
        means = [(arm, analysis.find(doctor, arm, metric=metric.name).estimate.mean) for arm in arms]
        values = ", ".join(f"{arm} {NOTHING if mean is None else f'{mean:.2f}'}" for arm, mean in means)
        parts.append(f"{doctor}, {spoken(metric)}: {values}")
    return f"{what} by condition. " + "; ".join(parts)
