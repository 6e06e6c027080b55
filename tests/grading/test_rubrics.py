import json

import pytest

from openosce.cases import read_cases
from openosce.cases.record import AdditionalDiagnosis, DifferentialItem
from openosce.grading.marks import Mark, differential_scores, missing_scores, not_judged, scores_of
from openosce.grading.rubrics import (
    AS_PROMPTED,
    AS_PUBLISHED,
    CLOSURE_RUBRIC,
    METRICS,
    PHYSICAL_RUBRIC,
    RUBRICS,
    WITHOUT_EXTRAS,
    coverage,
    differential_maximum,
)
from openosce.grading.student_output import SECTIONS


def physical(s1, s2, s3):
    """Marks of parts on 0-100 as the tables print them."""
    return {"coverage": s1 * 0.6, "reasons": s2 * 0.4, "extra_exams": s3}


def closure(*parts):
    highs = (20, 30, 30, 10, 10)
    marks = (part * high / 100 for part, high in zip(parts, highs, strict=True))
    return dict(zip(METRICS["closure"], marks, strict=True))


@pytest.mark.parametrize(
    ("parts", "overall"),
    [  # MedQA-CS 2024, Table 34
        ((16.55, 87.5, -3.18), 43.34),
        ((37.05, 79.55, -10.91), 48.59),
        ((51.02, 80.68, -20), 52.89),
        ((38.07, 86.36, -14.09), 50.34),
        ((51.82, 75, -20.45), 50.86),
        ((46.36, 80.68, -14.55), 52.82),
        # Table 35, GPT-4: cases 15, 18 (no target examinations), 28
        ((20, 100, -20), 42),
        ((0, 0, -30), -15),
        ((66.67, 100, -10), 75),
    ],
)
def test_the_published_totals_of_physical_examinations_come_out_as_published(parts, overall):
    assert PHYSICAL_RUBRIC.total(physical(*parts), AS_PUBLISHED) == pytest.approx(overall, abs=0.02)


@pytest.mark.parametrize(
    ("parts", "overall"),
    [  # MedQA-CS 2024, Table 41
        ((51.82, 51.89, 80.3, 100, 93.41), 66.52),
        ((69.32, 64.58, 88.26, 100, 98.64), 77.21),
        ((67.5, 64.77, 96.21, 100, 97.95), 78.45),
        ((75.68, 71.74, 97.35, 100, 99.55), 83.26),
        ((68.3, 64.39, 90.15, 100, 99.55), 77.4),
        ((69.77, 64.02, 92.27, 100, 98.64), 77.88),
        # Table 42, GPT-3.5: cases 3 and 6
        ((0, 33.33, 100, 100, 100), 53.33),
        ((50, 50, 83.33, 100, 70), 63.67),
    ],
)
def test_the_published_totals_of_closures_come_out_as_published_and_not_as_prompted(parts, overall):
    assert CLOSURE_RUBRIC.total(closure(*parts), AS_PUBLISHED) == pytest.approx(overall, abs=0.02)
    assert CLOSURE_RUBRIC.total(closure(*parts), AS_PROMPTED) != pytest.approx(overall, abs=0.5)


def test_as_prompted_is_the_sum_of_the_parts(shared):
    annotations = json.loads((shared / "data" / "medqa-cs" / "expert_annotations.json").read_text(encoding="utf-8"))
    agreeing = 0
    for case, experts in annotations["physical_exam"].items():
        for number, printed in enumerate(experts, 1):
            marks = {"coverage": printed["s1"], "reasons": printed["s2"], "extra_exams": printed["s3"]}
            total = PHYSICAL_RUBRIC.total(marks, AS_PROMPTED)
            if (case, number) == ("10", 3):  # printed as 0, beside parts that sum to 45
                assert (printed["overall"], total) == (0, pytest.approx(45))
            else:
                assert total == pytest.approx(printed["overall"])
                agreeing += 1
    assert agreeing == 29


def test_experts_and_examiners_are_compared_without_the_penalty():
    # Table 33, case 4: experts 36 + 40 with 0, 1 and 2 extra examinations, mean 76.0.
    marks = [{"coverage": 36, "reasons": 40, "extra_exams": extra} for extra in (-20, 0, -10)]
    assert [PHYSICAL_RUBRIC.total(one, WITHOUT_EXTRAS) for one in marks] == [pytest.approx(76)] * 3


