"""The settings of MedQA-CS: the table `[medqa_cs]` of a study file."""

from typing import Literal

from pydantic import Field, field_validator

from openosce.benchmarks.benchmark import Settings, known_names
from openosce.grading.rubrics import MarkingRules
from openosce.grading.student_output import SECTIONS


class MedQACSSettings(Settings):
    """Sections, marking and trials; the defaults are the paper's where its tables and prompts agree."""

    sections: tuple[str, ...] = SECTIONS
    weighting: Literal["as_prompted", "as_published"] = "as_prompted"
    """Which weights make the headline: those of the paper's prompts, under which a case without target examinations
    leaves the mean, or those under which the paper's figures come out. Both are stored and shown."""
    configuration: Literal[1, 2, 3] = 3
    """How a question that fits the bank only slightly is marked."""
    finer: bool = False
    """Whether the coverage of a physical examination counts single maneuvers rather than rows."""
    info_trials: int = Field(default=1, ge=1)
    """Trials of a case in which the questions are asked; the paper has 1 for them and 3 for the other sections."""
    json_schema: bool = False
    """Whether the student's endpoint is sent the JSON schema of each reply, besides the prompt's own words. Not every
    endpoint takes one, and one that holds the model to it leaves nothing of instruction following to measure."""

    examiner_schema: bool = True
    """The same for the examiner, which the schema keeps readable; false where its endpoint takes none."""

    @field_validator("sections")
    @classmethod
    def _known_sections(cls, sections: tuple[str, ...]) -> tuple[str, ...]:
        return known_names("medqa_cs.sections", "section", sections, SECTIONS)

    @property
    def policy(self) -> str:
        """The headline's weighting as scores carry it, `name@version`."""
        return f"{self.weighting}@1"

    @property
    def rules(self) -> MarkingRules:
        """What the examiner is told of these."""
        return MarkingRules(self.configuration, self.finer)
