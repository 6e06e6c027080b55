"""What the MedQA-CS paper prints of its experts and examiners, beside the same figures from the marks it prints.

Some marks contradict other places of the paper (`figures/medqa_cs_corrections.csv`). Each of these is a cell of its
own, and every figure that rests on one stands here twice: from the marks as printed, and from the corrected ones.

Source: MedQA-CS (2024), Tables 5-7, 19-27, 33, 34, 40, 41; the weights: Table 33's and 35's captions, Appendix I.3.1.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product

import numpy as np
from numpy.typing import NDArray

from openosce.errors import StudyError
from openosce.grading.record import Rating
from openosce.reports.papers.cells import Cell, Verdict, compare_printed
from openosce.reports.papers.typed import figure_cell, figures
from openosce.runs.folder import RunReader
from openosce.statistics import kendall_tau_b, kendalls_w, pearson

Array = NDArray[np.float64]
Marks = Mapping[tuple[str, str, str, str], float]
"""By section, case, rater and item."""

PHYSICAL_EXAM, CLOSURE, DIFFERENTIAL = "physical_exam", "closure", "differential"
EXPERTS = ("expert-1", "expert-2", "expert-3")
STUDENT = "medqa-cs/GPT-4"
"""Whose answers were marked, as an imported run names it."""
MEAN_OF_EXPERTS = "experts"
"""Rater of the experts' mean as Tables 33 and 40 print it."""

_CLOSURE = (
    "diagnostic_impressions",
    "management_plans",
    "challenging_question",
    "language_accessibility",
    "compassion",
)
_CLOSURE_WEIGHTS, _CLOSURE_PROMPTED = (0.2, 0.4, 0.2, 0.1, 0.1), (0.2, 0.3, 0.3, 0.1, 0.1)
_CLOSURE_POINTS = (20, 30, 30, 10, 10)
_DIAGNOSES = tuple(f"diagnosis_{n}_{part}" for n, part in product((1, 2, 3), ("name", "historical", "physical")))
_PARTS = {
    PHYSICAL_EXAM: ("coverage", "reasons", "extra_exams"),
    CLOSURE: _CLOSURE,
    DIFFERENTIAL: (*_DIAGNOSES, "order"),
}
_TABLES = {PHYSICAL_EXAM: "Tables 19-20", CLOSURE: "Tables 21-23", DIFFERENTIAL: "Tables 24-27"}
_TOTAL, _MAXIMUM, _PERCENT, _OVERALL = "total_printed", "maximum_printed", "percent_printed", "overall"
_AS_PRINTED, _CORRECTED = "marks as printed", "marks corrected"
_NOT_PRINTED = "the paper prints no such marks case by case"
_OF_CORRECTIONS = (
    "rests on marks that the paper contradicts elsewhere; the figure from the corrected ones stands beside it"
)
_PARTS_ARE_ROUNDED = "the parts it is made of are printed rounded"
_COLUMN_IS_ROUNDED = "the column that it is the mean of is printed rounded"
_NO_SUM = "the printed total is no sum of its parts"
_PART_UNKNOWN = "the run holds no mark of one of its parts"
_NOT_OF_THIS_TOTAL = "other tables need the corrected part, and this total does not fit it"
_UNEXPLAINED = "the printed marks do not give it, and no correction that we know of does"


def cells(reader: RunReader) -> list[Cell]:
    """Every figure of these tables; those that rest on marks which the paper does not print are not recomputed.

    Raises:
        StudyError: The run holds none of the marks that the paper prints.
        RunFolderError: The run cannot be read.
    """
    printed = {
        (rating.arm or "", rating.case_id, rating.rater, rating.item): value
        for rating in reader.ratings()
        if rating.doctor == STUDENT and (value := _value(rating)) is not None
    }
    if not printed:
        raise StudyError(
            f"{reader.folder}: holds no marks of {STUDENT}, which the paper prints; "
            "`osce import medqa-cs-experts` makes a run that does"
        )
    known = figures("medqa_cs_corrections.csv")
    corrections = [row for row in known if printed.get(_place(row)) == float(row["printed"])]
    corrected = {**printed, **{_place(row): float(row["corrected"]) for row in corrections}}
    touched = {row["section"] for row in corrections if row["item"] != _TOTAL}
    readings = {_AS_PRINTED: printed, _CORRECTED: corrected}
    return [
        *_correction_cells(corrections),
        *_total_cells(printed, corrected),
        *_mean_cells(readings, touched),
        *_average_cells(readings, touched),
        *_agreement_cells(readings, touched),
        *_student_cells(),
    ]


