"""Reading one JSON object out of a model's reply.

What is mended is little and is said: code fences and text around the object, and keys that nobody asked for. All else
(a missing key, a number written as text, a list in the object's place, a reply cut off) is no answer of the asked
shape: of a student a failure to follow its instructions (MedQA-CS 2024, Table 7: "-"), of an examiner an unreadable
verdict.
"""

import json
import reprlib
from collections.abc import Iterator
from math import isfinite
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

LONGEST = 100_000
"""Characters of the longest reply that is read."""

_SHOWN = 80
_shown = reprlib.Repr()  # what is nested a thousand deep has no repr of its own
_shown.maxstring = _shown.maxother = _SHOWN
_MOST_KEYS = 10


class Shape(BaseModel):
    """What a reply must look like: no type stands in for another, keys that nobody asked for are left aside."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


S = TypeVar("S")
R = TypeVar("R", bound=Shape)


class ReadReply(NamedTuple, Generic[S]):
    """What a reply holds, or why it holds nothing."""

    value: S | None
    repairs: tuple[str, ...] = ()
    """What was mended to read it."""
    problem: str | None = None
    """Why there is no value, in one line."""


def read_object(text: str, shape: type[R]) -> ReadReply[R]:
    """Read the one object of a reply; never raises, whatever the reply holds."""
    if len(text) > LONGEST:
        return ReadReply(None, problem=f"expected one JSON object; the reply has {len(text):,} characters")
    span, repairs, problem = _outermost(text)
    if problem:
        return ReadReply(None, problem=f"expected one JSON object; {problem}")
    try:
        data = json.loads(
            span, object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_finite_int
        )
        json.dumps(data, ensure_ascii=False).encode()
        value = shape.model_validate(data)
    except RecursionError:
        return ReadReply(None, problem="expected one JSON object; it is nested too deep")
    except UnicodeEncodeError:
        return ReadReply(None, problem="expected one JSON object; it escapes something that is no character")
    except json.JSONDecodeError as failure:
        return ReadReply(None, problem=f"not JSON: {failure.msg} (character {failure.pos + 1} of the object)")
    except ValidationError as failure:
        return ReadReply(None, problem=_first_problem(failure))
    except ValueError as failure:
        return ReadReply(None, problem=f"not JSON: {failure}")
    ignored = list(_ignored(data, value.model_dump(by_alias=True)))
    if ignored:
        more = f" and {len(ignored) - _MOST_KEYS} more" if len(ignored) > _MOST_KEYS else ""
        repairs = (*repairs, f"ignored {', '.join(ignored[:_MOST_KEYS])}{more}")
    return ReadReply(value, repairs)


def schema_of(shape: type[Shape]) -> dict[str, Any]:
    """The JSON schema of a shape as endpoints take it: every key required, no others, no bounds (not all know them)."""
    schema: dict[str, Any] = _plain(shape.model_json_schema(by_alias=True))
    return schema


def _outermost(text: str) -> tuple[str, tuple[str, ...], str | None]:
    """From the first `{` to the last `}`, what stood around it, or why there is no such object."""
    start, end = text.find("{"), text.rfind("}") + 1
    if start < 0:
        return "", (), f"the reply is {text.strip()[:_SHOWN]!r}" if text.strip() else "the reply is empty"
    if end <= start:
        return "", (), "the reply is cut off: its object does not end"
    before, after = text[:start].strip(" \t\r\n\ufeff"), text[end:].strip()
    if before.endswith("[") or after.startswith("]"):
        return "", (), "the reply is a list"
    repairs = []
    for where, around in (("before", before), ("after", after)):
        bare = around.replace("```json", "").replace("```JSON", "").replace("```", "").strip()
        repairs += ["code fence"] if "```" in around and "code fence" not in repairs else []
        repairs += [f"text {where} the object"] if bare else []
    return text[start:end], tuple(repairs), None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key[:_SHOWN]!r} stands twice")
        found[key] = value
    return found


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise ValueError(f"{digits[:_SHOWN]} is too large")
    return number


def _finite_int(digits: str) -> int:
    _finite(digits)
    return int(digits)


def _first_problem(failure: ValidationError) -> str:
    first, *others = failure.errors(include_url=False, include_context=False)
    place = ".".join(str(part) for part in first["loc"]) or "the object"
    came = "" if first["type"] == "missing" else f", came {_shown.repr(first['input'])}"
    more = f"; {len(others)} more problem{'s' if len(others) > 1 else ''}" if others else ""
    return f"{place}: {first['msg']}{came}{more}".replace("\n", " ")


def _ignored(data: object, kept: object, path: str = "") -> Iterator[str]:
    """The keys of what came that are not in what was kept."""
    if isinstance(data, dict) and isinstance(kept, dict):
        for key, value in data.items():
            if key in kept:
                yield from _ignored(value, kept[key], f"{path}{key}.")
            else:
                yield repr(f"{path}{key}"[:_SHOWN])
    elif isinstance(data, list) and isinstance(kept, list | tuple):
        for one, other in zip(data, kept, strict=False):
            yield from _ignored(one, other, path)


_KEPT = ("type", "const", "enum", "$ref", "description")


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    plain = {key: schema[key] for key in _KEPT if key in schema}
    if "properties" in schema:
        plain["properties"] = {name: _plain(inner) for name, inner in schema["properties"].items()}
        plain |= {"required": list(schema["properties"]), "additionalProperties": False}
    if "items" in schema:
        plain["items"] = _plain(schema["items"])
    if "anyOf" in schema:
        plain["anyOf"] = [_plain(inner) for inner in schema["anyOf"]]
    if "$defs" in schema:
        plain["$defs"] = {name: _plain(inner) for name, inner in schema["$defs"].items()}
    return plain
