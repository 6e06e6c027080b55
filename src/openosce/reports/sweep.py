"""What a sweep shows: normalized accuracy as tables, and which drawing shows the conditions."""

from openosce.reports.canvas import Drawing
from openosce.reports.results import Analysis
from openosce.reports.sheets import Footnotes, Sheet, interval
from openosce.reports.sweep_figure import MOST_LINES, MOST_PANELS, Swept, lines, lines_drawing, rows_drawing


def normalized(analysis: Analysis, doctor: str) -> Sheet | None:
    """How much of the reference's value each condition keeps, for one doctor; None where nothing is swept."""
    found = [row for row in analysis.normalized if row.model == doctor]
    if not found:
        return None
    footnotes = Footnotes()
    rows = []
    for row in found:
        ratio = row.found
        shown = interval(ratio.ratio, ratio.ci_low, ratio.ci_high, ratio.n_cases) + footnotes.mark(ratio.reason)
        rows.append((row.arm, row.reference, shown, str(ratio.n_cases)))
    several = len({row.reference for row in found}) > 1
    kept = [(arm, *((reference,) if several else ()), *rest) for arm, reference, *rest in rows]
    name = analysis.plan.headline.name
    heads = ("arm", *(("reference",) if several else ()), f"normalized {name}\n[95% interval]", "cases")
    against = "the same arm of the reference" if several else found[0].reference
    notes = (*footnotes.notes, f"{name} divided by that in {against}, over the cases valid in both; Fieller's interval")
    title = f"{doctor}: normalized {name}, against {against}"
    return Sheet(title, heads, tuple(kept), notes, prose=(0, 1) if several else (0,))


def sweep_drawing(analysis: Analysis) -> Drawing | None:
    """The headline in every condition with 95 % intervals; None where nothing is swept."""
    if not analysis.plan.swept or not analysis.plan.doctors:
        return None
    swept = Swept(analysis.plan)
    if swept.numeric is not None:
        found = list(lines(analysis, swept))
        if 0 < len(found) <= MOST_LINES:
            return lines_drawing(analysis, swept.keys[swept.numeric], found)
    return rows_drawing(analysis, "sweep", [analysis.plan.headline])


def ratings_drawing(analysis: Analysis) -> Drawing | None:
    """Bounded metrics other than shares, as ratings from 1 to 10, in every condition; None where nothing is swept."""
    rated = [
        metric
        for metric in analysis.plan.metrics[1:]
        if metric.low is not None and metric.high is not None and metric.high - metric.low > 1
    ]
    shown = [metric for metric in rated if metric.arms == rated[0].arms][:MOST_PANELS]
    if not analysis.plan.swept or not analysis.plan.doctors or not shown:
        return None
    return rows_drawing(analysis, "ratings", shown)
