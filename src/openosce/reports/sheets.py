"""The tables of results as plain text cells; `table.py` shows them in a terminal, `page.py` on a page.

The tables of how the run went stand in `conduct.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openosce.grading.record import ACCURACY
from openosce.reports.plan import Plan
from openosce.reports.results import ALL, Analysis, ArmEstimate, Comparison, Group, total
from openosce.reports.scores import COUNTED_EVIDENCE, ScoreTable

NOTHING = "-"

_MOST_COLUMNS = 10
"""In a table with a column an arm, where a sweep has many."""
_FEW_GRADINGS = 4
"""So many have a column each."""


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


class Footnotes:
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
    """One doctor's accuracy in every arm, with its interval, what the trials are worth, and what is missing."""
    found = [analysis.find(doctor, arm) for arm in analysis.plan.arms]
    codes = [code for code in COUNTED_EVIDENCE if any(row.reason == code for row in analysis.incorrect)]
    footnotes = Footnotes()
    rows = [
        (
            row.arm,
            _accuracy(row, footnotes),
            _of(row.estimate.n_cases, row.n_planned),
            str(row.n_trials),
            *_worth(row, analysis, footnotes),
            *(str(total(analysis.incorrect, doctor, row.arm, code)) for code in codes),
            _missing_in_short(analysis, doctor, row.arm),
        )
        for row in found
    ]
    worth = ("ICC", "design\neffect", "effective\nn") if _says_worth(analysis) else ()
    wrong = (code.replace("_", "\n") for code in codes)
    heads = ("arm", f"{analysis.plan.headline.name}\n[95% interval]", "cases", "trials", *worth, *wrong, "missing")
    notes = footnotes.notes
    if worth:
        notes += (_WORTH,)
    if codes:
        notes += tuple(_WRONG[code] for code in codes)
    return Sheet(doctor, heads, tuple(rows), notes, prose=(0, len(heads) - 1))


_WRONG = {
    "no_option": "no option: wrong because no option was chosen",
    "ambiguous": "ambiguous: wrong because more than one option was chosen",
    "no_diagnosis": "no diagnosis: wrong because the doctor committed to none",
}
_WORTH = (
    "ICC: how alike the trials of a case are (1: they never differ); effective n: the independent answers that all "
    "answers together are worth, their number by the design effect"
)


def _accuracy(row: ArmEstimate, footnotes: Footnotes) -> str:
    found = row.estimate
    value = interval(found.mean, found.ci_low, found.ci_high, found.n_cases)
    return value + footnotes.mark(found.reason or row.warning)


def _says_worth(analysis: Analysis) -> bool:
    """Whether there is anything to say about trials: there are none to compare where each case has but one."""
    return any(row.clustering.icc is not None for row in analysis.estimates if row.group == ALL)


def _worth(row: ArmEstimate, analysis: Analysis, footnotes: Footnotes) -> tuple[str, ...]:
    if not _says_worth(analysis):
        return ()
    found = row.clustering
    if found.icc is None or found.design_effect is None or found.n_effective is None:
        return NOTHING + footnotes.mark(found.reason), NOTHING, NOTHING
    return f"{found.icc:.2f}", f"{found.design_effect:.2f}", f"{found.n_effective:,.0f}"


def side_by_side(analysis: Analysis) -> Sheet | None:
    """All doctors' means, a row each; None where one doctor, or too many arms, leave nothing to lay side by side.

    Parts of one examination end with their average, for a doctor that has all of them (MedQA-CS, Table 7).
    """
    plan = analysis.plan
    arms = plan.arms_of(plan.headline)
    if len(plan.doctors) < 2 or not 2 <= len(arms) <= _MOST_COLUMNS:
        return None
    rows = []
    for doctor in plan.doctors:
        means = [analysis.find(doctor, arm).estimate.mean for arm in arms]
        found = [mean for mean in means if mean is not None]
        average = f"{sum(found) / len(arms):.3f}" if len(found) == len(arms) else NOTHING
        cells = [NOTHING if mean is None else f"{mean:.3f}" for mean in means]
        rows.append((doctor, *cells, *([average] if plan.averages_arms else [])))
    heads = ("doctor", *arms, *(["average"] if plan.averages_arms else []))
    notes = (f"means over cases; {NOTHING}: no valid answer; intervals stand in each doctor's own table",)
    return Sheet("side by side", heads, tuple(rows), notes, compact=True)


def gradings(analysis: Analysis, doctor: str) -> Sheet | None:
    """One doctor's accuracy under every match policy and grader; None where there is but the headline."""
    if len(analysis.gradings) < 2:
        return None
    found = {(row.arm, row.grading.name): row for row in analysis.graded if row.model == doctor}
    rows = []
    for arm in analysis.plan.arms:
        cells = [found[arm, grading.name] for grading in analysis.gradings]
        rows.append((arm, *(_mean_with_n(row.estimate.mean, row.estimate.n_cases, row.n_planned) for row in cells)))
    heads = ("arm", *(grading.name.replace(" by ", "\nby ") for grading in analysis.gradings))
    if len(analysis.gradings) > max(len(rows), _FEW_GRADINGS):  # many examiners, few sections: a row a grading
        names = (grading.name for grading in analysis.gradings)
        heads, *rows = zip(("graded", *names), *([*row] for row in rows), strict=True)
    notes = (
        f"the headline is {analysis.gradings[0].name}; all grade the same answers",
        f"n is given where cases are left out for want of a score; {NOTHING}: nothing is graded that way",
    )
    of_headline = "match policy" if analysis.plan.headline.name == ACCURACY else "policy"
    return Sheet(f"{doctor} under every {of_headline}", heads, tuple(rows), notes)


