"""The order of a report: its sections, each with a word of explanation, its figures and its tables."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from openosce.reports import conduct, costs, measures, parts, sheets, sweep
from openosce.reports.corrected import corrected_sheet
from openosce.reports.examiners import EXAMINERS, examiner_sheets
from openosce.reports.experts import expert_sheets
from openosce.reports.results import Analysis
from openosce.reports.sheets import Sheet

SHOWN_FAILURES = 100

_ACCURACY = (
    "A case's value is the mean over its valid trials. The interval is the 95% t interval over cases; it may pass the "
    "ends of the scale."
)
_GRADINGS = (
    "The same answers, graded by other rules: what counts as right, or how parts are weighed, decides part of the "
    "result. Means over cases; the headline comes first."
)
_GROUPS = "Means; osce analyze --json prints them with their intervals."
_COMPARISONS = (
    "Paired t test over the cases that are valid on both sides. Holm's adjusted p takes together the arms of one "
    "doctor, or the doctors in one arm."
)
_NORMALIZED = (
    "Normalized: a condition's value divided by that of the reference, paired by case, so 1 is no change. The bounds "
    "are those ratios that a t test does not refuse."
)
_MEASURES = (
    "What else was measured of the same encounters: means over cases with 95% t intervals and, in a sweep, their "
    "differences from the reference."
)
_PARTS = "Each section's total under every weighting, and what it is made of: means over cases with 95% t intervals."
_COSTS = (
    "Tests that the doctor ordered, at the prices of the study, against its accuracy. The prices that come with "
    "OpenOSCE are illustrative. What tests cost says nothing about which were needed."
)
_EXPERTS = "Intervals resample what was rated, 2,000 times."
_MISSING = "What is missing is left out of every mean; it is never counted as wrong."


@dataclass(frozen=True)
class Section:
    """A heading with what stands below it."""

    name: str
    """Of its anchor and its files."""
    heading: str
    sheets: tuple[Sheet, ...]
    words: str = ""
    figures: tuple[str, ...] = ()
    """Names of drawings that stand above the tables."""


def sections(analysis: Analysis, failures: int = SHOWN_FAILURES) -> list[Section]:
    """Every section of a report, those without a table or figure to show included; so many failures are listed."""
    return [*_results(analysis), *_conduct(analysis, failures)]


def _results(analysis: Analysis) -> list[Section]:
    doctors, headline = analysis.plan.doctors, analysis.plan.headline.name
    heading = headline.replace("_", " ").capitalize()
    by_specialty = [sheets.by_group(analysis, doctor, "specialty") for doctor in doctors]
    by_dataset = [sheets.by_group(analysis, doctor, "dataset") for doctor in doctors]
    compared = [sheets.doctors_compared(analysis), *(sheets.arms_compared(analysis, doctor) for doctor in doctors)]
    accuracy: list[Sheet | None] = [sheets.side_by_side(analysis), parts.averages(analysis)]
    accuracy += [sheets.accuracy(analysis, doctor) for doctor in doctors]
    gradings = [sheets.gradings(analysis, doctor) for doctor in doctors]
    normalized = [sweep.normalized(analysis, doctor) for doctor in doctors]
    in_parts = analysis.plan.averages_arms
    measured = [] if in_parts else [sheet for doctor in doctors for sheet in measures.measures(analysis, doctor)]
    moved = [sheet for doctor in doctors for sheet in measures.differences(analysis, doctor)]
    experts = [*expert_sheets(analysis.experts), corrected_sheet(analysis.corrected)]
    prices = [costs.costs(analysis, doctor) for doctor in doctors]
    return [
        Section("accuracy", heading, _there(accuracy), _ACCURACY, ("accuracy", "sweep")),
        Section("normalized", "Against the reference", _there(normalized), _NORMALIZED),
        Section("parts", "Section by section", tuple(parts.part_sheets(analysis)), _PARTS),
        Section("measures", "Other measures", (*measured, *moved), _MEASURES, ("ratings",)),
        Section("costs", f"{heading} and cost", _there(prices), _COSTS, ("costs",)),
        Section("policies", "Under other policies and graders", _there(gradings), _GRADINGS),
        Section("experts", "Experts, and the grader beside them", _there(experts), _EXPERTS),
        Section("examiners", "Examiners side by side", examiner_sheets(analysis.examiners), EXAMINERS),
        Section("specialties", "By specialty", _there(by_specialty), _GROUPS, ("specialties",)),
        Section("datasets", "By data set", _there(by_dataset), _GROUPS),
        Section("comparisons", "Comparisons", _there(compared), _COMPARISONS),
    ]


def _conduct(analysis: Analysis, failures: int) -> list[Section]:
    missing = [conduct.missing(analysis) if analysis.missing else None, conduct.unmeasured(analysis)]
    failed = conduct.failed(analysis, failures) if analysis.failed else None
    return [
        Section("endings", "How encounters ended", tuple(conduct.endings(analysis)), "", ("turns",)),
        Section("missing", "What is missing, and why", _there(missing), _MISSING),
        Section("failures", "Failed encounters", _there([failed])),
        Section("calls", "Calls and cost", _there([conduct.calls(analysis)])),
    ]


def every_table(analysis: Analysis) -> Iterator[tuple[Section, Sheet]]:
    """Every table of the report with the section it stands in."""
    for section in sections(analysis):
        for sheet in section.sheets:
            yield section, sheet


def _there(found: Iterable[Sheet | None]) -> tuple[Sheet, ...]:
    return tuple(sheet for sheet in found if sheet is not None)
