"""Which tests were ordered, whether the case holds them, and what they cost; an unknown price is never guessed."""

from pathlib import Path

import pytest

from openosce.benchmarks.agentclinic import tests_ordered as orders
from openosce.benchmarks.agentclinic.price_book import load_test_prices
from openosce.benchmarks.agentclinic.settings import AgentClinicSettings
from openosce.benchmarks.agentclinic.station import AgentClinicStation
from openosce.benchmarks.agentclinic.tests_ordered import METRICS, count_orders
from openosce.cases import MeasurementPart, Test
from openosce.encounters import DOCTOR, Message
from openosce.errors import StudyError

PART = MeasurementPart({"Vital signs": {"pulse": "80/min"}}, (Test(name="Electrocardiogram", result="normal"),))
BOOK = (
    "source: my hospital\nprices:\n  - {test: ECG, dollars: 40}\n  - {test: CBC, dollars: 10.5, aliases: [big count]}\n"
)


def transcript(*replies: str):
    station = AgentClinicStation("Assess.", 20, "on_request", ("a.png",))
    talk = station.opening
    for reply in replies:
        talk += station.address(DOCTOR, reply, talk)
        if talk[-1].listener is not None:
            talk += station.address(talk[-1].listener, "REQUEST TEST: MRI of the brain", talk)
    return talk


def counted(*replies: str, book: Path | None = None):
    return {score.metric: score for score in count_orders(transcript(*replies), PART, load_test_prices(book))}


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "prices.yaml"
    path.write_text(BOOK, encoding="utf-8")
    return path


def test_tests_are_counted_under_one_name_and_told_from_examinations(book: Path):
    talk = transcript("REQUEST TEST: EKG and CBC", "REQUEST TEST: vital signs", "REQUEST TEST: 12-lead ECG")
    assert [(test.name, test.in_record) for test in orders.tests_ordered(talk, PART)] == [
        ("electrocardiogram", True),
        ("complete blood count", False),
        ("electrocardiogram", True),
    ]


def test_counts_and_cost_come_from_the_orders_that_were_carried_out(book: Path):
    found = counted("REQUEST TEST: EKG", "REQUEST IMAGES", "Any pain?", "REQUEST TEST: full blood count",
                    "REQUEST TEST: EKG. DIAGNOSIS READY: gout", book=book)  # fmt: skip
    assert {metric: score.value for metric, score in found.items()} == {
        "tests_ordered": 2,
        "tests_not_in_record": 1,
        "image_requests": 1,
        "image_requested": 1,
        "doctor_turns": 5,
        "cost": 50.5,
    }
    assert found["tests_ordered"].evidence == "electrocardiogram, complete blood count"
    assert found["tests_not_in_record"].evidence == "complete blood count"
    assert found["cost"].evidence == "my hospital"


def test_a_cost_with_one_unknown_price_is_missing_and_names_the_test(book: Path):
    cost = counted("REQUEST TEST: EKG, brain MRI and xylotomy", book=book)["cost"]
    assert cost.value is None
    assert cost.missing_reason == "unknown_price: brain mri, xylotomy"


def test_without_tests_the_cost_is_zero_and_known():
    found = counted("DIAGNOSIS READY: gout")
    assert tuple(found) == METRICS
    assert (found["cost"].value, found["tests_ordered"].value) == (0, 0)


def test_our_price_book_says_that_it_has_no_source_and_knows_the_common_tests():
    prices = load_test_prices()
    assert prices.illustrative
    assert counted("REQUEST TEST: CXR")["cost"].evidence == "illustrative prices"
    names = ("CBC", "BMP", "ECG", "CXR", "TSH", "urinalysis", "CT head", "MRI brain", "abdominal ultrasound", "echo",
             "LP", "troponin", "blood cultures", "LFTs", "CT of the chest, abdomen and pelvis")  # fmt: skip
    assert [name for name in names if prices.dollars(name) is None] == [names[-1]]
    assert prices.dollars("12-lead EKG") == prices.dollars("electrocardiogram")


def test_a_book_of_ones_own_is_never_mixed_with_ours(book: Path):
    prices = load_test_prices(book)
    assert (prices.dollars("EKG"), prices.dollars("big count"), prices.dollars("chest X-ray")) == (40, 10.5, None)
    assert not prices.illustrative
    assert AgentClinicSettings(price_book=str(book)).prices == prices


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "valid dictionary"),
        ("prices: []\nsource: x", "prices"),
        ("prices: [{test: ECG, dollars: 1}]", "source"),
        ("source: x\nprices: [{test: ECG, dollars: -1}]", "dollars"),
        ("source: x\nprices: [{test: ECG, dollars: .nan}]", "dollars"),
        ("source: x\nprices: [{test: ECG, dollars: 1, euros: 1}]", "euros"),
        ("source: x\nprices: [{test: ECG, dollars: 1}, {test: EKG, dollars: 2}]", "'EKG' is the same test as 'ECG'"),
        ("source: x\nprices: [{test: '?', dollars: 1}]", "names no test"),
        ("source: [x", "not valid YAML"),
    ],
)
def test_an_unusable_price_book_is_refused_in_one_line(tmp_path: Path, text: str, problem: str):
    path = tmp_path / "bad.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(StudyError, match=problem) as failure:
        AgentClinicSettings(price_book=str(path))
    assert "\n" not in str(failure.value)
    assert "bad.yaml" in str(failure.value)


def test_a_missing_or_binary_price_book_is_refused(tmp_path: Path):
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00\x81")
    for name in ("none", "binary", "."):
        with pytest.raises(StudyError, match="cannot be read as a price book"):
            load_test_prices(tmp_path / name)


def test_results_and_patients_order_nothing():
    talk = (Message("patient", DOCTOR, "REQUEST TEST: EKG"), Message("measurement", DOCTOR, "REQUEST TEST: EKG"))
    assert orders.tests_ordered(talk, PART) == ()
