"""WHAT IS EXAMINED: the case record, its readers and checks, and our own starter cases."""

from openosce.cases.parts import DoctorPart, GraderPart, PatientPart, doctor_part, grader_part, patient_part
from openosce.cases.readers import STARTER, read_cases
from openosce.cases.record import Case, Diagnosis, Fact, Patient
from openosce.cases.text import tidy

__all__ = [
    "STARTER",
    "Case",
    "Diagnosis",
    "DoctorPart",
    "Fact",
    "GraderPart",
    "Patient",
    "PatientPart",
    "doctor_part",
    "grader_part",
    "patient_part",
    "read_cases",
    "tidy",
]
