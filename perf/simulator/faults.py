"""Which request fails, and how: decided by hashes, so that no order of requests changes it."""

from collections.abc import Mapping

from simulator.chat import draw

TRANSIENT = (
    "429",
    "429-after",
    "500",
    "502",
    "503",
    "reset",
    "slow",
    "hang",
    "truncated",
    "empty",
    "schema",
    "long",
)
"""Decided anew each time the same request comes, so a retry may succeed."""
FINAL = ("filter", "filter-400", "bad")
"""Decided by the request alone: no retry helps."""


class FaultPlan:
    """The rates of the faults. Rates of one kind exclude each other and add up to 1 at most."""

    def __init__(self, rates: Mapping[str, float], seed: int) -> None:
        self._seed = seed
        self.rates: dict[str, float] = {}
        self.change(rates)

    def change(self, rates: Mapping[str, float]) -> None:
        """Set some rates; those not named stay.

        Raises:
            ValueError: A name is unknown, a rate is not in 0..1, or the rates add up to more than 1.
        """
        for name, rate in rates.items():
            if name not in (*TRANSIENT, *FINAL):
                raise ValueError(f"unknown fault {name!r}; known are {', '.join((*TRANSIENT, *FINAL))}")
            if not isinstance(rate, (int, float)) or not 0 <= rate <= 1:
                raise ValueError(f"expected the rate of {name} in 0..1, got {rate!r}")
        changed = {**self.rates, **rates}
        for kind in (TRANSIENT, FINAL):
            if sum(changed.get(name, 0) for name in kind) > 1 + 1e-9:
                raise ValueError(f"the rates of {', '.join(kind)} add up to more than 1")
        self.rates = changed

    def decide(self, key: int, times_seen: int) -> str | None:
        """The fault that meets a request which has come so often before; None for a good reply."""
        if not self.rates:
            return None
        return self._hit(FINAL, draw("final", self._seed, key)) or self._hit(
            TRANSIENT, draw("transient", self._seed, key, times_seen)
        )

    def _hit(self, names: tuple[str, ...], drawn: float) -> str | None:
        for name in names:
            drawn -= self.rates.get(name, 0)
            if drawn < 0:
                return name
        return None
