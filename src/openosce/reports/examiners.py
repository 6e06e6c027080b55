"""The tables of examiners side by side: how far every two of them agree, and each with the experts."""

from collections.abc import Iterable

from openosce.grading.student_output import DIFFERENTIAL, PHYSICAL_EXAM
from openosce.reports.examiner_agreement import ExaminerAgreement
from openosce.reports.sheets import NOTHING, Footnotes, Sheet, interval
from openosce.statistics import Agreement

EXAMINERS = (
    "Whoever marked the same answers: a section's total from 0 to 100 under as_published, the physical examination "
    "without the penalty for extra examinations. Intervals: 95% percentile bootstrap over cases."
)
_HEADS = ("raters", "cases", "mean\ndifference", "Pearson's r", "Kendall's tau-b,\nof all: W")
_STRICTER = (
    "r, tau-b and W do not see that one rater is stricter throughout; the mean difference does: first less second, in "
    "points"
)
_BUILTIN = "builtin/examiner"
_OF_SECTION = {
    PHYSICAL_EXAM: ("cases without target examinations stay out",),
    DIFFERENTIAL: ("over the case's maximum of points; quality stands apart",),
}


def examiner_sheets(found: Iterable[ExaminerAgreement]) -> tuple[Sheet, ...]:
    """A table for each section of a doctor's in each condition; none where nobody can be compared."""
    by_section: dict[tuple[str, str | None, str], list[ExaminerAgreement]] = {}
    for row in found:
        by_section.setdefault((row.model, row.condition, row.section), []).append(row)
    several = len({condition for _, condition, _ in by_section}) > 1
    return tuple(
        _sheet(", ".join((model, *([condition] if several and condition else []), section)), section, rows)
        for (model, condition, section), rows in by_section.items()
    )


def _sheet(title: str, section: str, rows: list[ExaminerAgreement]) -> Sheet:
    footnotes = Footnotes()
    cells = tuple(
        (
            _raters(row),
            str(row.n_cases),
            NOTHING if row.difference is None else f"{row.difference:+.1f}",
            _cell(row.pearson, footnotes),
            _cell(row.w or row.tau_b, footnotes, "W " if row.w else ""),
        )
        for row in rows
    )
    ours = section == PHYSICAL_EXAM and any(_BUILTIN in row.raters for row in rows)
    alone = (f"{_BUILTIN} marks coverage alone",) if ours else ()
    notes = (*footnotes.notes, _STRICTER, *_OF_SECTION.get(section, ()), *alone)
    return Sheet(f"Examiners of {title}", _HEADS, cells, notes)


def _raters(row: ExaminerAgreement) -> str:
    if len(row.raters) == 2:
        return ",\n".join(row.raters)
    return f"all {len(row.raters)} {row.kinds[0]}s"


def _cell(found: Agreement | None, footnotes: Footnotes, of: str = "") -> str:
    if found is None:
        return NOTHING
    return of + interval(found.value, found.ci_low, found.ci_high, found.n_cases) + footnotes.mark(found.reason)
