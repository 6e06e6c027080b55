import pytest
from scipy import stats

from openosce.grading.metric import Metric
from openosce.reports import analyze_run
from openosce.reports.conduct import unmeasured
from openosce.reports.measures import cells, differences, groups, measures
from openosce.reports.sections import sections
from openosce.reports.sheets import arms_compared
from openosce.runs.folder import RunReader

CALM = {"accuracy": [1, 0, 1, 1], "confidence": [9, 8, 9, 10], "tests_ordered": [3, 4, 2, 3], "refused": [0, 0, 1, 0]}
DOUBTFUL = {"accuracy": [1, 0, 1, 0], "confidence": [4, 3, 5, None], "tests_ordered": [3, 4, 2, 3], "refused": [0] * 4}
RATING = Metric("confidence", low=1, high=10)


@pytest.fixture
def analysis(sweep_run):
    with RunReader(sweep_run({"d": {"bias=none": CALM, "bias=patient:self_diagnosis": DOUBTFUL}})) as reader:
        return analyze_run(reader)


def test_each_scale_has_a_table_with_a_row_a_condition_and_a_column_a_measure(analysis):
    ratings, counts, shares = measures(analysis, "d")
    assert [sheet.title for sheet in (ratings, counts, shares)] == ["d: confidence", "d: tests ordered", "d: refused"]
    low, high = stats.ttest_1samp([9, 8, 9, 10], 0).confidence_interval(0.95)
    assert ratings.rows[0] == ("bias=none", f"9.00 [{low:.2f}, {high:.2f}]", "0")
    assert ratings.rows[1][0] == "bias=patient:self_diagnosis"
    assert ratings.rows[1][2] == "confidence 1"
    assert shares.rows[0][1].startswith("0.250 [")
    assert shares.notes[-1] == "refused (0 to 1): the model refused to act out the bias"


def test_what_cannot_be_computed_has_its_reason_below_the_table(analysis):
    shares = measures(analysis, "d")[2]
    assert shares.rows[1][1] == "0.000 [-] (2)"
    assert "same value" in shares.notes[1]


def test_the_difference_from_the_reference_is_paired_and_marked_where_it_is_significant(analysis):
    ratings, counts, _ = differences(analysis, "d")
    assert ratings.title == "d, difference from bias=none: confidence"
    low, high = stats.ttest_1samp([4 - 9, 3 - 8, 5 - 9], 0).confidence_interval(0.95)
    assert ratings.rows == (("bias=patient:self_diagnosis", f"-4.67 [{low:.2f}, {high:.2f}]*"),)
    assert "adjusted (Holm)" in ratings.notes[0]
    assert counts.rows[0][1] == "+0.00 [-] (1)"


def test_the_table_of_comparisons_is_about_the_headline_alone(analysis):
    sheet = arms_compared(analysis, "d")
    assert len(sheet.rows) == 1
    assert sheet.rows[0][1].startswith("-0.250")


def test_why_other_measures_are_missing_is_told_and_leaves_the_headline_alone(analysis):
    assert analysis.n_missing == 0
    assert unmeasured(analysis).rows == (("d", "confidence", "no answer", "1"),)
    assert [(row["metric"], row["count"]) for row in analysis.to_json()["unmeasured"]] == [("confidence", 1)]


def test_an_arm_without_the_measure_is_neither_missing_nor_in_its_table(sweep_run):
    values = {"accuracy": [1, 0], "confidence": [7, 8]}
    run = sweep_run({"d": {"x=1": values, "x=2": values}}, unswept={"d": [1, 1]})
    with RunReader(run) as reader:
        analysis = analyze_run(reader)
    assert analysis.unmeasured == ()
    assert [row[0] for row in measures(analysis, "d")[0].rows] == ["x=1", "x=2"]


def test_a_run_that_measures_accuracy_alone_has_no_such_section(simple_run):
    with RunReader(simple_run({"d": {"x": [[1], [0]]}})) as reader:
        found = {section.name: section.sheets for section in sections(analyze_run(reader))}
    assert found["measures"] == found["normalized"] == found["costs"] == ()


def test_tables_hold_three_measures_at_most_and_share_them_out_evenly():
    counts = [Metric(f"m{n}", high=None) for n in range(4)]
    found = groups([counts[0], RATING, *counts[1:]])
    assert [[metric.name for metric in group] for group in found] == [["m0", "m1"], ["m2", "m3"], ["confidence"]]


def test_a_column_has_as_many_decimals_as_its_values_are_worth():
    dollars = Metric("cost", high=None)
    assert cells(dollars, [(3.3, -62.1, 68.7, 9), (-49.2, -111, 13, 9)], sign="+") == ["+3 [-62, 69]", "-49 [-111, 13]"]
    assert cells(RATING, [(7.5, None, None, 1), (None, None, None, 0)]) == ["7.50 [-]", "-"]
    assert cells(Metric("refused"), [(0.5, 0.25, 0.75, 120)]) == ["0.500 [0.250, 0.750]"]
