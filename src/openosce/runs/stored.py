"""What every later marking of stored answers shares: how it is worked off, and who marked how, in the manifest.

Scores tell their grader's name and policy alone. What else decides them (endpoint, settings, prompts) stands in the
manifest under `regraded`, and must be the same for all of one grader's scores.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from openosce.errors import InputError, RunFolderError, RunStopped
from openosce.models import Closable, Model, ModelSpec
from openosce.runs.folder import MANIFEST, AddedScores, RunReader, write_whole

OnMarked = Callable[[AddedScores], None]
_T = TypeVar("_T")


@dataclass(frozen=True)
class Marker:
    """Who marks, and all that decides its marks besides the answers."""

    spec: ModelSpec
    policy: str | None
    """Under which, `name@version`; None: under every one of the section's."""
    prompts_hash: str | None
    """None for a rule, which reads none."""


def marker_noted(role: Mapping[str, Any], policy: str | None, prompts_hash: str | None) -> Marker:
    """The marker that a role of the study names, or that a note of a later marking tells (its key is `grader`)."""
    name = str(role["model"] if "model" in role else role["grader"])
    return Marker(ModelSpec(name, role.get("base_url"), dict(role.get("settings", {}))), policy, prompts_hash)


def notes(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The later markings that a manifest notes."""
    return [note for note in manifest.get("regraded", ()) if isinstance(note, dict) and "grader" in note]


def refuse_a_mixture(folder: Path, now: Marker, own: Marker, manifest: Mapping[str, Any]) -> None:
    """Refuse to mark on under a name that has marked here otherwise.

    Args:
        folder: The run folder.
        now: Who is about to mark.
        own: Who marked for the run itself.
        manifest: The run's.

    Raises:
        RunFolderError: Another endpoint, other settings or, under the same policy, other prompts.
    """
    noted = (marker_noted(note, note.get("policy"), note.get("prompts_hash")) for note in notes(manifest))
    for before in (own, *noted):
        if before.spec.name != now.spec.name:
            continue
        where = f"{folder}: {now.spec.name} has graded here"
        if before.spec.fingerprint != now.spec.fingerprint:
            raise RunFolderError(
                f"{where} as {before.spec.fingerprint}, this is {now.spec.fingerprint}; give the same --base-url and "
                "settings"
            )
        if before.policy == now.policy and before.prompts_hash != now.prompts_hash:
            under = f" under {now.policy}" if now.policy else ""
            raise RunFolderError(
                f"{where}{under} with prompts {before.prompts_hash}, these are {now.prompts_hash}; give the same "
                "--prompts as then"
            )


def note_in_manifest(folder: Path, marker: Marker) -> None:
    """Note a marking, before its first score is written; one that stands there already is not noted again."""
    with RunReader(folder) as reader:
        manifest = reader.manifest
    spec = marker.spec
    if (spec.name, marker.policy) in [(note["grader"], note.get("policy")) for note in notes(manifest)]:
        return
    note = {
        **{"grader": spec.name, "base_url": spec.base_url, "settings": dict(spec.settings)},
        "policy": marker.policy,
        "prompts_hash": marker.prompts_hash,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    manifest["regraded"] = [*notes(manifest), note]
    write_whole(folder / MANIFEST, json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


async def work_off(
    items: Iterable[_T], work: Callable[[_T], Awaitable[None]], in_flight: int, model: Model | None
) -> RunStopped | InputError | None:
    """Do the work on every item, with as many workers as calls may be open; the model is closed in the end.

    Returns:
        Why it stopped before its end; calls that were open then have been answered and written down.
    """
    stopped: list[RunStopped | InputError] = []
    left: Iterator[_T] = iter(items)

    async def work_on() -> None:
        try:
            for item in left:
                await work(item)
                if stopped:
                    return
                await asyncio.sleep(0)  # rules never wait: without this, Ctrl-C would not be heard
        except (RunStopped, InputError) as reason:
            stopped.append(reason)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(in_flight):
                group.create_task(work_on())
    finally:
        if isinstance(model, Closable):
            await model.close()
    return stopped[0] if stopped else None
