"""Who takes part in AgentClinic."""

from typing import Any

from openosce.benchmarks.agentclinic.biases import bias_text
from openosce.benchmarks.agentclinic.humans import human_doctor, human_patient
from openosce.benchmarks.agentclinic.settings import AgentClinicSettings
from openosce.benchmarks.benchmark import Place, RoleKind
from openosce.cases import image_part, measurement_part, patient_part
from openosce.encounters import DOCTOR, PATIENT
from openosce.grading import LexiconGrader
from openosce.grading.moderator import Moderator
from openosce.models import Model
from openosce.roles import RecordPatient
from openosce.roles.clinic_doctor import ClinicDoctor
from openosce.roles.clinic_interviewer import ClinicInterviewer
from openosce.roles.clinic_patient import ClinicPatient
from openosce.roles.image_reader import IMAGES, RecordImageReader
from openosce.roles.measurement import MEASUREMENT, ModelMeasurement, RecordMeasurement


def _bias(role: str, place: Place[AgentClinicSettings]) -> str:
    return bias_text(place.settings.bias, role, place.prompts, place.settings.bias_disease)


def _interviewer(place: Place[AgentClinicSettings]) -> ClinicInterviewer:
    return ClinicInterviewer(place.seed, place.settings.turns, place.settings.images == "on_request")


def _doctor(name: str, model: Model, place: Place[AgentClinicSettings]) -> ClinicDoctor:
    settings = place.settings
    return ClinicDoctor(model, place.prompts, settings.turns, settings.images, _bias(DOCTOR, place), place.images)


def _patient(name: str, model: Model, place: Place[AgentClinicSettings]) -> ClinicPatient:
    return ClinicPatient(name, model, place.prompts, patient_part(place.case), _bias(PATIENT, place))


def _measurement(name: str, model: Model, place: Place[Any]) -> ModelMeasurement:
    return ModelMeasurement(model, place.prompts, measurement_part(place.case))


ROLES = {
    DOCTOR: RoleKind(
        "builtin/interviewer", {"builtin/interviewer": _interviewer, "human": human_doctor}, _doctor, sees_images=True
    ),
    PATIENT: RoleKind(
        "builtin/record",
        {"builtin/record": lambda place: RecordPatient(patient_part(place.case)), "human": human_patient},
        _patient,
    ),
    MEASUREMENT: RoleKind(
        "builtin/record",
        {"builtin/record": lambda place: RecordMeasurement(measurement_part(place.case))},
        _measurement,
    ),
    IMAGES: RoleKind(
        "builtin/record", {"builtin/record": lambda place: RecordImageReader(image_part(place.case))}, None
    ),
    "grader": RoleKind(
        "builtin/lexicon",
        {"builtin/lexicon": lambda place: LexiconGrader()},
        lambda name, model, place: Moderator(name, model, place.prompts),
        outside_trials=True,
        policies=("moderator",),
    ),
}
