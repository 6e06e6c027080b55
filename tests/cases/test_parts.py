import json
from dataclasses import asdict, fields

from openosce.cases import Case, Diagnosis, Fact, Patient, doctor_part, grader_part, patient_part, read_cases
from openosce.cases.parts import history_sentences

VIGNETTE = (
    "A 40-year-old man has limped for 2 days. He drinks beer. On physical examination, the toe is red. "
    "His temperature is 37.9 °C. Serum uric acid is 9 mg/dL. An x-ray shows no fracture. He takes a diuretic."
)


def everything(case):
    """All texts of a case, each once."""

    def texts(value):
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            for inner in value.values():
                yield from texts(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from texts(inner)

    return set(texts(case.model_dump(mode="json")))


def test_the_doctor_is_handed_specialty_and_objective_and_nothing_of_the_patient():
    assert {field.name for field in fields(doctor_part(read_cases("starter")[0]))} == {"specialty", "objective"}
    for case in read_cases("starter"):
        handed = json.dumps(asdict(doctor_part(case))).casefold()
        assert handed.count(case.diagnosis.name.casefold()) == 0
        assert not [
            text for text in everything(case) - {case.specialty, case.objective} if len(text) > 20 and text in handed
        ]


def test_beside_the_vignette_the_patient_is_handed_neither_names_of_diseases_nor_findings():
    for case in read_cases("starter"):
        handed = repr(asdict(patient_part(case)) | {"vignette": ""})
        findings = [finding for by in case.examination.values() for finding in by.values()] + [
            t.result for t in case.tests
        ]
        hidden = [
            case.diagnosis.name,
            *case.choices,
            *case.diagnosis.synonyms,
            *case.red_flags,
            case.objective,
            *findings,
        ]
        assert not [text for text in hidden if len(text) > 12 and text in handed]


def test_the_grader_is_handed_reference_choices_and_specialty_only():
    case = read_cases("starter")[0]
    part = grader_part(case)
    assert {field.name for field in fields(part)} == {"diagnosis", "choices", "specialty"}
    assert (part.diagnosis, part.choices, part.specialty) == (case.diagnosis, case.choices, case.specialty)


def test_without_facts_the_patient_tells_the_vignette_s_history():
    part = patient_part(Case(id="a", source="s", diagnosis=Diagnosis(name="Gout"), vignette=VIGNETTE))
    assert part.facts_from_vignette
    assert [fact.fact for fact in part.facts] == [
        "A 40-year-old man has limped for 2 days.",
        "He drinks beer.",
        "He takes a diuretic.",
    ]


def test_facts_of_the_case_come_before_the_vignette():
    patient = Patient(facts=(Fact(fact="Limps"),))
    part = patient_part(Case(id="a", source="s", diagnosis=Diagnosis(name="Gout"), vignette=VIGNETTE, patient=patient))
    assert (part.facts, part.facts_from_vignette) == (patient.facts, False)


def test_examination_and_tests_are_left_out_of_the_history():
    findings = (
        "Examination reveals a red toe.",
        "Vital signs are normal.",
        "Blood pressure 140/90 mm Hg.",
        "A murmur is heard.",
        "Laboratory studies show:",
        "Leukocytes 12,000/mm3.",
        "Na+: 140 mEq/L",
        "A biopsy was taken.",
        "MRI of the brain is normal.",
    )
    assert history_sentences("\n".join(findings)) == []
    assert history_sentences("") == []


def test_a_case_without_anything_has_empty_parts():
    bare = Case(id="a", source="s", diagnosis=Diagnosis(name="Gout"))
    assert doctor_part(bare).specialty == grader_part(bare).specialty == "general medicine"
    assert patient_part(bare).facts == ()
