"""What is measured of an answer: a benchmark says it, the manifest holds it, the reports tell it."""

from dataclasses import dataclass

from openosce.grading.record import ACCURACY


@dataclass(frozen=True)
class Metric:
    """What is measured of an answer."""

    name: str = ACCURACY
    policy: str | None = None
    """Under which its headline stands; None: the study's match policy."""
    role: str = "grader"
    """Whose scores are the headline."""
    arms: tuple[str, ...] = ()
    """The arms in which it is measured; none named: all."""
    low: float | None = 0.0
    high: float | None = 1.0
    """The bounds of its scale; None where there is none."""
    words: str = ""
    """What it is, for tables."""

    @property
    def is_share(self) -> bool:
        """Whether its scale goes from 0 to 1."""
        return (self.low, self.high) == (0, 1)
