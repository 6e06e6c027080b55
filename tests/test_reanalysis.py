"""What docs/reanalysis.md says of CRAFT-MD: its commands run, and every figure is made here from what they print."""

import csv
import json
import re
import shutil
import sqlite3
from contextlib import chdir, closing
from itertools import chain
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from openosce.cli import app
from openosce.runs.folder import RunReader
from openosce.statistics import benjamini_hochberg, holm

PAGE = (Path(__file__).parents[1] / "docs" / "reanalysis.md").read_text(encoding="utf-8").partition("## MedQA-CS")[0]
PROSE = " ".join(PAGE.split())
MODELS = {"craft-md/gpt4_1106": "GPT-4", "craft-md/gpt3_1106": "GPT-3.5", "craft-md/mistral-v2": "Mistral-v2"}
MOST = ("craft-md/mistral-v2", "vignette_mcq")
NAMES = ("GPT-4", "GPT-3.5", "Mistral-v2-7b", "LLaMA-2-7b")
INFORMATION = ("vignette", "multi_turn", "single_turn", "summarized")
MCQ, FRQ = ([f"{one}_{question}" for one in INFORMATION] for question in ("mcq", "frq"))
ANALYSES = {
    "craft": "compare runs/craft-md --to-paper",
    "published": "analyze runs/craft-md --published",
    "holm": "analyze runs/craft-md --published --adjustment holm",
    "ours": "analyze runs/craft-md",
    "sample": "analyze runs/craft-md-sample",
}


def osce(folder, *words):
    with chdir(folder):
        done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, f"{words}: {done.output}"
    return done.stdout


@pytest.fixture(scope="module")
def computed(shared, released_table, tmp_path_factory):
    """The released data as runs, and the JSON of every analysis of the page; the table stands for the raw files."""
    pytest.importorskip("openpyxl")
    craft, found = shared / "data" / "craft-md", SimpleNamespace(folder=tmp_path_factory.mktemp("reanalysis"))
    folder, cases = found.folder, ("--cases", str(craft / "cases.csv"))
    shutil.copytree(released_table, folder / "runs" / "craft-md")
    osce(folder, "import", "craft-md", str(craft / "results_sample"), *cases, "--out", "runs/craft-md-sample")
    osce(folder, "import", "craft-md-experts", str(craft / "expert_annotations"), "--out", "runs/craft-md")
    for name, words in ANALYSES.items():
        setattr(found, name, json.loads(osce(folder, *words.split(), "--json")))
    found.corrected = found.ours["corrected"]
    (found.grader,) = found.ours["experts"]["grader"]
    found.n_padded = sum(row["answer"] != row["answer"].strip() for row in _rows(craft / "cases.csv"))
    return found


def _rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def markdown(heads, rows):
    rule = "|---|" + "---:|" * (len(heads) - 1)
    head, *body = ("| " + " | ".join(map(str, line)) + " |" for line in (heads, *rows))
    return "\n".join((head, rule, *body))


def cells(document, table):
    return {cell["place"]: cell for cell in document["cells"] if cell["table"] == table}


def interval(row, places=3):
    return f"{row['mean']:.{places}f} [{row['ci_low']:.{places}f}, {row['ci_high']:.{places}f}]"


def counts(document):
    """How the printed cells compare, a row a table and one for all."""
    keys = ("n_cells", "n_same", "n_rounding", "n_differs", "n_not_recomputed")
    rows = [
        (row["table"].replace("Supplementary Table", "S"), *(row[key] for key in keys)) for row in document["summary"]
    ]
    rows.append(("all", *map(sum, zip(*(row[1:] for row in rows), strict=True))))
    return markdown(("table", "cells", "same", "rounded or cut off", "differ", "not recomputed"), rows)


def bounds(found):
    """The intervals that belong to the means of Supplementary Table 4; it prints those of Table 1."""
    table, first = cells(found.craft, "Supplementary Table 4"), cells(found.craft, "Supplementary Table 1")
    rows = []
    for model in NAMES[:3]:
        sides = [[f"{model}, {arm}: {side} bound" for side in ("lower", "upper")] for arm in FRQ]
        for place in chain.from_iterable(sides):
            assert table[place]["printed"] == first[place.replace("frq", "mcq")]["printed"]
        rows.append((model, *("–".join(f"{table[place]['recomputed']:.3f}" for place in pair) for pair in sides)))
    return markdown(("S 4, recomputed", *FRQ), rows)


