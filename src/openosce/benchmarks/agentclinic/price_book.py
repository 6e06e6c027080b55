"""The price book of tests: what an ordered test costs. An unknown price makes the cost unknown; none is guessed."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path

import yaml
from pydantic import Field, ValidationError

from openosce.cases.record import Record
from openosce.errors import StudyError
from openosce.roles.test_names import terms


class TestPrice(Record):
    """What one test costs, in US dollars."""

    __test__ = False  # pytest takes classes named Test* for tests

    test: str = Field(min_length=1)
    aliases: tuple[str, ...] = ()
    dollars: float = Field(ge=0, allow_inf_nan=False)


class _Book(Record):
    illustrative: bool = False
    """Whether the prices stand for no source."""
    source: str = Field(min_length=1)
    prices: tuple[TestPrice, ...] = Field(min_length=1)


@dataclass(frozen=True)
class TestPrices:
    """Prices by what a test's name means."""

    __test__ = False

    by_terms: Mapping[frozenset[str], float]
    illustrative: bool
    source: str
    hash: str

    def dollars(self, test: str) -> float | None:
        """What a test costs, by any of its names; None where the price is unknown."""
        return self.by_terms.get(terms(test))


@lru_cache(maxsize=8)
def load_test_prices(own: Path | None = None) -> TestPrices:
    """The user's price book, or our illustrative one. The two are never mixed.

    Raises:
        StudyError: The user's file cannot be read, is no price book, or prices a test twice.
    """
    name, text = str(own), ""
    try:
        if own is None:
            shipped = resources.files("openosce.benchmarks.agentclinic") / "test_prices.yaml"
            name, text = "test_prices.yaml", shipped.read_text(encoding="utf-8")
        else:
            text = own.read_text(encoding="utf-8-sig")
        book = _Book.model_validate(yaml.safe_load(text))
    except (OSError, UnicodeDecodeError) as failure:
        raise StudyError(f"{name}: cannot be read as a price book of tests: {failure}") from None
    except ValidationError as failure:
        first = failure.errors(include_url=False)[0]
        place = ".".join(str(step) for step in first["loc"]) or "the file"
        needed = "expected `source` and `prices`, a list of entries with test, dollars and perhaps aliases"
        raise StudyError(f"{name}: {place}: {first['msg']}; {needed}") from None
    except (yaml.YAMLError, ValueError) as failure:
        raise StudyError(f"{name}: not valid YAML: {' '.join(str(failure).split())}") from None
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return TestPrices(_by_terms(book, name), book.illustrative, book.source, digest)


def _by_terms(book: _Book, name: str) -> dict[frozenset[str], float]:
    found: dict[frozenset[str], tuple[str, float]] = {}
    for price in book.prices:
        for spelled in (price.test, *price.aliases):
            other, _ = found.setdefault(terms(spelled), (price.test, price.dollars))
            if other != price.test or not terms(spelled):
                problem = f"is the same test as {other!r}" if terms(spelled) else "names no test"
                raise StudyError(f"{name}: {spelled!r} {problem}; give each test one price")
    return {named: dollars for named, (_, dollars) in found.items()}
