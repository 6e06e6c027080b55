"""The tables of an examination in parts: each part with its totals and criteria, and the average of the parts.

Source of their form: MedQA-CS 2024, Tables 7 and 30 (sections and their average), 34 and 41 (a section's criteria); the
intervals are over cases.
"""

from collections.abc import Iterator, Sequence

from openosce.grading.metric import Metric
from openosce.reports.measures import spoken
from openosce.reports.results import Analysis
from openosce.reports.sheets import NOTHING, Footnotes, Sheet, interval
from openosce.statistics import Estimate

_MOST_DOCTORS = 2
"""Side by side in one table: more would not fit 80 columns."""


def averages(analysis: Analysis) -> Sheet | None:
    """Every doctor's average over the parts, a row a doctor and condition; None where arms are no parts."""
    if not analysis.averages:
        return None
    footnotes, several = Footnotes(), len(analysis.plan.conditions) > 1
    rows = []
    for row in analysis.averages:
        found = row.estimate
        cell = interval(found.mean, found.ci_low, found.ci_high, found.n_cases) + footnotes.mark(found.reason)
        rows.append((row.model, *([row.condition] if several else []), cell, str(found.n_cases)))
    heads = ("doctor", *(["condition"] if several else []), "average\n[95% interval]", "cases")
    return Sheet("average of the sections", heads, tuple(rows), footnotes.notes, prose=tuple(range(len(heads) - 2)))


def part_sheets(analysis: Analysis) -> list[Sheet]:
    """A table for each part: a row a total or criterion, a column a doctor; none where arms are no parts."""
    plan = analysis.plan
    if not plan.averages_arms:
        return []
    groups = [plan.doctors[n : n + _MOST_DOCTORS] for n in range(0, len(plan.doctors), _MOST_DOCTORS)]
    return [_sheet(analysis, arm, doctors, len(groups) > 1) for arm in plan.arms for doctors in groups]


def _sheet(analysis: Analysis, arm: str, doctors: Sequence[str], names_doctors: bool) -> Sheet:
    footnotes, rows = Footnotes(), []
    for name, metric, estimates in (*_totals(analysis, arm, doctors), *_criteria(analysis, arm, doctors)):
        shown = (_cell(metric, found, analysis.n_cases, footnotes) for found in estimates)
        rows.append((name, _scale(metric), *shown))
    heads = ("measure", "scale", *(f"{doctor}\n[95% interval]" for doctor in doctors))
    words = [f"{spoken(m)}: {m.words}" for m in _measured(analysis, arm) if m.words not in ("", spoken(m))]
    notes = (*footnotes.notes, "n is given where cases are left out for want of a mark", *words)
    title = f"{arm}: {', '.join(doctors)}" if names_doctors else arm
    return Sheet(title, heads, tuple(rows), notes, prose=(0, 1))


def _totals(analysis: Analysis, arm: str, doctors: Sequence[str]) -> Iterator[tuple[str, Metric, list[Estimate]]]:
    """The headline under every policy of the run's own grader."""
    found = {(row.model, row.grading.name): row.estimate for row in analysis.graded if row.arm == arm}
    for grading in analysis.gradings:
        if grading.other_grader is None:
            headline = analysis.plan.headline
            yield f"{spoken(headline)} {grading.name}", headline, [found[doctor, grading.name] for doctor in doctors]


def _criteria(analysis: Analysis, arm: str, doctors: Sequence[str]) -> Iterator[tuple[str, Metric, list[Estimate]]]:
    for metric in _measured(analysis, arm):
        yield spoken(metric), metric, [analysis.find(d, arm, metric=metric.name).estimate for d in doctors]


def _measured(analysis: Analysis, arm: str) -> list[Metric]:
    return [metric for metric in analysis.plan.metrics[1:] if arm in analysis.plan.arms_of(metric)]


def _scale(metric: Metric) -> str:
    """`0 to 60`; `to 100` where there is no least, `from 0` where there is no most."""
    low = "" if metric.low is None else f"{metric.low:g}"
    high = "" if metric.high is None else f"to {metric.high:g}"
    return f"{low} {high}".strip() if high else f"from {low}"


def _cell(metric: Metric, found: Estimate, n_cases: int, footnotes: Footnotes) -> str:
    """A mean with its interval: shares as everywhere, marks with two decimals, as the paper prints them."""
    if found.mean is None:
        return NOTHING + footnotes.mark(found.reason)
    count = f" n={found.n_cases}" if found.n_cases < n_cases else ""
    if metric.is_share:
        cell = interval(found.mean, found.ci_low, found.ci_high, found.n_cases)
    else:
        known = found.ci_low is not None and found.ci_high is not None
        cell = f"{found.mean:.2f} [{f'{found.ci_low:.2f}, {found.ci_high:.2f}' if known else NOTHING}]"
    return cell + count + footnotes.mark(found.reason)
