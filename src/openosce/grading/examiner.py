"""The examiner marks what a student hands in at a station by the section's rubric."""

from dataclasses import dataclass
from typing import Protocol

from openosce.cases.record import Case, Diagnosis, DifferentialItem, Round, StationPart
from openosce.grading.record import Missing, Score
from openosce.grading.rubrics import DIAGNOSES, differential_maximum
from openosce.grading.student_output import CLOSURE, DIFFERENTIAL, INFO_GATHERING, StudentOutput


@dataclass(frozen=True)
class ExaminerPart:
    """What an examiner marks against; a student never sees it."""

    station: StationPart
    diagnosis: Diagnosis

    @property
    def targets(self) -> tuple[DifferentialItem, ...]:
        """The target diagnoses: the first three of the case's differential."""
        return self.station.differential[:DIAGNOSES]

    @property
    def maximum(self) -> int:
        """The points that a differential can have at this case."""
        return differential_maximum(self.targets, self.station.additional)

    def lacks(self, section: str) -> str | None:
        """The part without which a section cannot be marked. Target examinations are none: a case may ask for none."""
        needs: dict[str, tuple[tuple[str, object], ...]] = {
            INFO_GATHERING: (("dialogue", self.station.dialogue),),
            CLOSURE: (("closure", self.station.closure), ("challenge", self.station.challenge)),
            DIFFERENTIAL: (("differential", self.station.differential),),
        }
        missing = [name for name, there in needs.get(section, ()) if not there]
        return Missing.CASE_LACKS_PART.because(", ".join(missing)) if missing else None


@dataclass(frozen=True)
class ExaminerContext:
    """What the student knew when it handed in."""

    opening: str
    """The doorway sheet, as the student was shown it."""
    dialogue: tuple[Round, ...] = ()
    """The dialogue so far."""

    @property
    def transcript(self) -> str:
        """The dialogue as text."""
        return "\n".join(
            f"{f'{r.topic}. ' if r.topic else ''}Doctor: {r.question}\nPatient: {r.answer}" for r in self.dialogue
        )


class Examiner(Protocol):
    """Marks a section's output by its rubric."""

    @property
    def name(self) -> str:
        """As written in the study."""
        ...

    @property
    def is_rule(self) -> bool:
        """Whether it costs no call and always marks alike."""
        ...

    async def mark(
        self, section: str, output: StudentOutput, part: ExaminerPart, context: ExaminerContext, repeat: int = 0
    ) -> tuple[Score, ...]:
        """Mark `output`; never raises for a failure of its own, whose scores are missing with a reason.

        `repeat` counts deliberate repetitions of the marking. The scores are those of `rubrics.METRICS` under the
        policy `-`, and the total `score` (0-100) under every weighting.
        """
        ...


def examiner_part(case: Case) -> ExaminerPart | None:
    """What an examiner is handed of a case; None where it has no station."""
    return ExaminerPart(case.station, case.diagnosis) if case.station else None
