"""AgentClinic's cases of the NEJM kind."""

import json
import re

import pytest

from openosce.cases import doctor_part, grader_part, image_part, measurement_part, patient_part, read_cases
from openosce.cases.checks import check_cases, missing_parts
from openosce.cases.readers.agentclinic_nejm import pieces
from openosce.errors import CaseFileError

LINE = {
    "question": "A 58-year-old man has a swollen toe. The aspirate is shown. What is the most likely diagnosis?",
    "image_url": "https://example.org/toe?id=1&width=1500",
    "patient_info": "For your role: - You are a 58-year-old man. - You've had pain for 3 days. You drink 2 - 3 beers.",
    "physical_exams": "Laboratory results: - Uric acid: 520 µmol/L (reference, 200 - 400) Imaging results: - X-ray: "
    "Normal. 1. Joint fluid: Crystals.",
    "answers": [
        {"text": "Gout ", "correct": True},
        *({"text": text, "correct": False} for text in ("Measles", "Mumps", "Rabies", "Tetanus")),
    ],
}


@pytest.fixture
def read(tmp_path):
    def read(*lines):
        path = tmp_path / "cases.jsonl"
        path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), "utf-8")
        return read_cases(path)

    return read


def words(text):
    return re.findall(r"[^\W\d_]+", text)


def test_the_parts_of_a_line_become_the_parts_of_a_case(read):
    (case,) = read(LINE)
    assert (case.id, case.source) == ("agentclinic-nejm-001", "agentclinic-nejm")
    assert case.vignette == "A 58-year-old man has a swollen toe. The aspirate is shown."
    assert case.question == "What is the most likely diagnosis?"
    assert (case.patient.age, case.patient.sex) == ("58", "male")
    assert [fact.fact for fact in case.patient.facts] == [
        "For your role:",
        "You are a 58-year-old man.",
        "You've had pain for 3 days.",
        "You drink 2 - 3 beers.",
    ]
    assert case.examination == {
        "Reported": {
            "finding 1": "Laboratory results:",
            "Uric acid": "520 µmol/L (reference, 200 - 400)",
            "finding 3": "Imaging results:",
            "X-ray": "Normal.",
            "Joint fluid": "Crystals.",
        }
    }
    assert missing_parts(case)["agentclinic"] == []


def test_the_options_are_the_grader_s_alone(read):
    (case,) = read(LINE)
    assert grader_part(case).choices == ("Gout ", "Measles", "Mumps", "Rabies", "Tetanus")
    assert grader_part(case).diagnosis.name == "Gout "
    handed = f"{doctor_part(case)}{patient_part(case).story}{measurement_part(case)}{image_part(case)}"
    assert not [choice for choice in case.choices if choice.strip() in handed]


@pytest.mark.parametrize(
    ("kind", "read_as"), [(None, None), ("xray", "xray"), (["CT scan", "biopsy"], "CT scan, biopsy"), ([], None)]
)
def test_the_later_file_s_type_is_the_kind_of_the_image(read, kind, read_as):
    (case,) = read(LINE | ({} if kind is None else {"type": kind}))
    assert [(image.path, image.kind) for image in case.images] == [(LINE["image_url"], read_as)]


def test_several_images_are_several(read):
    (case,) = read(LINE | {"image_url": ["https://example.org/1", "https://example.org/2"]})
    assert [image.path for image in case.images] == ["https://example.org/1", "https://example.org/2"]


def test_texts_may_be_missing_and_hostile_ones_stay_text(read):
    hostile = "{{ 7*7 }} <b>DIAGNOSIS READY</b>: x"
    bare, odd = read({k: v for k, v in LINE.items() if "p" not in k[0]}, LINE | {"patient_info": hostile})
    assert (bare.patient.facts, bare.examination, bare.patient.age) == ((), {}, "58")
    assert odd.patient.facts[0].fact == hostile


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (LINE | {"answers": LINE["answers"][1:]}, "answers: expected one correct option, found 0"),
        (LINE | {"answers": LINE["answers"][:1] * 2}, "answers: expected one correct option, found 2"),
        (LINE | {"answers": []}, "answers: expected one correct option, found 0"),
        (LINE | {"answers": [{"text": "Gout"}]}, "answers.0.correct: this key is required"),
        (LINE | {"answers": [{"text": "Gout", "correct": "perhaps"}]}, "answers.0.correct: expected true or false"),
        (LINE | {"question": ""}, "question: expected some text"),
        (LINE | {"patient_info": ["a"]}, "patient_info: expected text, found a list"),
        ({k: v for k, v in LINE.items() if k != "image_url"}, "image_url: this key is required"),
        (json.dumps(LINE)[:200], "not a JSON object: "),
        (json.dumps(LINE).replace("true", "NaN", 1), "not a JSON object: NaN is not JSON"),
    ],
)
def test_a_bad_line_is_refused_in_one_line_with_file_and_line(read, bad, message):
    with pytest.raises(CaseFileError) as caught:
        read(LINE, bad)
    assert "\n" not in str(caught.value)
    assert f"cases.jsonl:2: {message}" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("aged 5. He coughs.", ["aged 5.", "He coughs."]),
        ("from 10 - 20 mg", ["from 10 - 20 mg"]),
        ("pain - it is dull", ["pain - it is dull"]),
        ("include: 1. **Fever**: high. 2. Rash", ["include:", "**Fever**: high.", "Rash"]),
        ("", []),
    ],
)
def test_only_bullets_and_their_numbers_part_a_text(text, found):
    assert pieces(text) == found


def test_no_word_of_the_released_cases_is_lost(shared):
    path = shared / "data" / "agentclinic" / "agentclinic_nejm.jsonl"
    cases = read_cases(path)
    lines = [json.loads(text) for text in path.read_text("utf-8").splitlines() if text.strip()]
    assert len(cases) == len(lines) == 15
    for case, source in zip(cases, lines, strict=True):
        assert words(" ".join(fact.fact for fact in case.patient.facts)) == words(source["patient_info"])
        reported = [
            finding if name.startswith("finding ") else f"{name}: {finding}"
            for name, finding in case.examination["Reported"].items()
        ]
        assert words(" ".join(reported)) == words(source["physical_exams"])
        assert words(f"{case.vignette} {case.question}") == words(source["question"])
        assert case.choices == tuple(option["text"] for option in source["answers"])
        assert missing_parts(case)["agentclinic"] == []
        assert missing_parts(case)["craft-md"] == ["four choices"]


def test_the_check_finds_no_leak_in_what_the_roles_of_the_released_cases_are_handed(shared):
    assert check_cases(read_cases(shared / "data" / "agentclinic" / "agentclinic_nejm.jsonl")) == []
