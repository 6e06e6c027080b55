"""One self-contained page: nothing is loaded, every text is escaped, and its script is for the conversations alone."""

import base64
import hashlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from openosce.errors import RunFolderError
from openosce.grading.record import Missing
from openosce.reports.analysis import analyze_run
from openosce.reports.canvas import inline
from openosce.reports.figures import drawings, write_figures
from openosce.reports.results import Analysis
from openosce.reports.salvage import NOT_READABLE, is_damage, salvage
from openosce.reports.sections import Section, sections
from openosce.reports.tables_out import write_tables
from openosce.reports.text import shortened
from openosce.reports.transcripts import MOST_CONVERSATIONS, Packed, pack_conversations
from openosce.runs.folder import DATABASE, REPORT, RunReader, write_whole

_TOLD_ELSEWHERE = ("notes", "fallbacks")
"""Keys of the manifest that the page's first paragraphs tell."""
_FOLLOWS = ("columns", "metrics")
"""Of the plan: what follows from the study and its arms, and would bury the rest."""
_LONGEST_CELL = 5_000


@dataclass(frozen=True)
class Findings:
    """Everything that a page tells about a run."""

    name: str
    manifest: dict[str, Any]
    analysis: Analysis
    conversations: Packed
    losses: tuple[str, ...] = ()
    """What a damaged run does not tell any more, a line each."""


def write_report(
    run: Path,
    *,
    figures: Path | None = None,
    tables: Path | None = None,
    conversations: int = MOST_CONVERSATIONS,
    warn: Callable[[str], object] = lambda line: None,
) -> Path:
    """Write `report.html` into a run folder, whole or not at all, and return its path.

    Args:
        run: The run folder. Of a damaged one, what can be read is reported, with what cannot.
        figures: Where every figure goes as PNG and SVG too.
        tables: Where every table goes as CSV and LaTeX too.
        conversations: How many conversations the page holds at most; of more, a random sample.
        warn: Called with a line about each part of the run that cannot be read.

    Raises:
        RunFolderError: There is no readable run, or a file cannot be written.
    """
    findings = read_findings(run, conversations)
    for line in findings.losses:
        warn(line)
    path = run / REPORT
    write_whole(path, render_page(findings))
    if figures is not None:
        write_figures(findings.analysis, figures)
    if tables is not None:
        write_tables(findings.analysis, tables)
    return path


def read_findings(run: Path, conversations: int = MOST_CONVERSATIONS) -> Findings:
    """Read and analyze a run; of a damaged one, as much as can be read.

    Raises:
        RunFolderError: There is no run, or nothing of it can be read.
    """
    try:
        with RunReader(run) as reader:
            return _findings(reader, run, conversations)
    except RunFolderError as failure:
        if not is_damage(failure):
            raise
        first_line = f"{DATABASE} is damaged: {failure.__context__}; what can be read is reported"
    with tempfile.TemporaryDirectory(prefix="openosce-") as copy:
        losses = (first_line, *salvage(run, Path(copy)))
        with RunReader(Path(copy)) as reader:
            return _findings(reader, run, conversations, losses)


def _findings(reader: RunReader, run: Path, most: int, losses: tuple[str, ...] = ()) -> Findings:
    analysis = analyze_run(reader, absent=NOT_READABLE if losses else Missing.NOT_RUN)
    packed = pack_conversations(reader, analysis.plan, analysis.gradings[0], most)
    return Findings(run.resolve().name, reader.manifest, analysis, packed, losses)


def render_page(findings: Findings) -> str:
    """The page as HTML."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("openosce.reports"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_harmless,
    )
    style, script = _part("report.css"), _part("report.js")
    manifest = findings.manifest
    return environment.get_template("report.html.j2").render(
        name=findings.name,
        analysis=findings.analysis,
        manifest=manifest,
        losses=findings.losses,
        conversations=findings.conversations,
        sections=_with_figures(findings.analysis),
        repeat=list(_flat(_to_repeat(manifest))),
        style=style,
        script=script,
        policy=_policy(style, script),
    )


def _with_figures(analysis: Analysis) -> list[tuple[Section, list[dict[str, Any]]]]:
    """Every section with its figures, each as an `<svg>` with its title and what it shows in words."""
    drawn = {
        drawing.name: {
            "title": drawing.title,
            "words": drawing.words,
            "wide": drawing.wide,
            "svg": Markup(inline(drawing)),
        }
        for drawing in drawings(analysis)
    }
    return [
        (section, [drawn[name] for name in section.figures if name in drawn])
        for section in sections(analysis)
        if section.sheets or any(name in drawn for name in section.figures)
    ]


def _to_repeat(manifest: dict[str, Any]) -> dict[str, Any]:
    """What of the manifest a reader needs to run the study again."""
    told = {key: value for key, value in manifest.items() if key not in _TOLD_ELSEWHERE}
    if isinstance(told.get("plan"), dict):
        told["plan"] = {key: value for key, value in told["plan"].items() if key not in _FOLLOWS}
    return told


def _part(name: str) -> Markup:
    """The page's style or script, as it stands beside the template."""
    return Markup(resources.files("openosce.reports").joinpath("templates", name).read_text(encoding="utf-8"))


def _policy(style: str, script: str) -> str:
    """What the page may do: nothing but its own style and script, told by their hashes."""
    style_hash, script_hash = (
        base64.b64encode(hashlib.sha256(str(text).encode()).digest()).decode() for text in (style, script)
    )
    return (
        f"default-src 'none'; style-src 'sha256-{style_hash}'; script-src 'sha256-{script_hash}'; img-src data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )


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
    # Markup (a macro's output, the style, a figure) has an `__html__`, and its texts have been here before.
    return shortened(value, _LONGEST_CELL) if isinstance(value, str) and not hasattr(value, "__html__") else value
