"""All figures of a run: the headline by arm or condition, by specialty, cost, and how long the conversations were."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openosce.errors import RunFolderError
from openosce.reports.canvas import COLOURS, INK, Drawing, legend, save, settings
from openosce.reports.conduct import is_failure
from openosce.reports.costs import costs_drawing
from openosce.reports.figure import Panel, accuracy_drawing, draw_doctor, dress, ends, labels, order, panels, tick
from openosce.reports.measures import spoken
from openosce.reports.results import Analysis, Group
from openosce.reports.sweep import ratings_drawing, sweep_drawing
from openosce.reports.text import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEAST_CASES = 5
"""Of a specialty that gets a panel: below that there is nothing to see but chance."""
_MOST_PANELS = 24
_COLUMNS = 4
_SPREAD = 0.8
"""How much of the room between two arms all questions and doctors take."""
_MARGIN = 0.08
"""Of the scale, beyond its ends."""
_MOST_DOCTORS = 6
"""With a panel of their own for the turns of their conversations."""
_MOST_BARS = 60
_HATCHES = ("", "///", "...", "\\\\\\", "xx", "++", "--", "oo")


def drawings(analysis: Analysis) -> list[Drawing]:
    """Every figure that the run has something to show in; the headline, by arm or by condition, is always there."""
    found = [
        sweep_drawing(analysis) or accuracy_drawing(analysis),
        ratings_drawing(analysis),
        costs_drawing(analysis),
        specialty_drawing(analysis),
        turns_drawing(analysis),
    ]
    return [drawing for drawing in found if drawing is not None]


def write_figures(analysis: Analysis, folder: Path) -> list[Path]:
    """Write every figure as PNG (300 dots an inch) and SVG, and return the paths.

    Raises:
        RunFolderError: The folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [path for drawing in drawings(analysis) for path in save(drawing, folder)]
    except OSError as failure:
        raise RunFolderError(f"{folder}: cannot be written: {failure.strerror or failure}") from None


def specialty_drawing(analysis: Analysis) -> Drawing | None:
    """A small panel a specialty, the largest first; None where fewer than two have five cases.

    A sweep has none: the names of its conditions have no room in a small panel, and the table tells.
    """
    groups = [(group, _n_cases(analysis, group)) for group in analysis.groups if group.specialty and not group.dataset]
    shown = sorted((pair for pair in groups if pair[1] >= _LEAST_CASES), key=lambda pair: -pair[1])[:_MOST_PANELS]
    if len(shown) < 2 or analysis.plan.swept:
        return None
    rows, headline = -(-len(shown) // _COLUMNS), spoken(analysis.plan.headline)
    with settings():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10.5, 2.0 * rows + 0.9), layout="constrained")
        grid = figure.subplots(rows, _COLUMNS, sharex=True, sharey=True, squeeze=False)
        for axes, (group, n_cases) in zip(grid.flat, shown, strict=False):
            _draw_specialty(axes, analysis, group)
            axes.set_title(f"{one_line(group.specialty or '', 30)} ({n_cases})", fontsize=9)
        for axes in grid.flat[len(shown) :]:
            axes.set_axis_off()
        figure.supylabel(f"{headline}, 95% interval", fontsize=9)
        legend(figure, grid.flat[:1])
    left_out = len(groups) - len(shown)
    more = f"; {left_out} more in the table" if left_out else ""
    title = f"{headline.capitalize()} by specialty, with the number of cases{more}"
    return Drawing("specialties", title, _specialties_in_words(analysis, [group for group, _ in shown]), figure)


def _n_cases(analysis: Analysis, group: Group) -> int:
    rows = (row for row in analysis.estimates if row.group == group)
    return next((row.n_planned for row in rows), 0)


def _draw_specialty(axes: "Axes", analysis: Analysis, group: Group) -> None:
    """Multiple choice filled and free response hollow, side by side above the same information."""
    found = panels(analysis.plan.arms)
    shared = sorted(dict.fromkeys(name for panel in found for name in panel.information), key=order)
    for k, panel in enumerate(found):
        spread = _SPREAD / len(found)
        shift = spread * (k - (len(found) - 1) / 2)
        places = {arm: shared.index(name) + shift for arm, name in zip(panel.arms, panel.information, strict=True)}
        for n, doctor in enumerate(analysis.plan.doctors):
            look: dict[str, Any] = {"markersize": 4, "label": _label(doctor, panel), "spread": spread}
            if panel.question == "frq":
                look["markerfacecolor"] = "none"
            draw_doctor(axes, analysis, n, places, group, **look)
    axes.set_xlim(-0.6, len(shared) - 0.4)
    headline = analysis.plan.headline
    whole = ends(headline)
    if whole is not None:
        margin = _MARGIN * (whole[1] - whole[0])
        axes.set_ylim(whole[0] - margin, whole[1] + margin)
    tick(axes, headline, 2)
    axes.set_xticks(range(len(shared)), labels(shared), fontsize=6.5)
    axes.tick_params(axis="y", labelsize=8)
    dress(axes)


