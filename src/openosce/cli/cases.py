"""`osce cases`: what is in a case file, what is wrong with it, one case by roles; fetching sets and images."""

from collections import Counter
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, track
from rich.table import Table
from rich.text import Text

from openosce.cases import (
    STARTER,
    Case,
    ImageStore,
    doctor_part,
    grader_part,
    image_part,
    measurement_part,
    patient_part,
)
from openosce.cases.checks import Problem, check_cases, missing_parts
from openosce.cases.fetched import FETCHED, data_folder
from openosce.cases.images import cached, default_cache, is_url
from openosce.cases.readers import read_with_place, unplaced
from openosce.errors import StudyError
from openosce.reports import terminal
from openosce.reports.text import visible

app = typer.Typer(help="List, check, show and fetch cases.", no_args_is_help=True)

Source = Annotated[
    str,
    typer.Argument(
        help="A case file of any known format, a folder of them, `starter`, `starter-images` or `medqa-cs`."
    ),
]
Cache = Annotated[Path | None, typer.Option("--cache", help="Where downloaded images lie.", show_default=False)]


@app.command("list")
def list_cases(source: Source = STARTER) -> None:
    """List the cases of SOURCE, with what each holds."""
    table = Table(box=None)
    table.add_column("case", no_wrap=True, overflow="fold")  # whole: it is what `show` and `run --only` ask for
    for head in ("specialty", "dataset", "diagnosis", "choices", "facts"):
        table.add_column(head, overflow="fold")
    cases = [case for _, case in read_with_place(source)]
    for case in cases:
        part = patient_part(case)
        facts = "from vignette" if part.facts_from_vignette else str(len(part.facts))
        cells = (case.id, case.specialty or "-", case.source, case.diagnosis.name, str(len(case.choices)), facts)
        table.add_row(*(Text(visible(cell)) for cell in cells))
    terminal().print(table)
    typer.echo(f"{len(cases)} cases")


@app.command()
def check(
    source: Source = STARTER,
    benchmark: Annotated[str | None, typer.Option("--for", help="Also list what each case lacks for it.")] = None,
    cache: Cache = None,
) -> None:
    """Say what is wrong or risky in the cases of SOURCE.

    A line a problem; at the end, which benchmarks the cases can serve.
    """
    placed = read_with_place(source)
    cases = [case for _, case in placed]
    problems = check_cases(cases, ImageStore(source, cache))
    problems += [Problem(case_id, "risky", "not placed", what) for case_id, what in unplaced(source)]
    typer.echo(f"{source}: {len(cases)} cases")
    for problem in problems:
        typer.echo(visible(f"{problem.case_id}: {problem.severity}: {problem.kind}: {problem.message}"))
    typer.echo("")
    for (severity, kind), count in sorted(Counter((p.severity, p.kind) for p in problems).items(), reverse=True):
        typer.echo(f"{count:6}  {severity}: {kind}")
    if not problems:
        typer.echo("nothing wrong and nothing risky found")
    _serves(cases, benchmark)


def _serves(cases: list[Case], benchmark: str | None) -> None:
    lacks = {case.id: missing_parts(case) for case in cases}
    known = list(next(iter(lacks.values())))
    if benchmark is not None and benchmark not in known:
        raise StudyError(f"unknown benchmark {benchmark!r}; known are {', '.join(known)}")
    for name in known:
        able = sum(not parts[name] for parts in lacks.values())
        wanting = Counter(part for parts in lacks.values() for part in parts[name])
        why = "; lacking: " + ", ".join(f"{part} {count}" for part, count in wanting.items()) if wanting else ""
        typer.echo(f"{able:6}  can serve {name}{why}")
    if benchmark is not None:
        for case_id, parts in lacks.items():
            if parts[benchmark]:
                typer.echo(visible(f"{case_id}: lacks for {benchmark}: {', '.join(parts[benchmark])}"))


@app.command()
def fetch_images(
    source: Source,
    cache: Cache = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before downloading.")] = False,
) -> None:
    """Download the images of SOURCE that are URLs.

    A run itself never downloads: it takes them from where they are put here.
    """
    from openosce.cases.download import fetch_image  # brings the client for HTTP

    folder = cache or default_cache()
    asked = {image.path for _, case in read_with_place(source) for image in case.images if is_url(image.path)}
    urls = sorted(url for url in asked if not cached(url, folder))
    typer.echo(visible(f"{source}: {len(asked)} images are URLs, {len(asked) - len(urls)} of them are in {folder}"))
    if not urls:
        return
    hosts = ", ".join(sorted({urlsplit(url).netloc for url in urls}))
    if not yes and not typer.confirm(visible(f"download {len(urls)} from {hosts}?")):
        raise typer.Exit(1)
    failures: list[str] = []
    for url in track(urls, "downloading", console=terminal(), transient=True):
        try:
            fetch_image(url, folder)
        except ValueError as problem:
            failures.append(f"{url}: {problem}")
    for failure in failures:
        typer.echo(visible(failure), err=True)
    typer.echo(f"{len(urls) - len(failures)} downloaded, {len(failures)} failed")
    if failures:
        raise typer.Exit(1)


