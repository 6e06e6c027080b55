"""The tables of experts: how far they agree with each other, and the grader with them."""

from collections.abc import Iterable, Mapping, Sequence

from openosce.reports.expert_agreement import ExpertAgreement, Experts, GraderAgreement
from openosce.reports.sheets import NOTHING, Footnotes, Sheet, interval
from openosce.statistics import Agreement

_YES_NO = {"raw_agreement": "agreement", "cohens_kappa": "Cohen's\nkappa", "gwet_ac1": "Gwet's\nAC1"}
_NUMBERS = {"pearson": "Pearson's r", "kendall_tau_b": "Kendall's\ntau-b", "kendalls_w": "Kendall's W"}
_GRADER = {
    "count_agreement": "agreement",
    "spearman": "Spearman's rho",
    "sensitivity": "sensitivity",
    "specificity": "specificity",
}
_NOT_CASES = "what was rated counts as a case of its own, also where several doctors met the same case"
_TIES = "a rater who was asked only where others disagreed agrees with each of them less than on all cases"
_OF_GRADER = (
    "agreement: one less the mean difference of both counts of right trials, as a share of the trials",
    "sensitivity and specificity: on the cases of which the expert calls all trials right, or all wrong",
)


def expert_sheets(found: Experts) -> tuple[Sheet, ...]:
    """The tables on the experts of a run: none where it has no ratings by two raters, or of a grader's verdicts."""
    yes_no = [row for row in found.questions if row.is_yes_no]
    numbers = [row for row in found.questions if not row.is_yes_no]
    sheets = (
        _question_sheet("Experts: yes or no", "rated\nby both", yes_no, _YES_NO, (_NOT_CASES, _TIES)),
        _question_sheet("Experts: numbers", "rated\nby all", numbers, _NUMBERS, (_NOT_CASES,)),
    )
    return (*(sheet for sheet in sheets if sheet.rows), *map(_grader_sheet, found.grader))


def _question_sheet(
    title: str, rated: str, rows: Sequence[ExpertAgreement], columns: Mapping[str, str], notes: tuple[str, ...]
) -> Sheet:
    footnotes = Footnotes()
    cells = tuple(
        (_question(row), _raters(row), str(row.n_rated), *_cells(row.statistics, columns, footnotes)) for row in rows
    )
    heads = ("question", "raters", rated, *columns.values())
    return Sheet(title, heads, cells, (*footnotes.notes, *notes), prose=(0, 1))


def _grader_sheet(row: GraderAgreement) -> Sheet:
    footnotes = Footnotes()
    cells = tuple(
        (words, str(row.statistics[name].n_cases), *_cells(row.statistics, (name,), footnotes))
        for name, words in _GRADER.items()
    )
    title = f"The grader beside {row.rater}: {row.model}, {row.arm}"
    left_out = f"{row.n_left_out} cases left out: not rated by the expert, or not every trial judged by the grader"
    heads = ("measure", "cases", "value\n[95% interval]")
    return Sheet(title, heads, cells, (*footnotes.notes, *_OF_GRADER, left_out))


def _question(row: ExpertAgreement) -> str:
    return f"{row.arm} {row.item}" if row.arm else row.item


def _raters(row: ExpertAgreement) -> str:
    return ", ".join(row.raters) if len(row.raters) == 2 else f"all {len(row.raters)}"


def _cells(statistics: Mapping[str, Agreement], columns: Iterable[str], footnotes: Footnotes) -> list[str]:
    """A cell for each column; what there is to say of it stands below the table, numbered."""
    found = (statistics.get(name) for name in columns)
    return [NOTHING if one is None else _cell(one) + footnotes.mark(one.reason) for one in found]


def _cell(one: Agreement) -> str:
    return interval(one.value, one.ci_low, one.ci_high, one.n_cases)
