"""How long a report takes to write and to open, and how large it is.

    python perf/report.py            # 2,004 conversations with nine arms each, made with the built-in roles
    python perf/report.py RUN        # the report of a run that is there; its report.html is written anew

Opening is measured in headless Chromium: until the page is there, until the conversations are unpacked and listed,
until one of them is shown, and until a search through all of their text is done.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from openosce.reports import analyze_run, write_report
from openosce.runs import planned, prepare, run_study, to_study
from openosce.runs.folder import RunReader

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from screenshot import NoBrowser, Tab, tab

TRIALS = 167
"""Of the twelve starter cases: as many conversations as CRAFT-MD's 2,004 cases have in one trial."""

_READY = "document.querySelector('#reader-count').textContent.includes('conversations')"


def make_run(folder: Path) -> Path:
    """A run as large as CRAFT-MD with one trial."""
    prepared = prepare(to_study({"study": {"benchmark": "craft-md", "trials": TRIALS}}), folder / "run")
    print(f"making {len(planned(prepared))} conversations")
    run_study(prepared, lambda total, todo: None, lambda trial: None)
    return folder / "run"


async def until(shown: Tab, condition: str) -> float:
    """Milliseconds from now until an expression is true in the page."""
    found: float = await shown.evaluate(
        f"""new Promise((done) => {{
            const start = performance.now();
            const look = () => ({condition} ? done(performance.now() - start) : setTimeout(look, 5));
            look();
        }})"""
    )
    return found


async def open_page(page: Path) -> None:
    """Open the page as a reader would, and print how long each step takes."""
    async with tab() as shown:
        await shown.show(page.resolve().as_uri())
        loaded = await shown.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
        print(f"page loaded                   {loaded:6.0f} ms")
        await shown.evaluate("document.querySelector('#reader-open').click()")
        print(f"conversations listed          {await until(shown, _READY):6.0f} ms")
        await shown.evaluate("document.querySelector('#reader-list button').click()")
        done = "document.querySelector('.answers') !== null"
        print(f"a conversation shown          {await until(shown, done):6.0f} ms")
        search = """const box = document.querySelector('#filter-text'); box.value = 'fever';
            document.querySelector('#reader-count').textContent = '';
            box.dispatchEvent(new Event('input'))"""
        await shown.evaluate(f"{{ {search} }}")
        told = await until(shown, _READY)
        print(f"all text searched             {told:6.0f} ms, {await count(shown)}")


async def count(shown: Tab) -> str:
    """What the page says about how many it shows."""
    return str(await shown.evaluate("document.querySelector('#reader-count').textContent"))


def measure(run: Path) -> None:
    """Write the report of a run, open it, and print how long everything takes."""
    started = time.perf_counter()
    with RunReader(run) as reader:
        analysis = analyze_run(reader)
    print(f"analysis of {analysis.n_answers:,} answers {1000 * (time.perf_counter() - started):6.0f} ms")
    started, cpu = time.perf_counter(), time.process_time()
    page = write_report(run)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    print(f"report written                {1000 * seconds:6.0f} ms, {1000 * cpu:.0f} ms of CPU")
    print(f"its size                      {page.stat().st_size / 1e6:6.1f} MB")
    try:
        asyncio.run(open_page(page))
    except NoBrowser as problem:
        print(f"not opened: {problem}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, nargs="?", help="a run folder")
    run = parser.parse_args().run
    if run is not None:
        measure(run)
        return
    with tempfile.TemporaryDirectory() as folder:
        measure(make_run(Path(folder)))


if __name__ == "__main__":
    main()
