"""Our own format: one YAML file a case, one JSON object a line, or one JSON object over several lines."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from openosce.cases.readers.validate import Location, described, to_case
from openosce.cases.record import Case
from openosce.errors import CaseFileError

_DEEPEST = 50
"""How deep the parts of a case may be nested; the record itself needs five levels."""


class _Loader(yaml.CSafeLoader):
    """A safe loader that also refuses repeated keys, and numbers and dates that are none."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            name = str(key.value)
            if name in seen:
                raise yaml.constructor.ConstructorError(None, None, f"the key {name!r} occurs twice", key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep)

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except ValueError as failure:
            problem = f"{node.value[:40]!r} cannot be read ({failure}); quote it"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark) from None


def _refuse_aliases_and_depth(text: str, path: Path) -> None:
    # A case never needs them; a few nested aliases can expand without end, and deep nesting exhausts the stack.
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        line = event.start_mark.line + 1 if event.start_mark else None
        if isinstance(event, yaml.AliasEvent):
            raise CaseFileError(path, line, "aliases (*name) are not allowed in a case; write the text out")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise CaseFileError(path, line, f"nested more than {_DEEPEST} levels deep; no part of a case is")


def read_yaml(text: str, path: Path) -> Case:
    """Read one case from YAML."""
    try:
        _refuse_aliases_and_depth(text, path)
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            data = loader.construct_document(node) if node is not None else None
        finally:
            loader.dispose()
    except yaml.YAMLError as failure:
        raise _not_yaml(failure, text, path) from None
    if not isinstance(data, dict):
        raise CaseFileError(path, 1, f"expected the keys of one case (id, source, diagnosis, ...), {_found(data)}")
    return to_case(data, path, lambda location: _line(node, location))


def _found(data: object) -> str:
    mend = "; put one case in each file, or one JSON object on each line" if isinstance(data, list) else ""
    return f"found {described(data)}{mend}"


def _not_yaml(failure: yaml.YAMLError, text: str, path: Path) -> CaseFileError:
    if isinstance(failure, yaml.reader.ReaderError):
        sign = next((place for place, letter in enumerate(text) if _is_control(letter)), len(text))
        line = text.count("\n", 0, sign) + 1
        return CaseFileError(path, line, "not valid YAML: a control character; take it out, or escape it in quotes")
    mark = getattr(failure, "problem_mark", None)
    problem = getattr(failure, "problem", None) or "cannot be parsed"
    if not isinstance(failure, yaml.constructor.ConstructorError):
        problem += "; put long text in block style (>-) if it holds ': ' or '?'"
    return CaseFileError(path, mark.line + 1 if mark else None, f"not valid YAML: {problem}")


def _is_control(letter: str) -> bool:
    return letter not in "\n\r\t" and not letter.isprintable() and not letter.isspace()


def _line(node: yaml.Node | None, location: Location) -> int | None:
    """The line of a field: walk the YAML tree as far as the location leads."""
    line = node.start_mark.line + 1 if node is not None else None
    for step in location:
        child: yaml.Node | None = None
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.value == str(step):
                    child, line = value, key.start_mark.line + 1
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            child = node.value[step]
            line = child.start_mark.line + 1
        if child is None:
            return line
        node = child
    return line


def read_json(text: str, path: Path) -> Case:
    """Read one case from a JSON object over several lines."""
    try:
        data = parse_json(text)
    except json.JSONDecodeError as failure:
        raise CaseFileError(path, failure.lineno, f"not a JSON object: {failure.msg}") from None
    except (ValueError, RecursionError) as failure:
        raise CaseFileError(path, None, f"not a JSON object: {failure}") from None
    return to_case(data, path, lambda location: _line_of_key(text, location))


def _line_of_key(text: str, location: Location) -> int | None:
    """The first line that holds the last key of a location; an indented file has it on a line of its own."""
    keys = [json.dumps(step, ensure_ascii=False) for step in location if isinstance(step, str)]
    place = text.find(keys[-1]) if keys else -1
    return text.count("\n", 0, place) + 1 if place >= 0 else None


def read_jsonl(text: str, path: Path) -> Iterator[Case]:
    """Read cases from JSON lines in our own format."""
    for number, data in json_lines(text, path):
        yield to_case(data, path, lambda _, number=number: number)  # type: ignore[misc]


def json_lines(text: str, path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects of a JSONL text with their line numbers; blank lines are passed over.

    Raises:
        CaseFileError: A line is not a JSON object, has a key twice, or holds NaN or Infinity, which JSON does not know.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            data = parse_json(line)
        except json.JSONDecodeError as failure:
            raise CaseFileError(path, number, f"not a JSON object: {failure.msg} at column {failure.colno}") from None
        except (ValueError, RecursionError) as failure:
            raise CaseFileError(path, number, f"not a JSON object: {failure}") from None
        if not isinstance(data, dict):
            raise CaseFileError(path, number, f"expected a JSON object on this line, found {described(data)}")
        yield number, data


def parse_json(text: str) -> Any:
    """Parse strict JSON: no key twice, neither NaN nor Infinity.

    Raises:
        ValueError: It is none; `json.JSONDecodeError` where it is no JSON at all.
        RecursionError: It is nested too deep.
    """
    return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_refuse_repeated_keys)


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} occurs twice")
    return found
