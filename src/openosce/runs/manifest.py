"""The manifest: what identifies a study, and what is needed to repeat it."""

import hashlib
import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import metadata, resources
from pathlib import Path
from typing import Any

from openosce.cases import Case, patient_part
from openosce.errors import RunFolderError
from openosce.grading import Metric
from openosce.models import ModelSpec, PriceBook, PromptPack
from openosce.runs.conditions import Condition, columns, reference
from openosce.runs.folder import DATABASE, MANIFEST, STUDY, RunReader, half_written, write_whole
from openosce.runs.study import Study


def build_manifest(
    study: Study, cases: Sequence[Case], prompts: PromptPack, prices: PriceBook, images_hash: str | None = None
) -> dict[str, Any]:
    """Everything about a study that decides its results, its plan, and the versions it runs on."""
    benchmark, settings = study.benchmark, study.settings
    several = len(study.conditions) > 1
    return {
        "format": 1,
        "study": {
            "benchmark": benchmark.name,
            "cases": study.cases,
            "cases_hash": cases_hash(cases),
            "images_hash": images_hash,
            "data": dict(benchmark.data(settings)),
            "trials": study.trials,
            "seed": study.seed,
            "development": sorted(study.development),
            "grader_repeats": study.grader_repeats,
            "roles": {
                "doctor": [_role(doctor) for doctor in study.doctors],
                **{name: _role(spec) for name, spec in study.roles.items()},
            },
            "settings": settings.model_dump(mode="json"),
            "conditions": {condition.name: _changed(condition, study) for condition in study.conditions}
            if several
            else {},
            "prompts_hash": prompts.hash,
            "rules_hash": _rules_hash(study),
        },
        "plan": {
            "doctors": [doctor.name for doctor in study.doctors],
            "conditions": [condition.name for condition in study.conditions],
            "arms": list(study.arms),
            "columns": [asdict(column) for column in columns(study.conditions, benchmark)],
            "averages_arms": benchmark.averages_arms,
            "reference": reference(study.conditions, benchmark),
            "metrics": [asdict(measure) for measure in _measures(study)],
            "trials": study.trials,
            "development": sorted(study.development),
        },
        "policy": benchmark.policy(settings),
        "prices_hash": prices.hash,
        "fallbacks": list(study.fallbacks),
        "notes": list(_notes(study, cases)),
        "versions": versions(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _measures(study: Study) -> tuple[Metric, ...]:
    """What is measured in any condition, each once."""
    found = (measure for condition in study.conditions for measure in study.benchmark.measures(condition.settings))
    return tuple({(measure.name, measure.arms): measure for measure in found}.values())


def _changed(condition: Condition, study: Study) -> dict[str, Any]:
    """What a condition sets otherwise than the first: settings, roles with their models, files that settings name."""
    before, now = study.settings.model_dump(mode="json"), condition.settings.model_dump(mode="json")
    settings = {key: value for key, value in now.items() if value != before[key]}
    models = {**condition.roles, **{f"doctor {name}": spec for name, spec in condition.doctors.items()}}
    first = study.conditions[0]
    known = {**first.roles, **{f"doctor {name}": spec for name, spec in first.doctors.items()}}
    roles = {role: _role(spec) for role, spec in models.items() if spec != known[role]}
    data, usual = study.benchmark.data(condition.settings), study.benchmark.data(study.settings)
    files = {name: digest for name, digest in data.items() if digest != usual.get(name)}
    return {"settings": settings, "roles": roles, **({"data": files} if files else {})}


def _role(spec: ModelSpec) -> dict[str, Any]:
    return {"model": spec.name, "base_url": spec.base_url, "settings": dict(spec.settings)}


def cases_hash(cases: Sequence[Case]) -> str:
    """What identifies a set of cases, whatever file they come from: 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for case in cases:
        digest.update(case.model_dump_json(exclude_defaults=True).encode() + b"\n")
    return digest.hexdigest()[:16]


def _rules_hash(study: Study) -> str | None:
    """The code and data of the built-in roles: a run must not go on with other rules. None where models play all."""
    names = [spec.name for _, spec in study.models]
    if not any(name.startswith("builtin/") for name in names):
        return None
    digest = hashlib.sha256((resources.files("openosce.cases") / "diseases.yaml").read_bytes())
    for room in ("openosce.roles", "openosce.grading"):
        for file in sorted(resources.files(room).iterdir(), key=lambda file: file.name):
            if file.name.endswith((".py", ".yaml")):
                digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _notes(study: Study, cases: Sequence[Case]) -> Iterator[str]:
    if study.development:
        yield f"{len(study.development)} development cases are run, and no estimate uses them"
    if any(case.synthetic for case in cases):
        yield f"{sum(case.synthetic for case in cases)} of {len(cases)} cases are synthetic"
    patient = study.roles.get("patient")
    if patient is not None and patient.name == "builtin/record":
        without = sum(patient_part(case).facts_from_vignette for case in cases)
        if without:
            yield (
                f"{without} of {len(cases)} cases hold no facts for the patient; builtin/record answers there from the "
                "vignette's own sentences, examination and tests left out"
            )
    if any(spec.name.startswith("builtin/interviewer") for spec in study.doctors):
        yield "builtin/interviewer is a rule-based baseline; its scores measure nothing but the plumbing"
    yield from dict.fromkeys(
        note
        for condition in study.conditions
        for doctor in condition.doctors
        for note in study.benchmark.notes(
            condition.settings, {"doctor": doctor, **{role: spec.name for role, spec in condition.roles.items()}}
        )
    )


def versions() -> dict[str, str]:
    """The versions of Python, of OpenOSCE, and of what computes with it."""
    packages = ("openosce", "pydantic", "numpy", "scipy")
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in packages}}


def claim_folder(folder: Path, manifest: Mapping[str, Any], study_text: str) -> bool:
    """Make the folder this study's, or see that it is already. Call it with the folder's lock held.

    Returns:
        Whether the study goes on from an earlier start.

    Raises:
        RunFolderError: The folder holds another study, or something that is no run.
    """
    path = folder / MANIFEST
    if path.is_file():
        _same_study(folder, _earlier(path), manifest)
        return True
    write_whole(folder / STUDY, study_text)
    write_whole(path, json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
    return False


def _earlier(path: Path) -> dict[str, Any]:
    """The manifest of an earlier start."""
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as failure:
        raise RunFolderError(f"{path}: cannot be read: {failure}") from None
    if not isinstance(manifest, dict) or not isinstance(manifest.get("study"), dict):
        raise RunFolderError(f"{path}: is no manifest of a run")
    return manifest


def note_models(folder: Path) -> None:
    """Write the model ids that the providers returned into the manifest: a name can stand for changing models."""
    with RunReader(folder) as reader:
        returned = reader.returned_models()
        manifest = reader.manifest
    if returned and manifest.get("models_returned") != returned:
        text = json.dumps({**manifest, "models_returned": returned}, indent=2, ensure_ascii=False) + "\n"
        write_whole(folder / MANIFEST, text)


def refuse_foreign_folder(folder: Path) -> None:
    """Refuse a folder that holds something else than a run, before anything is written to it.

    Raises:
        RunFolderError: It is a file, or holds files and no manifest.
    """
    if folder.exists() and not folder.is_dir():
        raise RunFolderError(f"{folder}: is a file; give a folder for the run")
    if (folder / MANIFEST).is_file() or not folder.is_dir():
        return
    # What a first start leaves when it is killed, or finds the disk full, before the manifest is there.
    begun = {".lock", STUDY, *(half_written(Path(name)).name for name in (STUDY, MANIFEST))}
    foreign = sorted(entry.name for entry in folder.iterdir() if entry.name not in begun)
    if foreign:
        lost = " (a run.db without its manifest)" if DATABASE in foreign else ""
        raise RunFolderError(f"{folder}: is not empty and no run{lost}; it holds {foreign[0]!r}; choose another --out")


def _same_study(folder: Path, earlier: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    before, after = dict(_flat(earlier["study"])), dict(_flat(now["study"]))
    # A setting that the earlier version did not have yet, and that is not set now, is no change.
    new = {key for key, value in after.items() if key not in before and value in (None, [], "")}
    changed = [key for key in sorted({*before, *after} - new) if before.get(key) != after.get(key)]
    if changed:
        key = changed[0]
        more = f" (and {len(changed) - 1} more: {', '.join(changed[1:])})" if changed[1:] else ""
        raise RunFolderError(
            f"{folder}: holds another study: {key} was {before.get(key)!r} and is now {after.get(key)!r}{more}; "
            "choose another --out"
        )


def _flat(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(inner, f"{place}.{key}" if place else str(key))
    else:
        yield place, value
