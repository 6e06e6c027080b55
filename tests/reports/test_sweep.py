import json
import xml.etree.ElementTree as ET

import pytest
from scipy import stats

from openosce.reports import analysis_tables, analyze_run, terminal, write_report
from openosce.reports.canvas import inline
from openosce.reports.conduct import endings
from openosce.reports.figures import drawings
from openosce.reports.plan import Plan
from openosce.reports.sheets import by_group
from openosce.reports.sweep import normalized, ratings_drawing, sweep_drawing
from openosce.reports.sweep_figure import Swept
from openosce.reports.tables_out import write_tables
from openosce.runs.folder import Column, RunReader

NONE, HALF, SAME = [1, 1, 1, 0, 1, 1], [1, 0, 1, 0, 0, 1], [1, 1, 1, 0, 1, 1]
BIASES = {
    "bias=none": {"accuracy": NONE},
    "bias=doctor:recency": {"accuracy": HALF},
    "bias=patient:race": {"accuracy": SAME},
}
UNSWEPT = {"d": [1, 1, 1, 1, 1, 0]}


@pytest.fixture
def analyzed(sweep_run):
    def analyze(*given, **more):
        with RunReader(sweep_run(*given, **more)) as reader:
            return analyze_run(reader)

    return analyze


def plan_of(*conditions, arms=("dialogue",), reference=None):
    columns = tuple(Column(f"{name} {arm}", name, arm) for name in conditions for arm in arms)
    return Plan(("d",), columns, 1, "paper@1", reference=reference or columns[0].label)


def printed(renderable):
    console = terminal()
    with console.capture() as captured:
        console.print(renderable)
    return captured.get()


def test_a_condition_is_normalized_by_the_reference_over_the_same_cases(analyzed):
    recency, race = analyzed({"d": BIASES}).normalized
    assert (recency.arm, recency.reference, recency.metric) == ("bias=doctor:recency", "bias=none", "accuracy")
    assert (recency.found.ratio, recency.found.n_cases) == (pytest.approx(3 / 5), 6)
    residuals = [a - recency.found.ci_low * b for a, b in zip(HALF, NONE, strict=True)]
    assert stats.ttest_1samp(residuals, 0).pvalue == pytest.approx(0.05)
    assert (race.found.ratio, race.found.ci_low) == (1, None)
    assert "same multiple" in race.found.reason


def test_a_case_without_a_value_on_one_side_leaves_the_ratio(analyzed):
    found = analyzed({"d": {"x=1": {"accuracy": [1, None, 1]}, "x=2": {"accuracy": [1, 1, None]}}}).normalized
    assert (found[0].found.n_cases, found[0].found.ratio) == (1, 1)


def test_the_document_tells_the_ratios_with_the_agreed_keys(analyzed):
    document = json.loads(json.dumps(analyzed({"d": BIASES}, unswept=UNSWEPT).to_json(), allow_nan=False))
    rows = document["normalized"]
    assert [row["arm"] for row in rows] == ["bias=doctor:recency", "bias=patient:race"]
    assert set(rows[0]) == set("model arm reference metric n_cases ratio ci_low ci_high method reason".split())


def test_a_reference_that_is_never_right_has_no_ratios_and_says_why(analyzed):
    analysis = analyzed({"d": {"x=1": {"accuracy": [0, 0, 0]}, "x=2": {"accuracy": [1, 0, 1]}}})
    assert (analysis.normalized[0].found.ratio, analysis.normalized[0].found.ci_low) == (None, None)
    sheet = normalized(analysis, "d")
    assert sheet.rows == (("x=2", "- (1)", "3"),)
    assert "nothing can be divided by it" in sheet.notes[0]


def test_without_a_sweep_nothing_is_normalized(simple_run):
    with RunReader(simple_run({"d": {"x": [[1], [0]], "y": [[1], [1]]}})) as reader:
        analysis = analyze_run(reader)
    assert analysis.normalized == ()
    assert normalized(analysis, "d") is None
    assert sweep_drawing(analysis) is None


def test_every_other_column_is_compared_with_the_reference_alone(analyzed):
    pairs = [(row.a.arm, row.b.arm) for row in analyzed({"d": BIASES}, unswept=UNSWEPT).comparisons]
    others = ("vignette_mcq", "bias=doctor:recency", "bias=patient:race")
    assert pairs == [(other, "bias=none") for other in others]


