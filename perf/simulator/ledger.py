"""What the endpoint has seen: counters, and the memory that faults and prefix reuse rest on."""

from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, field
from time import monotonic
from typing import Any

from simulator.chat import Chat


@dataclass(slots=True)
class Visit:
    """One request from its arrival to its end."""

    number: int
    arrived: float
    chat: Chat | None = None
    fault: str | None = None
    status: int | None = None
    """What was replied; None while it is open, and where nothing was."""
    answered: bool = False
    """Whether the client had a reply it could use."""
    completion_tokens: int = 0


@dataclass(slots=True)
class ModelCount:
    """Sums of one model. Tokens are those of replies and of the prompts that were read, not of refused requests."""

    requests: int = 0
    prompt_tokens: int = 0
    repeated_prefix_tokens: int = 0
    completion_tokens: int = 0


@dataclass
class Ledger:
    """Everything counted since the start or the last reset."""

    requests: int = 0
    asked_again: int = 0
    """Requests whose like had already had a usable reply."""
    open: int = 0
    most_open: int = 0
    replies: Counter[int] = field(default_factory=Counter)
    no_reply: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    models: defaultdict[str, ModelCount] = field(default_factory=lambda: defaultdict(ModelCount))
    _times_seen: dict[int, int] = field(default_factory=dict)
    _answered: set[int] = field(default_factory=set)
    _prefixes: defaultdict[str, set[int]] = field(default_factory=lambda: defaultdict(set))

    def arrive(self) -> Visit:
        """A request has come in."""
        self.requests += 1
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        return Visit(self.requests, monotonic())

    def recognise(self, visit: Visit, chat: Chat) -> int:
        """Enter what was asked; returns how often this very request had come before."""
        visit.chat = chat
        self.models[chat.model].requests += 1
        self.asked_again += chat.key in self._answered
        times = self._times_seen.get(chat.key, 0)
        self._times_seen[chat.key] = times + 1
        return times

    def strike(self, visit: Visit, fault: str | None) -> None:
        """Enter the fault that a request meets, if any."""
        if fault:
            visit.fault = fault
            self.faults[fault] += 1

    def read_prompt(self, chat: Chat) -> tuple[int, int]:
        """Tokens of the prompt, and of its longest prefix that began an earlier request to this model."""
        known, cached = self._prefixes[chat.model], 0
        for prefix, size in zip(chat.prefixes, chat.sizes, strict=True):
            if prefix not in known:
                break
            cached += size
        known.update(chat.prefixes)
        total, count = sum(chat.sizes), self.models[chat.model]
        count.prompt_tokens += total
        count.repeated_prefix_tokens += cached
        return total, cached

    def leave(self, visit: Visit) -> None:
        """A request has ended: with a reply, closed by a fault, or because its client went."""
        self.open -= 1
        if visit.status is not None:
            self.replies[visit.status] += 1
        elif visit.fault in {"reset", "outage-closed"}:
            self.no_reply["closed"] += 1
        else:
            self.no_reply["client left"] += 1
        if visit.chat and visit.status is not None:
            self.models[visit.chat.model].completion_tokens += visit.completion_tokens
            if visit.answered:
                self._answered.add(visit.chat.key)

    def as_json(self) -> dict[str, Any]:
        """The counters. `requests` is the sum of `replies`, `no_reply` and `open`."""
        return {
            "requests": self.requests,
            "distinct": len(self._times_seen),
            "asked_again": self.asked_again,
            "open": self.open,
            "most_open": self.most_open,
            "replies": {str(status): count for status, count in sorted(self.replies.items())},
            "no_reply": dict(self.no_reply),
            "faults": dict(sorted(self.faults.items())),
            "models": {name: asdict(count) for name, count in sorted(self.models.items())},
        }
