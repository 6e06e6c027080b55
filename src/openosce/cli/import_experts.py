"""`osce import craft-md-experts` and `medqa-cs-experts`: experts' released annotations become ratings of a run."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from openosce.grading.record import Rating
from openosce.reports import terminal
from openosce.reports.sheets import NOTHING, Sheet
from openosce.reports.table import sheet_table
from openosce.runs.imports.experts_craft_md import ExpertImport, import_craft_md_experts
from openosce.runs.imports.experts_medqa_cs import import_medqa_cs_experts


def craft_md_experts(
    folder: Annotated[Path, typer.Argument(help="CRAFT-MD's released folder expert_annotations.")],
    out: Annotated[Path, typer.Option(help="Run folder of `osce import craft-md` that holds all released cases.")],
) -> None:
    """Add the dermatologists' sheets of CRAFT-MD.

    They join a run that was imported from its results.
    """
    _say(import_craft_md_experts(folder, out), out)


def medqa_cs_experts(
    file: Annotated[Path, typer.Argument(help="The experts' and examiners' marks of MedQA-CS, as JSON.")],
    out: Annotated[Path, typer.Option(help="Run folder to make.")],
) -> None:
    """Make a run of the marks in the MedQA-CS paper.

    Those that experts and model examiners gave, as the paper prints them.
    """
    _say(import_medqa_cs_experts(file, out), out)


def _say(found: ExpertImport, run: Path) -> None:
    terminal().print(sheet_table(ratings_sheet(found.ratings)))
    if found.conversations:
        counts = ", ".join(f"{count} {words}" for words, count in sorted(found.conversations.items()))
        typer.echo(f"reviewed conversations: {counts}")
    typer.echo(f"{run}: {len(found.ratings):,} ratings")


def ratings_sheet(ratings: tuple[Rating, ...]) -> Sheet:
    """A row a question: who rated it how often, and why other cells have no value."""
    reasons = sorted({_kind(rating) for rating in ratings if rating.value is None})
    counts = Counter((_question(rating), _kind(rating)) for rating in ratings)
    rows = []
    for question in dict.fromkeys(_question(rating) for rating in ratings):
        raters = dict.fromkeys(rating.rater for rating in ratings if _question(rating) == question)
        missing = (str(counts[question, reason] or NOTHING) for reason in reasons)
        rows.append((question, ", ".join(raters), str(counts[question, ""]), *missing))
    heads = ("question", "raters", "rated", *(reason.replace("_", "\n") for reason in reasons))
    return Sheet("What was imported", heads, tuple(rows), prose=(0, 1))


def _question(rating: Rating) -> str:
    return f"{rating.arm} {rating.item}" if rating.arm else rating.item


def _kind(rating: Rating) -> str:
    return (rating.missing_reason or "").partition(":")[0]