def _label(doctor: str, panel: Panel) -> str:
    return f" {one_line(doctor, 40)}" + (f", {panel.title}" if panel.title else "")


def _specialties_in_words(analysis: Analysis, groups: list[Group]) -> str:
    parts = []
    for group in groups:
        means = []
        for doctor in analysis.plan.doctors:
            found = [analysis.find(doctor, arm, group) for arm in analysis.plan.arms]
            means += [f"{row.estimate.mean:.2f}" for row in found if row.estimate.mean is not None]
        parts.append(f"{group.specialty}: {', '.join(means) or 'none'}")
    order = f"doctors {', '.join(analysis.plan.doctors)}, arms {', '.join(analysis.plan.arms)}"
    name = spoken(analysis.plan.headline).capitalize()
    return f"{name} by specialty, in the order of the {order}. " + "; ".join(parts)


def turns_drawing(analysis: Analysis) -> Drawing | None:
    """How often the doctor spoke, by why the conversation ended; None where no conversation was held."""
    most = max((row.turns for row in analysis.turns), default=0)
    doctors = list(dict.fromkeys(row.model for row in analysis.turns))[:_MOST_DOCTORS]
    if most == 0:
        return None
    reasons = list(dict.fromkeys(row.ended for row in sorted(analysis.turns, key=lambda row: -row.count)))
    width = -(-(most + 1) // _MOST_BARS)
    with settings():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7.5, 1.5 * len(doctors) + 1.1), layout="constrained")
        column = figure.subplots(len(doctors), 1, sharex=True, squeeze=False)[:, 0]
        for axes, doctor in zip(column, doctors, strict=True):
            _draw_turns(axes, analysis, doctor, reasons, width)
        column[-1].set_xlabel("turns of the doctor in a conversation", fontsize=9)
        column[-1].set_xlim(-0.6 * width, most + 0.6 * width)
        legend(figure, column)
    return Drawing("turns", "How long the conversations were", _turns_in_words(analysis), figure, wide=False)


def _draw_turns(axes: "Axes", analysis: Analysis, doctor: str, reasons: list[str], width: int) -> None:
    from matplotlib.ticker import MaxNLocator

    base: Counter[int] = Counter()
    for n, reason in enumerate(reasons):
        bars: Counter[int] = Counter()
        for row in analysis.turns:
            if (row.model, row.ended) == (doctor, reason):
                bars[row.turns // width * width] += row.count
        colour = INK if is_failure(reason) else COLOURS[n % len(COLOURS)]
        look: dict[str, Any] = {"color": colour, "alpha": 0.85, "hatch": _HATCHES[n % len(_HATCHES)]}
        places = sorted(bars)
        heights, bottoms = [bars[place] for place in places], [base[place] for place in places]
        axes.bar(
            places,
            heights,
            0.85 * width,
            bottoms,
            align="center" if width == 1 else "edge",
            label=f" {one_line(reason)}",
            **look,
        )
        base += bars
    axes.set_title(one_line(doctor, 80), fontsize=9, loc="left")
    axes.set_ylabel("conversations", fontsize=8)
    axes.tick_params(labelsize=8)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(5, integer=True))
    dress(axes)


def _turns_in_words(analysis: Analysis) -> str:
    parts = []
    for doctor in dict.fromkeys(row.model for row in analysis.turns):
        for reason in dict.fromkeys(row.ended for row in analysis.turns if row.model == doctor):
            rows = [row for row in analysis.turns if (row.model, row.ended) == (doctor, reason)]
            spread = f"{min(row.turns for row in rows)} to {max(row.turns for row in rows)}"
            parts.append(f"{doctor}, {reason}: {sum(row.count for row in rows)} conversations of {spread} turns")
    return "Number of the doctor's turns. " + "; ".join(parts)
