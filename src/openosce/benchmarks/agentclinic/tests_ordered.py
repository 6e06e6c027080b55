"""What the doctor did with its turns: the tests it ordered, whether the case holds them, and what they cost.

Examinations at the bedside and vital signs are ordered like tests; they are no tests here, and cost nothing.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from openosce.benchmarks.agentclinic.price_book import TestPrices
from openosce.benchmarks.agentclinic.station import doctor_turns, image_requests
from openosce.cases import MeasurementPart
from openosce.encounters import DOCTOR, Transcript
from openosce.grading import Score
from openosce.roles.clinic_tokens import requested_tests
from openosce.roles.measurement import MEASUREMENT, all_readings, find_order
from openosce.roles.test_names import is_examination, name_of, single_orders

TESTS_ORDERED = "tests_ordered"
NOT_IN_RECORD = "tests_not_in_record"
IMAGE_REQUESTS = "image_requests"
IMAGE_REQUESTED = "image_requested"
"""Whether the doctor asked for the image at all; 0 or 1."""
DOCTOR_TURNS = "doctor_turns"
COST = "cost"
METRICS = (TESTS_ORDERED, NOT_IN_RECORD, IMAGE_REQUESTS, IMAGE_REQUESTED, DOCTOR_TURNS, COST)
UNKNOWN_PRICE = "unknown_price"
"""The reason of a missing cost: the tests that the price book does not hold."""


@dataclass(frozen=True)
class OrderedTest:
    """One order of one test."""

    name: str
    """The name under which it is counted."""
    said: str
    """As the doctor wrote it."""
    in_record: bool


def tests_ordered(transcript: Transcript, part: MeasurementPart) -> tuple[OrderedTest, ...]:
    """Every test that the doctor had done, in its order; one ordered twice stands twice."""
    readings = all_readings(part)
    said = (
        single
        for message in transcript
        if message.speaker == DOCTOR and message.listener == MEASUREMENT
        for order in requested_tests(message.text)
        for single in single_orders(order)
    )
    return tuple(
        OrderedTest(name_of(single), single, bool(find_order(single, readings)))
        for single in said
        if single.strip() and not is_examination(single)
    )


def count_orders(transcript: Transcript, part: MeasurementPart, prices: TestPrices) -> tuple[Score, ...]:
    """The counts and the cost in US dollars; the cost is missing where a price is unknown."""
    ordered = tests_ordered(transcript, part)
    absent = [test for test in ordered if not test.in_record]
    return (
        _count(TESTS_ORDERED, len(ordered), _named(test.name for test in ordered)),
        _count(NOT_IN_RECORD, len(absent), _named(test.name for test in absent)),
        _count(IMAGE_REQUESTS, image_requests(transcript)),
        _count(IMAGE_REQUESTED, min(1, image_requests(transcript))),
        _count(DOCTOR_TURNS, doctor_turns(transcript)),
        _cost(ordered, prices),
    )


def _count(metric: str, number: int, evidence: str | None = None) -> Score:
    return Score(metric, float(number), "-", "rule", evidence or None)


def _named(names: Iterable[str]) -> str:
    return ", ".join(f"{name} × {times}" if times > 1 else name for name, times in Counter(names).items())


def _cost(ordered: tuple[OrderedTest, ...], prices: TestPrices) -> Score:
    dollars = [(test.name, prices.dollars(test.said)) for test in ordered]
    unknown = list(dict.fromkeys(name for name, price in dollars if price is None))
    if unknown:
        return Score(COST, None, "-", "rule", missing_reason=f"{UNKNOWN_PRICE}: {', '.join(unknown)}")
    note = "illustrative prices" if prices.illustrative else prices.source
    return Score(COST, sum(price for _, price in dollars if price is not None), "-", "rule", note)
