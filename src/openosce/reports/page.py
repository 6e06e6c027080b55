"""One self-contained page: no script, nothing loaded from elsewhere, every text escaped."""

import base64
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jinja2

from openosce.errors import RunFolderError
from openosce.reports import sheets
from openosce.reports.analysis import Analysis, analyze_run
from openosce.reports.figure import accuracy_figure, accuracy_in_words
from openosce.reports.sheets import Sheet
from openosce.reports.text import visible
from openosce.runs.folder import REPORT, RunReader

_SHOWN_FAILURES = 100
_TOLD_ELSEWHERE = ("notes", "fallbacks")
"""Keys of the manifest that the page's first paragraphs tell."""


def write_report(run: Path) -> Path:
    """Write `report.html` into a run folder, whole or not at all, and return its path.

    Raises:
        RunFolderError: There is no readable run, or the page cannot be written.
    """
    with RunReader(run) as reader:
        page = render_page(run.resolve().name, analyze_run(reader), reader.manifest)
    path = run / REPORT
    unfinished = path.with_name(f".{REPORT}.{os.getpid()}")
    try:
        unfinished.write_text(page, encoding="utf-8")
        unfinished.replace(path)
    except OSError as failure:
        raise RunFolderError(f"{path}: cannot be written: {failure.strerror or failure}") from None
    finally:
        unfinished.unlink(missing_ok=True)
    return path


def render_page(name: str, analysis: Analysis, manifest: dict[str, Any]) -> str:
    """The page of a run as HTML."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("openosce.reports"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_harmless,
    )
    figure = base64.b64encode(accuracy_figure(analysis).encode()).decode()
    return environment.get_template("report.html.j2").render(
        name=name,
        analysis=analysis,
        manifest=manifest,
        figure=figure,
        figure_in_words=accuracy_in_words(analysis),
        sections=_sections(analysis),
        repeat=list(_flat({key: value for key, value in manifest.items() if key not in _TOLD_ELSEWHERE})),
    )


def _sections(analysis: Analysis) -> dict[str, list[Sheet]]:
    """The page's tables under their headings; a heading without tables is left out."""
    doctors = analysis.plan.doctors
    found: dict[str, list[Sheet | None]] = {
        "Accuracy": [sheets.accuracy(analysis, doctor) for doctor in doctors],
        "By specialty": [sheets.by_group(analysis, doctor, "specialty") for doctor in doctors],
        "By data set": [sheets.by_group(analysis, doctor, "dataset") for doctor in doctors],
        "Comparisons": [
            sheets.doctors_compared(analysis),
            *(sheets.arms_compared(analysis, doctor) for doctor in doctors),
        ],
        "How encounters ended": [sheets.endings(analysis)] if analysis.endings else [],
        "Calls and cost": [sheets.calls(analysis)],
        "What is missing, and why": [sheets.missing(analysis)] if analysis.missing else [],
        "Failed encounters": [sheets.failed(analysis, _SHOWN_FAILURES)] if analysis.failed else [],
    }
    kept = {heading: [sheet for sheet in tables if sheet is not None] for heading, tables in found.items()}
    return {heading: tables for heading, tables in kept.items() if tables}


def _flat(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """A nested record as lines of `roles.doctor.model` and its value."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _flat(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value and all(isinstance(inner, dict) for inner in value):
        for n, inner in enumerate(value):
            yield from _flat(inner, f"{path}[{n}]")
    elif isinstance(value, list) and value:
        yield path, ", ".join(str(inner) for inner in value)
    else:
        yield path, "not set" if value in (None, {}, []) else str(value)


def _harmless(value: object) -> object:
    # Markup (a macro's output) has an `__html__`, and its texts have been here before.
    return visible(value) if isinstance(value, str) and not hasattr(value, "__html__") else value
