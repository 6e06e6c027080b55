"""Case files of any known format into `Case` records. The format is told by the content, not by the file's name."""

import json
import re
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

from openosce.cases.fetched import FETCHED, RECORD, fetched_folder, is_fetched
from openosce.cases.readers.agentclinic import is_agentclinic, read_agentclinic
from openosce.cases.readers.agentclinic_nejm import is_nejm, read_nejm
from openosce.cases.readers.craft_md import is_craft_md, read_craft_md
from openosce.cases.readers.mediq import is_mediq, read_mediq
from openosce.cases.readers.medqa_cs import read_medqa_cs
from openosce.cases.readers.medqa_cs import unplaced as unplaced_of_medqa_cs
from openosce.cases.readers.medqa_cs_items import Files, is_medqa_cs
from openosce.cases.readers.native import read_json, read_jsonl, read_yaml
from openosce.cases.record import Case
from openosce.errors import CaseFileError

STARTER = "starter"
"""The name under which our own cases go."""
SETS = (STARTER, "starter-images")
"""Our own cases; in the names of their folders, `_` stands for `-`, and they are known by those too."""

_FORMATS: tuple[
    tuple[Callable[[dict[str, Any]], bool], Callable[[str, Path], Iterator[Case]]],
    ...,
] = (
    (is_mediq, read_mediq),
    (is_agentclinic, read_agentclinic),
    (is_nejm, read_nejm),
)
"""Foreign formats of JSON lines, each told by the keys of the first line."""


def read_cases(source: str | Path) -> list[Case]:
    """Read every case of a file, a folder of case files, or a set: one of our own (`starter`), or fetched (`medqa-cs`).

    Raises:
        CaseFileError: Nothing is there, it is empty, or some of it cannot be read; says which file and line.
    """
    return [case for _, case in read_with_place(source)]


def read_with_place(source: str | Path) -> list[tuple[str, Case]]:
    """Like `read_cases`, with the file each case came from."""
    files = case_files(source)
    upstream = [(path, text) for path, text in files if is_medqa_cs(text)]
    placed = [(str(path), case) for path, text in files if not is_medqa_cs(text) for case in _read_file(path, text)]
    # What MedQA-CS tells of a case stands in two files.
    return placed + [(str(upstream[0][0]), case) for case in (read_medqa_cs(upstream) if upstream else ())]


def unplaced(source: str | Path) -> list[tuple[str, str]]:
    """What of somebody else's files found no place in a case: the case's id, and what it is."""
    return unplaced_of_medqa_cs([(path, text) for path, text in case_files(source) if is_medqa_cs(text)])


def case_files(source: str | Path) -> Files:
    """The case files of a set or a path, with their texts.

    Raises:
        CaseFileError: Nothing is there, or some of it is empty or no text; says which file and line.
    """
    own = _own_folder(source)
    path = own or Path(source)
    try:
        is_folder, is_there = path.is_dir(), path.exists()
    except (OSError, ValueError):  # a name too long, or one that holds a null byte
        is_folder, is_there = False, False
    if not is_there:
        sets = ", ".join((*SETS, *FETCHED))
        raise CaseFileError(path, None, f"no such case file; give a path or the name of a set ({sets})")
    return [(file, _text_of(file)) for file in (_in_folder(path) if is_folder else [path])]


def folder_of(source: str | Path) -> Path:
    """The folder that the relative paths of a set's images start from: the set's own, or that of its file."""
    path = _own_folder(source) or Path(source)
    return path if path.is_dir() else path.parent


def _own_folder(source: str | Path) -> Path | None:
    name = str(source)
    if is_fetched(name):
        return fetched_folder(name)
    name = name.replace("_", "-")
    return Path(str(resources.files("openosce.cases") / name.replace("-", "_"))) if name in SETS else None


def _in_folder(folder: Path) -> list[Path]:
    endings = ("*.yaml", "*.yml", "*.json", "*.jsonl")
    files = sorted(file for ending in endings for file in folder.glob(ending) if file.name != RECORD)
    if not files:
        raise CaseFileError(folder, None, "holds no case file (*.yaml, *.json, *.jsonl)")
    return files


def _text_of(path: Path) -> str:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as failure:
        line = failure.object[: failure.start].count(b"\n") + 1
        raise CaseFileError(path, line, f"not UTF-8 text (byte {failure.start}); save the file as UTF-8") from None
    except OSError as failure:
        raise CaseFileError(path, None, f"cannot be read: {failure.strerror}") from None
    if not text.strip():
        raise CaseFileError(path, None, "the file is empty")
    return text


def _read_file(path: Path, text: str) -> list[Case]:
    cases = list(_read_text(text, path))
    if not cases:
        raise CaseFileError(path, None, "the file holds no case, only a header")
    return cases


def _read_text(text: str, path: Path) -> Iterator[Case]:
    if text.lstrip().startswith("{"):
        # A line end in JSON is a blank: one object over several lines becomes one line.
        lines = re.sub(r"[\r\n]", " ", text) if _is_one_object(text) else text
        first = _first_object(lines)
        for is_format, read in _FORMATS:
            if is_format(first):
                return read(lines, path)
        return iter([read_json(text, path)]) if lines is not text else read_jsonl(text, path)
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
