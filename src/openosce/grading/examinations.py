"""Which target examinations a student's proposals cover, by the names of components and maneuvers."""

import re
from collections.abc import Sequence

from openosce.cases.record import TargetExamination
from openosce.grading.overlap import stems
from openosce.grading.student_output import ProposedExam

# Stems of words that name a component, in MedQA-CS's names (2024, Table 8).
_COMPONENTS: dict[str, frozenset[str]] = {
    component: frozenset().union(*(stems(word) for word in words.split()))
    for component, words in {
        "neck": "neck thyroid carotid jugular jvd nuchal cervical meningeal",
        "chest": "chest thorax thoracic rib sternum breast",
        "heart": "heart cv cardiac cardiovascular precordium precordial murmur murmurs",
        "abdomen": "abdomen abdominal belly stomach liver spleen bowel gastrointestinal",
        "extremities": "extremity extremities limb limbs arm arms leg legs hand hands foot feet joint joints ankle "
        "calf calves knee elbow wrist shoulder shoulders musculoskeletal nail nails peripheral",
        "vs": "vs vital vitals orthostatic blood pressure temperature",
        "pulmonary": "pulmonary lung lungs respiratory respiration breath breathing",
        "back": "back spine spinal cva costovertebral flank lumbar",
        "hips": "hip hips pelvis",
        "neuro": "neuro neurologic neurological neurology cranial reflex reflexes gait sensation sensory motor mental",
        "heent": "heent head eye eyes ocular ear ears nose throat mouth oral pupil pupils fundus fundi fundoscopy "
        "scalp face oropharynx conjunctiva conjunctivae sinus temporal visual vision",
        "skin": "skin dermatologic dermatological rash integument",
    }.items()
}
# The components' own names say nothing of what is done to them.
_PLAIN_NAMES = stems("neck chest heart cv abdomen abdominal extremity extremities vs vital signs pulmonary lung lungs")
_PLAIN_NAMES |= stems("back hip hips neuro neurologic neurological heent head skin whole exam examination both")
# What stands for one maneuver.
_MANEUVERS: dict[str, frozenset[str]] = {
    f"@{maneuver}": frozenset().union(*(stems(word) for word in words.split()))
    for maneuver, words in {
        "inspect": "inspect inspection look observe observation inspecting visual visually visualize examine",
        "palpate": "palpate palpation palpating palpable feel touch press tenderness",
        "percuss": "percuss percussion percussing tap",
        "auscultate": "auscultate auscultation auscultating listen listening stethoscope bruit bruits murmur murmurs",
        "move": "move movement movements range motion rom flexion extension rotation mobility",
        "strength": "strength power motor",
        "sense": "sensation sensory sensibility touch pinprick vibration",
        "posture": "lying standing orthostatic supine postural",
        "mind": "mental cognition cognitive orientation orientated minimental mmse status",
        "sight": "acuity snellen",
        "fundus": "fundoscopy funduscopy fundoscopic funduscopic ophthalmoscopy fundus fundi",
        "nodes": "lymph node nodes lymphadenopathy adenopathy",
        "vein": "vein veins jvd jvp jugular",
        "pulse": "pulse pulses heart-rate",
        "swelling": "swelling swollen edema oedema",
    }.items()
}
_TECHNIQUES = frozenset({"@inspect", "@palpate", "@percuss", "@auscultate", "@move"})
_ENOUGH = 0.5
BARE = 0.5
"""The maneuvers that a component covers which is named without any."""


def _words(text: str) -> frozenset[str]:
    return stems(re.sub(r"\bheart rate\b", "pulse", text, flags=re.IGNORECASE))


def component_of(text: str) -> frozenset[str]:
    """The components that a text names."""
    words = _words(text)
    return frozenset(name for name, known in _COMPONENTS.items() if words & known)


def maneuver_of(text: str) -> frozenset[str]:
    """What is done, and to what, with one word for synonyms."""
    words = _words(text)
    known = {word: concept for concept, some in _MANEUVERS.items() for word in words & some}
    return frozenset(known.get(word, word) for word in words if word not in _PLAIN_NAMES)


def exams_of(target: TargetExamination, exams: Sequence[ProposedExam]) -> list[ProposedExam]:
    """Those proposed that examine a target's component, by its name or by what they do."""
    wanted, name = component_of(target.component), target.component.casefold().strip()
    return [
        exam
        for exam in exams
        if wanted & (component_of(exam.component) | component_of(exam.maneuver))
        or exam.component.casefold().strip() == name
    ]


def covered(target: TargetExamination, exams: Sequence[ProposedExam]) -> tuple[float, int]:
    """How many maneuvers of a target row are covered, and how many it has; a row without any counts as one."""
    there = exams_of(target, exams)
    if not target.maneuvers:
        return float(bool(there)), 1
    hits = sum(any(_does(exam, maneuver) for exam in there) for maneuver in target.maneuvers)
    bare = BARE if any(not exam.maneuver.strip() for exam in there) else 0.0
    return max(float(hits), bare), len(target.maneuvers)


def _does(exam: ProposedExam, maneuver: str) -> bool:
    """Whether an examination holds a maneuver; a technique without a place is done at every place."""
    wanted, done = maneuver_of(maneuver), maneuver_of(exam.maneuver)
    if not wanted:  # "vital signs": the component, which fits already, says it all
        return True
    share = len(wanted & done) / len(wanted)
    return share > _ENOUGH or (share == _ENOUGH and not done - _TECHNIQUES)
