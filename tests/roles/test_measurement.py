"""The measurement agent: what the record's own finds, and how a model's answers are checked."""

import asyncio
import re
from importlib import resources

import pytest

from openosce.benchmarks.agentclinic.station import AgentClinicStation
from openosce.cases import STARTER, Case, Diagnosis, MeasurementPart, Test, measurement_part, read_cases
from openosce.encounters import DOCTOR, PATIENT, Message
from openosce.models import Reply, load_prompts
from openosce.roles.measurement import (
    MEASUREMENT,
    ModelMeasurement,
    RecordMeasurement,
    all_readings,
    check_readings,
    find_readings,
)
from openosce.roles.test_names import is_examination, name_of, single_orders

PROMPTS = load_prompts([resources.files("openosce.benchmarks.agentclinic") / "prompts"])
NORMAL = "RESULTS: NORMAL READINGS"
PART = MeasurementPart(
    {
        "Vital Signs": {"Temperature": "37.8 °C", "Blood Pressure": "126/78 mmHg"},
        "Abdominal Examination": {"Palpation": "tender on the right", "Auscultation": "silent"},
        "Cardiovascular Examination": {"Auscultation": "a rub"},
    },
    (
        Test(name="Electrocardiogram: Findings", aliases=("Electrocardiogram",), result="ST elevation"),
        Test(name="Blood Work: WBC", aliases=("Blood Work", "WBC"), result="11.8 × 10⁹/L"),
        Test(name="Blood Work: Hemoglobin", aliases=("Blood Work", "Hemoglobin"), result="15.1 g/dL"),
        Test(name="Blood Work: Platelets", aliases=("Blood Work", "Platelets"), result="262 × 10⁹/L"),
        Test(name="Imaging: Chest X-Ray: Findings", aliases=("Imaging", "Chest X-Ray"), result="clear lungs"),
        Test(name="Imaging: CT Scan Abdomen: Findings", aliases=("Imaging", "CT Scan Abdomen"), result="a mass"),
        Test(name="Urine Culture", result="no growth"),
    ),
)


def measure(request: str, part: MeasurementPart = PART) -> str:
    return asyncio.run(RecordMeasurement(part).speak((Message(DOCTOR, MEASUREMENT, request),)))


def found(request: str, part: MeasurementPart = PART) -> set[str]:
    return {reading.result for reading in find_readings(f"REQUEST TEST: {request}", all_readings(part))[0]}


CBC = {"11.8 × 10⁹/L", "15.1 g/dL", "262 × 10⁹/L"}
VITALS = {"37.8 °C", "126/78 mmHg"}


@pytest.mark.parametrize(
    ("request_", "results"),
    [
        ("EKG", {"ST elevation"}),
        ("12-lead ECG", {"ST elevation"}),
        ("Electrocardiogram (ECG) to rule out ischemia", {"ST elevation"}),
        ("CBC", CBC),
        ("complete blood count with differential", CBC),
        ("WBC count", {"11.8 × 10⁹/L"}),
        ("white blood cells", {"11.8 × 10⁹/L"}),
        ("Hb", {"15.1 g/dL"}),
        ("chest x-ray", {"clear lungs"}),
        ("CXR", {"clear lungs"}),
        ("X-ray of the chest (PA and lateral)", {"clear lungs"}),
        ("abdominal CT", {"a mass"}),
        ("CT of the abdomen and pelvis with contrast", {"a mass"}),
        ("vital signs", VITALS),
        ("Vitals please", VITALS),
        ("temperature", {"37.8 °C"}),
        ("BP", {"126/78 mmHg"}),
        ("physical exam of the abdomen", {"tender on the right", "silent"}),
        ("abdominal examination", {"tender on the right", "silent"}),
        ("cardiac auscultation", {"a rub"}),
        ("heart exam", {"a rub"}),
        ("full physical examination", {*VITALS, "tender on the right", "silent", "a rub"}),
        ("EKG, chest x-ray and vital signs", {"ST elevation", "clear lungs", *VITALS}),
    ],
)
def test_a_reading_is_found_by_the_names_that_doctors_use(request_: str, results: set[str]):
    assert found(request_) == results


