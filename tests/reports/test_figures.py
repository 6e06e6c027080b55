import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from openosce.errors import RunFolderError
from openosce.grading.metric import Metric
from openosce.reports import analyze_run
from openosce.reports.canvas import inline
from openosce.reports.figure import accuracy_drawing, panels
from openosce.reports.figures import drawings, specialty_drawing, turns_drawing, write_figures
from openosce.runs.folder import RunReader

ARMS = ("summarized_mcq", "multi_turn_own", "single_turn_frq", "vignette_frq", "multi_turn_mcq", "vignette_mcq")


@pytest.fixture
def analyzed(simple_run):
    def analyze(*given, **more):
        with RunReader(simple_run(*given, **more)) as reader:
            return analyze_run(reader)

    return analyze


def written(axes):
    return [text.get_text() for text in axes.texts]


def test_arms_stand_in_the_order_of_the_paper_with_choices_and_free_responses_apart():
    mcq, frq = panels(ARMS)
    assert mcq.arms == ("vignette_mcq", "multi_turn_mcq", "summarized_mcq")
    assert frq.arms == ("vignette_frq", "single_turn_frq", "multi_turn_own")
    assert (mcq.title, frq.title) == ("multiple choice", "free response")


def test_arms_of_another_benchmark_keep_their_order_in_one_panel():
    (panel,) = panels(("qa", "closure", "diagnosis"))
    assert panel.arms == ("qa", "closure", "diagnosis")


def test_neighbouring_arms_have_brackets_with_holms_p(analyzed):
    marks = {"vignette_frq": [[1]] * 9 + [[0]], "multi_turn_frq": [[0]] * 9 + [[1]], "single_turn_frq": [[0]] * 10}
    analysis = analyzed({"d": marks})
    (axes,) = accuracy_drawing(analysis).figure.axes
    (first, second) = [row for row in analysis.comparisons if "multi_turn_frq" in (row.a.arm, row.b.arm)]
    assert written(axes) == [f"p={first.p_adjusted:.2g}", f"p={second.p_adjusted:.2g}"]


def test_where_nothing_was_tested_there_is_no_bracket(analyzed):
    same = {"vignette_frq": [[1], [1]], "multi_turn_frq": [[1], [1]]}
    (axes,) = accuracy_drawing(analyzed({"d": same})).figure.axes
    assert written(axes) == []


def test_with_many_doctors_brackets_would_be_clutter_and_are_left_out(analyzed):
    arms = {f"{name}_frq": [[1], [0], [1]] for name in ("vignette", "multi_turn", "single_turn", "summarized")}
    (axes,) = accuracy_drawing(analyzed({f"d{n}": arms for n in range(3)})).figure.axes
    assert written(axes) == []


def test_specialties_get_a_panel_each_where_they_have_enough_cases(analyzed):
    specialties = ["Cardiology"] * 6 + ["Dermatology"] * 5 + ["Neurology"] * 4
    analysis = analyzed({"d": {"x_mcq": [[1], [0], [1]] * 5, "x_frq": [[0], [0], [1]] * 5}}, specialties=specialties)
    drawing = specialty_drawing(analysis)
    assert [axes.get_title() for axes in drawing.figure.axes if axes.get_title()] == [
        "Cardiology (6)",
        "Dermatology (5)",
    ]
    assert "1 more in the table" in drawing.title
    assert "Cardiology: 0.67, 0.33" in drawing.words


def test_two_small_specialties_make_no_figure(analyzed):
    analysis = analyzed({"d": {"x": [[1], [0]]}}, specialties=["Cardiology", "Neurology"])
    assert specialty_drawing(analysis) is None


def test_the_turns_are_drawn_by_how_conversations_ended_and_told_in_words(analyzed):
    drawing = turns_drawing(analyzed({"d": {"x": [[1], [0]]}}))
    assert "d, diagnosed: 2 conversations of 1 to 1 turns" in drawing.words


def test_a_run_without_conversations_has_no_figure_of_turns(records, tmp_path):
    run = records.write(tmp_path / "run", records.manifest(["d"], ["x"], 1), [], [])
    with RunReader(run) as reader:
        assert [drawing.name for drawing in drawings(analyze_run(reader))] == ["accuracy"]