@pytest.mark.parametrize("weighting", [AS_PUBLISHED, AS_PROMPTED])
def test_full_marks_make_a_hundred_under_every_weighting(weighting):
    for rubric in RUBRICS.values():
        if rubric.weights:
            full = {criterion.name: criterion.high for criterion in rubric.criteria}
            assert rubric.total(full, weighting) == pytest.approx(100)


def test_a_criterion_that_does_not_apply_leaves_its_weight_to_the_others():
    marks = {"coverage": 30.0, "reasons": None, "extra_exams": -10.0}
    assert PHYSICAL_RUBRIC.total(marks, AS_PROMPTED) == pytest.approx(50 - 10)
    assert PHYSICAL_RUBRIC.total(dict.fromkeys(marks), AS_PROMPTED) is None


def test_a_row_covered_in_part_counts_half_and_finer_by_maneuvers():
    # Table 19: case 1, 2.5 of 5 rows are 30; case 4, 3 of 5 are 36.
    assert coverage([(1, 1), (2, 2), (1, 3), (0, 2), (0, 3)]) == pytest.approx(30)
    assert coverage([(1, 1)] * 3 + [(0, 1)] * 2) == pytest.approx(36)
    assert coverage([(1, 1), (2, 2), (1, 3), (0, 2), (0, 3)], finer=True) == pytest.approx(60 * 4 / 11)


def target(historical=3, physical=0):
    return DifferentialItem(diagnosis="x", historical=("h",) * historical, physical=("p",) * physical)


@pytest.mark.parametrize(
    ("targets", "maximum"),
    [
        ([target()] * 3, 49),
        ([target(physical=1), target(), target()], 50),
        ([target(physical=3)] * 2 + [target()], 55),
        ([target(physical=4), target(), target()], 52),
        ([target(historical=1)] * 3, 49),
        ([target(), target(), target(historical=0)], 46),
        ([target()] * 4, 49),
    ],
)
def test_the_maximum_of_a_differential_is_49_plus_its_examination_findings(targets, maximum):
    assert differential_maximum(targets) == maximum


def test_a_place_without_a_target_can_be_filled_by_an_additional_diagnosis():
    additional = [AdditionalDiagnosis(diagnosis="y", why="z")] * 2
    assert differential_maximum([target()] * 2, additional) == 26 + 5 + 10
    assert differential_maximum([target()] * 2) == 26 + 10
    assert differential_maximum([target()] * 3, additional) == 49


def test_the_starter_cases_maxima_are_those_of_the_formula():
    for case in read_cases("starter"):
        differential = case.station.differential
        assert len(differential) == 3
        assert differential_maximum(differential) == 49 + sum(len(item.physical) for item in differential)


def test_marks_out_of_range_or_between_the_steps_have_a_problem():
    reasons, extra = PHYSICAL_RUBRIC.criterion("reasons"), PHYSICAL_RUBRIC.criterion("extra_exams")
    assert reasons.problem(20) is None and extra.problem(-30) is None
    assert reasons.problem(30) == "reasons: expected a multiple of 20, came 30"
    assert reasons.problem(60) and extra.problem(10) and extra.problem(-5)


def test_every_section_has_a_score_a_criterion_and_a_total_under_both_weightings():
    for section in SECTIONS:
        scores = missing_scores(section, "m", "no_answer: cut off")
        assert [(s.metric, s.policy) for s in scores] == [
            *((metric, "-") for metric in METRICS[section]),
            ("score", AS_PUBLISHED),
            ("score", AS_PROMPTED),
        ]
        assert {(s.value, s.missing_reason) for s in scores} == {(None, "no_answer: cut off")}


def test_a_total_over_what_applies_says_what_is_left_out():
    marks = {"coverage": Mark(30.0), "reasons": not_judged("x", "reasons"), "extra_exams": Mark(0.0)}
    published = next(score for score in scores_of("physical_exam", marks, "x") if score.policy == AS_PUBLISHED)
    assert published.value == pytest.approx(50)
    assert "without reasons" in published.evidence
    nothing = scores_of("closure", {name: not_judged("x", name) for name in METRICS["closure"]}, "x")
    assert {score.value for score in nothing} == {None}
    assert all(score.missing_reason.startswith("not_judged: x cannot judge") for score in nothing)


def test_a_part_of_a_differential_that_nobody_marked_is_no_zero():
    marks = {name: Mark(1.0) for name in ("names", "historical", "order", "quality")}
    scores = differential_scores({**marks, "physical": Mark(None, None, "not_judged: x")}, 49, "m")
    totals = [score for score in scores if score.metric in ("score", "points")]
    assert len(totals) == 3
    assert all((score.value, score.missing_reason) == (None, "not_judged: x") for score in totals)
