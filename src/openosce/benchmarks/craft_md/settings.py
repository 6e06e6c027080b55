"""The settings of CRAFT-MD: the table `[craft_md]` of a study file."""

from typing import Literal

from pydantic import Field, field_validator

from openosce.benchmarks.benchmark import Settings, known_names
from openosce.benchmarks.craft_md.arms import ARMS
from openosce.grading import find_policy


class CraftMDSettings(Settings):
    """Arms, ending and grading; the defaults are the 2025 article's where it is right."""

    arms: tuple[str, ...] = ARMS
    cap: int = Field(default=60, ge=2)
    """Messages of a conversation at the most, greeting included."""
    stop_rule: Literal["any_case", "as_published"] = "any_case"
    """Whether `Final Diagnosis` ends a conversation in any spelling, or only as the authors tested it."""
    policy: str = "paper"
    """The match policy."""

    @field_validator("arms")
    @classmethod
    def _known_arms(cls, arms: tuple[str, ...]) -> tuple[str, ...]:
        return known_names("craft_md.arms", "arm", arms, ARMS)

    @field_validator("policy")
    @classmethod
    def _known_policy(cls, policy: str) -> str:
        return find_policy(policy).name