def _value(rating: Rating) -> float | None:
    """The mark; a part that does not apply adds nothing to its total, and one that cannot be read is not known."""
    does_not_apply = (rating.missing_reason or "").startswith("not_applicable")
    return 0.0 if does_not_apply else rating.value


def _place(row: Mapping[str, str]) -> tuple[str, str, str, str]:
    return row["section"], row["case_id"], row["rater"], row["item"]


def _correction_cells(corrections: Iterable[Mapping[str, str]]) -> Iterator[Cell]:
    for row in corrections:
        place = f"case {row['case_id']}, {row['rater']}: {row['item']}, corrected"
        yield figure_cell(_TABLES[row["section"]], place, row["printed"], float(row["corrected"]), row["why"])


def _total_cells(printed: Marks, corrected: Marks) -> Iterator[Cell]:
    """Every printed total beside the sum of its printed parts, and the percentage of the differential's maximum."""
    for (section, case_id, rater, item), value in printed.items():
        place = f"case {case_id}, {rater}"
        if item == _TOTAL:
            ours, right = (_sum(marks, section, case_id, rater) for marks in (printed, corrected))
            reason = _OF_CORRECTIONS if right != ours else _NO_SUM if ours is not None else _PART_UNKNOWN
            yield figure_cell(_TABLES[section], f"{place}: total, sum of its parts", f"{value:g}", ours, reason)
            if right != ours:
                name = f"{place}: total, sum of its corrected parts"
                yield figure_cell(_TABLES[section], name, f"{value:g}", right, _NOT_OF_THIS_TOTAL)
        elif item == _PERCENT:
            share = _mark(printed, section, case_id, rater)
            yield figure_cell(_TABLES[section], f"{place}: total, % of the maximum", f"{value:.2f}", share)


def _sum(marks: Marks, section: str, case_id: str, rater: str) -> float | None:
    """The parts of a total; None where one is not known."""
    parts = [marks.get((section, case_id, rater, part)) for part in _PARTS[section]]
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _mean_cells(readings: Mapping[str, Marks], touched: set[str]) -> Iterator[Cell]:
    """The experts' mean of each case in the tables of examiners."""
    for section, table, decimals in ((PHYSICAL_EXAM, "Table 33", 1), (CLOSURE, "Table 40", 0)):
        for (found, case_id, rater, item), value in readings[_AS_PRINTED].items():
            if (found, rater, item) != (section, MEAN_OF_EXPERTS, _OVERALL):
                continue
            ours = {name: _mean_of_experts(marks, section, case_id) for name, marks in readings.items()}
            for name in _readings_to_show(section, touched):
                if name == _AS_PRINTED or ours[name] != ours[_AS_PRINTED]:
                    place, figure = f"case {case_id}: mean of the experts, {name}", f"{value:.{decimals}f}"
                    yield figure_cell(
                        table, place, figure, ours[name], _reason_of(name, ours[name] != ours[_CORRECTED])
                    )


def _mean_of_experts(marks: Marks, section: str, case_id: str) -> float | None:
    values = [_mark(marks, section, case_id, rater) for rater in EXPERTS]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(EXPERTS) else None


def _mark(marks: Marks, section: str, case_id: str, rater: str) -> float | None:
    """What a rater's marks of a case come to, as the paper compares raters; from 0 to 100.

    Physical examination without the penalty for extra examinations; closure with the weights of Appendix I.3.1.
    """
    if rater not in EXPERTS:
        return marks.get((section, case_id, rater, _OVERALL))
    if section == PHYSICAL_EXAM:
        return _weighted(marks, section, case_id, rater, ("coverage", "reasons"), (1.0, 1.0))
    if section == CLOSURE:
        shares = tuple(100 * weight / most for weight, most in zip(_CLOSURE_WEIGHTS, _CLOSURE_POINTS, strict=True))
        return _weighted(marks, section, case_id, rater, _CLOSURE, shares)
    total, most = (marks.get((section, case_id, rater, item)) for item in (_TOTAL, _MAXIMUM))
    return None if total is None or not most else 100 * total / most


def _weighted(
    marks: Marks, section: str, case_id: str, rater: str, items: tuple[str, ...], weights: tuple[float, ...]
) -> float | None:
    values = [marks.get((section, case_id, rater, item)) for item in items]
    known = [value for value in values if value is not None]
    return float(np.dot(known, weights)) if len(known) == len(items) else None


