"""What CRAFT-MD prints of its experts, beside the same figures from the released sheets.

Two raters share a third of the conversations; where they disagree a third one decides, so the verdict on a conversation
is that of most raters. Source: CRAFT-MD 2025, Methods, "Assessment of clinical LLMs", "of patient-AI agent",
"of grader-AI agent"; Supplementary Table 18; preprint of 2023, Supplementary Table 21.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable

import numpy as np

from openosce.grading.record import Rating
from openosce.reports.grader_checks import GraderCheck, grader_checks
from openosce.reports.papers.cells import Cell
from openosce.reports.papers.typed import figure_cell, figures
from openosce.runs.folder import RunReader
from openosce.statistics import count_agreement, mcnemar_of_cases, spearman

Row = dict[str, str]
Found = tuple[float | None, str | None]
"""A figure, and why there is none or why it differs."""
Verdicts = dict[tuple[str, str], float | None]
"""By doctor and case: 1 yes, 0 no, None where the raters are even."""

_FIRST_RATERS = ("d1", "d2")
_OPEN = "{} of {} conversations have no verdict: blank, or a tie that nobody breaks"


def cells(reader: RunReader) -> list[Cell]:
    """Every printed figure about the experts; those of which the run holds no ratings are not recomputed.

    Raises:
        RunFolderError: The run cannot be read.
    """
    sheets = _Sheets(reader)
    makers: dict[str, Callable[[Row], Found]] = {
        "grader_agreement": sheets.grader_agreement,
        "share": sheets.share,
        "both_agree": sheets.both_agree,
        "mcnemar": sheets.mcnemar,
        "preprint_spearman": sheets.preprint_spearman,
        "not_released": lambda row: (None, row["reason"]),
    }
    found = []
    for row in figures("craft_md_experts.csv"):
        recomputed, reason = makers[row["figure"]](row)
        found.append(figure_cell(row["table"], row["place"], row["printed"], recomputed, reason))
    return found


class _Sheets:
    """The ratings of a run, by question."""

    def __init__(self, reader: RunReader) -> None:
        self._by_item: dict[str, list[Rating]] = defaultdict(list)
        for rating in reader.ratings():
            self._by_item[rating.item].append(rating)
        self._checks = grader_checks(reader)

    def share(self, row: Row) -> Found:
        """The percentage of a doctor's conversations, or of all, that the raters say yes to."""
        found = self._verdicts(row["item"], row["doctor"])
        if not found:
            return _absent(row)
        values = [value for value in found.values() if value is not None]
        n_open = len(found) - len(values)
        return (None, _OPEN.format(n_open, len(found))) if n_open else (100 * sum(values) / len(values), None)

    def both_agree(self, row: Row) -> Found:
        """On how many of a doctor's conversations that both first raters saw they say the same."""
        marks = _by_case(rating for rating in self._of(row) if rating.rater in _FIRST_RATERS)
        pairs = [values for values in marks.values() if len(values) == len(_FIRST_RATERS)]
        return (sum(first == second for first, second in pairs), None) if pairs else _absent(row)

    def mcnemar(self, row: Row) -> Found:
        """The exact p of two doctors on the same cases."""
        sides = [self._verdicts(row["item"], doctor) for doctor in (row["doctor"], row["other"])]
        a, b = ({case_id: value for (_, case_id), value in side.items()} for side in sides)
        common = [case_id for case_id in a if case_id in b]
        if not common:
            return _absent(row)
        test = mcnemar_of_cases(*(np.array([side[case_id] for case_id in common], dtype=float) for side in (a, b)))
        return test.exact_p, test.reason

    def grader_agreement(self, row: Row) -> Found:
        """In how many of the trials, in percent, the grader's and the dermatologist's counts meet."""
        check = self._check(row)
        if check is None:
            return _absent(row)
        both = check.expert, check.grader, check.n_trials
        value = count_agreement(*both, rng=np.random.default_rng(1), n_resamples=1).value
        return (None if value is None else 100 * value), None

    def preprint_spearman(self, row: Row) -> Found:
        """Not the preprint's figure; what the sheets released in 2025 give in its place is said in the reason."""
        check = self._check(row)
        if check is None:
            return None, row["reason"]
        rho = spearman(check.expert, check.grader, rng=np.random.default_rng(1), n_resamples=1).value
        return None, f"{row['reason']}; the sheet of 2025 gives {rho:.3f} over {len(check.case_ids)} cases"

    def _check(self, row: Row) -> GraderCheck | None:
        return next((check for check in self._checks if check.doctor == row["doctor"]), None)

    def _of(self, row: Row) -> list[Rating]:
        return [rating for rating in self._by_item[row["item"]] if row["doctor"] in ("", rating.doctor)]

    def _verdicts(self, item: str, doctor: str) -> Verdicts:
        marks = _by_case(rating for rating in self._by_item[item] if doctor in ("", rating.doctor))
        return {place: _majority(values) for place, values in marks.items()}


def _by_case(ratings: Iterable[Rating]) -> dict[tuple[str, str], list[float]]:
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for rating in ratings:
        found[rating.doctor, rating.case_id] += [] if rating.value is None else [rating.value]
    return found


def _majority(values: list[float]) -> float | None:
    n_yes, n_no = values.count(1), values.count(0)
    return None if n_yes == n_no else float(n_yes > n_no)


def _absent(row: Row) -> Found:
    return None, f"the run holds no ratings of {row['item']}{' by ' + row['doctor'] if row['doctor'] else ''}"
