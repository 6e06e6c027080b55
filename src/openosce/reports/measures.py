"""The tables of everything that is measured besides the headline: ratings, counts, shares."""

from collections.abc import Iterator, Sequence

from openosce.grading.metric import Metric
from openosce.reports.results import Analysis, Comparison, Side
from openosce.reports.sheets import NOTHING, Footnotes, Sheet, interval

_MOST_METRICS = 3
"""In one table: more would not fit 100 columns."""
_SIGNIFICANT = 0.05
_MARK = "*"
_LARGE = 100
"""From here on decimals say nothing."""

Numbers = tuple[float | None, float | None, float | None, int]
"""A value, its bounds, and the cases that it is over."""


def measures(analysis: Analysis, doctor: str) -> list[Sheet]:
    """One doctor's other metrics, a row an arm; metrics of one scale that are measured in the same arms together."""
    return [_means(analysis, doctor, metrics) for metrics in groups(analysis.plan.metrics[1:])]


def differences(analysis: Analysis, doctor: str) -> list[Sheet]:
    """How far one doctor's other metrics are from the reference's, a row an arm; none where nothing is swept."""
    found = {(row.a, row.metric): row for row in analysis.comparisons if row.a.model == row.b.model == doctor}
    if analysis.plan.reference is None:
        return []
    sheets = (_differences(analysis, doctor, metrics, found) for metrics in groups(analysis.plan.metrics[1:]))
    return [sheet for sheet in sheets if sheet.rows]


def groups(metrics: Sequence[Metric]) -> Iterator[tuple[Metric, ...]]:
    """The metrics of a table: of one scale, measured in the same arms, three at most, in the order given."""
    kinds: dict[object, list[Metric]] = {}
    for metric in metrics:
        kinds.setdefault((metric.low, metric.high, metric.arms), []).append(metric)
    for alike in kinds.values():
        tables = -(-len(alike) // _MOST_METRICS)
        size = -(-len(alike) // tables)
        yield from (tuple(alike[n : n + size]) for n in range(0, len(alike), size))


def cells(metric: Metric, column: Sequence[Numbers], sign: str = "") -> list[str]:
    """A column of numbers with their bounds, `7.42 [6.90, 7.94]`, with as many decimals as its values are worth."""
    if metric.is_share:
        return [interval(*numbers, sign=sign) for numbers in column]
    known = [abs(number) for numbers in column for number in numbers[:3] if number is not None]
    digits = 2 if max(known, default=0) < _LARGE else 0
    return [_cell(numbers, digits, sign) for numbers in column]


def _cell(numbers: Numbers, digits: int, sign: str) -> str:
    mean, low, high, _ = numbers
    if mean is None:
        return NOTHING
    bounds = NOTHING if low is None or high is None else f"{low:,.{digits}f}, {high:,.{digits}f}"
    return f"{mean:{sign},.{digits}f} [{bounds}]"


def scale(metric: Metric) -> str:
    """The scale and what is measured, as `confidence (1 to 10): the patient's confidence`."""
    low = "no least" if metric.low is None else f"{metric.low:g}"
    high = "no most" if metric.high is None else f"{metric.high:g}"
    bounds = f"{low} to {high}" if metric.high is not None or metric.low is None else f"{low} and more"
    return f"{spoken(metric)} ({bounds})" + (f": {metric.words}" if metric.words else "")


def spoken(metric: Metric) -> str:
    """The name of a metric in words."""
    return metric.name.replace("_", " ")


def _means(analysis: Analysis, doctor: str, metrics: tuple[Metric, ...]) -> Sheet:
    footnotes, arms = Footnotes(), analysis.plan.arms_of(metrics[0])
    columns = []
    for metric in metrics:
        found = [analysis.find(doctor, arm, metric=metric.name) for arm in arms]
        estimates = [row.estimate for row in found]
        shown = cells(metric, [(row.mean, row.ci_low, row.ci_high, row.n_cases) for row in estimates])
        marks = [footnotes.mark(row.estimate.reason or (row.warning if metric.is_share else None)) for row in found]
        columns.append([cell + mark for cell, mark in zip(shown, marks, strict=True)])
    columns.append([_missing(analysis, doctor, arm, metrics) for arm in arms])
    heads = ("arm", *(f"{spoken(metric)}\n[95% interval]" for metric in metrics), "missing")
    notes = (*footnotes.notes, "; ".join(map(scale, metrics)))
    rows = tuple(zip(arms, *columns, strict=True))
    return Sheet(f"{doctor}: {_names(metrics)}", heads, rows, notes, prose=(0, len(heads) - 1))


def _missing(analysis: Analysis, doctor: str, arm: str, metrics: tuple[Metric, ...]) -> str:
    counts = [(metric, analysis.find(doctor, arm, metric=metric.name).n_missing) for metric in metrics]
    return ", ".join(f"{spoken(metric)} {count}" for metric, count in counts if count) or "0"


def _differences(
    analysis: Analysis, doctor: str, metrics: tuple[Metric, ...], found: dict[tuple[Side, str], Comparison]
) -> Sheet:
    """The metrics are measured in the same arms, so the same arms are compared."""
    footnotes = Footnotes()
    arms = [arm for arm in analysis.plan.arms if (Side(doctor, arm), metrics[0].name) in found]
    columns = []
    for metric in metrics:
        rows = [found[Side(doctor, arm), metric.name] for arm in arms]
        each = [row.difference for row in rows]
        shown = cells(metric, [(row.difference, row.ci_low, row.ci_high, row.n_cases) for row in each], sign="+")
        marks = [footnotes.mark(row.difference.reason) + _star(row) for row in rows]
        columns.append([cell + mark for cell, mark in zip(shown, marks, strict=True)])
    heads = ("arm", *(f"{spoken(metric)}\n[95% interval]" for metric in metrics))
    marked = any(cell.endswith(_MARK) for column in columns for cell in column)
    note = (f"{_MARK} p below {_SIGNIFICANT:g}, adjusted (Holm) for the arms of one measure",) if marked else ()
    references = {found[Side(doctor, arm), metrics[0].name].b.arm for arm in arms}
    reference = references.pop() if len(references) == 1 else "the reference"
    title = f"{doctor}, difference from {reference}: {_names(metrics)}"
    return Sheet(title, heads, tuple(zip(arms, *columns, strict=True)), (*footnotes.notes, *note))


def _star(row: Comparison) -> str:
    return _MARK if row.p_adjusted is not None and row.p_adjusted < _SIGNIFICANT else ""


def _names(metrics: tuple[Metric, ...]) -> str:
    return ", ".join(map(spoken, metrics))
