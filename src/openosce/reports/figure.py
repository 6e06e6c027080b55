"""The figure of the paper: the headline in every arm, with intervals and the tests between neighbouring arms."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from openosce.grading.metric import Metric
from openosce.reports.canvas import COLOURS, INK, MARKERS, Drawing, legend, settings, svg
from openosce.reports.measures import spoken
from openosce.reports.results import ALL, Analysis, Group
from openosce.reports.text import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INFORMATION = ("vignette", "multi_turn", "single_turn", "summarized")
"""What the doctor knows when the question is put, in the order of the paper."""

_QUESTIONS = {"mcq": "multiple choice", "frq": "free response"}
_ARM = re.compile(r"(?P<information>.+?)_(?P<question>mcq|frq)(?P<rest>_.+)?")
_OWN = "multi_turn_own"
"""The diagnosis of the conversation itself, graded like a free response."""

_CHANCE = 0.25
"""Of a choice among four."""
_SPREAD = 0.6
"""How much of the room between two arms the doctors take."""
_LONGEST_WORD = 14
_MOST_LINES = 4
"""Of a label below an arm."""
_MOST_BRACKETS = 6
"""In one panel; where there would be more, the figure has none, and the table of comparisons tells."""


@dataclass(frozen=True)
class Panel:
    """The arms that ask the same kind of question, in the order of the paper."""

    question: str
    """`mcq`, `frq`, or nothing for arms that are neither."""
    arms: tuple[str, ...]
    information: tuple[str, ...]

    @property
    def title(self) -> str:
        """The kind of question in words."""
        return _QUESTIONS.get(self.question, "")


def panels(arms: tuple[str, ...]) -> list[Panel]:
    """Multiple choice and free response apart."""
    found: dict[str, list[tuple[str, str]]] = {}
    for arm in arms:
        match = _ARM.fullmatch(arm)
        if match is not None:
            found.setdefault(match["question"], []).append((match["information"] + (match["rest"] or ""), arm))
        else:
            found.setdefault("frq" if arm == _OWN else "", []).append((arm, arm))
    return [_panel(question, found[question]) for question in (*_QUESTIONS, "") if question in found]


def _panel(question: str, arms: list[tuple[str, str]]) -> Panel:
    arms = sorted(arms, key=lambda pair: order(pair[0]))
    return Panel(question, tuple(arm for _, arm in arms), tuple(information for information, _ in arms))


def order(information: str) -> int:
    """Where it comes in the paper; what the paper does not have comes last."""
    return INFORMATION.index(information) if information in INFORMATION else len(INFORMATION)


def labels(information: Iterable[str]) -> list[str]:
    """A label each, a line a word; words and labels that would crowd out the figure are cut."""
    return ["\n".join(one_line(word, _LONGEST_WORD) for word in name.split("_")[:_MOST_LINES]) for name in information]


def accuracy_figure(analysis: Analysis) -> str:
    """Draw the headline by arm as an SVG document; the same analysis gives the same bytes."""
    return svg(accuracy_drawing(analysis).figure)


def accuracy_drawing(analysis: Analysis) -> Drawing:
    """The headline by arm with 95 % intervals, multiple choice and free response apart, doctors side by side.

    What cannot be computed is not drawn: a mean without an interval is a marker without a bar, and an arm without any
    mean says so.
    """
    headline = analysis.plan.headline
    with settings():
        from matplotlib.figure import Figure

        found = panels(analysis.plan.arms) or [Panel("", (), ())]
        n_arms = sum(len(panel.arms) for panel in found)
        figure = Figure(figsize=(max(6.0, 1.1 * n_arms + 0.8), 4.6), layout="constrained")
        widths = [max(1, len(panel.arms)) for panel in found]
        row = figure.subplots(1, len(found), sharey=True, width_ratios=widths, squeeze=False)[0]
        with_tests = False
        for axes, panel in zip(row, found, strict=True):
            for n in range(len(analysis.plan.doctors)):
                draw_doctor(axes, analysis, n, {arm: place for place, arm in enumerate(panel.arms)})
            if headline.is_share:
                _draw_chance(axes, panel)
                with_tests |= _draw_brackets(axes, analysis, panel)
            _say_empty(axes, analysis, panel)
            _finish(axes, panel, headline)
        row[0].set_ylabel(f"{spoken(headline)}, mean over cases, 95% interval")
        legend(figure, row)
    title = f"{spoken(headline).capitalize()} by arm" + (
        "; above, Holm's adjusted p of neighbouring arms" if with_tests else ""
    )
    return Drawing("accuracy", title, accuracy_in_words(analysis), figure)


def accuracy_in_words(analysis: Analysis) -> str:
    """What the figure shows, for those who cannot see it."""
    parts = []
    for doctor in analysis.plan.doctors:
        means = [(arm, analysis.find(doctor, arm).estimate.mean) for arm in analysis.plan.arms]
        values = ", ".join(f"{arm} {'none' if mean is None else f'{mean:.2f}'}" for arm, mean in means)
        parts.append(f"{doctor}: {values}")
    return f"{spoken(analysis.plan.headline).capitalize()} by arm. " + "; ".join(parts)


def draw_doctor(
    axes: "Axes", analysis: Analysis, n: int, places: Mapping[str, float], group: Group = ALL, **look: Any
) -> None:
    """The `n`-th doctor's means as markers, each arm at its place, with intervals.

    `look` is for the markers; its `spread` says how much of the room between two places the doctors take.
    """
    doctors = analysis.plan.doctors
    shift = look.pop("spread", _SPREAD) * ((n + 0.5) / len(doctors) - 0.5)
    colour = COLOURS[n % len(COLOURS)]
    xs: list[float] = []
    means: list[float] = []
    for arm, place in places.items():
        found = analysis.find(doctors[n], arm, group).estimate
        if found.mean is None:
            continue
        xs.append(place + shift)
        means.append(found.mean)
        if found.ci_low is not None and found.ci_high is not None:
            lengths = [[found.mean - found.ci_low], [found.ci_high - found.mean]]
            axes.errorbar(xs[-1:], means[-1:], lengths, fmt="none", ecolor=colour, elinewidth=1.5, capsize=3)
    # The space keeps matplotlib from taking a name with a leading underscore for a hidden label.
    style: dict[str, Any] = {"markersize": 5.5, "label": f" {one_line(doctors[n], 60)}", "color": colour} | look
    axes.plot(xs, means, MARKERS[n % len(MARKERS)], clip_on=False, zorder=3, **style)


def _draw_chance(axes: "Axes", panel: Panel) -> None:
    if panel.question == "mcq" and panel.arms:
        label = " chance, four choices"
        axes.axhline(_CHANCE, color=INK, alpha=0.6, linestyle="dotted", linewidth=1.4, label=label)


def _draw_brackets(axes: "Axes", analysis: Analysis, panel: Panel) -> bool:
    """Above neighbouring arms, Holm's adjusted p of their difference, a row a doctor; returns whether there is any."""
    doctors = analysis.plan.doctors
    neighbours = [pair for pair in pairwise(panel.information) if set(pair) <= set(INFORMATION)]
    if len(doctors) * len(neighbours) > _MOST_BRACKETS:
        return False
    adjusted = {(row.a, row.b): row.p_adjusted for row in analysis.comparisons}
    sides = {(side.model, side.arm): side for pair in adjusted for side in pair}
    height, any_drawn = _highest(analysis, panel) + 0.06, False
    for n, doctor in enumerate(doctors):
        colour = INK if len(doctors) == 1 else COLOURS[n % len(COLOURS)]
        for left, _ in neighbours:
            place = panel.information.index(left)
            a, b = (sides.get((doctor, arm)) for arm in panel.arms[place : place + 2])
            p = None if a is None or b is None else adjusted.get((a, b), adjusted.get((b, a)))
            if p is not None:
                _bracket(axes, place, height + 0.1 * n, p, colour)
                any_drawn = True
    return any_drawn