@app.command()
def fetch(
    name: Annotated[str, typer.Argument(help="The set: `medqa-cs`.")],
    to: Annotated[Path | None, typer.Option(help="Folder to fetch into; `--cases` finds the default by name.")] = None,
    accept_license: Annotated[
        bool, typer.Option("--accept-license", help="Accept the set's licence without being asked.")
    ] = False,
) -> None:
    """Fetch a set of cases that is not ours.

    It comes from the Hugging Face hub, after its licence was accepted; then `--cases NAME` finds it.
    """
    from openosce.cases.fetch import fetch as fetch_set  # brings the client for HTTP
    from openosce.cases.fetch import is_whole

    if name not in FETCHED:
        raise StudyError(f"unknown set {name!r}; `osce cases fetch` knows {', '.join(FETCHED)}")
    folder = to or data_folder() / name
    if is_whole(name, folder):
        typer.echo(visible(f"{name}: already in {folder}, unchanged since it was fetched"))
        return
    _accept(name, accept_license)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bars: dict[str, TaskID] = {}

        def show_bytes(file: str, done: int, total: int | None) -> None:
            bars[file] = bars[file] if file in bars else progress.add_task(visible(file))
            progress.update(bars[file], completed=done, total=total)

        record = fetch_set(name, folder, show_bytes)
    typer.echo(visible(f"{name}: {len(record.files)} files, {sum(f.size for f in record.files.values()):,} bytes"))
    typer.echo(visible(f"go on with: osce cases check {folder if to else name}"))


def _accept(name: str, is_accepted: bool) -> None:
    """Show a set's licence, and have it accepted."""
    found = FETCHED[name]
    typer.echo(f"{name} is not ours: {', '.join(found.repositories)} on the Hugging Face hub")
    typer.echo(f"licence: {found.licence}, {found.licence_url}\n{found.terms}")
    try:
        accepted = is_accepted or typer.confirm("accept the licence and fetch?")
    except typer.Abort:  # there is nobody to answer
        accepted = False
    if not accepted:
        raise StudyError("the licence was not accepted; nothing is fetched (--accept-license accepts it)")


@app.command()
def show(
    source: Source,
    case_id: Annotated[str | None, typer.Argument(help="The case to show; without it, the first.")] = None,
) -> None:
    """Show a case role by role.

    What the doctor, the patient, the measurement agent and the grader are handed.
    """
    cases = [case for _, case in read_with_place(source)]
    found = [case for case in cases if case_id in (None, case.id)]
    if not found:
        raise StudyError(f"{source}: holds no case {case_id!r}; `osce cases list` shows them")
    _print_parts(found[0])


def _print_parts(case: Case) -> None:
    doctor, patient, grader = doctor_part(case), patient_part(case), grader_part(case)
    console = terminal()

    def section(title: str, *lines: str | None) -> None:
        console.print(Text(f"\n{visible(title)}", style="bold"))
        for line in lines:
            if line:
                console.print(Text(visible(line)), soft_wrap=False)

    section(f"{case.id} ({case.source}{', synthetic' if case.synthetic else ''})")
    section(
        "The doctor is handed", f"specialty: {doctor.specialty}", doctor.objective and f"objective: {doctor.objective}"
    )
    who = ", ".join(x for x in (patient.age, patient.sex, patient.occupation, patient.informant) if x)
    opening = patient.opening and f"opening: {patient.opening}"
    facts = [f"{'*' if f.key else '-'} {f.fact}{f' ({f.lay})' if f.lay else ''}" for f in patient.facts]
    source = "from the vignette's sentences" if patient.facts_from_vignette else "* a complete history must elicit it"
    section(f"The patient is handed ({source})", who, opening, *facts)
    section("Vignette", patient.vignette, case.question)
    section("The measurement agent is handed", *measurement_part(case).readings.splitlines())
    section("Images", *(" - ".join(filter(None, (i.path, i.kind, i.caption))) for i in image_part(case).images))
    known = grader.diagnosis
    also = [f"{kind}: {', '.join(names)}" for kind, names in (
        ("synonyms", known.synonyms), ("broader", known.broader), ("narrower", known.narrower),
        ("accepted", known.accepted)) if names]  # fmt: skip
    section("The grader is handed", f"diagnosis: {known.name}", *also, *(f"choice: {c}" for c in grader.choices))
