"""Sets of cases that are not ours and are fetched by the user: where they lie, and whether they are as they were."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from openosce.errors import CaseFileError

RECORD = "fetched.json"
"""The file beside the fetched ones that says where they come from, and their hashes; it holds no case."""


@dataclass(frozen=True)
class FetchedSet:
    """Where a set is found, and on what terms."""

    repositories: tuple[str, ...]
    """Data sets on the Hugging Face hub."""
    licence: str
    terms: str
    """What the licence asks for, in a sentence."""
    licence_url: str


FETCHED: Mapping[str, FetchedSet] = {
    "medqa-cs": FetchedSet(
        ("bio-nlp-umass/MedQA-CS-Student", "bio-nlp-umass/MedQA-CS-Exam"),
        "CC BY-NC 4.0 (Attribution-NonCommercial 4.0 International)",
        "Name the authors of MedQA-CS, say what you changed, and use the data for no commercial purpose.",
        "https://creativecommons.org/licenses/by-nc/4.0/",
    )
}
"""By the name under which `--cases` takes them."""


class FetchedFile(BaseModel):
    """One file as it was fetched."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    repository: str
    path: str
    """In the repository."""
    sha256: str
    size: int
    """Bytes."""


class FetchRecord(BaseModel):
    """What was fetched into a folder."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    licence: str
    """As it was accepted."""
    is_complete: bool
    files: dict[str, FetchedFile]
    """By the name in the folder."""


def is_fetched(name: str) -> bool:
    """Whether a set of this name is to be fetched; `medqa_cs` is as good as `medqa-cs`."""
    return name.replace("_", "-") in FETCHED


def data_folder() -> Path:
    """Where fetched sets lie: `$OPENOSCE_DATA`, or `data` in `$OPENOSCE_CACHE` or in `openosce` of the user's cache."""
    own, cache = os.environ.get("OPENOSCE_DATA"), os.environ.get("OPENOSCE_CACHE")
    if own:
        return Path(own)
    base = Path(cache) if cache else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "openosce"
    return base / "data"


def fetched_folder(name: str) -> Path:
    """The folder of a fetched set, its files unchanged.

    Raises:
        CaseFileError: It is not fetched, not wholly, or a file has been changed since.
    """
    name = name.replace("_", "-")
    folder = data_folder() / name
    record = read_record(folder)
    if record is None or not record.is_complete:
        what = "not fetched yet" if record is None else "not wholly fetched"
        raise CaseFileError(name, None, f"{what}; `osce cases fetch {name}` does it")
    refuse_changes(folder, record)
    return folder


def read_record(folder: Path) -> FetchRecord | None:
    """What was fetched into a folder; None where nothing was.

    Raises:
        CaseFileError: The record is no record.
    """
    path = folder / RECORD
    try:
        return FetchRecord.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError, ValidationError):
        raise CaseFileError(path, None, "no record of a fetch; delete the folder, and fetch again") from None


def refuse_changes(folder: Path, record: FetchRecord) -> None:
    """See that every file is there, and has the bytes that were fetched.

    Raises:
        CaseFileError: One is not, or has others.
    """
    for name, file in record.files.items():
        path = folder / name
        try:
            with path.open("rb") as opened:
                found = hashlib.file_digest(opened, "sha256").hexdigest()
        except OSError as failure:
            problem = f"fetched, and now {failure.strerror or 'unreadable'}"
            raise CaseFileError(path, None, f"{problem}; `osce cases fetch {record.name}` brings it back") from None
        if found != file.sha256:
            problem = "changed since it was fetched (sha256 differs); delete it and fetch again, or give it as a path"
            raise CaseFileError(path, None, problem)
