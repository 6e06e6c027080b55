"""What docs/reanalysis.md says of MedQA-CS: its commands run, and every figure is made here from what they print."""

import json
import re
from contextlib import chdir
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

from openosce.cli import app

PAGE = (Path(__file__).parents[1] / "docs" / "reanalysis.md").read_text(encoding="utf-8").partition("## MedQA-CS")[2]
PROSE = " ".join(PAGE.split())
COMPARE = "osce compare runs/medqa-cs-experts --to-paper"
SECTIONS = ("physical_exam", "closure", "differential")


def osce(folder, *words):
    with chdir(folder):
        done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, f"{words}: {done.output}"
    return done.stdout


@pytest.fixture(scope="module")
def compared(shared, tmp_path_factory):
    marks, folder = shared / "data" / "medqa-cs" / "expert_annotations.json", tmp_path_factory.mktemp("medqa-cs")
    osce(folder, "import", "medqa-cs-experts", str(marks), "--out", "runs/medqa-cs-experts")
    return json.loads(osce(folder, *COMPARE.split()[1:], "--json"))


def markdown(heads, rows):
    rule = "|---|" + "---:|" * (len(heads) - 1)
    head, *body = ("| " + " | ".join(map(str, line)) + " |" for line in (heads, *rows))
    return "\n".join((head, rule, *body))


def cells(document, table):
    return {cell["place"]: cell for cell in document["cells"] if cell["table"] == table}


def counts(document):
    """How the printed cells compare, a row a table and one for all."""
    keys = ("n_cells", "n_same", "n_rounding", "n_differs", "n_not_recomputed")
    rows = [(row["table"], *(row[key] for key in keys)) for row in document["summary"]]
    rows.append(("all", *map(sum, zip(*(row[1:] for row in rows), strict=True))))
    return markdown(("table", "cells", "same", "rounded or cut off", "differ", "not recomputed"), rows)


def experts_agree(found):
    """Table 5: printed, then from the marks as printed, then from the corrected ones."""
    table = cells(found, "Table 5")
    of = [("expert-1, expert-2", "1 and 2"), ("expert-1, expert-3", "1 and 3"), ("expert-2, expert-3", "2 and 3")]
    rows = []
    for section in SECTIONS:
        for statistic, symbol in (("pearson", "r"), ("kendall_tau_b", "τ"), ("kendalls_w", "W")):
            columns = ["expert-1, expert-2, expert-3"] if symbol == "W" else [raters for raters, _ in of]
            told = []
            for raters in columns:
                as_printed, right = (table[f"{section}: {statistic} of {raters}, marks {kind}"]
                                     for kind in ("as printed", "corrected"))  # fmt: skip
                told.append(f"{right['printed']}: {as_printed['recomputed']:.3f}, {right['recomputed']:.3f}")
            rows.append((f"{section}, {symbol}", *told, *["–"] * (3 - len(told))))
    return markdown(("experts", *(name for _, name in of)), rows)


def examiners(found):
    """Table 6: printed and recomputed, examiner against the mean of the experts."""
    table, rows = cells(found, "Table 6"), []
    for name in ("GPT-4", "GPT-3.5", "GPT-4o", "Opus", "Sonnet", "Haiku"):
        places = [f"{s}: {x} of experts, {name}" for s in SECTIONS[:2] for x in ("pearson", "kendall_tau_b")]
        rows.append((name, *(f"{table[p]['printed']}: {table[p]['recomputed']:.3f}" for p in places)))
    return markdown(("examiner", "physical_exam, r", "τ", "closure, r", "τ"), rows)


def weights(found):
    """Tables 34 and 41: the printed overall score, and what two ways of weighing its parts come to."""
    by_model = {}
    for table in ("Table 34", "Table 41"):
        for (place, fits), (_, stated) in list(pairwise(cells(found, table).items()))[::2]:
            row = (fits["printed"], f"{fits['recomputed']:.3f}", f"{stated['recomputed']:.3f}")
            by_model.setdefault(place.partition(":")[0], []).extend(row)
    heads = ("student", "T 34 prints", "½·S3", "S3", "T 41 prints", "weights of I.3.1", "of the prompt")
    return markdown(heads, [(model, *row) for model, row in by_model.items()])


def corrections(found):
    """The marks that other places of the paper contradict; they are of single items, not of sums."""
    right = [cell for cell in found["cells"] if re.search(r"expert-\d: \w+, corrected$", cell["place"])]
    rows = [(cell["table"], cell["place"].removesuffix(", corrected"), cell["printed"], f"{cell['recomputed']:g}")
            for cell in right]  # fmt: skip
    return markdown(("table", "mark", "printed", "needed elsewhere"), rows)


def sentences(found):
    unknown = [cell for cell in found["cells"] if "no correction that we know of" in (cell["reason"] or "")]
    sevens = [cell for cell in cells(found, "Table 7").values() if cell["verdict"] == "differs"]
    return [
        f"{len(unknown)} printed correlations are left",
        *(f"{cell['printed']} where {cell['reason']}" for cell in sevens),
    ]


TABLES = [counts, experts_agree, examiners, weights, corrections]
NAMED = (
    r"(Tables?|Appendix|MedQA-CS|T) ?(I\.3\.1|[\d-]+( and \d+|, \d+)*)|S3|1-5",
    r"GPT-?[\d.]+o?|https?://\S+|20\d\d",
)


@pytest.mark.parametrize("table", TABLES)
def test_every_table_of_medqa_cs_is_what_the_command_prints(compared, table):
    assert table(compared) in PAGE


def test_every_figure_of_medqa_cs_in_a_sentence_is_what_the_command_prints(compared):
    assert [one for one in sentences(compared) if one not in PROSE] == []


def test_no_figure_of_medqa_cs_is_unchecked(compared):
    rest = re.sub(r"^```.*?^```", "", PAGE, flags=re.MULTILINE | re.DOTALL)
    for table in TABLES:
        rest = rest.replace(table(compared), "")
    rest = " ".join(rest.split())
    for sentence in sentences(compared):
        rest = rest.replace(sentence, "")
    for pattern in NAMED:
        rest = re.sub(pattern, "", rest)
    assert re.findall(r"\d[\d.,]*", rest) == []


def test_the_command_of_medqa_cs_stands_on_the_page():
    assert COMPARE in PAGE
