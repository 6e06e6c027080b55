"""What every examiner and every expert gives a section as a whole, as examiners are compared: 0 to 100.

The weighting is `as_published`; the physical examination goes without the penalty for extra examinations, as in the
paper's comparison of examiners (MedQA-CS 2024, Table 33). Totals are ours, made of the criteria.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from openosce.cases import Case
from openosce.errors import RunFolderError
from openosce.grading.criterion_names import OVERALL, ROUND, criterion_name, is_part
from openosce.grading.examiner import examiner_part
from openosce.grading.record import Rating
from openosce.grading.rubrics import AS_PUBLISHED, NO_POLICY, RUBRICS, SCORE, WITHOUT_EXTRAS
from openosce.grading.student_output import DIFFERENTIAL, INFO_GATHERING, PHYSICAL_EXAM, SECTIONS
from openosce.grading.text_metrics import PREFIX
from openosce.reports.plan import read_plan
from openosce.runs.folder import RunReader

EXAMINER, METRIC, EXPERT, EXPERTS_MEAN = "examiner", "metric", "expert", "mean of the experts"
"""Kinds of raters."""
PRINTED_MEAN = "experts"
"""Rater of the experts' mean as a paper prints it; beside it, who gives nothing but whole marks is an examiner."""

Place = tuple[str, str | None, str]
"""Doctor, condition (None: the rating does not say), section."""
Turn = tuple[str, int | None]
"""Case and trial; None: all trials of the case together."""
Marks = dict[Turn, float]

_TOTAL, _MAXIMUM = "total_printed", "maximum_printed"
_POINTS = ("names", "historical", "physical", "order")


@dataclass(frozen=True)
class Rater:
    """Who marks."""

    name: str
    kind: str


def marks_of_examiners(reader: RunReader) -> dict[Place, dict[Rater, Marks]]:
    """The section totals of every examiner and metric of the run; the mean of several markings of one answer.

    Raises:
        RunFolderError: The run cannot be read.
    """
    sections = ", ".join("?" * len(SECTIONS))
    sql = f"""SELECT doctor, condition, arm, grader, case_id, trial, metric, policy, AVG(value)
              FROM scores s JOIN answers a ON a.id = s.answer_id JOIN encounters e ON e.id = a.encounter_id
              WHERE arm IN ({sections})
              AND (metric = ? AND policy = ? OR metric IN ('coverage', 'reasons') AND policy = ?)
              GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 ORDER BY MIN(s.rowid)"""
    found: dict[tuple[Place, Rater, Turn], dict[str, float | None]] = defaultdict(dict)
    for doctor, condition, section, grader, case_id, trial, metric, _, value in reader.rows(
        sql, (*SECTIONS, SCORE, AS_PUBLISHED, NO_POLICY)
    ):
        rater = Rater(grader, METRIC if grader.startswith(PREFIX) else EXAMINER)
        found[(doctor, condition, section), rater, (case_id, trial)][metric] = value
    marks: dict[Place, dict[Rater, Marks]] = defaultdict(lambda: defaultdict(dict))
    for (place, rater, turn), given in found.items():
        total = _without_extras(given) if place[2] == PHYSICAL_EXAM and "coverage" in given else given.get(SCORE)
        if total is not None:
            marks[place][rater][turn] = total
    return marks


def _without_extras(given: Mapping[str, float | None]) -> float | None:
    return RUBRICS[PHYSICAL_EXAM].total({name: given.get(name) for name in ("coverage", "reasons")}, WITHOUT_EXTRAS)


def marks_of_experts(reader: RunReader) -> dict[Place, dict[Rater, Marks]]:
    """The section totals of every expert, from the items that were rated; and of examiners that a paper prints.

    A total is made of all criteria of the section, of the rounds (`round_01` ..., 0 to 1), or is the item `overall`.

    Raises:
        RunFolderError: The run cannot be read.
    """
    sheets: dict[tuple[Place, str, Turn], dict[str, float | None]] = defaultdict(dict)
    for rating in reader.ratings():
        if rating.arm in RUBRICS:
            sheets[_place(rating), rating.rater, (rating.case_id, rating.trial)][rating.item] = rating.value
    totals, kinds = _Totals(reader), _kinds(sheets)
    marks: dict[Place, dict[Rater, Marks]] = defaultdict(lambda: defaultdict(dict))
    for (place, name, turn), items in sheets.items():
        total = totals.of(place[2], turn[0], items)
        if total is not None:
            marks[place][Rater(name, kinds[place, name])][turn] = total
    return marks


def _place(rating: Rating) -> Place:
    return rating.doctor, rating.condition, str(rating.arm)


