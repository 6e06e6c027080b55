"""Match policies: what counts as right. Named and versioned, since the headline depends on them."""

from dataclasses import dataclass
from typing import Literal

from openosce.errors import StudyError


@dataclass(frozen=True)
class MatchPolicy:
    """How multiple-choice (MCQ) and free-response (FRQ) answers are matched with the reference."""

    name: str
    version: int
    mcq: Literal["one_option", "contains", "first_named", "grader"] = "one_option"
    """`one_option`: exactly one option named, by letter or text. `contains`: the reply contains the answer's text,
    blanks included. `first_named`: the option named first. `grader`: graded like a free response."""
    concurrent: Literal["main", "any", "multiple"] = "main"
    """A main diagnosis with a concurrent one counts as the main one, as right if any is, or as `Multiple`."""
    broader: bool = True
    """Whether an answer of which the reference is a subtype is right. A more specific answer never is."""
    accepted: bool = False
    """Whether the case's further accepted answers are right."""

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"


POLICIES: dict[str, MatchPolicy] = {
    policy.name: policy
    for policy in (
        # CRAFT-MD 2025, Methods, "Grader-AI agent"; the MCQ rule is ours, for the reasons `contains` shows.
        MatchPolicy("paper", 1),
        # The grader prompt that the authors released, more lenient than their text.
        MatchPolicy("released", 1, concurrent="any"),
        # CRAFT-MD 2023: one LLM grader for MCQ and FRQ alike, no subtype rule, accepted alternatives.
        MatchPolicy("preprint_2023", 1, mcq="grader", broader=False, accepted=True),
        MatchPolicy("strict", 1, concurrent="multiple", broader=False),
        # The MCQ rule that reproduces every published mean, wrong as it is; FRQ as in `paper`.
        MatchPolicy("as_published", 1, mcq="contains"),
        MatchPolicy("first_named", 1, mcq="first_named"),
        # AgentClinic 2024: the same disease or not. Its moderator decides alone; a rule holds to names of one disease.
        MatchPolicy("moderator", 1, broader=False),
    )
}


CRAFT_MD = tuple(policy for name, policy in POLICIES.items() if name != "moderator")
"""The policies of CRAFT-MD and its variants, under all of which its answers are shown."""


def find_policy(name: str) -> MatchPolicy:
    """The policy of this name.

    Raises:
        StudyError: There is none; the message lists those there are.
    """
    if name not in POLICIES:
        raise StudyError(f"unknown match policy {name!r}; known are {', '.join(POLICIES)}")
    return POLICIES[name]
