"""The case record: one patient problem with everything that any of the three systems needs.

Every part is optional except `id`, `source` and `diagnosis`; `checks.py` says which benchmarks a case can serve,
`parts.py` says which role is handed which part. Unknown keys are refused.
"""

from math import isfinite
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints


def _number_as_text(value: object) -> object:
    # YAML reads `temperature: 37.2` as a number; the record keeps readings as text. NaN and infinity are no readings.
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number and isfinite(value) else value  # type: ignore[arg-type]


Text = Annotated[str, StringConstraints(min_length=1)]
Reading = Annotated[str, BeforeValidator(_number_as_text)]


class Record(BaseModel):
    """Immutable, and strict about its keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Diagnosis(Record):
    """The reference diagnosis and what else counts as right."""

    name: Text
    synonyms: tuple[Text, ...] = ()
    broader: tuple[Text, ...] = ()
    """Diseases of which `name` is a subtype; right only where the match policy accepts a broader answer."""
    narrower: tuple[Text, ...] = ()
    """Subtypes of `name`; right only where the match policy accepts a more specific answer."""
    certainty: Literal["single", "most_likely", "several"] | None = None
    """How sure the case writers were (CRAFT-MD 2023: single diagnosis, one most likely, many possible)."""
    accepted: tuple[Text, ...] = ()
    """Further right answers when several are possible."""


class Fact(Record):
    """One thing the patient can tell, in a clinician's words and in the patient's own."""

    fact: Text
    topic: Text | None = None
    lay: Text | None = None
    """The patient's own words; without them the built-in patient turns `fact` into the first person."""
    key: bool = False
    """Whether a complete history must elicit it."""


class Patient(Record):
    """What a simulated patient may know."""

    age: Reading | None = None
    sex: Text | None = None
    occupation: Text | None = None
    informant: Text | None = None
    """Who speaks when the patient cannot, for instance a child's mother."""
    opening: Text | None = None
    """The first answer, to a question as open as "What brings you in?"."""
    facts: tuple[Fact, ...] = ()


class Test(Record):
    """A test that can be ordered, and its result."""

    __test__ = False  # pytest takes classes named Test* for tests

    name: Text
    aliases: tuple[Text, ...] = ()
    result: Reading


class Image(Record):
    """An image of the case; `shows` is for grading and is never shown to a doctor."""

    path: Text
    """Where it lies, from the case's folder, or an http(s) URL; `images.py` finds it."""
    kind: Text | None = None
    caption: Text | None = None
    shows: Text | None = None
    sha256: Text | None = None
    """The hash of its bytes in hexadecimal digits; an image with another one is refused."""


class Doorway(Record):
    """The sheet on the door of a clinical-skills station."""

    name: Text
    setting: Text | None = None
    vital_signs: dict[str, Reading] = {}
    tasks: tuple[Text, ...] = ()


class Round(Record):
    """One reference question and its answer; all rounds together are the question bank."""

    question: Text
    answer: Text
    topic: Text | None = None


class TargetExamination(Record):
    """A body part with the maneuvers that a complete examination performs on it."""

    component: Text
    maneuvers: tuple[Text, ...] = ()
    finding: Reading | None = None


class Exchange(Record):
    """A challenging question of the patient, and a good answer."""

    question: Text
    answer: Text


class Note(Record):
    """The patient note that a doctor writes after the encounter."""

    history: Text
    examination: Text


class DifferentialItem(Record):
    """One diagnosis of the differential with the findings that support it (at most three of each count)."""

    diagnosis: Text
    historical: tuple[Text, ...] = ()
    physical: tuple[Text, ...] = ()


class AdditionalDiagnosis(Record):
    """A diagnosis that also deserves credit, and why."""

    diagnosis: Text
    why: Text


class StationPart(Record):
    """What a clinical-skills station (MedQA-CS) adds to a case."""

    doorway: Doorway | None = None
    dialogue: tuple[Round, ...] = ()
    target_examinations: tuple[TargetExamination, ...] = ()
    challenge: Exchange | None = None
    closure: Text | None = None
    workup: Annotated[tuple[Text, ...], Field(max_length=8)] = ()
    behaviour: tuple[Text, ...] = ()
    note: Note | None = None
    differential: tuple[DifferentialItem, ...] = ()
    additional: tuple[AdditionalDiagnosis, ...] = ()


class Case(Record):
    """One patient problem. Choices and the diagnosis keep the source's spelling, blanks included."""

    id: Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
    source: Text
    """The data set it comes from; results are grouped by it."""
    diagnosis: Diagnosis
    synthetic: bool = False
    license: Text | None = None
    specialty: Text | None = None
    vignette: Text | None = None
    """The whole presentation in prose, its question left out."""
    question: Text | None = None
    choices: tuple[Text, ...] = ()
    objective: Text | None = None
    patient: Patient | None = None
    examination: dict[str, dict[str, Reading]] = {}
    """System, then maneuver, then finding."""
    tests: tuple[Test, ...] = ()
    images: tuple[Image, ...] = ()
    station: StationPart | None = None
    red_flags: tuple[Text, ...] = ()
    """What a safe doctor must not miss, or must act on at once."""
