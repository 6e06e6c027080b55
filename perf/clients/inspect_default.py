"""Inspect AI's model interface with its own defaults: connections, retries, and events kept for a log."""

from conversation import Work
from inspect_ai.model import GenerateConfig

from clients.inspect_tuned import hold_all


def run(work: Work) -> None:
    """Hold all conversations with nothing set."""
    hold_all(work, GenerateConfig())