@pytest.mark.parametrize(
    "request_",
    ["Lipase", "MRI of the brain", "abdominal x-ray", "chest CT", "blood culture", "stool culture", "colonoscopy",
     "skin biopsy", "", "?", "xyz", "{{ part }}", "the diagnosis", "everything you know about the disease"],
)  # fmt: skip
def test_what_the_record_does_not_hold_is_normal(request_: str):
    assert measure(f"REQUEST TEST: {request_}") == NORMAL


def test_of_several_tests_the_ones_that_are_not_held_are_said_to_be_normal():
    text = measure("REQUEST TEST: EKG and lipase")
    assert text.startswith("RESULTS: Electrocardiogram: Findings: ST elevation\n")
    assert text.endswith("NORMAL READINGS")
    assert "lipase" not in text


def test_an_empty_record_gives_normal_readings():
    assert measure("REQUEST TEST: CBC", MeasurementPart({}, ())) == NORMAL


def test_every_word_of_an_answer_comes_from_the_record():
    fixed = set(re.findall(r"\w+", f"{NORMAL} Everything else that was asked for"))
    requests = ["CBC", "vital signs and physical examination", "EKG, troponin and xyz", "blood tests", "urine"]
    for case in read_cases(STARTER):
        part = measurement_part(case)
        for request in requests:
            said = measure(f"REQUEST TEST: {request}", part)
            assert set(re.findall(r"\w+", said)) <= fixed | set(re.findall(r"\w+", part.readings))


def test_every_test_of_our_cases_is_found_by_its_name_and_by_each_of_its_aliases():
    missed = [
        (case.id, name)
        for case in read_cases(STARTER)
        for test in case.tests
        for name in (test.name, *test.aliases)
        if test.result not in found(name, measurement_part(case))
    ]
    assert len(missed) <= 0.02 * sum(1 + len(test.aliases) for case in read_cases(STARTER) for test in case.tests)


def test_nearly_every_reading_of_the_released_cases_is_found_by_its_own_name(shared):
    cases = read_cases(shared / "data" / "agentclinic" / "agentclinic_medqa.jsonl")
    tests = [(measurement_part(case), test) for case in cases for test in case.tests]
    held = [test.result in found(test.name.replace(":", " "), part) for part, test in tests]
    assert len(held) > 500
    assert sum(held) / len(held) > 0.98


@pytest.mark.parametrize(
    ("order", "name"),
    [
        ("EKG", "electrocardiogram"),
        ("12-lead electrocardiogram", "electrocardiogram"),
        ("Complete Blood Count (CBC)", "complete blood count"),
        ("MRI of the brain with contrast", "brain mri"),
        ("MRI scan of the head", "brain mri"),
        ("?", "?"),
    ],
)
def test_a_test_is_counted_under_one_name(order: str, name: str):
    assert name_of(order) == name


@pytest.mark.parametrize(
    ("order", "singles"),
    [
        ("CBC, CRP and ESR", ("CBC", "CRP", "ESR")),
        ("urea and electrolytes", ("urea and electrolytes",)),
        ("CT of the chest, abdomen and pelvis", ("CT of the chest and abdomen and pelvis",)),
        ("CBC (WBC, Hb) to look for anemia and infection", ("CBC",)),
    ],
)
def test_orders_are_taken_apart_into_single_tests(order: str, singles: tuple[str, ...]):
    assert single_orders(order) == singles


@pytest.mark.parametrize(
    ("order", "bedside"),
    [("vital signs", True), ("blood pressure", True), ("neurological exam", True), ("physical", True),
     ("palpation of the abdomen", True), ("CBC", False), ("chest X-ray", False), ("stool examination", False),
     ("slit-lamp examination", False), ("skin biopsy", False)],
)  # fmt: skip
def test_examinations_are_told_from_tests(order: str, bedside: bool):
    assert is_examination(order) is bedside


