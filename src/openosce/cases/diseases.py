"""Names of diseases: which are one disease, and which is a kind of which. General medical knowledge, no case's."""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from importlib import resources

import yaml


@dataclass(frozen=True)
class Disease:
    """A disease with its other names and the broader diseases it is a kind of."""

    name: str
    synonyms: tuple[str, ...] = ()
    broader: tuple[str, ...] = ()


_SPELLED_OUT = str.maketrans(
    {"α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "κ": "kappa", "λ": "lambda"}
    | {"+": " plus ", "↑": " up ", "↓": " down ", "↔": " unchanged "}
)


def normal_name(name: str) -> str:
    """A spelling under which the same name meets itself.

    It has no case, accents, punctuation or possessives; British `ae`, `oe` and `-our` are American, Greek letters and
    telling signs are spelled out.
    """
    text = re.sub(r"['’‘`´ʼ′]s\b", "", name.casefold())
    text = unicodedata.normalize("NFKD", text).translate(_SPELLED_OUT)
    text = "".join(letter for letter in text if not unicodedata.combining(letter))
    text = re.sub(r"[\W_]+", " ", text)
    text = re.sub(r"(?<=\w\w)our(?=s?\b)", "or", text.replace("ae", "e").replace("oe", "e"))
    return re.sub(r"^(?:the|an?) ", "", text.strip())


@cache
def known_diseases() -> dict[str, Disease]:
    """Every name and synonym we ship, in its normal spelling, with its disease."""
    text = (resources.files("openosce.cases") / "diseases.yaml").read_text(encoding="utf-8")
    diseases = [
        Disease(entry["name"], tuple(entry.get("synonyms", ())), tuple(entry.get("broader", ())))
        for entry in yaml.load(text, Loader=yaml.CSafeLoader)
    ]
    return {normal_name(name): disease for disease in diseases for name in (disease.name, *disease.synonyms)}


def find_disease(name: str) -> Disease | None:
    """The disease of this name, if we know it."""
    return known_diseases().get(normal_name(name))
