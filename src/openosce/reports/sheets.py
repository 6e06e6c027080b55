"""The tables of a run as plain text cells; `table.py` shows them in a terminal, `page.py` on a page."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openosce.encounters import EndReason
from openosce.reports.analysis import ALL, Analysis, Comparison, Count, Group
from openosce.reports.scores import COUNTED_EVIDENCE, ScoreTable
from openosce.reports.text import one_line

NOTHING = "-"


@dataclass(frozen=True)
class Sheet:
    """A table of text. Columns hold numbers, save the first and those in `prose`."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    prose: tuple[int, ...] = (0,)
    """Places of the columns that hold words."""
    compact: bool = False
    """Whether it has a column an arm and must be kept narrow."""


class _Footnotes:
    """Numbers the reasons of what could not be computed; the same reason gets the same number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def mark(self, reason: str | None) -> str:
        if reason is None:
            return ""
        return f" ({self._numbers.setdefault(reason, len(self._numbers) + 1)})"

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(f"({number}) {reason}" for reason, number in self._numbers.items())


def accuracy(analysis: Analysis, doctor: str) -> Sheet:
    """One doctor's accuracy in every arm, with its interval and what is missing."""
    footnotes = _Footnotes()
    codes = [code for code in COUNTED_EVIDENCE if any(row.reason == code for row in analysis.incorrect)]
    rows = []
    for arm in analysis.plan.arms:
        row = analysis.find(doctor, arm)
        estimate = row.estimate
        value = interval(estimate.mean, estimate.ci_low, estimate.ci_high, estimate.n_cases)
        wrong = [str(_count(analysis.incorrect, doctor, arm, code)) for code in codes]
        rows.append(
            (
                arm,
                value + footnotes.mark(estimate.reason),
                _of(estimate.n_cases, row.n_planned),
                str(row.n_trials),
                *wrong,
                _missing_in_short(analysis, doctor, arm),
            )
        )
    heads = (
        "arm",
        "accuracy\n[95% interval]",
        "cases",
        "trials",
        *(code.replace("_", "\n") for code in codes),
        "missing",
    )
    notes = footnotes.notes
    if codes:
        notes += ("wrong because no option was chosen, or more than one, is counted under 'no option', 'ambiguous'",)
    return Sheet(doctor, heads, tuple(rows), notes, prose=(0, len(heads) - 1))


def by_group(analysis: Analysis, doctor: str, key: str) -> Sheet | None:
    """One doctor's means by `specialty` or `dataset`, a column an arm; None where there is only one group."""
    groups = [group for group in analysis.groups if group == _single(group, key) and group != ALL]
    if len(groups) < 2:
        return None
    rows = []
    for group in groups:
        found = [analysis.find(doctor, arm, group) for arm in analysis.plan.arms]
        n_planned = found[0].n_planned if found else 0
        cells = [_mean_with_n(row.estimate.mean, row.estimate.n_cases, n_planned) for row in found]
        rows.append((getattr(group, key), str(n_planned), *cells))
    label = {"dataset": "data set"}.get(key, key)
    notes: tuple[str, ...] = ("mean accuracy; n is given where cases are left out for want of a valid answer",)
    return Sheet(
        f"{doctor} by {label}", (label, "cases", *analysis.plan.arms), tuple(sorted(rows)), notes, compact=True
    )


def arms_compared(analysis: Analysis, doctor: str) -> Sheet | None:
    """Arm against arm within one doctor; None where there is only one arm."""
    found = [row for row in analysis.comparisons if row.a.model == row.b.model == doctor]
    return _compared(f"arms of {doctor}", ("A minus B",), [((f"{row.a.arm} − {row.b.arm}",), row) for row in found])


def doctors_compared(analysis: Analysis) -> Sheet | None:
    """Doctor against doctor within every arm; None where there is only one doctor."""
    found = [row for row in analysis.comparisons if row.a.model != row.b.model]
    rows = [((row.a.arm, f"{row.a.model} − {row.b.model}"), row) for row in found]
    return _compared("doctors in each arm", ("arm", "A minus B"), rows)


def _compared(title: str, heads: tuple[str, ...], rows: Sequence[tuple[tuple[str, ...], Comparison]]) -> Sheet | None:
    if not rows:
        return None
    footnotes = _Footnotes()
    cells = []
    for place, row in rows:
        found = row.difference
        value = interval(found.difference, found.ci_low, found.ci_high, found.n_cases, sign="+")
        p_values = (p_value(found.p), p_value(row.p_adjusted))
        cells.append((*place, value + footnotes.mark(found.reason), str(found.n_cases), *p_values))
    heads_of_all = (*heads, "difference\n[95% interval]", "cases", "p", "p (Holm)")
    return Sheet(title, heads_of_all, tuple(cells), footnotes.notes, prose=tuple(range(len(heads))))


def endings(analysis: Analysis) -> Sheet:
    """Why encounters ended, and what share of the doctor's encounters that is."""
    totals: Counter[str] = Counter()
    for row in analysis.endings:
        totals[row.model] += row.count
    rows = tuple(
        (row.model, row.ended, str(row.count), f"{row.count / totals[row.model]:.0%}") for row in analysis.endings
    )
    failures = dict.fromkeys(row.ended for row in analysis.endings if _is_failure(row.ended))
    notes = (f"ended by infrastructure, not by the doctor: {', '.join(failures)}",) if failures else ()
    return Sheet("How encounters ended", ("doctor", "ended", "encounters", "share"), rows, notes, prose=(0, 1))