def test_where_several_arms_are_swept_each_is_compared_with_itself_in_the_reference():
    plan = plan_of("cap=4", "cap=9", arms=("mcq", "frq"))
    assert plan.baseline("cap=9 frq") == "cap=4 frq"
    assert plan.compared_with("cap=9 frq") == "cap=4 frq"
    assert plan.compared_with("cap=4 frq") == "cap=4 mcq"
    assert plan.compared_with("cap=4 mcq") is None


def test_a_reference_that_is_no_column_compares_nothing():
    plan = plan_of("cap=4", "cap=9", reference="gone")
    assert plan.baseline("cap=9 dialogue") is None


@pytest.mark.parametrize(
    ("conditions", "keys", "numeric"),
    [
        (("turns=10", "turns=20.5"), ("turns",), 0),
        (("bias=none", "bias=doctor:race"), ("bias",), None),
        (("turns=10, patient=a/b", "turns=20, patient=a/b"), ("turns", "patient"), 0),
        (("turns=1, cap=2", "turns=2, cap=3"), ("turns", "cap"), None),
        (("note=a, b", "note=c"), ("note",), None),
        (("x=a, y=1", "x=b"), (), None),
        (("turns=nan", "turns=1"), ("turns",), None),
        (("text",), (), None),
    ],
)
def test_what_is_swept_is_read_from_the_names_of_the_conditions(conditions, keys, numeric):
    swept = Swept(plan_of(*conditions))
    assert (swept.keys, swept.numeric) == (keys, numeric)


def test_numbers_are_drawn_as_a_line_a_doctor_at_their_values(analyzed):
    turns = {f"turns={n}": {"accuracy": [1, 0, 1, n > 10]} for n in (10, 15, 30)}
    drawing = sweep_drawing(analyzed({"a": turns, "b": turns}, unswept={"a": [1, 0, 1, 1], "b": [1, 1, 1, 0]}))
    (axes,) = drawing.figure.axes
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["10", "15", "30"]
    assert axes.get_xlabel() == "turns"
    labels = axes.get_legend_handles_labels()[1]
    assert labels == [" a", " b", " a, vignette_mcq", " b, vignette_mcq"]
    assert "a: 10 0.50, 15 0.75, 30 0.75" in drawing.words


def test_numbers_too_near_each_other_stand_at_equal_distances(analyzed):
    turns = {f"turns={n}": {"accuracy": [1, 0]} for n in (1, 2, 500)}
    (axes,) = sweep_drawing(analyzed({"d": turns})).figure.axes
    assert list(axes.get_xticks()) == [0, 1, 2]


def test_names_are_drawn_as_a_row_each_with_the_reference_dashed_and_a_panel_a_doctor(analyzed):
    drawing = sweep_drawing(analyzed({"a": BIASES, "b": BIASES}, unswept={"a": NONE}))
    first, second = drawing.figure.axes
    assert [axes.get_title() for axes in (first, second)] == ["a", "b"]
    rows = [tick.get_text() for tick in first.get_yticklabels()]
    assert rows == ["none", "doctor:recency", "patient:race", "vignette_mcq"]
    (dashed,) = [line for line in first.lines if line.get_linestyle() == "--"]
    assert list(dashed.get_xdata()) == pytest.approx([5 / 6, 5 / 6])
    assert "bias=doctor:recency 0.50" in drawing.words


def test_the_labels_of_twenty_four_conditions_do_not_overlap(analyzed):
    biases = {f"bias=patient:socioeconomic_{n:02}": {"accuracy": [1, 0, n % 2]} for n in range(24)}
    figure = sweep_drawing(analyzed({f"doctor {d}": biases for d in range(2)})).figure
    figure.draw_without_rendering()
    boxes = [tick.get_window_extent() for tick in figure.axes[0].get_yticklabels()]
    assert len(boxes) == 24
    assert not any(one.overlaps(other) for n, one in enumerate(boxes) for other in boxes[:n])
    assert min(box.x0 for box in boxes) >= 0


def test_a_sweep_of_hundreds_of_conditions_is_drawn_in_part_and_says_so(analyzed):
    many = {f"bias=b{n}": {"accuracy": [n % 2]} for n in range(90)}
    drawing = sweep_drawing(analyzed({"d": many}))
    assert "the tables have them all" in drawing.title
    assert drawing.figure.get_figheight() < 100


def test_ratings_are_drawn_by_condition_in_a_panel_each(analyzed):
    values = {"accuracy": [1, 0, 1], "confidence": [7, 8, 9], "compliance": [3, None, 5], "tests_ordered": [1, 2, 3]}
    drawing = ratings_drawing(analyzed({"d": {"bias=none": values, "bias=patient:race": values}}))
    assert [axes.get_title() for axes in drawing.figure.axes] == ["d\nconfidence", "d\ncompliance"]
    assert "d, compliance: bias=none 4.00" in drawing.words