def _average_cells(readings: Mapping[str, Marks], touched: set[str]) -> Iterator[Cell]:
    """The averages of the tables of examiners: the experts' from their marks, the examiners' from the column above."""
    case_ids = list(dict.fromkeys(case_id for _, case_id, _, _ in readings[_AS_PRINTED]))
    for row in figures("medqa_cs_examiners.csv"):
        section, rater = row["section"], row["rater"]
        of_experts = rater == MEAN_OF_EXPERTS
        for name in _readings_to_show(section, touched if of_experts else set()):
            marks = readings[name]
            if of_experts:
                column = [_mean_of_experts(marks, section, case_id) for case_id in case_ids]
            else:
                column = [_mark(marks, section, case_id, rater) for case_id in case_ids]
            known = [value for value in column if value is not None]
            reason = (_reason_of(name, of_experts) or _COLUMN_IS_ROUNDED) if known else _NOT_PRINTED
            place = f"average: {rater}" + (f", {name}" if of_experts else "")
            yield figure_cell(row["table"], place, row["printed"], sum(known) / len(known) if known else None, reason)


def _agreement_cells(readings: Mapping[str, Marks], touched: set[str]) -> Iterator[Cell]:
    """Tables 5 and 6; the examiners are compared with the experts' mean as Tables 33 and 40 print it."""
    for row in figures("medqa_cs_agreement.csv"):
        section, raters = row["section"], tuple(name for name in (row["a"], row["b"]) if name) or EXPERTS
        ours = {name: _agreement(marks, row["statistic"], section, raters) for name, marks in readings.items()}
        of_experts = set(raters) <= set(EXPERTS)
        for name in _readings_to_show(section, touched if of_experts else set()):
            place = f"{section}: {row['statistic']} of {', '.join(raters)}"
            reason = _reason_of(name, of_experts and ours[name] != ours[_CORRECTED])
            if ours[name] is None:
                reason = _NOT_PRINTED
            elif compare_printed(row["printed"], ours[name]) is Verdict.DIFFERS:
                reason = reason or _UNEXPLAINED
            shown = f"{place}, {name}" if of_experts and section in touched else place
            yield figure_cell(row["table"], shown, row["printed"], ours[name], reason)


def _agreement(marks: Marks, statistic: str, section: str, raters: tuple[str, ...]) -> float | None:
    case_ids = list(dict.fromkeys(case_id for found, case_id, _, _ in marks if found == section))
    values = [[_mark(marks, section, case_id, rater) for rater in raters] for case_id in case_ids]
    table = np.array(values, dtype=float).reshape(-1, len(raters))
    whole = table[~np.isnan(table).any(axis=1)]
    if not len(whole):
        return None
    rng = np.random.default_rng(1)  # of an interval that is not shown here
    if statistic == "kendalls_w":
        return kendalls_w(whole, rng=rng, n_resamples=1).value
    of_two = {"pearson": pearson, "kendall_tau_b": kendall_tau_b}[statistic]
    return of_two(whole[:, 0], whole[:, 1], rng=rng, n_resamples=1).value


def _readings_to_show(section: str, touched: set[str]) -> tuple[str, ...]:
    return (_AS_PRINTED, _CORRECTED) if section in touched else (_AS_PRINTED,)


def _reason_of(reading: str, changes: bool) -> str | None:
    return _OF_CORRECTIONS if reading == _AS_PRINTED and changes else None


def _student_cells() -> Iterator[Cell]:
    """Tables 34 and 41 from their parts, by the weights that fit and by those the caption or the prompt states."""
    for row in figures("medqa_cs_students.csv"):
        score = {n: float(row[f"score{n}"]) for n in range(1, 6) if row[f"score{n}"]}
        if row["section"] == PHYSICAL_EXAM:
            fits, stated = 0.6 * score[1] + 0.4 * score[2] + 0.5 * score[3], 0.6 * score[1] + 0.4 * score[2] + score[3]
            names = "0.6 score1 + 0.4 score2 + 0.5 score3", "0.6 score1 + 0.4 score2 + score3 (its caption)"
        else:
            fits = float(np.dot(list(score.values()), _CLOSURE_WEIGHTS))
            stated = float(np.dot(list(score.values()), _CLOSURE_PROMPTED))
            names = "weights 0.2, 0.4, 0.2, 0.1, 0.1", "weights 0.2, 0.3, 0.3, 0.1, 0.1 (the prompt's points)"
        other = "the paper weighs the parts otherwise than this says"
        yield figure_cell(row["table"], f"{row['model']}: {names[0]}", row["overall"], fits, _PARTS_ARE_ROUNDED)
        yield figure_cell(row["table"], f"{row['model']}: {names[1]}", row["overall"], stated, other)
        reason = f"{row['table']} prints {row['overall']}"
        yield figure_cell(
            "Table 7", f"{row['model']}, {row['section']}: from {row['table']}", row["table_7"], fits, reason
        )
