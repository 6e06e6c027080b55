"""Who takes part in CRAFT-MD."""

from openosce.benchmarks.benchmark import RoleKind
from openosce.cases import doctor_part, patient_part
from openosce.grading import LexiconGrader, ModelGrader
from openosce.roles import (
    Interviewer,
    ModelDoctor,
    ModelPatient,
    ModelSummarizer,
    RecordPatient,
    RecordSummarizer,
)

DOCTOR = RoleKind(
    "builtin/interviewer",
    {"builtin/interviewer": lambda place: Interviewer(place.seed)},
    lambda name, model, place: ModelDoctor(model, place.prompts, doctor_part(place.case)),
)
PATIENT = RoleKind(
    "builtin/record",
    {"builtin/record": lambda place: RecordPatient(patient_part(place.case))},
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
