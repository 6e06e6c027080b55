"""How far two gradings of the same answers agree."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path

from openosce.grading.record import ACCURACY
from openosce.reports.sheets import NOTHING, Sheet
from openosce.runs.folder import Judge, RunReader


@dataclass(frozen=True)
class Agreement:
    """How far two gradings of the same answers agree; a mean of several verdicts is right above one half."""

    arm: str
    n_answers: int
    both_right: int
    both_wrong: int
    only_old_right: int
    only_new_right: int
    missing_old: int
    """Answers without a verdict of the old grading, whether or not there is a new one."""
    missing_new: int

    @property
    def n_both(self) -> int:
        """Answers that have a verdict of both."""
        return self.both_right + self.both_wrong + self.only_old_right + self.only_new_right

    @property
    def raw(self) -> float | None:
        """The share of those on which both say the same; None where there is no such answer."""
        return (self.both_right + self.both_wrong) / self.n_both if self.n_both else None

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa, (p_o - p_e) / (1 - p_e), with p_e from both gradings' shares of right verdicts.

        None where no answer has both verdicts, or both gradings call every answer the same.

        Source: Cohen (1960), Educational and Psychological Measurement 20:37-46.
        """
        if self.raw is None:
            return None
        old = (self.both_right + self.only_old_right) / self.n_both
        new = (self.both_right + self.only_new_right) / self.n_both
        by_chance = old * new + (1 - old) * (1 - new)
        return None if by_chance == 1 else (self.raw - by_chance) / (1 - by_chance)


def agreement(folder: Path, old: Judge, new: Judge, arms: Iterable[str]) -> list[Agreement]:
    """The verdicts of two judges on the stored answers, an entry an arm.

    Raises:
        RunFolderError: The run cannot be read.
    """
    counts: dict[str, Counter[tuple[bool | None, bool | None]]] = {arm: Counter() for arm in arms}
    with RunReader(folder) as reader:
        for arm, of_old, of_new in reader.verdicts(ACCURACY, old, new):
            if arm in counts:
                counts[arm][_is_right(of_old), _is_right(of_new)] += 1
    return [_agreement(arm, found) for arm, found in counts.items()]


def _is_right(mean: float | None) -> bool | None:
    return None if mean is None else mean > 0.5


def _agreement(arm: str, found: Counter[tuple[bool | None, bool | None]]) -> Agreement:
    return Agreement(
        arm,
        found.total(),
        found[True, True],
        found[False, False],
        found[True, False],
        found[False, True],
        sum(count for (old, _), count in found.items() if old is None),
        sum(count for (_, new), count in found.items() if new is None),
    )


def agreement_sheet(rows: list[Agreement], old: Judge, new: Judge) -> Sheet:
    """A row an arm, and one for all of them where there are several."""
    heads = (
        "arm",
        "answers",
        "both\nright",
        "both\nwrong",
        "only old\nright",
        "only new\nright",
        "missing\nold",
        "missing\nnew",
        "agreement",
        "kappa",
    )
    shown = [*rows, _together(rows)] if len(rows) > 1 else rows
    cells = [(row.arm, *map(str, _counts(row)), _share(row.raw), _share(row.kappa)) for row in shown]
    notes = [
        f"old: {_words(old)}; new: {_words(new)}",
        "agreement and Cohen's kappa are over the answers that have both verdicts",
    ]
    if any(row.n_both and row.kappa is None for row in shown):
        notes.append("no kappa where both gradings call every answer the same")
    return Sheet("The old verdicts and the new ones", heads, tuple(cells), tuple(notes))


def _counts(row: Agreement) -> list[int]:
    return [getattr(row, field.name) for field in fields(Agreement) if field.name != "arm"]


def _together(rows: list[Agreement]) -> Agreement:
    return Agreement("all", *(sum(column) for column in zip(*map(_counts, rows), strict=True)))


def _share(value: float | None) -> str:
    return NOTHING if value is None else f"{value:z.3f}"


def _words(judge: Judge) -> str:
    return f"{judge.graders[0]} under {judge.policy}"
