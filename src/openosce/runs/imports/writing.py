"""An import becomes an ordinary run: its manifest, and its folder, filled or gone on with."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from openosce.cases import Case
from openosce.grading import Metric
from openosce.runs.folder import RunReader, RunWriter
from openosce.runs.manifest import cases_hash, claim_folder, refuse_foreign_folder, versions

_STUDY = """# This run was imported with `{command}`; there is no study to run.
# What it holds is told in manifest.json.
"""


@dataclass(frozen=True)
class ImportedStudy:
    """What somebody else's study was, as far as the released data and the paper tell."""

    command: str
    """The verb that imports it, `osce import craft-md`."""
    benchmark: str
    cases_file: str
    """The cases file's name."""
    cases: Sequence[Case]
    """Those that are planned, in the file's order."""
    doctors: Mapping[str, Mapping[str, Any]]
    """By name, what identifies its released results."""
    roles: Mapping[str, str]
    """Who played every other role."""
    arms: Sequence[str]
    trials: int
    settings: Mapping[str, Any]
    policy: str
    """`name@version`."""
    notes: Sequence[str]
    conditions: Sequence[str] = ("text",)
    metrics: Sequence[Metric] = ()
    """What is measured, the headline first; none named: accuracy."""
    averages_arms: bool = False
    """Whether the arms are parts of one examination."""


def imported_manifest(study: ImportedStudy) -> dict[str, Any]:
    """The manifest of an imported run, of the shape that a run of our own has.

    What identifies the released files stands in the doctors' settings, so that a comparison takes it for what differs
    between doctors.
    """
    doctors = [{"model": name, "base_url": None, "settings": dict(of)} for name, of in study.doctors.items()]
    roles: dict[str, Any] = {
        name: {"model": model, "base_url": None, "settings": {}} for name, model in study.roles.items()
    }
    return {
        "format": 1,
        "study": {
            "benchmark": study.benchmark,
            "cases": study.cases_file,
            "cases_hash": cases_hash(study.cases),
            "trials": study.trials,
            "seed": None,
            "development": [],
            "grader_repeats": 1,
            "roles": {"doctor": doctors, **roles},
            "settings": dict(study.settings),
            "conditions": {},
            "prompts_hash": None,
            "rules_hash": None,
            "images_hash": None,
            "data": {},
        },
        "plan": {
            "doctors": list(study.doctors),
            "conditions": list(study.conditions),
            "arms": list(study.arms),
            "trials": study.trials,
            "development": [],
            "averages_arms": study.averages_arms,
            **({"metrics": [asdict(measure) for measure in study.metrics]} if study.metrics else {}),
        },
        "policy": study.policy,
        "prices_hash": None,
        "fallbacks": [],
        "notes": list(study.notes),
        "imported": study.command,
        "versions": versions(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


@contextmanager
def imported_run(folder: Path, study: ImportedStudy) -> Iterator[tuple[RunWriter, RunReader]]:
    """Claim a folder for an import, write its cases, and hand over what writes and reads it.

    Raises:
        RunFolderError: It holds something else, is in use, or cannot be written.
    """
    refuse_foreign_folder(folder)
    manifest = imported_manifest(study)
    text = _STUDY.format(command=study.command)
    with RunWriter(folder, lambda: claim_folder(folder, manifest, text)) as writer, RunReader(folder) as reader:
        for case in study.cases:  # in their order, which is the order of every table later
            writer.write(case)
        yield writer, reader