def mistral(found):
    """Mistral-v2's free responses, printed twice with different figures."""
    names = ("mean", "lower bound", "upper bound")
    rows = []
    for arm in FRQ:
        row = [cells(found.craft, "Supplementary Table 22")[f"Mistral-v2-7b, {arm}: {name}"] for name in names]
        mean, low, high = (one["printed"] for one in row)
        once = cells(found.craft, "Supplementary Table 4")[f"Mistral-v2-7b, {arm}: mean"]["printed"]
        ours = dict(zip(("mean", "ci_low", "ci_high"), (one["recomputed"] for one in row), strict=True))
        rows.append((arm, once, f"{mean} [{low}, {high}]", interval(ours)))
    return markdown(("arm", "S 4 prints", "S 22 prints", "recomputed"), rows)


def reviews(found):
    """The experts' percentages, and on how many of 15 conversations two of them agree."""
    rows = []
    for model in NAMES:
        shares = [next(c for place, c in cells(found.craft, table).items() if place.startswith(f"{model}:"))
                  for table in ("Fig. 3i", "Fig. 3j")]  # fmt: skip
        both = cells(found.craft, "Extended Data Table 3")
        items = ("single_diagnosis_possible", "history_complete", "medical_terms")
        agree = [both[f"{model}: {item}, conversations of 15"] for item in items]
        assert all(cell["verdict"] == "same" for cell in agree)
        told = [text for share in shares for text in (share["printed"], f"{share['recomputed']:.3f}")]
        rows.append((model, *told, " / ".join(cell["printed"] for cell in agree)))
    heads = ("model", "Fig. 3i, %", "recomputed", "Fig. 3j, %", "recomputed", "agree of 15: 3i / 3j / terms")
    return markdown(heads, rows)


def arms(found):
    """The published mean and ours, and what five trials a case are worth."""
    of = {(row["model"], row["arm"]): row for row in found.published["estimates"] if row["group"] == "all"}
    rows = []
    for row in found.ours["estimates"]:
        if row["group"] == "all":
            theirs = of[row["model"], row["arm"]]
            worth = (f"{row['icc']:.2f}", f"{row['design_effect']:.2f}", f"{row['n_effective']:,.0f}")
            place = (f"{MODELS[row['model']]}, {row['arm']}", f"{theirs['mean']:.4f}", theirs["n_scored_zero"])
            rows.append((*place, f"{row['mean']:.4f}", interval(row), *worth))
    heads = ("arm", "published", "cases scored 0", "ours", "[95% interval]", "ICC", "design effect", "effective n")
    return markdown(heads, [(*row[:4], row[4].partition(" ")[2], *row[5:]) for row in rows])


def lost(found):
    """By table of p values: the p values, whether each adjusted one is below 0.05, and what Holm does not call."""
    by_table = {}
    for number in (2, 3, 5, 7, 9, 11, 13, 17):
        table = {k: c for k, c in cells(found.craft, f"Supplementary Table {number}").items() if k.endswith(": p")}
        raw = [float(c["printed"]) if c["recomputed"] is None else c["recomputed"] for c in table.values()]
        below = [[p < 0.05 for p in values] for values in (raw, benjamini_hochberg(raw), holm(raw))]
        only = [k.removesuffix(": p") for k, b, h in zip(table, *below[1:], strict=True) if b and not h]
        by_table[number] = (below, only)
    return by_table


def families(found):
    rows = [(f"S {n}", len(below[0]), *map(sum, below), len(only)) for n, (below, only) in lost(found).items()]
    return markdown(("table", "tests", "unadjusted", "Benjamini-Hochberg", "Holm", "lost under Holm"), rows)


def flips(found):
    """The tests of Supplementary Tables 11 and 13 that are lost under Holm, by table, model and data set."""
    rows = {}
    for number in (11, 13):
        for place in lost(found)[number][1]:
            model, pair, group = place.split(", ")
            pair = re.sub("_mcq|_frq", "", pair).replace(" against ", "–").replace("_", " ")
            rows.setdefault(f"S {number}, {model}, {group}", []).append(pair)
    return "\n".join(f"- {place}: {'; '.join(pairs)}" for place, pairs in rows.items())


def policies(found):
    of = {(row["model"], row["policy"], row["arm"]): row for row in found.sample["gradings"]}
    rows = []
    for model, name in MODELS.items():
        for policy in ("as_published@1", "first_named@1", "paper@1"):
            rows.append((f"{name}, {policy[:-2]}", *(f"{of[model, policy, arm]['mean']:.3f}" for arm in MCQ)))
    return markdown(("60 cases", *MCQ), rows)


