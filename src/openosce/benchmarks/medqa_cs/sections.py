"""What each section of a station puts to the student, and which parts of the case it needs.

Source: MedQA-CS 2024, Tables 1-4 (inputs) and Appendix D. The rounds of `info_gathering` are independent: each rests on
the reference dialogue before it, never on the student's own questions.
"""

from typing import Any

from openosce.cases import Case
from openosce.cases.record import Patient, StationPart
from openosce.grading import Missing
from openosce.grading.json_reply import schema_of
from openosce.grading.student_output import CLOSURE, DIFFERENTIAL, INFO_GATHERING, PHYSICAL_EXAM, SHAPES
from openosce.roles.student import CHALLENGE, StudentTask

_NEEDS = {
    INFO_GATHERING: ("doorway", "dialogue"),
    PHYSICAL_EXAM: ("doorway", "dialogue"),
    CLOSURE: ("doorway", "dialogue", "closure", "challenge"),
    DIFFERENTIAL: ("doorway", "dialogue", "closure", "note", "differential"),
}
"""Target examinations are not among them: a case may call for none."""
NOT_EXAMINED = "None was performed."


def lacking(case: Case, section: str) -> str | None:
    """Why a case cannot give a section, as a stored reason; None where it can."""
    if case.station is None:
        return Missing.CASE_LACKS_PART.because("station")
    parts = [part for part in _NEEDS[section] if not getattr(case.station, part)]
    if not parts and section == INFO_GATHERING and len(case.station.dialogue) < 2:
        parts = ["dialogue after the chief complaint"]
    return Missing.CASE_LACKS_PART.because(", ".join(parts)) if parts else None


def station_of(case: Case) -> StationPart:
    """The station of a case that has one."""
    if case.station is None:
        raise ValueError(f"{case.id}: has no station; ask `lacking` first")
    return case.station


def doorway_sheet(case: Case) -> str:
    """What stands on the door: who the patient is, where, the vital signs, the tasks. Never the complaint's cause."""
    doorway = station_of(case).doorway
    if doorway is None:
        return ""
    vital_signs = "; ".join(f"{name} {reading}" for name, reading in doorway.vital_signs.items())
    lines = {
        "Patient": doorway.name,
        "Age and sex": ", ".join(_who(case.patient) if case.patient else ()),
        "Setting": doorway.setting,
        "Vital signs": vital_signs,
        "Tasks": "; ".join(doorway.tasks),
    }
    return "\n".join(f"{name}: {text}" for name, text in lines.items() if text)


def _who(patient: Patient) -> list[str]:
    age = f"{patient.age} years old" if (patient.age or "").isdigit() else patient.age and f"{patient.age} old"
    return [part for part in (age, patient.sex) if part]


def examination(station: StationPart) -> str:
    """What was examined and found: the target examinations or, where they tell no findings, the patient note."""
    rows = station.target_examinations
    if rows and any(row.finding for row in rows):
        return "\n".join(
            f"{row.component} ({', '.join(row.maneuvers)}): {row.finding or 'nothing noted'}" for row in rows
        )
    return station.note.examination if station.note else NOT_EXAMINED


def question_task(case: Case, number: int, schema: bool) -> StudentTask:
    """Round `number` of `info_gathering`, counted from 1: the reference dialogue of rounds 0 to `number` − 1."""
    return StudentTask(
        kind=INFO_GATHERING,
        step=f"answer/{INFO_GATHERING}/{number:02}",
        doorway=doorway_sheet(case),
        dialogue=station_of(case).dialogue[:number],
        schema=_schema(INFO_GATHERING, schema),
    )


def exam_task(case: Case, schema: bool) -> StudentTask:
    """The physical examination: the reference dialogue, without any finding."""
    return StudentTask(
        kind=PHYSICAL_EXAM,
        step=f"answer/{PHYSICAL_EXAM}",
        doorway=doorway_sheet(case),
        dialogue=station_of(case).dialogue,
        schema=_schema(PHYSICAL_EXAM, schema),
    )


def closure_task(case: Case, schema: bool) -> StudentTask:
    """The closure; the patient's question is not shown yet."""
    station = station_of(case)
    return StudentTask(
        kind=CLOSURE,
        step=f"answer/{CLOSURE}",
        doorway=doorway_sheet(case),
        dialogue=station.dialogue,
        examination=examination(station),
        schema=_one_text("closure") if schema else None,
    )


def challenge_task(case: Case, closure: str, schema: bool) -> StudentTask:
    """The patient's question, after the student's own closure."""
    station = station_of(case)
    return StudentTask(
        kind=CHALLENGE,
        step=f"answer/{CLOSURE}/{CHALLENGE}",
        doorway=doorway_sheet(case),
        dialogue=station.dialogue,
        examination=examination(station),
        closure=closure,
        challenge=station.challenge.question if station.challenge else "",
        schema=_one_text("answer") if schema else None,
    )


def differential_task(case: Case, schema: bool) -> StudentTask:
    """The differential: everything before it as the reference has it, and the note's history and examination."""
    station = station_of(case)
    note = station.note
    return StudentTask(
        kind=DIFFERENTIAL,
        step=f"answer/{DIFFERENTIAL}",
        doorway=doorway_sheet(case),
        dialogue=station.dialogue,
        examination=examination(station),
        closure=station.closure or "",
        note=f"History: {note.history}\nExamination: {note.examination}" if note else "",
        schema=_schema(DIFFERENTIAL, schema),
    )


def _schema(section: str, wanted: bool) -> dict[str, Any] | None:
    return schema_of(SHAPES[section]) if wanted else None


def _one_text(key: str) -> dict[str, Any]:
    properties = {key: {"type": "string"}}
    return {"type": "object", "properties": properties, "required": [key], "additionalProperties": False}
