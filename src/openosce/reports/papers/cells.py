"""One printed figure beside ours, and what to make of the two."""

from dataclasses import asdict, dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, InvalidOperation
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """How a printed figure and a recomputed one compare, to the digits that are printed."""

    SAME = "same"
    ROUNDING = "rounding or truncation"
    """They differ by less than one unit of the last printed digit: cut off instead of rounded, or rounded twice."""
    DIFFERS = "differs"
    NOT_RECOMPUTED = "not recomputed"
    """The run does not hold what it takes; the reason says what."""


@dataclass(frozen=True)
class Cell:
    """One figure of a paper's table beside the same figure recomputed from a run."""

    table: str
    """As the paper names it, `Supplementary Table 1`."""
    place: str
    """Row and column in words, `GPT-4, vignette_mcq: lower bound`."""
    printed: str
    """With all its digits, trailing zeros included."""
    recomputed: float | None
    verdict: Verdict
    reason: str | None = None
    """Why it differs, where that is known, or why it could not be recomputed."""

    def to_json(self) -> dict[str, Any]:
        """One entry of `cells`."""
        return asdict(self) | {"verdict": self.verdict.value}


def cell(table: str, place: str, printed: str, recomputed: float | None, reason: str | None = None) -> Cell:
    """Compare one printed figure with ours.

    Args:
        table: As the paper names it.
        place: Row and column in words.
        printed: The figure as printed, `0.820` or `35.55`: its digits say how closely ours is looked at.
        recomputed: Ours, unrounded; None where the run does not hold what it takes.
        reason: What is known of a difference, or why there is no figure of ours; dropped where the two are the same.
    """
    verdict = compare_printed(printed, recomputed)
    return Cell(table, place, printed, recomputed, verdict, None if verdict is Verdict.SAME else reason)


def compare_printed(printed: str, recomputed: float | None) -> Verdict:
    """Whether our figure, to the printed digits, is the printed one.

    Raises:
        ValueError: `printed` is no number.
    """
    try:
        figure = Decimal(printed)
    except InvalidOperation:
        raise ValueError(f"expected a printed number, got {printed!r}") from None
    if recomputed is None:
        return Verdict.NOT_RECOMPUTED
    unit = Decimal(1).scaleb(int(figure.as_tuple().exponent))
    # Half a unit may have gone up, to even or, by the last bits of a float, down: what a program prints of it.
    ours = Decimal(f"{recomputed:.10f}")
    printable = {ours.quantize(unit, rounding=rule) for rule in (ROUND_HALF_UP, ROUND_HALF_EVEN)}
    if figure in printable | {Decimal(recomputed).quantize(unit, rounding=ROUND_HALF_EVEN)}:
        return Verdict.SAME
    return Verdict.ROUNDING if abs(ours - figure) < unit else Verdict.DIFFERS