def test_a_sweep_has_one_picture_of_its_conditions_on_page_and_in_files(sweep_run, analyzed):
    analysis = analyzed({"d": BIASES})
    assert [drawing.name for drawing in drawings(analysis)] == ["sweep", "turns"]
    assert ET.fromstring(inline(sweep_drawing(analysis))).tag.endswith("svg")
    page = write_report(sweep_run({"d": BIASES}, name="again")).read_text(encoding="utf-8")
    assert 'id="normalized"' in page
    assert 'aria-label="Accuracy by condition.' in page
    assert "3 conditions, 3 arms" in " ".join(page.split())


def test_endings_are_told_by_condition_in_the_order_of_the_sweep(analyzed):
    turns = {f"turns={n}": {"accuracy": [1, 0]} for n in (30, 4)}
    sheets = endings(analyzed({"a": turns, "b": turns}))
    assert [sheet.title for sheet in sheets] == ["How encounters ended: a", "How encounters ended: b"]
    assert [(row[0], row[1], row[2], row[3]) for row in sheets[0].rows] == [
        ("turns=30", "diagnosed", "2", "100%"),
        ("turns=4", "diagnosed", "2", "100%"),
    ]


def test_tables_with_a_column_a_condition_stop_at_ten_and_say_so(analyzed):
    many = {f"bias=b{n}": {"accuracy": [1, 0, 1, 1]} for n in range(14)}
    sheet = by_group(analyzed({"d": many}, unswept={"d": [1, 1, 1, 1]}), "d", "specialty")
    assert sheet.heads[:4] == ("specialty", "cases", "bias=b0", "vignette_mcq")
    assert len(sheet.heads) == 12
    assert "and 5 more conditions; osce analyze --json prints them all" in sheet.notes


def test_in_a_terminal_conditions_with_names_alike_get_numbers(analyzed):
    models = ("turbo-preview-one", "turbo-preview-two", "turbulent-preview-two")
    text = printed(analysis_tables(analyzed({"d": {f"patient=openai/{m}": {"accuracy": [1, 0, 1]} for m in models}})))
    table = text[text.index("d by specialty") :]
    assert "(1)" in table
    assert "(2) = patient=openai/turbo-preview-two" in table


def test_the_terminal_keeps_a_wide_sweep_within_its_columns(analyzed):
    biases = [f"bias=patient:sexual_orientation_{n}" for n in range(24)]
    values = {"accuracy": [1, 0, 1], "confidence": [7, None, 9], "compliance": [3, 4, 5], "cost": [10, 2_000, 30]}
    text = printed(analysis_tables(analyzed({"d": dict.fromkeys(biases, values)})))
    assert max(map(len, text.splitlines())) <= 100
    assert "d: normalized accuracy, against bias=patient:sexual_orientation_0" in " ".join(text.split())


def test_a_run_that_sweeps_a_lot_ends_with_its_headline_and_names_the_rest(analyzed):
    values = {"accuracy": [1, 0, 1], "confidence": [7, None, 9], "cost": [10, 2_000, 30]}
    few, many = (analyzed({"d": {f"bias=b{n}": values for n in range(size)}}) for size in (12, 24))
    assert printed(analysis_tables(few, brief=True)) == printed(analysis_tables(few))
    whole, brief = printed(analysis_tables(many)), printed(analysis_tables(many, brief=True))
    assert "d: normalized accuracy" in brief and "confidence" not in brief and "confidence" in whole
    assert brief.count("bias=b23") == 2 < whole.count("bias=b23")
    last = " ".join(brief[brief.index("in the report, and by osce analyze:") :].split())
    assert "other measures, accuracy and cost" in last
    assert "in the report, and by" not in whole


def test_every_ratio_comes_as_a_file_with_all_its_digits(analyzed, tmp_path):
    analysis = analyzed({"d": BIASES})
    names = {path.name for path in write_tables(analysis, tmp_path / "tables")}
    assert {"all-normalized.csv", "normalized.csv", "normalized.tex"} <= names
    assert str(analysis.normalized[0].found.ci_low) in (tmp_path / "tables" / "all-normalized.csv").read_text()


def test_hostile_names_of_conditions_stay_text(sweep_run):
    evil = {"bias=<script>alert(1)</script>$_{": {"accuracy": [1, 0]}, "bias=\x1b[31m, x=2": {"accuracy": [0, 1]}}
    page = write_report(sweep_run({"d": evil})).read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "\x1b" not in page
