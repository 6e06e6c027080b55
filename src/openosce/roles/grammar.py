"""Shifting English sentences between the first and the third person. Rules for short clinical prose, not for novels."""

import re
from collections.abc import Callable

Rule = tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]


def _rules(*pairs: tuple[str, str | Callable[[re.Match[str]], str]]) -> list[Rule]:
    return [(re.compile(pattern, re.IGNORECASE), replacement) for pattern, replacement in pairs]


def _third_singular(match: re.Match[str]) -> str:
    """`I [adverb] take` as `the patient [adverb] takes`; past tenses and auxiliaries stay."""
    adverb, verb = match[1] or "", match[2]
    lower = verb.lower()
    if lower in _UNCHANGING or lower.endswith("ed"):
        return f"the patient {adverb}{verb}"
    ending = "es" if lower.endswith(("s", "sh", "ch", "x", "o")) else "s"
    return f"the patient {adverb}{verb}{ending}"


def _first_singular(match: re.Match[str]) -> str:
    """`I [adverb] takes`, left by replacing a pronoun, as `I [adverb] take`."""
    adverb, verb = match[1] or "", match[2]
    if verb.lower() in _NO_PLURAL_S or verb.lower().endswith(("ss", "us")):
        return f"I {adverb}{verb}"
    if verb.lower().endswith(("shes", "ches", "sses", "xes", "oes")):
        return f"I {adverb}{verb[:-2]}"
    if verb.lower().endswith("ies"):
        return f"I {adverb}{verb[:-3]}y"
    return f"I {adverb}{verb[:-1]}"


_ADVERBS = (
    r"((?:also|usually|often|always|never|sometimes|only|just|currently|recently|first|still|really|regularly|rarely|"
    r"occasionally|then|now|mostly|especially|even|hardly|barely|previously|initially|normally|generally)\s+)?"
)
_UNCHANGING = set(
    (
        "was were had did could would should might may must can will cannot ate drank went came got took felt thought "
        "said told knew saw gave began lost gained grew woke slept kept left made put hurt cut let threw fell found "
        "heard held met paid read ran sat spent stood understood wore wrote became broke brought caught chose drove "
        "forgot hit quit rose sent shook shut swam taught tore won thickened and or who in to"
    ).split()
)
_NO_PLURAL_S = {"was", "is", "has", "does", "this", "always", "sometimes", "as", "previous", "perhaps", "besides"}

_TO_THIRD = _rules(
    (r"\bI(?:'|’)m\b|\bI am\b", "the patient is"),
    (r"\bI(?:'|’)ve\b|\bI have\b", "the patient has"),
    (r"\bI(?:'|’)d\b", "the patient would"),
    (r"\bI(?:'|’)ll\b", "the patient will"),
    (r"\bI (?:don(?:'|’)t|do not)\b", "the patient does not"),
    (r"\bI (?:haven(?:'|’)t|have not)\b", "the patient has not"),
    (r"\bI do\b", "the patient does"),
    (rf"\bI\s+{_ADVERBS}([a-z]+)\b(?!['’])", _third_singular),
    (r"\bI\b", "the patient"),
    (r"\bmyself\b", "themselves"),
    (r"\bmy\b", "the patient's"),
    (r"\bmine\b", "the patient's"),
    (r"\bme\b", "the patient"),
)

_SUBJECT = r"(?:the\s+(?:patient|man|woman|boy|girl|child|infant)|patient|he|she)"
_TO_FIRST = _rules(
    (rf"\b{_SUBJECT}\s+(?:denies|denied)\s+(?:having\s+(?:had\s+)?|any\s+)?", "I have not had any "),
    (
        rf"\b{_SUBJECT}\s+(?:(?:also|further)\s+)?"
        r"(?:reports|reported|states|stated|says|said|notes|noted|mentions|endorses|endorsed)\s+that\s+",
        "",
    ),
    (
        rf"\b{_SUBJECT}\s+(?:(?:also|further)\s+)?"
        r"(?:reports|reported|endorses|endorsed|complains of|complained of|describes|described)\s+(?:having\s+)?",
        "I have ",
    ),
    (rf"\b{_SUBJECT}\s+is\b", "I am"),
    (rf"\b{_SUBJECT}\s+has\b", "I have"),
    (rf"\b{_SUBJECT}\s+does\b", "I do"),
    (rf"\b{_SUBJECT}(?:'|’)s\b", "my"),
    (rf"\b{_SUBJECT}\s+{_ADVERBS}([a-z]+s)\b", _first_singular),
    (rf"\b{_SUBJECT}\b", "I"),
    (r"\b(?:himself|herself)\b", "myself"),
    (r"\bhim\b|\bher\b(?=\s+(?:to|at|for|from|in|on|with|and|by|because|when|that|is|was)\b|[.,;!?]|\s*$)", "me"),
    (r"\b(?:his|her)\b", "my"),
)

_OPENING = re.compile(
    r"""^(?:An?|The)\s+(?:(?:previously|otherwise)\s+healthy\s+)?[^.]*?\b
    (?:presents?|presented|comes?|came|(?:is|was)\s+(?:brought|seen|evaluated|referred|admitted)|visits?|visited|complains?|complained)\b
    [^.]*?\b(?:because\s+of|due\s+to|complain(?:ing|s|ed)?\s+(?:of|about)|(?:complaints?|history)\s+of|concerned\s+about|with|for|after)\s+(?:complaints?\s+of\s+)?(?P<complaint>.+)$""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)


def to_third_person(statement: str) -> str:
    """What a patient says of themselves, as said of a patient: "My eyes itch." as "The patient's eyes itch."."""
    text = re.sub(r"^(?:yes|no|well|hmm|um|oh)\b[,.]?\s+(?=\w)", "", statement.strip(), flags=re.IGNORECASE)
    return _finish(_apply(_TO_THIRD, text))


def to_first_person(sentence: str) -> str:
    """What a vignette says of a patient, as the patient would: "She takes aspirin." as "I take aspirin."."""
    opening = _OPENING.match(sentence)
    text = f"I have come because of {opening['complaint']}" if opening else sentence
    return _finish(_apply(_TO_FIRST, text))


def _apply(rules: list[Rule], text: str) -> str:
    for pattern, replacement in rules:
        text = pattern.sub(replacement, text)
    return text


def _finish(text: str) -> str:
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r"(^|[.!?]\s+)([a-z])", lambda match: match[1] + match[2].upper(), text)
    return text if text.endswith((".", "!", "?", '"', "”")) else f"{text}."
