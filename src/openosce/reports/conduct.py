"""The tables of how a run went: how encounters ended, what is missing and why, and what the calls came to."""

from collections import Counter

from openosce.encounters import EndReason
from openosce.reports.results import Analysis, Ending, total
from openosce.reports.sheets import NOTHING, Sheet
from openosce.reports.text import one_line


def endings(analysis: Analysis) -> list[Sheet]:
    """Why encounters ended, what share that is, and after how many turns; by condition where there are several.

    None where no conversation was to be held: there is nothing that could have ended.
    """
    if {row.ended for row in analysis.endings} == {EndReason.NOT_HELD}:
        return []
    if len({row.condition for row in analysis.endings}) > 1:
        doctors = dict.fromkeys(row.model for row in analysis.endings)
        return [_endings(analysis, f"How encounters ended: {doctor}", doctor) for doctor in doctors]
    return [_endings(analysis, "How encounters ended", None)] if analysis.endings else []


def _endings(analysis: Analysis, title: str, doctor: str | None) -> Sheet:
    """One doctor's endings by condition, or every doctor's."""
    planned = {condition: n for n, condition in enumerate(analysis.plan.conditions)}
    found = [row for row in analysis.endings if doctor in (None, row.model)]
    if doctor is not None:
        found.sort(key=lambda row: planned.get(row.condition, len(planned)))
    encounters: Counter[tuple[str, str]] = Counter()
    for row in found:
        encounters[row.model, row.condition] += row.count
    rows = tuple(
        (
            row.model if doctor is None else row.condition,
            row.ended,
            str(row.count),
            f"{row.count / encounters[row.model, row.condition]:.0%}",
            _turns(analysis, row),
        )
        for row in found
    )
    failures = dict.fromkeys(row.ended for row in found if is_failure(row.ended))
    notes = (f"ended by infrastructure, not by the doctor: {', '.join(failures)}",) if failures else ()
    whose = "doctor" if doctor is None else "condition"
    heads = (whose, "ended", "encounters", "share", "doctor's turns\nmedian (range)")
    return Sheet(title, heads, rows, notes, prose=(0, 1))


def _turns(analysis: Analysis, ending: Ending) -> str:
    """The median number of the doctor's turns, with the least and the most: `9 (2-30)`."""
    place = (ending.model, ending.condition, ending.ended)
    counts = Counter({r.turns: r.count for r in analysis.turns if (r.model, r.condition, r.ended) == place})
    if not any(counts):  # nobody spoke, or what was said is not there
        return NOTHING
    turns = sorted(counts.elements())
    middle = (turns[(len(turns) - 1) // 2] + turns[len(turns) // 2]) / 2
    return f"{middle:g} ({turns[0]}-{turns[-1]})"


def is_failure(reason: str) -> bool:
    """Whether infrastructure, not the doctor, ended the encounter."""
    return reason in set(EndReason) and EndReason(reason).is_failure


def missing(analysis: Analysis) -> Sheet:
    """What is missing and why, a row a doctor and arm."""
    reasons = tuple(dict.fromkeys(row.reason for row in sorted(analysis.missing, key=lambda row: -row.count)))
    places = dict.fromkeys((row.model, row.arm) for row in analysis.missing)
    rows = [
        (doctor, arm, *(str(total(analysis.missing, doctor, arm, reason)) for reason in reasons))
        for doctor, arm in places
    ]
    heads = ("doctor", "arm", *(reason.replace("_", " ") for reason in reasons))
    return Sheet("Answers without a score", heads, tuple(rows), prose=(0, 1))


def unmeasured(analysis: Analysis) -> Sheet | None:
    """Which other measures are missing and why, a row a doctor and metric; None where nothing is."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for row in analysis.unmeasured:
        counts[row.model, row.metric, row.reason] += row.count
    rows = tuple((doctor, metric, reason.replace("_", " "), str(n)) for (doctor, metric, reason), n in counts.items())
    heads = ("doctor", "measure", "missing because", "answers")
    return Sheet("Answers without another measure", heads, rows, prose=(0, 1, 2)) if rows else None


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
        notes.append(f"{graded:,} verdicts, readable or not, were asked of the grader, on {asked:,} distinct answers")
    return Sheet("Calls and cost", heads, tuple(rows), tuple(notes))


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,.0f}"


def _share(part: float | None, whole: float | None) -> str:
    return f"{part / whole:.0%}" if part is not None and whole else NOTHING
