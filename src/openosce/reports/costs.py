"""What ordered tests cost: cost per correct diagnosis, and accuracy against cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openosce.grading.metric import Metric
from openosce.reports.canvas import COLOURS, INK, MARKERS, Drawing, legend, settings
from openosce.reports.figure import dress
from openosce.reports.measures import cells
from openosce.reports.plan import COST
from openosce.reports.results import Analysis
from openosce.reports.sheets import NOTHING, Footnotes, Sheet
from openosce.reports.text import one_line
from openosce.statistics import Estimate, Ratio

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_NAMED = 12
"""Points that have a name in the legend; of more, those that nothing beats, as far as they go."""
_FAINT = 0.3
_BEST = "yes"


@dataclass(frozen=True)
class Point:
    """One doctor in one arm: what an encounter costs, and what it is worth."""

    doctor: str
    arm: str
    cost: Estimate
    accuracy: Estimate

    @property
    def place(self) -> tuple[float, float]:
        """Cost and accuracy, both means over cases."""
        return self.cost.mean or 0.0, self.accuracy.mean or 0.0


def costs(analysis: Analysis, doctor: str) -> Sheet | None:
    """One doctor's cost a case and per correct diagnosis, a row an arm; None where no cost is measured."""
    found = [row for row in analysis.cost_per_correct if row.model == doctor]
    if not found:
        return None
    best = {(point.doctor, point.arm) for point in frontier(points(analysis))}
    dollars, footnotes = analysis.plan.metric(COST) or Metric(COST, high=None), Footnotes()
    accuracies = [analysis.find(doctor, row.arm).estimate.mean for row in found]
    a_case = [analysis.find(doctor, row.arm, metric=COST).estimate for row in found]
    a_correct = [row.found for row in found]
    columns = (
        [row.arm for row in found],
        [NOTHING if mean is None else f"{mean:.3f}" for mean in accuracies],
        _marked(
            cells(dollars, [(row.mean, row.ci_low, row.ci_high, row.n_cases) for row in a_case]), a_case, footnotes
        ),
        _marked(
            cells(dollars, [(row.ratio, row.ci_low, row.ci_high, row.n_cases) for row in a_correct]),
            a_correct,
            footnotes,
        ),
        [str(row.n_cases) for row in a_correct],
        [_BEST if (doctor, row.arm) in best else "" for row in found],
    )
    heads = ("arm", "accuracy", "$ a case\n[95% interval]", "$ a correct answer\n[95% interval]", "cases", "unbeaten")
    notes = (
        *footnotes.notes,
        "a correct answer: the mean cost divided by the accuracy, over cases that have both; Fieller's interval",
        "unbeaten: no other doctor or arm is, in the mean, at least as accurate and costs no more",
    )
    return Sheet(f"{doctor}: what ordered tests cost", heads, tuple(zip(*columns, strict=True)), notes, prose=(0, 5))


def _marked(shown: Sequence[str], found: Sequence[Estimate | Ratio], footnotes: Footnotes) -> list[str]:
    return [cell + footnotes.mark(row.reason) for cell, row in zip(shown, found, strict=True)]


def points(analysis: Analysis) -> list[Point]:
    """Every doctor's arm that has both means."""
    found = [
        Point(
            row.model,
            row.arm,
            analysis.find(row.model, row.arm, metric=COST).estimate,
            analysis.find(row.model, row.arm).estimate,
        )
        for row in analysis.cost_per_correct
    ]
    return [point for point in found if point.cost.mean is not None and point.accuracy.mean is not None]


def frontier(found: Sequence[Point]) -> list[Point]:
    """The points that nothing beats, the cheapest first: no other is as accurate and as cheap, and better in one."""
    return sorted(
        (point for point in found if not any(_beats(other.place, point.place) for other in found)),
        key=lambda point: point.place,
    )


def _beats(other: tuple[float, float], one: tuple[float, float]) -> bool:
    return other != one and other[0] <= one[0] and other[1] >= one[1]


def costs_drawing(analysis: Analysis) -> Drawing | None:
    """Accuracy against the cost of a case, with 95 % intervals both ways; None where no cost is measured."""
    found = points(analysis)
    if not found:
        return None
    best = frontier(found)
    named = found if len(found) <= _MOST_NAMED else best[:_MOST_NAMED]
    with settings():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7.5, 4.8), layout="constrained")
        axes = figure.subplots()
        for point in found:
            _draw_point(axes, analysis, point, named.index(point) if point in named else None)
        places = [point.place for point in best]
        xs, ys = [x for x, _ in places], [y for _, y in places]
        axes.plot(xs, ys, color=INK, alpha=0.6, linewidth=1, linestyle="dashed", label=" unbeaten", zorder=1)
        axes.set_xlabel("cost of the tests of a case, US dollars, 95% interval")
        axes.set_ylabel("accuracy, 95% interval")
        axes.set_ylim(min(0.0, axes.get_ylim()[0]), max(1.0, axes.get_ylim()[1]))
        axes.set_xlim(left=min(0.0, axes.get_xlim()[0]))
        dress(axes)
        legend(figure, [axes])
    left_out = len(found) - len(named)
    title = "Accuracy and cost" + (
        f"; {left_out} of {len(found)} points, faint, have their names and intervals in the tables" if left_out else ""
    )
    return Drawing("costs", title, _in_words(found, best), figure, wide=False)


def _draw_point(axes: "Axes", analysis: Analysis, point: Point, number: int | None) -> None:
    """A named point has a marker of its own and its intervals; the others are faint, with their doctor's marker."""
    doctor = analysis.plan.doctors.index(point.doctor)
    n = doctor if number is None else number
    colour, marker = COLOURS[n % len(COLOURS)], MARKERS[n % len(MARKERS)]
    look: dict[str, Any] = {"alpha": _FAINT, "color": INK} if number is None else {"color": colour}
    x, y = point.place
    for bounds, length in ((point.cost, "xerr"), (point.accuracy, "yerr")) if number is not None else ():
        if bounds.mean is not None and bounds.ci_low is not None and bounds.ci_high is not None:
            bars: Any = {length: [[bounds.mean - bounds.ci_low], [bounds.ci_high - bounds.mean]]}
            axes.errorbar([x], [y], **bars, fmt="none", elinewidth=1, capsize=2, ecolor=colour, alpha=0.6)
    label = None if number is None else f" {one_line(f'{point.doctor}, {point.arm}', 60)}"
    axes.plot([x], [y], marker, markersize=5 if number is None else 6.5, label=label, linestyle="", **look)


def _in_words(found: Sequence[Point], best: Sequence[Point]) -> str:
    told = "; ".join(f"{point.doctor}, {point.arm}: ${point.place[0]:,.0f}, {point.place[1]:.2f}" for point in found)
    unbeaten = "; ".join(f"{point.doctor}, {point.arm}" for point in best)
    return f"Cost of the tests of a case and accuracy. {told}. Unbeaten: {unbeaten}"