def by_group(analysis: Analysis, doctor: str, key: str) -> Sheet | None:
    """One doctor's means by `specialty` or `dataset`, a column an arm; None where there is only one group."""
    arms, left_out = shown_arms(analysis.plan)
    groups = [group for group in analysis.groups if group == _single(group, key) and group != ALL]
    if len(groups) < 2:
        return None
    rows = []
    for group in groups:
        found = [analysis.find(doctor, arm, group) for arm in arms]
        n_planned = found[0].n_planned if found else 0
        cells = [_mean_with_n(row.estimate.mean, row.estimate.n_cases, n_planned) for row in found]
        rows.append((getattr(group, key), str(n_planned), *cells))
    label = {"dataset": "data set"}.get(key, key)
    left_out_cases = "n is given where cases are left out for want of a valid answer"
    notes = (f"mean {analysis.plan.headline.name}; {left_out_cases}", *left_out)
    return Sheet(f"{doctor} by {label}", (label, "cases", *arms), tuple(sorted(rows)), notes, compact=True)


def shown_arms(plan: Plan) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The arms that have a column where there is one an arm, the reference's first, and a note on those left out."""
    arms = tuple(dict.fromkeys(arm for arm in (plan.reference, *plan.arms) if arm in plan.arms))
    if plan.reference is None or len(arms) <= _MOST_COLUMNS:
        return plan.arms, ()
    left_out = len(arms) - _MOST_COLUMNS
    return arms[:_MOST_COLUMNS], (f"and {left_out} more conditions; osce analyze --json prints them all",)


def arms_compared(analysis: Analysis, doctor: str) -> Sheet | None:
    """Arm against arm within one doctor; None where there is only one arm."""
    found = [row for row in _of_headline(analysis) if row.a.model == row.b.model == doctor]
    return _compared(f"arms of {doctor}", ("A minus B",), [((f"{row.a.arm} − {row.b.arm}",), row) for row in found])


def doctors_compared(analysis: Analysis) -> Sheet | None:
    """Doctor against doctor within every arm; None where there is only one doctor."""
    found = [row for row in _of_headline(analysis) if row.a.model != row.b.model]
    rows = [((row.a.arm, f"{row.a.model} − {row.b.model}"), row) for row in found]
    return _compared("doctors in each arm", ("arm", "A minus B"), rows)


def _of_headline(analysis: Analysis) -> list[Comparison]:
    return [row for row in analysis.comparisons if row.metric == analysis.plan.headline.name]


def _compared(title: str, heads: tuple[str, ...], rows: Sequence[tuple[tuple[str, ...], Comparison]]) -> Sheet | None:
    if not rows:
        return None
    footnotes = Footnotes()
    cells = []
    for place, row in rows:
        found = row.difference
        value = interval(found.difference, found.ci_low, found.ci_high, found.n_cases, sign="+")
        p_values = (p_value(found.p), p_value(row.p_adjusted))
        cells.append((*place, value + footnotes.mark(found.reason), str(found.n_cases), *p_values))
    heads_of_all = (*heads, "difference\n[95% interval]", "cases", "p", "p (Holm)")
    return Sheet(title, heads_of_all, tuple(cells), footnotes.notes, prose=tuple(range(len(heads))))


def cases(table: ScoreTable, doctor: str, trial: int | None, limit: int) -> Sheet:
    """The first cases with one doctor's marks, a column an arm: the sum of the scores and how many there are.

    Of what is no share, the mean.
    """
    plan = table.plan
    arms, left_out = shown_arms(plan)
    places = [plan.arms.index(arm) for arm in arms]
    slots = [n for n in range(table.values.shape[-1]) if trial is None or n % plan.trials == trial]
    values = table.values[plan.doctors.index(doctor)]
    is_share = table.metric.is_share
    cell = _marks if is_share else _mean
    rows = [(case.id, *(cell(values[a, c, slots]) for a in places)) for c, case in enumerate(table.cases[:limit])]
    more = len(table.cases) - limit
    shown = "marks out of valid answers" if is_share else f"mean {table.metric.name} over valid answers"
    notes = [f"{shown}; {NOTHING} where there is none", *left_out]
    if more > 0:
        notes.append(f"and {more} more cases; name one to see it")
    title = f"{doctor}, {len(table.cases)} cases" + ("" if trial is None else f", trial {trial}")
    return Sheet(title, ("case", *arms), tuple(rows), tuple(notes), compact=True)


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


def _missing_in_short(analysis: Analysis, doctor: str, arm: str) -> str:
    n_missing = analysis.find(doctor, arm).n_missing
    if n_missing == 0:
        return "0"
    reasons = [f"{r.reason}={r.count}" for r in analysis.missing if (r.model, r.arm) == (doctor, arm)]
    return f"{n_missing}: {', '.join(reasons)}"


def _marks(values: NDArray[np.float64]) -> str:
    valid = values[~np.isnan(values)]
    return f"{valid.sum():g}/{len(valid)}" if len(valid) else NOTHING


def _mean(values: NDArray[np.float64]) -> str:
    valid = values[~np.isnan(values)]
    return f"{valid.mean():.1f}" if len(valid) else NOTHING
