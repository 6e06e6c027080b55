"""WHAT IS EXAMINED: the case record, its readers and checks, and our own starter cases."""

from openosce.cases.images import ImageStore, Picture
from openosce.cases.parts import (
    DoctorPart,
    GraderPart,
    ImagePart,
    MeasurementPart,
    PatientPart,
    doctor_part,
    grader_part,
    image_part,
    measurement_part,
    patient_part,
)
from openosce.cases.readers import STARTER, read_cases
from openosce.cases.record import Case, Diagnosis, Fact, Image, Patient, Test
from openosce.cases.text import tidy

__all__ = [
    "STARTER",
    "Case",
    "Diagnosis",
    "DoctorPart",
    "Fact",
    "GraderPart",
    "Image",
    "ImagePart",
    "ImageStore",
    "MeasurementPart",
    "Patient",
    "PatientPart",
    "Picture",
    "Test",
    "doctor_part",
    "grader_part",
    "image_part",
    "measurement_part",
    "patient_part",
    "read_cases",
    "tidy",
]
