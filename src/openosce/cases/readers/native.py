"""Our own format: one YAML file a case, or one JSON object a line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from openosce.cases.readers.validate import Location, to_case
from openosce.cases.record import Case
from openosce.errors import CaseFileError


class _Loader(yaml.CSafeLoader):
    """A safe loader that also refuses repeated keys."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            name = str(key.value)
            if name in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {name!r} occurs twice", problem_mark=key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep)


def _refuse_aliases(text: str, path: Path) -> None:
    # A case never needs them, and a few nested ones can expand without end.
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.AliasEvent) and event.start_mark:
            raise CaseFileError(path, event.start_mark.line + 1, "aliases (*name) are not allowed in a case")


def read_yaml(text: str, path: Path) -> Case:
    """Read one case from YAML."""
    try:
        _refuse_aliases(text, path)
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            data = loader.construct_document(node) if node is not None else None
        finally:
            loader.dispose()
    except yaml.YAMLError as failure:
        mark = getattr(failure, "problem_mark", None)
        problem = getattr(failure, "problem", None) or "cannot be parsed"
        hint = "; put long text in block style (>-) if it holds ': ' or '?'"
        raise CaseFileError(path, mark.line + 1 if mark else None, f"not valid YAML: {problem}{hint}") from None
    if not isinstance(data, dict):
        raise CaseFileError(path, 1, "expected the keys of one case (id, source, diagnosis, ...)")
    return to_case(data, path, lambda location: _line(node, location))


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


def read_jsonl(text: str, path: Path) -> Iterator[Case]:
    """Read cases from JSON lines in our own format."""
    for number, data in json_lines(text, path):
        yield to_case(data, path, lambda _, number=number: number)  # type: ignore[misc]


def json_lines(text: str, path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects of a JSONL text with their line numbers; blank lines are passed over.

    Raises:
        CaseFileError: A line is not a JSON object, or holds NaN or Infinity, which JSON does not know.
    """

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            data = json.loads(line, parse_constant=refuse)
        except (ValueError, RecursionError) as failure:
            raise CaseFileError(path, number, f"not a JSON object: {failure}") from None
        if not isinstance(data, dict):
            raise CaseFileError(path, number, f"expected a JSON object, found {type(data).__name__}")
        yield number, data
