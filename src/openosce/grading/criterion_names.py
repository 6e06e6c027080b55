"""What experts' sheets call the criteria of the rubrics, and the names that scores carry.

Source: MedQA-CS 2024, Tables 19-27 (the experts' sheets), against `rubrics.METRICS`.
"""

from collections.abc import Mapping

from openosce.grading.rubrics import RUBRICS, Criterion
from openosce.grading.student_output import CLOSURE, DIFFERENTIAL, INFO_GATHERING

OVERALL = "overall"
"""Item of a rating that is the section's whole mark, 0 to 100."""
ROUND = "round_"
"""What the mark of one round is called, with its number: `round_01`."""

_NAMES: Mapping[str, Mapping[str, str]] = {
    CLOSURE: {
        "diagnostic_impressions": "impressions",
        "management_plans": "management",
        "challenging_question": "challenge",
        "language_accessibility": "language",
    },
    DIFFERENTIAL: {
        **{f"diagnosis_{n}_name": "names" for n in (1, 2, 3)},
        **{f"diagnosis_{n}_historical": "historical" for n in (1, 2, 3)},
        **{f"diagnosis_{n}_physical": "physical" for n in (1, 2, 3)},
    },
}


def criterion_name(section: str, item: str) -> str:
    """The criterion that an expert's item is about, or a part of; an item of another name stands for itself."""
    return _NAMES.get(section, {}).get(item, item)


def is_part(section: str, item: str) -> bool:
    """Whether an item is one diagnosis's share of a criterion that counts all three."""
    return section == DIFFERENTIAL and item in _NAMES[DIFFERENTIAL]


def bounds_of(section: str, item: str) -> Criterion | None:
    """The criterion whose range an expert's item must keep; None where the rubric has none of that name."""
    if section in RUBRICS and item == OVERALL:
        return Criterion(item, 0, 100)
    if section == INFO_GATHERING:  # rated round by round
        return Criterion(item, 0, 1) if item.startswith(ROUND) else None
    if section not in RUBRICS:
        return None
    name = criterion_name(section, item)
    found = next((criterion for criterion in RUBRICS[section].criteria if criterion.name == name), None)
    return Criterion(item, found.low, found.high / 3) if found and is_part(section, item) else found
