"""Whether runs may be compared: whatever differs between their studies must be what the comparison is about."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from openosce.errors import RunFolderError, StudyError
from openosce.reports.text import one_line
from openosce.runs.folder import MANIFEST, RunReader

FACTORS = ("prompts", "patient", "summarizer", "grader", "policy", "cases", "settings", "trials", "seed", "rules")
"""What a comparison can be about, and whatever else the studies tell; the doctor always is a factor."""

NOT_NOTED = "not noted"
_FACTOR_OF = {
    "prompts_hash": "prompts",
    "cases_hash": "cases",
    "settings.policy": "policy",
    "grader_repeats": "grader",
    "rules_hash": "rules",
}
_NO_FACTOR = ("benchmark",)
_MOST_NAMED = 5
"""Of the differences in a refusal: two sweeps differ in dozens."""


@dataclass(frozen=True)
class Differing:
    """One thing in which the studies differ."""

    key: str
    """Its place in the manifest's study, as `roles.patient.model`."""
    factor: str
    values: tuple[Any, ...]
    """One for each run."""

    def to_json(self) -> dict[str, Any]:
        """One entry of `differs`."""
        return asdict(self)


def differing(readers: Sequence[RunReader], factors: Collection[str]) -> tuple[Differing, ...]:
    """Everything in which the runs' studies differ; the doctor is always a factor.

    Args:
        readers: The runs, two or more.
        factors: What may differ besides the doctor.

    Raises:
        StudyError: A factor nobody knows, or something differs that is none of the factors.
        RunFolderError: A manifest does not tell the study.
    """
    studies = [_study(reader) for reader in readers]
    keys = dict.fromkeys(key for study in studies for key in study)
    known = dict.fromkeys([*FACTORS, "doctor", *(factor for key in keys if (factor := _factor(key)) not in _NO_FACTOR)])
    unknown = [factor for factor in factors if factor not in known]
    if unknown:
        raise StudyError(f"--factor {unknown[0]!r}: unknown; known are {', '.join(known)}")
    found = []
    for key in keys:
        values = tuple(study.get(key, NOT_NOTED) for study in studies)
        if any(value != values[0] for value in values) and not _is_explained(key, values, studies):
            found.append(Differing(key, _factor(key), values))
    undeclared = [one for one in found if one.factor not in {"doctor", *factors}]
    if undeclared:
        raise StudyError(_refusal(undeclared, [str(reader.folder) for reader in readers]))
    return tuple(found)


def _study(reader: RunReader) -> dict[str, Any]:
    """What decides a run's results, flattened: `roles.patient.model`, `settings.cap`, `policy` ..."""
    study = reader.manifest["study"]
    if not isinstance(study, Mapping):
        raise RunFolderError(f"{reader.folder / MANIFEST}: the study is no table; it cannot be compared")
    return dict(_flat(study)) | {"policy": reader.manifest.get("policy")}


def _flat(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and (value or not place):
        for key, inner in value.items():
            yield from _flat(inner, f"{place}.{key}" if place else str(key))
    else:
        yield place, value


def _factor(key: str) -> str:
    first, _, rest = key.partition(".")
    return _FACTOR_OF.get(key) or (rest.partition(".")[0] if first == "roles" else first)


def _is_explained(key: str, values: Sequence[Any], studies: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a difference follows from something that is looked at by itself."""
    if key == "cases":  # the name under which the same cases were given
        hashes = [study.get("cases_hash") for study in studies]
        return hashes[0] is not None and all(one == hashes[0] for one in hashes)
    if key == "rules_hash":
        # There is none where models play all roles: beside one, only a built-in doctor or another factor explains it.
        return len({repr(value) for value in values if value is not None}) == 1
    if key == "settings.policy":
        return len({study.get("policy") for study in studies}) > 1
    return False


def _refusal(undeclared: Sequence[Differing], runs: Sequence[str]) -> str:
    """One line: what differs, both values, and the mend."""
    first = undeclared[0]
    other = next(n for n, value in enumerate(first.values) if value != first.values[0])
    values = f"{_shown(first.values[0])} in {runs[0]} and {_shown(first.values[other])} in {runs[other]}"
    others = [one.key for one in undeclared[1:]]
    named = ", ".join([*others[:_MOST_NAMED], *(["..."] if others[_MOST_NAMED:] else [])])
    more = f" (and {len(others)} more: {named})" if others else ""
    said = f"the runs cannot be compared: {first.key} is {values}{more}"
    if any(one.factor in _NO_FACTOR for one in undeclared):
        return f"{said}; only runs of one benchmark can be compared"
    flags = dict.fromkeys(f"--factor {one.factor}" for one in undeclared)
    return f"{said}; if that is what the comparison is about, add {' '.join(flags)}"


def _shown(value: Any) -> str:
    return one_line(value if value == NOT_NOTED else repr(value), 80)
