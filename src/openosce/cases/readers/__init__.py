"""Case files of any known format into `Case` records. The format is told by the content, not by the file's name."""

import json
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

from openosce.cases.readers.craft_md import is_craft_md, read_craft_md
from openosce.cases.readers.mediq import is_mediq, read_mediq
from openosce.cases.readers.native import read_json, read_jsonl, read_yaml
from openosce.cases.record import Case
from openosce.errors import CaseFileError

STARTER = "starter"
"""The name under which our own cases go."""


def read_cases(source: str | Path) -> list[Case]:
    """Read every case of a file, a folder of YAML files, or the `starter` set.

    Raises:
        CaseFileError: Nothing is there, it is empty, or some of it cannot be read; says which file and line.
    """
    return [case for _, case in read_with_place(source)]


def read_with_place(source: str | Path) -> list[tuple[str, Case]]:
    """Like `read_cases`, with the file each case came from."""
    if str(source) == STARTER:
        with resources.as_file(resources.files("openosce.cases") / "starter") as folder:
            return _read_folder(folder)
    path = Path(source)
    try:
        is_folder, is_there = path.is_dir(), path.exists()
    except (OSError, ValueError):  # a name too long, or one that holds a null byte
        is_folder, is_there = False, False
    if not is_there:
        raise CaseFileError(path, None, f"no such case file; give a path or the name of a set ({STARTER})")
    return _read_folder(path) if is_folder else [(str(path), case) for case in _read_file(path)]


def _read_folder(folder: Path) -> list[tuple[str, Case]]:
    files = sorted([*folder.glob("*.yaml"), *folder.glob("*.yml"), *folder.glob("*.json"), *folder.glob("*.jsonl")])
    if not files:
        raise CaseFileError(folder, None, "holds no case file (*.yaml, *.json, *.jsonl)")
    return [(str(file), case) for file in files for case in _read_file(file)]


def _read_file(path: Path) -> list[Case]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as failure:
        line = failure.object[: failure.start].count(b"\n") + 1
        raise CaseFileError(path, line, f"not UTF-8 text (byte {failure.start}); save the file as UTF-8") from None
    except OSError as failure:
        raise CaseFileError(path, None, f"cannot be read: {failure.strerror}") from None
    if not text.strip():
        raise CaseFileError(path, None, "the file is empty")
    cases = list(_read_text(text, path))
    if not cases:
        raise CaseFileError(path, None, "the file holds no case, only a header")
    return cases


def _read_text(text: str, path: Path) -> Iterator[Case]:
    if text.lstrip().startswith("{"):
        if _is_one_object(text):
            return iter([read_json(text, path)])
        return read_mediq(text, path) if is_mediq(_first_object(text)) else read_jsonl(text, path)
    if is_craft_md(text):
        return read_craft_md(text, path)
    if _looks_like_csv(text):
        return read_craft_md(text, path)  # which names the columns that are missing
    return iter([read_yaml(text, path)])


def _is_one_object(text: str) -> bool:
    """Whether one JSON object goes over several lines: the first ends none, and the next begins none."""
    first, _, rest = text.strip().partition("\n")
    return bool(rest) and not first.rstrip().endswith("}") and not rest.lstrip().startswith("{")


def _first_object(text: str) -> dict[str, object]:
    try:
        first = json.loads(text.lstrip().split("\n", 1)[0])
    except (ValueError, RecursionError):  # the reader says what is wrong with it
        return {}
    return first if isinstance(first, dict) else {}


def _looks_like_csv(text: str) -> bool:
    header = re.split(r"[\r\n]", text, maxsplit=1)[0]
    return "," in header and ":" not in header and not header.lstrip().startswith(("#", "-", "["))
