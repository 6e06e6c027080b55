"""The accuracy of every doctor in every arm, drawn as SVG text."""

import io
import warnings
from typing import TYPE_CHECKING, Any

from openosce.reports.analysis import Analysis
from openosce.reports.text import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, safe for colour-blind readers; the marker tells the doctors apart without any colour.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_CHANCE = 0.25
"""Of a choice among four."""
_SETTINGS: Any = {"svg.hashsalt": "openosce", "svg.fonttype": "path", "text.parse_math": False}
_SPREAD = 0.6
"""How much of the room between two arms the doctors take."""


def accuracy_figure(analysis: Analysis) -> str:
    """Draw accuracy by arm with 95 % intervals as SVG; the same analysis gives the same bytes.

    What cannot be computed is not drawn: a mean without an interval is a marker without a bar.
    """
    import matplotlib  # lazily: a second of CPU
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
        # A name in a script that the font lacks is drawn as boxes; the table beside the figure spells it.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure = Figure(figsize=(max(6.0, 1.1 * len(analysis.plan.arms)), 4.2), layout="constrained")
        axes = figure.subplots()
        for n in range(len(analysis.plan.doctors)):
            _draw_doctor(axes, analysis, n)
        _draw_chance(axes, analysis.plan.arms)
        _finish(axes, analysis.plan.arms)
        if axes.get_legend_handles_labels()[0]:
            figure.legend(loc="outside upper left", ncols=2, frameon=False, fontsize=9)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


def accuracy_in_words(analysis: Analysis) -> str:
    """What the figure shows, for those who cannot see it."""
    parts = []
    for doctor in analysis.plan.doctors:
        means = [(arm, analysis.find(doctor, arm).estimate.mean) for arm in analysis.plan.arms]
        values = ", ".join(f"{arm} {'none' if mean is None else f'{mean:.2f}'}" for arm, mean in means)
        parts.append(f"{doctor}: {values}")
    return "Accuracy by arm. " + "; ".join(parts)


def _draw_doctor(axes: "Axes", analysis: Analysis, n: int) -> None:
    doctors = analysis.plan.doctors
    shift = _SPREAD * ((n + 0.5) / len(doctors) - 0.5)
    style: dict[str, Any] = {"color": _COLOURS[n % len(_COLOURS)]}
    xs, means = [], []
    for place, arm in enumerate(analysis.plan.arms):
        estimate = analysis.find(doctors[n], arm).estimate
        if estimate.mean is None:
            continue
        xs.append(place + shift)
        means.append(estimate.mean)
        if estimate.ci_low is not None and estimate.ci_high is not None:
            axes.vlines(place + shift, estimate.ci_low, estimate.ci_high, linewidth=1.6, **style)
    # The space keeps matplotlib from taking a name with a leading underscore for a hidden label.
    label = f" {one_line(doctors[n], 60)}"
    axes.plot(xs, means, _MARKERS[n % len(_MARKERS)], markersize=7, label=label, clip_on=False, zorder=3, **style)


def _draw_chance(axes: "Axes", arms: tuple[str, ...]) -> None:
    places = [place for place, arm in enumerate(arms) if arm.endswith("_mcq")]
    if places:
        starts, ends = [place - 0.45 for place in places], [place + 0.45 for place in places]
        label = " chance, four choices"
        axes.hlines(
            [_CHANCE] * len(places), starts, ends, colors="#777777", linestyles="dotted", linewidth=1.4, label=label
        )


def _finish(axes: "Axes", arms: tuple[str, ...]) -> None:
    axes.set_xlim(-0.6, len(arms) - 0.4)
    axes.set_ylim(0, 1)
    axes.set_xticks(range(len(arms)), [one_line(arm, 40).replace("_", "\n") for arm in arms], fontsize=9)
    axes.set_ylabel("accuracy, mean over cases, 95% interval")
    axes.grid(axis="y", color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
