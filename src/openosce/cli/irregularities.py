"""The table of what is irregular in released results."""

from collections.abc import Mapping

from openosce.reports.sheets import NOTHING, Sheet
from openosce.runs.imports.irregular import Tally


def irregularity_sheet(tallies: Mapping[str, Tally]) -> Sheet:
    """A row a kind of irregularity, and a column a model.

    Args:
        tallies: By model, what was counted in its results.
    """
    kinds = dict.fromkeys(kind for tally in tallies.values() for kind in tally.counts)
    rows = tuple(
        (
            kind.value,
            *(f"{tally.counts[kind]:,}" if tally.counts[kind] else NOTHING for tally in tallies.values()),
            next(f"{doctor}: {tally.first[kind]}" for doctor, tally in tallies.items() if kind in tally.first),
        )
        for kind in kinds
    )
    heads = ("what is irregular", *(doctor.replace("/", "/\n") for doctor in tallies), "first in")
    notes = [
        f"{doctor}: {tally.n_costs} values stand beside a cost, {tally.cost:.4f} together"
        for doctor, tally in tallies.items()
        if tally.n_costs
    ]
    return Sheet("Irregularities", heads, rows, tuple(notes) if rows else ("none",), prose=(0, len(heads) - 1))
