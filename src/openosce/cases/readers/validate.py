"""Turning parsed data into a `Case`, with an error that names file, line and field."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from openosce.cases.record import Case
from openosce.errors import CaseFileError

Location = tuple[int | str, ...]
LineOf = Callable[[Location], int | None]
_Checked = TypeVar("_Checked", bound=BaseModel)

_EXPECTED = {
    "bool_parsing": "expected true or false, found {found}",
    "bool_type": "expected true or false, found {found}",
    "dict_type": "expected keys with values, found {found}",
    "extra_forbidden": "unknown key; known keys are in docs/case-format.md",
    "invalid_key": "expected text as a key (quote it)",
    "list_type": "expected a list, found {found}",
    "literal_error": "expected {expected}, found {found}",
    "missing": "this key is required",
    "model_type": "expected keys with values, found {found}",
    "string_pattern_mismatch": "control characters are not allowed here",
    "string_too_long": "expected at most {max_length} characters",
    "string_too_short": "expected some text, found none (leave out a key that has nothing to say)",
    "string_type": "expected text, found {found} (quote it if it reads as a number, a date or yes/no)",
    "string_unicode": "holds half of a surrogate pair (\\ud800 to \\udfff), which is not text",
    "too_long": "expected at most {max_length} entries, found {actual_length}",
    "tuple_type": "expected a list, found {found}",
}


def to_case(data: object, path: Path, line_of: LineOf) -> Case:
    """Check `data` against the case record; see `to_record`."""
    return to_record(Case, data, path, line_of)


def to_record(model: type[_Checked], data: object, path: Path, line_of: LineOf) -> _Checked:
    """Check `data` against a record; `line_of` finds the line of a field in the file.

    Raises:
        CaseFileError: With the first problem, and how many more there are.
    """
    try:
        return model.model_validate(data)
    except ValidationError as failure:
        problems = failure.errors(include_url=False)
        first = problems[0]
        field = ".".join(str(step) for step in first["loc"]) or "the case"
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise CaseFileError(path, line_of(first["loc"]), f"{field}: {_message(first)}{more}") from None


def _message(problem: Mapping[str, Any]) -> str:
    expected = _EXPECTED.get(problem["type"])
    if expected is None:
        return str(problem["msg"])
    return expected.format(**{**problem.get("ctx", {}), "found": described(problem["input"])})


def described(value: object) -> str:
    """What was found, in the words of someone who writes case files."""
    kinds = {dict: "keys with values", list: "a list", bytes: "binary data", type(None): "nothing"}
    if type(value) in kinds:
        return kinds[type(value)]
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return repr(text[:40] + "…" if len(text) > 40 else text)
