"""What each role is handed of a case. Roles get these parts and never the `Case`, so that none can look further."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from openosce.cases.record import Case, Diagnosis, Fact, Image, Test
from openosce.cases.text import is_examination, is_test, sentences

DEFAULT_SPECIALTY = "general medicine"


@dataclass(frozen=True)
class DoctorPart:
    """What the doctor under test knows when it enters: nothing of the patient."""

    specialty: str
    objective: str | None


@dataclass(frozen=True)
class PatientPart:
    """What a simulated patient may know; never the diagnosis."""

    age: str | None
    sex: str | None
    occupation: str | None
    informant: str | None
    opening: str | None
    vignette: str
    """The whole vignette, its question left out: what CRAFT-MD hands to its patient model."""
    own_facts: tuple[Fact, ...] = ()
    """Those that the record holds."""

    @property
    def facts_from_vignette(self) -> bool:
        """Whether `facts` are the vignette's own sentences, examination and tests left out."""
        return not self.own_facts

    @cached_property
    def facts(self) -> tuple[Fact, ...]:
        """What the patient can tell: the record's facts or, where it holds none, the vignette's sentences."""
        return self.own_facts or tuple(Fact(fact=sentence) for sentence in history_sentences(self.vignette))

    @cached_property
    def story(self) -> str:
        """All that the patient may know as one text, a line a topic: who it is, and its facts. Never the vignette."""
        who = {
            "Age": self.age,
            "Sex": self.sex,
            "Occupation": self.occupation,
            "Speaks for the patient": self.informant,
        }
        lines = [f"{name}: {value}" for name, value in who.items() if value]
        for topic, facts in groupby(self.facts, key=lambda fact: fact.topic):
            text = _run_on([fact.fact for fact in facts])
            lines.append(f"{topic[:1].upper()}{topic[1:]}: {text}" if topic else text)
        return "\n".join(lines)


@dataclass(frozen=True)
class MeasurementPart:
    """What the measurement agent of AgentClinic reads from: findings only, neither history nor diagnosis."""

    examination: Mapping[str, Mapping[str, str]]
    """System, maneuver, finding."""
    tests: tuple[Test, ...]

    @cached_property
    def readings(self) -> str:
        """All findings as one text, one a line: `system: maneuver: finding`, then `test: result`."""
        found = [
            f"{system}: {what}: {finding}" for system, by in self.examination.items() for what, finding in by.items()
        ]
        return "\n".join([*found, *(f"{test.name}: {test.result}" for test in self.tests)])


@dataclass(frozen=True)
class ImagePart:
    """The images of a case as a doctor may see them: path, kind and caption, never what they show."""

    images: tuple[Image, ...]


@dataclass(frozen=True)
class GraderPart:
    """What decides whether an answer is right."""

    diagnosis: Diagnosis
    choices: tuple[str, ...]
    specialty: str


def doctor_part(case: Case) -> DoctorPart:
    """The specialty and the objective."""
    return DoctorPart(case.specialty or DEFAULT_SPECIALTY, case.objective)


def patient_part(case: Case) -> PatientPart:
    """The patient's own story, from the facts or, where the case has none, from its vignette."""
    patient = case.patient
    return PatientPart(
        age=patient.age if patient else None,
        sex=patient.sex if patient else None,
        occupation=patient.occupation if patient else None,
        informant=patient.informant if patient else None,
        opening=patient.opening if patient else None,
        vignette=case.vignette or "",
        own_facts=patient.facts if patient else (),
    )


def measurement_part(case: Case) -> MeasurementPart:
    """The findings of examination and tests."""
    return MeasurementPart(case.examination, case.tests)


def image_part(case: Case) -> ImagePart:
    """The images, without what they show."""
    return ImagePart(tuple(image.model_copy(update={"shows": None}) for image in case.images))


def grader_part(case: Case) -> GraderPart:
    """The reference diagnosis and the choices."""
    return GraderPart(case.diagnosis, case.choices, case.specialty or DEFAULT_SPECIALTY)


def _run_on(texts: list[str]) -> str:
    """Sentences and bare phrases in a row; a phrase without a stop ends with `;`."""
    ended = [text if text.rstrip("\"'”’)").endswith((".", "?", "!", ":", ";")) else f"{text};" for text in texts[:-1]]
    return " ".join([*ended, *texts[-1:]])


def history_sentences(vignette: str) -> list[str]:
    """The sentences of a vignette that a patient could tell: no examination, no tests."""
    return [sentence for sentence in sentences(vignette) if not is_examination(sentence) and not is_test(sentence)]