def sql(found, run, n):
    """What the page's n-th query finds in a run."""
    query = re.findall(r"^```sql\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[n]
    with closing(sqlite3.connect(found.folder / "runs" / run / "run.db")) as database:
        return database.execute(query).fetchall()


def several(found):
    """Replies marked right that name two options or more."""
    of = {(doctor, arm): row for doctor, arm, *row in sql(found, "craft-md", 1)}
    rows = []
    for model, name in MODELS.items():
        found_here = [of[model, arm] for arm in MCQ]
        rows.append((name, *(f"{two:,.0f} of {right:,.0f} ({100 * two / n:.1f})" for n, right, two in found_here)))
    return markdown(("right, and naming several", *MCQ), rows)


def corrected(found):
    of = {(row["model"], row["arm"]): row for row in found.corrected}
    rows = []
    for model, name in MODELS.items():
        both = [(of[model, arm]["graded"], of[model, arm]["corrected"]) for arm in FRQ]
        rows.append((name, *(f"{graded['mean']:.3f} → {interval(right)}" for graded, right in both)))
    return markdown(("as graded → corrected", *FRQ), rows)


def of_experts(found):
    check, grader = cells(found.craft, "Results, Medical expert evaluations"), found.grader
    terms = check["conversations in which the patient used medical terms, %"]["recomputed"]
    agree = check["grader and dermatologist agree, %"]["recomputed"]
    low, high = (100 * grader["count_agreement"][side] for side in ("ci_low", "ci_high"))
    rates = {name: rate(grader[name]) for name in ("sensitivity", "specificity", "spearman")}
    specificity = rates["specificity"].partition(" ")[0]
    p_values = cells(found.craft, "Supplementary Table 18").values()
    cut = {cell["printed"]: cell["recomputed"] for cell in p_values if cell["verdict"] != "same"}
    n_cut = sum(cell["verdict"] != "same" for cell in p_values)
    return (
        f"agree in {agree:.2f}% [{low:.2f}, {high:.2f}] of the trials of {grader['n_cases']} cases; "
        f"{grader['n_left_out']} columns are blank",
        f"sensitivity {rates['sensitivity']}, specificity {rates['specificity']}; over all cases Spearman's rho "
        f"{rates['spearman']}",
        f"in {terms * 180 / 100:.0f} of 180 conversations ({terms:.2f}%)",
        f"{n_cut} of the {len(p_values)} p values of S 18: "
        + ", ".join(f"{printed} is {ours:.{4 if ours > 0.01 else 3}g}" for printed, ours in cut.items()),
        f"a grader with a specificity of {specificity} calls {1 - float(specificity):.3f} of all wrong answers right",
    )


def rate(found):
    places = 3 if found["n_cases"] >= 100 else 2
    return f"{found['value']:.3f} [{found['ci_low']:.{places}f}, {found['ci_high']:.{places}f}]"


def of_correction(found):
    (checked_on,) = {row["checked_on"] for row in found.corrected}
    both = [(row["graded"]["mean"], row["corrected"]["mean"], row["model"]) for row in found.corrected]
    (below,) = {MODELS[model] for _, right, model in both if right < 0}
    return (
        f"`{checked_on}`",
        f"in {sum(right < 0 for _, right, _ in both)} arms of {below}, the correction falls below 0",
        f"in {sum(right < graded / 2 for graded, right, _ in both)} of the {len(both)} arms the corrected accuracy",
    )


def of_cells(found):
    table_12, table_15 = (cells(found.craft, f"Supplementary Table {n}") for n in (12, 15))
    halves = [cell for cell in table_12.values() if cell["verdict"] == "rounding or truncation"]
    copied = [cell for place, cell in table_15.items() if place.endswith(": p") and cell["recomputed"] is not None]
    return (
        "prints " + " and ".join(f"{cell['recomputed']:.4f} as {cell['printed']}" for cell in halves),
        f"{sum(cell['verdict'] == 'differs' for cell in copied)} of the {len(copied)} that can be recomputed differ",
    )


def of_our_analysis(found):
    theirs, ours = (
        {(row["model"], row["arm"]): row for row in document["estimates"] if row["group"] == "all"}
        for document in (found.published, found.ours)
    )
    zeros, missing = (sum(row[key] for row in theirs.values()) for key in ("n_scored_zero", "n_missing"))
    most = max(ours[arm]["mean"] - theirs[arm]["mean"] for arm in ours)
    worth = [row["n_effective"] for row in ours.values()]
    return (
        f"{missing} of {len(ours) * 2004 * 5:,} answers are missing, and {zeros} times all five of a case",
        f"by at most {most:.4f}",
        f"worth {min(worth):,.0f} to {max(worth):,.0f} independent ones",
    )


def of_our_tests(found):
    ours = {pair_of(row): row["p_adjusted"] < 0.05 for row in found.ours["comparisons"]}
    theirs = {pair_of(row): row["p_adjusted"] < 0.05 for row in found.published["comparisons"] if row["group"] == "all"}
    both = zip(found.published["comparisons"], found.holm["comparisons"], strict=True)
    fell = [a["family"] for a, b in both if a["p_adjusted"] < 0.05 <= b["p_adjusted"]]
    told = ", ".join(f"{fell.count(family)} of {family}" for family in dict.fromkeys(fell))
    return (
        f"the same verdict at 0.05 in {sum(ours[pair] == theirs[pair] for pair in theirs)} of the {len(theirs)} pairs",
        f"over the three models alone: {told}",
    )


def pair_of(comparison):
    return frozenset((side["model"], side["arm"]) for side in (comparison["a"], comparison["b"]))


def of_sample(found):
    of = {policy: (n, right) for policy, n, right in sql(found, "craft-md-sample", 0)}
    scores = {}
    for name in ("craft-md", "craft-md-sample"):
        with RunReader(found.folder / "runs" / name) as reader:
            rows = reader.rows(
                """SELECT doctor, case_id, trial, arm, policy, value, evidence FROM scores
                JOIN answers ON answers.id = answer_id JOIN encounters ON encounters.id = encounter_id""",
                (),
            )
        scores[name] = {tuple(row[:5]): row[5:] for row in rows}
    all_cases, sample = scores["craft-md"], scores["craft-md-sample"]
    marks = [key for key in sample if key[4] == "as_published@1"]
    assert all(sample[key][0] == all_cases[key][0] for key in marks)
    right = [key for key in marks if key[3].endswith("_mcq") and sample[key][0] == 1]
    several = [int(re.search(r"named: (\d)", all_cases[key][1])[1]) > 1 for key in right]
    ambiguous = [sample[*key[:4], "paper@1"][1].startswith("ambiguous") for key in right]
    assert several == ambiguous
    (share,) = [two / right for doctor, arm, _, right, two in sql(found, "craft-md", 1) if (doctor, arm) == MOST]
    return (
        f"such replies are {100 * share:.0f}% of the vignettes' choices that Mistral-v2 is said to have right",
        f"the raw results of {found.sample['n_cases']} of the {found.ours['n_cases']:,} cases",
        f"the same mark for all {len(marks):,} answers",
        f"{found.n_padded} answers of the cases begin or end with blanks",
        f"Of {of['as_published@1'][0]:,.0f} replies on the two in the sample, the published rule calls "
        f"{of['as_published@1'][1]:.0f} right, `paper` {of['paper@1'][1]:.0f}",
        f"of the {len(right):,} replies of the sample that are marked right, the same {sum(several)}",
    )


TABLES = [lambda f: counts(f.craft), bounds, mistral, reviews, arms, families, flips, policies, several,
          corrected]  # fmt: skip
SENTENCES = [of_experts, of_correction, of_cells, of_our_analysis, of_our_tests, of_sample]
QUOTED = {
    "0": "a score",
    "0.05": "the level of a test",
    "10,000": "samples, in the captions of Figs. 2 and 5 of the article",
    "99.995": "% of the patient's answers are right, in the article's Results",
    "94.25": "% of the patient's answers are complete, in the article's Results",
    "1,168": "the patient's answers in the reviewed conversations",
}
NAMED = (
    r"(Tables?|S|Figs?\.|doi:) ?[\d./s-]+\w?( and \d+|, \d+)*",
    r"(GPT|Mistral|LLaMA)-[\dv.]+(-7b)?o?|mistral-v\d|gpt\d_1106|llama2-7b|https?://\S+|10\.1038/\S+|20\d\d",
)


@pytest.mark.parametrize("table", range(len(TABLES)))
def test_every_table_of_the_page_is_what_the_commands_print(computed, table):
    assert TABLES[table](computed) in PAGE


@pytest.mark.parametrize("sentences", SENTENCES)
def test_every_figure_in_a_sentence_is_what_the_commands_print(computed, sentences):
    assert [one for one in sentences(computed) if one not in PROSE] == []


def test_no_figure_of_the_page_is_unchecked(computed):
    rest = re.sub(r"^```.*?^```", "", PAGE, flags=re.MULTILINE | re.DOTALL)
    for table in TABLES:
        rest = rest.replace(table(computed), "")
    rest = " ".join(rest.split())
    for sentence in (one for sentences in SENTENCES for one in sentences(computed)):
        rest = rest.replace(sentence, "")
    for pattern in NAMED:
        rest = re.sub(pattern, "", rest)
    assert set(re.findall(r"\d[\d.,]*\d|\d", rest)) <= set(QUOTED)


@pytest.mark.parametrize("words", ANALYSES.values())
def test_every_analysis_stands_on_the_page_as_it_is_run(words):
    assert f"osce {words}" in PAGE
