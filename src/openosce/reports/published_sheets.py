"""The tables of `osce analyze --published`."""

from openosce.reports.published import PublishedAnalysis, PublishedEstimate
from openosce.reports.results import ALL
from openosce.reports.sheets import NOTHING, Sheet, interval


def published_sheets(analysis: PublishedAnalysis) -> list[Sheet]:
    """By doctor: accuracy on all cases, means by group, and arm against arm on all cases."""
    sheets = []
    for doctor in analysis.scores.doctors:
        rows = [row for row in analysis.estimates if row.model == doctor]
        sheets += [_accuracy(doctor, rows), _by_group(doctor, rows, analysis.scores.arms), _arms(analysis, doctor)]
    found = [sheet for sheet in sheets if sheet.rows]
    notes = Sheet("As published", ("what was computed",), tuple((note,) for note in analysis.notes))
    return [*found, notes]


def _accuracy(doctor: str, rows: list[PublishedEstimate]) -> Sheet:
    cells = []
    for row in rows:
        found = row.estimate
        if row.group == ALL:
            value = interval(found.mean, found.ci_low, found.ci_high, found.n_cases)
            cells.append((row.arm, value, str(found.n_cases), str(row.n_missing), str(row.n_scored_zero)))
    heads = ("arm", "accuracy\n[95% interval]", "cases", "answers\nmissing", "cases\nscored 0")
    notes = ("a case without any valid answer is in the mean as 0: the article's rule, not ours",)
    return Sheet(f"{doctor}, as published", heads, tuple(cells), notes)


def _by_group(doctor: str, rows: list[PublishedEstimate], arms: tuple[str, ...]) -> Sheet:
    means = {(row.group, row.arm): row for row in rows}
    cells = []
    groups = dict.fromkeys(row.group for row in rows if row.group != ALL)
    for group in sorted(groups, key=lambda one: (one.specialty or "", one.dataset or "")):
        found = [means[group, arm].estimate for arm in arms]
        shown = (NOTHING if one.mean is None else f"{one.mean:.3f}" for one in found)
        name = group.dataset or group.specialty or group.name
        cells.append((f"  {name}" if group.dataset else name, str(found[0].n_cases), *shown))
    notes = ("means; --json prints them with their intervals, and the p values of every group",)
    return Sheet(f"{doctor} by specialty, as published", ("group", "cases", *arms), tuple(cells), notes, compact=True)


def _arms(analysis: PublishedAnalysis, doctor: str) -> Sheet:
    rows = [row for row in analysis.comparisons if row.a.model == doctor and row.group == ALL]
    cells = [
        (f"{row.a.arm} − {row.b.arm}", f"{row.difference:+.3f}", f"{row.p:.4f}", f"{row.p_adjusted:.4f}", row.family)
        for row in rows
    ]
    how = analysis.scores.article.adjustment
    sizes = dict.fromkeys(f"{row.family}: {row.family_size} tests are adjusted together, by {how}" for row in rows)
    heads = ("A minus B", "difference", "p", "adjusted\np", "family")
    return Sheet(f"arms of {doctor}, as published", heads, tuple(cells), tuple(sizes), prose=(0, 4))
