"""Files of a run folder that are there whole or not at all."""

from pathlib import Path

from openosce.errors import RunFolderError


def half_written(path: Path) -> Path:
    """Where a file stands until it is whole."""
    return path.with_name(f"{path.name}.tmp")


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all.

    Raises:
        RunFolderError: It cannot be written.
    """
    unfinished = half_written(path)
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    except OSError as failure:
        unfinished.unlink(missing_ok=True)
        raise RunFolderError(f"{path}: cannot be written: {failure.strerror or failure}") from None
