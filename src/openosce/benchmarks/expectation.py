"""What a trial is expected to take, before any call is made: for the dry run."""

from collections import Counter
from dataclasses import dataclass, field

CHARACTERS_PER_TOKEN = 4
"""A rule of thumb for English; providers count differently."""


@dataclass
class Expected:
    """Expected calls and tokens by role."""

    calls: Counter[str] = field(default_factory=Counter)
    tokens_in: Counter[str] = field(default_factory=Counter)
    tokens_out: Counter[str] = field(default_factory=Counter)

    def add(self, role: str, prompt: float, reply: float, calls: int = 1) -> None:
        """Add calls of a role, each with so many characters of prompt and reply."""
        self.calls[role] += calls
        self.tokens_in[role] += round(calls * prompt / CHARACTERS_PER_TOKEN)
        self.tokens_out[role] += round(calls * reply / CHARACTERS_PER_TOKEN)

    def of(self, role: str) -> "Expected":
        """What it says of one role."""
        sums = (self.calls, self.tokens_in, self.tokens_out)
        return Expected(*(Counter({role: counted[role]}) for counted in sums))

    def update(self, other: "Expected") -> None:
        """Add another expectation to this one."""
        self.calls.update(other.calls)
        self.tokens_in.update(other.tokens_in)
        self.tokens_out.update(other.tokens_out)
