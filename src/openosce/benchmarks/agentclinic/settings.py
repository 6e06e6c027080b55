"""The settings of AgentClinic: the table `[agentclinic]` of a study file."""

from pathlib import Path
from typing import Self

from pydantic import Field, field_validator, model_validator

from openosce.benchmarks.agentclinic.biases import ROLES, split_names
from openosce.benchmarks.agentclinic.price_book import TestPrices, load_test_prices
from openosce.benchmarks.agentclinic.station import ImageMode
from openosce.benchmarks.benchmark import Settings, known_names
from openosce.errors import StudyError
from openosce.grading import find_policy

DIALOGUE = "dialogue"
VIGNETTE_MCQ = "vignette_mcq"
ARMS = (DIALOGUE, VIGNETTE_MCQ)


class AgentClinicSettings(Settings):
    """The encounter, its biases, and what is asked besides; the defaults are the paper's."""

    turns: int = Field(default=20, ge=2)
    """The doctor's replies at the most."""
    images: ImageMode = "none"
    """Whether the doctor has the case's images from the start, on request, or never."""
    bias: str = ""
    """`doctor:recency`, `patient:self_diagnosis`, or several joined by `+`."""
    bias_disease: str = Field(default="cancer", min_length=1)
    """What the cognitive biases pull towards."""
    arms: tuple[str, ...] = (DIALOGUE,)
    policy: str = "moderator"
    """The match policy."""
    perception: bool = False
    """Whether the patient rates the doctor after the encounter."""
    why: bool = False
    """Whether it is asked for its reasons."""
    price_book: str = ""
    """A file with your own prices of tests, in the place of our illustrative ones."""

    @property
    def prices(self) -> TestPrices:
        """The price book of tests: the user's, or ours."""
        return load_test_prices(Path(self.price_book) if self.price_book else None)

    @field_validator("arms")
    @classmethod
    def _known_arms(cls, arms: tuple[str, ...]) -> tuple[str, ...]:
        return known_names("agentclinic.arms", "arm", arms, ARMS)

    @field_validator("bias")
    @classmethod
    def _well_formed(cls, bias: str) -> str:
        names = split_names(bias)
        for name in names:
            role, _, own = name.partition(":")
            if role not in ROLES or not own:
                raise StudyError(f"agentclinic.bias: expected doctor:NAME or patient:NAME, joined by +, found {name!r}")
        if len(set(names)) < len(names):
            raise StudyError("agentclinic.bias: a bias is named twice")
        return "+".join(names)

    @field_validator("policy")
    @classmethod
    def _known_policy(cls, policy: str) -> str:
        return find_policy(policy).name

    @field_validator("price_book")
    @classmethod
    def _readable(cls, price_book: str) -> str:
        if price_book:
            load_test_prices(Path(price_book))
        return price_book

    @model_validator(mode="after")
    def _why_needs_ratings(self) -> Self:
        if self.why and not self.perception:
            raise StudyError("agentclinic.why: asks for the reasons of ratings; set perception = true as well")
        return self