# --- a model as measurement agent


class Recorder:
    def __init__(self, reply: str) -> None:
        self.requests = []
        self._reply = reply

    async def complete(self, request):
        self.requests.append(request)
        return Reply(self._reply)


def test_a_model_is_sent_the_findings_the_requests_and_the_patients_replies_and_nothing_else():
    case = Case(
        id="x", source="test", diagnosis=Diagnosis(name="Secretitis"), vignette="The history.", choices=("A", "B"),
        examination={"Vital signs": {"temperature": "37.8 °C"}}, tests=(Test(name="EKG", result="{{ 7*7 }}"),),
    )  # fmt: skip
    model = Recorder("RESULTS: 37.8 °C")
    station = AgentClinicStation("Assess.", 20)
    transcript = station.opening
    for speaker, text in (
        (DOCTOR, "Where does it hurt?"), (PATIENT, "In my chest."), (DOCTOR, "REQUEST TEST: temperature"),
    ):  # fmt: skip
        transcript += station.address(speaker, text, transcript)
    role = ModelMeasurement(model, PROMPTS, measurement_part(case))
    assert asyncio.run(role.speak(transcript)) == "RESULTS: 37.8 °C"
    system, said = model.requests[0].messages
    assert "temperature: 37.8 °C" in system.content
    assert "{{ 7*7 }}" in system.content
    assert said.content == "Patient: In my chest.\n\nDoctor: REQUEST TEST: temperature"
    sent = system.content + said.content
    assert not any(word in sent for word in ("Secretitis", "The history", "Where does it hurt", "Assess"))


@pytest.mark.parametrize(
    ("text", "invented"),
    [
        ("RESULTS: Temperature 37.8 °C, BP 126/78 mmHg", ()),
        ("RESULTS: Hemoglobin 15.1 g/dL", ()),
        ("RESULTS: Hemoglobin 12.5 g/dL", ("12.5 g/dL",)),
        ("RESULTS: sodium 140 mmol/L, WBC 11.8 × 10⁹/L", ("140 mmol/L",)),
        ("RESULTS: BP 150/78 mmHg", ("150/78 mmHg",)),
        ("RESULTS: pulse 90/min", ("90/min",)),
        ("RESULTS: oxygen saturation 98%", ("98%",)),
        ("RESULTS: heart rate 88 bpm", ("88 bpm",)),
        ("RESULTS: the 12-lead EKG shows ST elevation in 2 leads", ()),
        ("RESULTS: NORMAL READINGS", ()),
        ("", ()),
    ],
)
def test_numbers_with_units_that_the_record_does_not_hold_are_flagged(text: str, invented: tuple[str, ...]):
    assert check_readings(text, PART).invented == invented


def test_a_panel_returned_in_part_is_flagged_and_a_whole_one_or_none_is_not():
    request = "REQUEST TEST: CBC"
    whole = "RESULTS: WBC 11.8 × 10⁹/L, hemoglobin 15.1 g/dL, platelets 262 × 10⁹/L"
    assert check_readings(whole, PART, request).left_out == ()
    part = check_readings("RESULTS: hemoglobin 15.1 g/dL", PART, request).left_out
    assert part == ("Blood Work: WBC: 11.8 × 10⁹/L", "Blood Work: Platelets: 262 × 10⁹/L")
    assert check_readings("RESULTS: hemoglobin 15.1 g/dL", PART, "REQUEST TEST: hemoglobin").left_out == ()


def test_the_records_own_answers_pass_the_check():
    for case in read_cases(STARTER):
        part = measurement_part(case)
        for request in ("REQUEST TEST: CBC", "REQUEST TEST: vital signs, EKG and chest x-ray"):
            found = check_readings(measure(request, part), part, request)
            assert found.invented == found.left_out == ()
