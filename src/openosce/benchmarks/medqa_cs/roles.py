"""Who takes part in MedQA-CS with the reference dialogue: the student under test and the examiner."""

from openosce.benchmarks.benchmark import RoleKind
from openosce.benchmarks.medqa_cs.rounds import concepts
from openosce.grading.model_examiner import ModelExaminer
from openosce.grading.record_examiner import RecordExaminer
from openosce.roles.record_student import RecordStudent
from openosce.roles.student import ModelStudent

STUDENT = RoleKind(
    "builtin/interviewer",
    {"builtin/interviewer": lambda place: RecordStudent(place.seed)},
    lambda name, model, place: ModelStudent(model, place.prompts),
)
EXAMINER = RoleKind(
    "builtin/examiner",
    {"builtin/examiner": lambda place: RecordExaminer(place.settings.rules, concepts)},
    lambda name, model, place: ModelExaminer(
        name, model, place.prompts, place.settings.rules, place.settings.examiner_schema
    ),
    outside_trials=True,
)
ROLES = {"doctor": STUDENT, "examiner": EXAMINER}
