from importlib.resources import files

import pytest

from openosce.reports.papers.cells import Verdict, cell, compare_printed
from openosce.reports.papers.typed import figures

TYPED = sorted(file.name for file in (files("openosce.reports.papers") / "figures").iterdir())


@pytest.mark.parametrize(
    ("printed", "ours", "verdict"),
    [
        ("0.820", 0.8204, Verdict.SAME),
        ("0.820", 0.8196, Verdict.SAME),
        ("35.55", 35.5555, Verdict.ROUNDING),  # cut off
        ("0.013", 0.0125, Verdict.SAME),
        ("0.012", 0.0125, Verdict.SAME),  # to even
        ("0.401", 0.4014999999999999, Verdict.SAME),  # half a unit, but for the float's last bits
        ("0.183", 0.18349999999999997, Verdict.SAME),
        ("0.013", 0.01245, Verdict.ROUNDING),  # rounded twice
        ("0.013", 0.0142, Verdict.DIFFERS),
        ("-0.02", -0.0249, Verdict.SAME),
        ("13", 13.0, Verdict.SAME),
        ("13", 12.0, Verdict.DIFFERS),
        ("0.5", None, Verdict.NOT_RECOMPUTED),
    ],
)
def test_a_printed_figure_is_compared_to_its_own_digits(printed, ours, verdict):
    assert compare_printed(printed, ours) is verdict


def test_a_reason_is_told_only_where_the_figures_are_not_the_same():
    assert cell("T", "row", "0.5", 0.5, "misprint").reason is None
    assert cell("T", "row", "0.5", 0.7, "misprint").reason == "misprint"


def test_what_is_no_number_is_refused():
    with pytest.raises(ValueError, match="expected a printed number, got 'n/a'"):
        compare_printed("n/a", 0.5)


@pytest.mark.parametrize("name", TYPED)
def test_every_typed_row_has_a_text_in_each_column_and_no_other(name):
    rows = figures(name)
    assert rows
    assert [row for row in rows if not all(isinstance(text, str) for text in row.values())] == []
