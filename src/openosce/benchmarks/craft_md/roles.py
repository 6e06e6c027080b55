"""Who takes part in CRAFT-MD."""

from typing import Any

from openosce.benchmarks.benchmark import Place, RoleKind
from openosce.cases import doctor_part, patient_part
from openosce.grading import LexiconGrader, ModelGrader
from openosce.roles import (
    Human,
    Interviewer,
    ModelDoctor,
    ModelPatient,
    ModelSummarizer,
    RecordPatient,
    RecordSummarizer,
)


def _human_doctor(place: Place[Any]) -> Human:
    part = doctor_part(place.case)
    briefing = place.prompts.render("doctor", specialty=part.specialty, objective=part.objective)
    return Human("doctor", briefing, f"case {place.key.case_id}, trial {place.key.trial + 1}")


def _human_patient(place: Place[Any]) -> Human:
    part = patient_part(place.case)
    briefing = place.prompts.render("patient", vignette=part.vignette, informant=part.informant)
    return Human("patient", briefing, f"case {place.key.case_id}, trial {place.key.trial + 1}")


DOCTOR = RoleKind(
    "builtin/interviewer",
    {"builtin/interviewer": lambda place: Interviewer(place.seed), "human": _human_doctor},
    lambda name, model, place: ModelDoctor(model, place.prompts, doctor_part(place.case)),
)
PATIENT = RoleKind(
    "builtin/record",
    {"builtin/record": lambda place: RecordPatient(patient_part(place.case)), "human": _human_patient},
    lambda name, model, place: ModelPatient(model, place.prompts, patient_part(place.case)),
)
SUMMARIZER = RoleKind(
    "builtin/record",
    {"builtin/record": lambda place: RecordSummarizer()},
    lambda name, model, place: ModelSummarizer(model, place.prompts),
)
GRADER = RoleKind(
    "builtin/lexicon",
    {"builtin/lexicon": lambda place: LexiconGrader()},
    lambda name, model, place: ModelGrader(name, model, place.prompts),
    outside_trials=True,
)
ROLES = {"doctor": DOCTOR, "patient": PATIENT, "summarizer": SUMMARIZER, "grader": GRADER}