def test_on_the_page_a_figure_needs_no_style_and_its_names_are_its_own(analyzed):
    drawing = accuracy_drawing(analyzed({"a": {"x_mcq": [[1], [0]]}, "b": {"x_mcq": [[1], [1]]}}))
    svg = inline(drawing)
    assert ET.fromstring(svg).tag.endswith("svg")
    assert "style" not in svg
    assert "<!--" not in svg
    assert "currentColor" in svg
    assert "var(--colour-0)" in svg
    ids, uses = re.findall(r'id="([^"]*)"', svg), re.findall(r'(?:href="#|url\(#)([^")]*)', svg)
    assert all(name.startswith("accuracy-") for name in ids)
    assert set(uses) <= set(ids)


def test_files_are_png_and_svg_and_the_same_each_time(analyzed, tmp_path):
    analysis = analyzed({"$_{x}": {"vignette_mcq": [[1], [0]], "multi_turn_mcq": [[0], [1]]}})
    first, second = tmp_path / "figures" / "new", tmp_path / "again"
    names = [path.name for path in write_figures(analysis, first)]
    assert names == ["accuracy.svg", "accuracy.png", "turns.svg", "turns.png"]
    for path in write_figures(analysis, second):
        assert path.read_bytes() == (first / path.name).read_bytes()
    assert (first / "accuracy.png").read_bytes().startswith(b"\x89PNG")
    assert ET.parse(first / "accuracy.svg").getroot().tag.endswith("svg")


def test_a_folder_that_cannot_be_written_is_an_error_of_one_line(analyzed, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match="cannot be written"):
        write_figures(analyzed({"d": {"x": [[1]]}}), tmp_path / "file")


def of_100(analysis):
    """The same analysis, its headline a score from 0 to 100, as in MedQA-CS, where a penalty may pass 0."""
    score = Metric("score", low=None, high=100.0)
    estimates = tuple(replace(row, metric=score) for row in analysis.estimates)
    return replace(analysis, plan=replace(analysis.plan, metrics=(score,)), estimates=estimates)


def test_a_score_of_100_has_an_axis_of_100_and_its_name(analyzed):
    drawing = accuracy_drawing(of_100(analyzed({"d": {"info_gathering": [[44], [36]], "differential": [[50], [20]]}})))
    (axes,) = drawing.figure.axes
    assert [*axes.get_yticks()] == [0, 20, 40, 60, 80, 100]
    assert axes.get_ylim()[0] <= 0 and axes.get_ylim()[1] >= 100
    assert axes.get_ylabel().startswith("score,")
    assert drawing.title == "Score by arm"
    assert drawing.words.startswith("Score by arm.")


def test_specialties_have_the_scale_of_the_headline(analyzed):
    marks = {"d": {"differential": [[44], [36], [50]] * 4}}
    drawing = specialty_drawing(of_100(analyzed(marks, specialties=["Cardiology"] * 6 + ["Neurology"] * 6)))
    first = drawing.figure.axes[0]
    assert [*first.get_yticks()] == [0, 50, 100]
    assert first.get_ylim()[1] > 100
    assert drawing.figure.get_supylabel() == "score, 95% interval"
    assert drawing.title.startswith("Score by specialty")


def test_chance_is_drawn_for_shares_of_right_answers_alone(analyzed):
    analysis = analyzed({"d": {"vignette_mcq": [[1], [0]]}})
    (share,), (score,) = accuracy_drawing(analysis).figure.axes, accuracy_drawing(of_100(analysis)).figure.axes
    assert len(share.get_lines()) == len(score.get_lines()) + 1


def test_an_arm_without_any_valid_answer_says_so(analyzed):
    (axes,) = accuracy_drawing(analyzed({"d": {"closure": [[None], [None]], "qa": [[1], [0]]}})).figure.axes
    (text,) = axes.texts
    assert text.get_text() == "no valid\nanswer"
    assert text.get_position()[0] == 0