def _highest(analysis: Analysis, panel: Panel) -> float:
    estimates = [analysis.find(doctor, arm).estimate for doctor in analysis.plan.doctors for arm in panel.arms]
    tops = [value for found in estimates for value in (found.mean, found.ci_high) if value is not None]
    return max([1.0, *tops])


def _bracket(axes: "Axes", place: int, height: float, p: float, colour: str) -> None:
    left, right = place + 0.06, place + 0.94
    axes.plot([left, left, right, right], [height - 0.02, height, height, height - 0.02], color=colour, linewidth=0.9)
    text = "p<0.001" if p < 0.001 else f"p={p:.2g}"
    axes.text((left + right) / 2, height + 0.008, text, ha="center", va="bottom", fontsize=8, color=colour)


def _say_empty(axes: "Axes", analysis: Analysis, panel: Panel) -> None:
    for place, arm in enumerate(panel.arms):
        if all(analysis.find(doctor, arm).estimate.mean is None for doctor in analysis.plan.doctors):
            look: dict[str, Any] = {
                "ha": "center",
                "va": "bottom",
                "fontsize": 8,
                "transform": axes.get_xaxis_transform(),
            }
            axes.text(place, 0.02, "no valid\nanswer", color=INK, **look)


def _finish(axes: "Axes", panel: Panel, headline: Metric) -> None:
    axes.set_xlim(-0.6, len(panel.arms) - 0.4)
    bound(axes.set_ylim, axes.get_ylim(), headline)
    tick(axes, headline, 5)
    axes.set_xticks(range(len(panel.arms)), labels(panel.information), fontsize=9)
    axes.set_title(panel.title, fontsize=10)
    dress(axes)


def ends(metric: Metric) -> tuple[float, float] | None:
    """The ends of a metric's scale, 0 below where there is no least; None where nothing ends it above 0."""
    low = 0.0 if metric.low is None else metric.low
    return None if metric.high is None or metric.high <= low else (low, metric.high)


def bound(put: Any, limits: tuple[float, float], metric: Metric) -> None:
    """Show the whole scale of a metric, and intervals that pass it."""
    low, high = limits
    whole = ends(metric) or (low if metric.low is None else metric.low, high)
    put(min(whole[0], low), max(whole[1], high))


def tick(axes: "Axes", metric: Metric, steps: int) -> None:
    """Mark the ends of a metric's scale and equal steps between them; of an open scale, what matplotlib finds."""
    whole = ends(metric)
    if whole is not None:
        axes.set_yticks([whole[0] + (whole[1] - whole[0]) * n / steps for n in range(steps + 1)])


def dress(axes: "Axes") -> None:
    """Faint lines to read the values by, and no box."""
    axes.grid(axis="y", color=INK, alpha=0.15, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
