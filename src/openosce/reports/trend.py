"""The figure of a trend: how the headline moved from run to run."""

from pathlib import Path
from typing import TYPE_CHECKING

from openosce.errors import StudyError
from openosce.reports.canvas import COLOURS, MARKERS, legend, settings
from openosce.reports.comparison import Line, RunsCompared
from openosce.reports.figure import dress
from openosce.reports.text import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = (".svg", ".png", ".pdf")
_SPREAD = 0.3


def write_trend(found: RunsCompared, path: Path) -> Path:
    """Draw the headline with 95 % intervals by run, a line an arm, a panel a doctor, and write it as SVG, PNG or PDF.

    Raises:
        StudyError: The file's ending names no known format, or it cannot be written.
    """
    if path.suffix not in FORMATS:
        raise StudyError(f"{path}: unknown format; end the name with {', '.join(FORMATS)}")
    with settings():
        from matplotlib.figure import Figure

        n_lines = max(1, len(found.lines))
        figure = Figure(figsize=(max(6.0, 1.6 * len(found.runs)), 3.6 * n_lines), layout="constrained")
        rows = figure.subplots(n_lines, 1, squeeze=False, sharex=True)[:, 0]
        for axes, line in zip(rows, found.lines, strict=False):
            _draw(axes, found, line)
        legend(figure, rows)
        try:
            figure.savefig(path, dpi=300, metadata={"Date": None} if path.suffix == ".svg" else None)
        except OSError as failure:
            raise StudyError(f"{path}: cannot be written: {failure.strerror or failure}") from None
    return path


def _draw(axes: "Axes", found: RunsCompared, line: Line) -> None:
    """One doctor's arms; what cannot be computed leaves a gap."""
    for n, arm in enumerate(line.arms):
        shift = _SPREAD * ((n + 0.5) / len(line.arms) - 0.5)
        colour, marker = COLOURS[n % len(COLOURS)], MARKERS[n % len(MARKERS)]
        points = [(run + shift, point.estimate) for run, point in enumerate(arm) if point.estimate.mean is not None]
        for place, estimate in points:
            if estimate.mean is not None and estimate.ci_low is not None and estimate.ci_high is not None:
                lengths = [[estimate.mean - estimate.ci_low], [estimate.ci_high - estimate.mean]]
                axes.errorbar([place], [estimate.mean], lengths, fmt="none", ecolor=colour, elinewidth=1.2, capsize=2)
        means = [estimate.mean for _, estimate in points if estimate.mean is not None]
        places = [place for place, _ in points]
        axes.plot(places, means, marker=marker, color=colour, linewidth=1, markersize=5, label=f" {arm[0].side.arm}")
    names = [one_line(Path(run).name, 24) for run in found.runs]
    axes.set_xticks(range(len(names)), names, fontsize=9)
    axes.set_title(one_line(" → ".join(dict.fromkeys(line.doctors)), 90), fontsize=10)
    axes.set_ylabel(f"{found.metric}, 95% interval", fontsize=9)
    dress(axes)
