"""WHO SPEAKS: doctors, patients and summarizers, on any model or built in."""

from openosce.roles.doctor import Doctor, ModelDoctor, Question
from openosce.roles.human import Human
from openosce.roles.interviewer import Interviewer
from openosce.roles.patient import ModelPatient
from openosce.roles.record_patient import RecordPatient
from openosce.roles.summarizer import ModelSummarizer, RecordSummarizer, Summarizer

__all__ = [
    "Doctor",
    "Human",
    "Interviewer",
    "ModelDoctor",
    "ModelPatient",
    "ModelSummarizer",
    "Question",
    "RecordPatient",
    "RecordSummarizer",
    "Summarizer",
]
