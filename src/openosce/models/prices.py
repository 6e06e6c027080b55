"""The price book: what a call costs. An unknown price makes the cost unknown, never 0."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from importlib import resources
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from openosce.errors import StudyError
from openosce.models.model import Reply


class Price(BaseModel):
    """What one model costs, in US dollars for a million tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    model: str
    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)
    """Of prompt tokens from the prefix cache; without it they cost what others cost."""
    source: str
    looked_up: date


@dataclass(frozen=True)
class PriceBook:
    """Prices by model."""

    prices: Mapping[str, Price]
    hash: str

    def dollars(self, model: str, reply: Reply) -> float | None:
        """What a reply cost; None where the price or the token counts are unknown."""
        if reply.tokens_in is None or reply.tokens_out is None:
            return 0.0 if _is_free(model) else None
        return self.cost(model, reply.tokens_in, reply.tokens_out, reply.tokens_cached or 0)

    def cost(self, model: str, tokens_in: float, tokens_out: float, tokens_cached: float = 0) -> float | None:
        """What so many tokens cost, in dollars; None where the price is unknown."""
        price = self.prices.get(model)
        if price is None:
            return 0.0 if _is_free(model) else None
        cached = price.cached if price.cached is not None else price.input
        return ((tokens_in - tokens_cached) * price.input + tokens_cached * cached + tokens_out * price.output) / 1e6


def _is_free(model: str) -> bool:
    return model == "human" or model.startswith(("builtin/", "local/"))


def load_prices(own: Path | None = None) -> PriceBook:
    """Our price book, with the user's lines in the place of ours.

    Raises:
        StudyError: The user's file cannot be read, or a line of it is no price.
    """
    shipped = (resources.files("openosce.models") / "prices.yaml").read_text(encoding="utf-8")
    texts = {"prices.yaml": shipped}
    if own is not None:
        try:
            texts[str(own)] = own.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as failure:
            raise StudyError(f"{own}: cannot be read as a price book: {failure}") from None
    prices = {price.model: price for name, text in texts.items() for price in _read(name, text)}
    return PriceBook(prices, hashlib.sha256("\0".join(texts.values()).encode()).hexdigest()[:16])


def _read(name: str, text: str) -> list[Price]:
    try:
        return TypeAdapter(list[Price]).validate_python(yaml.safe_load(text))
    except ValidationError as failure:
        first = failure.errors(include_url=False)[0]
        place = ".".join(str(step) for step in first["loc"]) or "the file"
        needed = "expected lines with model, input, output, source, looked_up"
        raise StudyError(f"{name}: {place}: {first['msg']}; {needed}") from None
    except (yaml.YAMLError, ValueError) as failure:  # ValueError: a date that is none
        raise StudyError(f"{name}: not valid YAML: {' '.join(str(failure).split())}") from None
