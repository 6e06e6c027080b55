"""What each role is handed of a case. Roles get these parts and never the `Case`, so that none can look further."""

from dataclasses import dataclass
from functools import cached_property

from openosce.cases.record import Case, Diagnosis, Fact
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


def grader_part(case: Case) -> GraderPart:
    """The reference diagnosis and the choices."""
    return GraderPart(case.diagnosis, case.choices, case.specialty or DEFAULT_SPECIALTY)


def history_sentences(vignette: str) -> list[str]:
    """The sentences of a vignette that a patient could tell: no examination, no tests."""
    return [sentence for sentence in sentences(vignette) if not is_examination(sentence) and not is_test(sentence)]