def missing(analysis: Analysis) -> Sheet:
    """What is missing and why, a row a doctor and arm."""
    reasons = tuple(dict.fromkeys(row.reason for row in sorted(analysis.missing, key=lambda row: -row.count)))
    places = dict.fromkeys((row.model, row.arm) for row in analysis.missing)
    rows = [
        (doctor, arm, *(str(_count(analysis.missing, doctor, arm, reason)) for reason in reasons))
        for doctor, arm in places
    ]
    heads = ("doctor", "arm", *(reason.replace("_", " ") for reason in reasons))
    return Sheet("Answers without a score", heads, tuple(rows), prose=(0, 1))


def failed(analysis: Analysis, limit: int) -> Sheet:
    """The first encounters that infrastructure ended, and how many more there are."""
    shown = analysis.failed[:limit]
    rows = tuple(
        (row.key.doctor, row.key.case_id, str(row.key.trial), row.ended, one_line(row.error or NOTHING))
        for row in shown
    )
    more = len(analysis.failed) - len(shown)
    notes = (f"and {more} more",) if more else ()
    heads = ("doctor", "case", "trial", "ended", "error")
    return Sheet(f"Failed encounters: {len(analysis.failed)}", heads, rows, notes, prose=(0, 1, 3, 4))


def calls(analysis: Analysis) -> Sheet | None:
    """Calls, tokens, dollars and time of each role that a model plays; None where only built-in roles took part."""
    if not analysis.calls:
        return None
    rows = [
        (
            row.role,
            f"{row.answered:,}",
            f"{row.failed:,}",
            _number(row.tokens_in),
            _number(row.tokens_in / row.answered if row.tokens_in is not None and row.answered else None),
            _share(row.tokens_cached, row.tokens_in),
            f"{row.repeated:.0%}" if row.repeated is not None else NOTHING,
            _number(row.tokens_out),
            "unknown" if row.dollars is None else f"{row.dollars:,.2f}",
            _number(row.milliseconds),
        )
        for row in analysis.calls
    ]
    heads = (
        "role",
        "calls\nanswered",
        "tries\nfailed",
        "prompt\ntokens",
        "a call",
        "from\ncache",
        "repeats a\nprefix",
        "reply\ntokens",
        "dollars",
        "ms\na call",
    )
    graded, asked = analysis.shared_verdicts
    notes = ["a failed try was made good by a later one, or its answer is missing; dollars need a price for every call"]
    if graded:
        notes.append(f"{graded:,} verdicts rest on {asked:,} distinct answers put to the grader")
    return Sheet("Calls and cost", heads, tuple(rows), tuple(notes))


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,.0f}"


def _share(part: float | None, whole: float | None) -> str:
    return f"{part / whole:.0%}" if part is not None and whole else NOTHING


def cases(table: ScoreTable, doctor: str, trial: int | None, limit: int) -> Sheet:
    """The first cases with one doctor's marks, a column an arm: the sum of the scores and how many there are."""
    plan = table.plan
    slots = [n for n in range(table.values.shape[-1]) if trial is None or n % plan.trials == trial]
    values = table.values[plan.doctors.index(doctor)]
    rows = [
        (case.id, *(_marks(values[a, c, slots]) for a in range(len(plan.arms))))
        for c, case in enumerate(table.cases[:limit])
    ]
    more = len(table.cases) - limit
    notes = [f"marks out of valid answers; {NOTHING} where there is none"]
    if more > 0:
        notes.append(f"and {more} more cases; name one to see it")
    title = f"{doctor}, {len(table.cases)} cases" + ("" if trial is None else f", trial {trial}")
    return Sheet(title, ("case", *plan.arms), tuple(rows), tuple(notes), compact=True)


def interval(mean: float | None, low: float | None, high: float | None, n_cases: int, sign: str = "") -> str:
    """A number with its interval, `0.583 [0.25, 0.91]`; what is None is a dash."""
    if mean is None:
        return NOTHING
    if low is None or high is None:
        return f"{mean:{sign}.3f} [{NOTHING}]"
    digits = 3 if n_cases >= 100 else 2  # a third digit says nothing below that
    return f"{mean:{sign}.3f} [{low:.{digits}f}, {high:.{digits}f}]"


def p_value(p: float | None) -> str:
    """A p value with three digits."""
    if p is None:
        return NOTHING
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _single(group: Group, key: str) -> Group:
    return Group(specialty=group.specialty) if key == "specialty" else Group(dataset=group.dataset)


def _mean_with_n(mean: float | None, n_cases: int, n_planned: int) -> str:
    if mean is None:
        return NOTHING
    return f"{mean:.2f}" if n_cases == n_planned else f"{mean:.2f} n={n_cases}"


def _of(count: int, total: int) -> str:
    return str(count) if count == total else f"{count} of {total}"


def _count(rows: Iterable[Count], doctor: str, arm: str, reason: str) -> int:
    return sum(row.count for row in rows if (row.model, row.arm, row.reason) == (doctor, arm, reason))


def _missing_in_short(analysis: Analysis, doctor: str, arm: str) -> str:
    total = analysis.find(doctor, arm).n_missing
    if total == 0:
        return "0"
    reasons = [f"{r.reason}={r.count}" for r in analysis.missing if (r.model, r.arm) == (doctor, arm)]
    return f"{total}: {', '.join(reasons)}"


def _is_failure(reason: str) -> bool:
    return reason in set(EndReason) and EndReason(reason).is_failure


def _marks(values: NDArray[np.float64]) -> str:
    valid = values[~np.isnan(values)]
    return f"{valid.sum():g}/{len(valid)}" if len(valid) else NOTHING
