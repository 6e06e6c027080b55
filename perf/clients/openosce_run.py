"""OpenOSCE with everything on: pacing, request hash, journal with fsync, run folder, grading, progress bar."""

import os
import tempfile
from pathlib import Path

import aiohttp  # noqa: F401  (imported at the first call; here, so that it counts as an import)
from conversation import Work
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from openosce.runs import prepare, run_study, to_study


def run(work: Work) -> None:
    """One trial of every case, in the arm that needs the conversation alone."""
    with tempfile.TemporaryDirectory() as folder, Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        prepared = prepare(to_study(_tables(work)), Path(folder) / "run", limit=work.conversations)
        # The columns of `osce run`, drawn as for a terminal.
        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
        console = Console(file=nowhere, force_terminal=True)
        with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console) as bar:
            task = bar.add_task("conversations", total=work.conversations)
            run_study(prepared, lambda total, todo: None, lambda trial: bar.advance(task))


def _tables(work: Work) -> dict[str, object]:
    return {
        "study": {"benchmark": "craft-md", "cases": work.cases, "trials": 1, "base_url": work.base_url},
        "roles": {"doctor": {"model": f"sim/{work.doctor}"}, "patient": {"model": "sim/patient"}},
        "limits": {"in_flight": work.in_flight},
        "craft_md": {"arms": ["multi_turn_own"], "cap": work.calls_each + 1},
    }
