"""Turning parsed data into a `Case`, with an error that names file, line and field."""

from collections.abc import Callable
from pathlib import Path

from pydantic import ValidationError

from openosce.cases.record import Case
from openosce.errors import CaseFileError

Location = tuple[int | str, ...]

_EXPECTED = {
    "extra_forbidden": "unknown key; known keys are in docs/case-format.md",
    "missing": "this key is required",
    "string_type": "expected text (quote it if it reads as a number, a date or yes/no)",
}


def to_case(data: object, path: Path, line_of: Callable[[Location], int | None]) -> Case:
    """Check `data` against the record; `line_of` finds the line of a field in the file.

    Raises:
        CaseFileError: With the first problem, and how many more there are.
    """
    try:
        return Case.model_validate(data)
    except ValidationError as failure:
        problems = failure.errors(include_url=False)
        first = problems[0]
        field = ".".join(str(step) for step in first["loc"]) or "the case"
        message = _EXPECTED.get(first["type"], first["msg"])
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise CaseFileError(path, line_of(first["loc"]), f"{field}: {message}{more}") from None