def _kinds(sheets: Mapping[tuple[Place, str, Turn], Mapping[str, float | None]]) -> dict[tuple[Place, str], str]:
    """What every rater of a place is."""
    items: dict[tuple[Place, str], set[str]] = defaultdict(set)
    for (place, name, _), rated in sheets.items():
        items[place, name] |= set(rated)

    def kind(place: Place, name: str) -> str:
        if name == PRINTED_MEAN:
            return EXPERTS_MEAN
        return EXAMINER if (place, PRINTED_MEAN) in items and items[place, name] == {OVERALL} else EXPERT

    return {(place, name): kind(place, name) for place, name in items}


class _Totals:
    """Section totals from experts' items."""

    def __init__(self, reader: RunReader) -> None:
        self._reader = reader
        self._cases: dict[str, Case | None] = {}

    def of(self, section: str, case_id: str, items: Mapping[str, float | None]) -> float | None:
        """The total, 0 to 100; None where a criterion that counts has no mark."""
        if section == DIFFERENTIAL:
            total = self._differential(case_id, items)
        elif section == INFO_GATHERING:
            total = _rounds(items)
        else:
            weighting = WITHOUT_EXTRAS if section == PHYSICAL_EXAM else AS_PUBLISHED
            rubric = RUBRICS[section]
            marks = {criterion_name(section, item): value for item, value in items.items()}
            complete = all(marks.get(name) is not None for name in rubric.weights[weighting])
            total = rubric.total(marks, weighting) if complete else None
        return items.get(OVERALL) if total is None else total

    def _differential(self, case_id: str, items: Mapping[str, float | None]) -> float | None:
        """Points over the maximum: both as the expert's sheet has them or, without, from the parts and the case."""
        total, most = items.get(_TOTAL), items.get(_MAXIMUM)
        if total is None or not most:
            total, most = _points(items), self._maximum(case_id)
        return None if total is None or not most else 100 * total / most

    def _maximum(self, case_id: str) -> int | None:
        if case_id not in self._cases:
            try:
                self._cases[case_id] = self._reader.case(case_id)
            except RunFolderError:  # a run of nothing but ratings
                self._cases[case_id] = None
        case = self._cases[case_id]
        part = examiner_part(case) if case else None
        return part.maximum if part else None


def _points(items: Mapping[str, float | None]) -> float | None:
    """The sum of a differential's parts, if all were rated; one that does not apply (N/A) adds nothing."""
    given = {criterion_name(DIFFERENTIAL, item) for item in items}
    parts = [
        value
        for item, value in items.items()
        if criterion_name(DIFFERENTIAL, item) in _POINTS and (value is not None or not is_part(DIFFERENTIAL, item))
    ]
    if not given.issuperset(_POINTS) or None in parts:
        return None
    return sum(value for value in parts if value is not None)


def _rounds(items: Mapping[str, float | None]) -> float | None:
    rounds = [value for item, value in items.items() if item.startswith(ROUND) and value is not None]
    return 100 * sum(rounds) / len(rounds) if rounds else None


def experts_mean(marks: Iterable[Marks]) -> Marks:
    """The mean of those experts who marked, case by case and trial by trial."""
    found: dict[Turn, list[float]] = defaultdict(list)
    for of_expert in marks:
        for turn, value in of_expert.items():
            found[turn].append(value)
    return {turn: sum(values) / len(values) for turn, values in found.items()}


def together(reader: RunReader) -> Iterator[tuple[Place, dict[Rater, Marks]]]:
    """Every doctor's sections with all who marked them; an expert who names no condition marked all of them.

    Cases for development stay out.

    Raises:
        RunFolderError: The run cannot be read.
    """
    examiners, experts = marks_of_examiners(reader), marks_of_experts(reader)
    development = read_plan(reader).development
    known = {(doctor, section) for doctor, condition, section in examiners}
    only_rated = [place for place in experts if (place[0], place[2]) not in known or place[1] is not None]
    places = dict.fromkeys((*examiners, *only_rated))
    blocks = list(dict.fromkeys(place[:2] for place in places))
    for place in sorted(places, key=lambda place: (blocks.index(place[:2]), SECTIONS.index(place[2]))):
        doctor, _, section = place
        everywhere = experts.get((doctor, None, section), {})
        found = {**examiners.get(place, {}), **everywhere, **experts.get(place, {})}
        yield place, {rater: _without(development, marks) for rater, marks in found.items()}


def _without(case_ids: frozenset[str], marks: Marks) -> Marks:
    return {(case_id, trial): value for (case_id, trial), value in marks.items() if case_id not in case_ids}
