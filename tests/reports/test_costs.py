import json

import pytest
from scipy import stats

from openosce.reports import analyze_run
from openosce.reports.costs import Point, costs, costs_drawing, frontier
from openosce.runs.folder import RunReader
from openosce.statistics import Estimate

CHEAP = {"accuracy": [1, 0, 1, 0], "cost": [10, 30, 20, 40]}
DEAR = {"accuracy": [1, 1, 1, 0], "cost": [110, 130, 120, 140]}
WASTEFUL = {"accuracy": [1, 0, 0, 0], "cost": [210, 230, 220, 240]}


@pytest.fixture
def analyzed(sweep_run):
    def analyze(*given, **more):
        with RunReader(sweep_run(*given, **more)) as reader:
            return analyze_run(reader)

    return analyze


@pytest.fixture
def analysis(analyzed):
    return analyzed({"d": {"turns=10": CHEAP, "turns=20": DEAR, "turns=30": WASTEFUL}}, unswept={"d": [1, 1, 0, 1]})


def point(arm, cost, accuracy):
    return Point("d", arm, Estimate(cost, None, None, 9, ""), Estimate(accuracy, None, None, 9, ""))


def test_a_correct_answer_costs_what_all_encounters_cost_by_how_many_were_right(analysis):
    assert [row.found.ratio for row in analysis.cost_per_correct] == pytest.approx([100 / 2, 500 / 3, 900])


def test_the_bounds_of_the_cost_are_those_a_t_test_just_refuses(analyzed):
    right, dollars = [1, 1, 1, 0, 1, 1, 0, 1], [10, 30, 20, 40, 15, 25, 35, 5]
    values = {"accuracy": right, "cost": dollars}
    (row, _) = analyzed({"d": {"x=1": values, "x=2": values}}).cost_per_correct
    residuals = [cost - row.found.ci_high * mark for cost, mark in zip(dollars, right, strict=True)]
    assert stats.ttest_1samp(residuals, 0).pvalue == pytest.approx(0.05)


def test_a_doctor_that_is_never_right_has_no_cost_per_correct_answer_and_a_reason(analyzed):
    never = {"accuracy": [0, 0, 0], "cost": [10, 20, 30]}
    analysis = analyzed({"d": {"x=1": never, "x=2": never}})
    assert analysis.cost_per_correct[0].found.ratio is None
    sheet = costs(analysis, "d")
    assert sheet.rows[0][3] == "- (1)"
    assert "nothing can be divided by it" in sheet.notes[0]


def test_the_table_names_those_that_nothing_beats(analysis):
    sheet = costs(analysis, "d")
    assert [(row[0], row[1], row[-1]) for row in sheet.rows] == [
        ("turns=10", "0.500", "yes"),
        ("turns=20", "0.750", "yes"),
        ("turns=30", "0.250", ""),
    ]


def test_a_point_is_beaten_by_one_as_accurate_and_cheaper_and_equals_stay():
    found = [point("a", 10, 0.5), point("b", 20, 0.5), point("c", 30, 0.9), point("d", 10, 0.5), point("e", 40, 0.8)]
    assert [one.arm for one in frontier(found)] == ["a", "d", "c"]


def test_the_document_has_the_cost_of_every_arm_in_which_it_is_measured(analysis):
    rows = json.loads(json.dumps(analysis.to_json(), allow_nan=False))["cost_per_correct"]
    assert [row["arm"] for row in rows] == ["turns=10", "turns=20", "turns=30"]
    assert set(rows[0]) == set("model arm metric n_cases ratio ci_low ci_high method reason".split())


def test_accuracy_is_drawn_against_cost_with_intervals_both_ways_and_told_in_words(analysis):
    drawing = costs_drawing(analysis)
    (axes,) = drawing.figure.axes
    assert axes.get_legend_handles_labels()[1] == [" d, turns=10", " d, turns=20", " d, turns=30", " unbeaten"]
    assert len(axes.collections) == 6
    assert "d, turns=20: $125, 0.75" in drawing.words
    assert drawing.words.endswith("Unbeaten: d, turns=10; d, turns=20")


def test_of_many_points_those_that_nothing_beats_are_named(analyzed):
    doctors = {
        f"d{n}": {f"bias=b{k}": {"accuracy": [1, 0], "cost": [n + 10, k + 20]} for k in range(24)} for n in (1, 2)
    }
    drawing = costs_drawing(analyzed(doctors))
    (axes,) = drawing.figure.axes
    assert axes.get_legend_handles_labels()[1] == [" d1, bias=b0", " unbeaten"]
    assert "47 of 48 points" in drawing.title


def test_where_nothing_is_known_of_costs_nothing_is_drawn(analyzed):
    analysis = analyzed({"d": {"x=1": {"accuracy": [1, 0]}, "x=2": {"accuracy": [1, 1]}}})
    assert costs(analysis, "d") is None
    assert costs_drawing(analysis) is None
    unpriced = {"accuracy": [1, 0], "cost": [None, None]}
    assert costs_drawing(analyzed({"d": {"x=1": unpriced, "x=2": unpriced}}, name="unpriced")) is None
