"""Shifting English sentences between the first and the third person. Rules for short clinical prose, not for novels."""

import re
from collections.abc import Callable

Rule = tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]


def _rules(*pairs: tuple[str, str | Callable[[re.Match[str]], str]]) -> list[Rule]:
    return [(re.compile(pattern, re.IGNORECASE), replacement) for pattern, replacement in pairs]


def _third_singular(match: re.Match[str]) -> str:
    """`I [adverb] take` as `the patient [adverb] takes`; past tenses and auxiliaries stay."""
    return f"the patient {match[1] or ''}{_inflected(match[2])}"


def _inflected(verb: str) -> str:
    """`take` as `takes`; a past tense or an auxiliary stays."""
    lower = verb.lower()
    if lower in _INFLECTED:
        return _INFLECTED[lower]
    if lower in _UNCHANGING or (lower.endswith("ed") and not lower.endswith("eed")):
        return verb
    if re.search(r"[^aeiou]y$", lower):
        return f"{verb[:-1]}ies"
    return f"{verb}{'es' if lower.endswith(('s', 'sh', 'ch', 'x', 'z', 'o')) else 's'}"


def _first_singular(match: re.Match[str]) -> str:
    """`he [adverb] takes` as `I [adverb] take`."""
    return f"I {match[1] or ''}{_bare(match[2])}"


def _bare(verb: str) -> str:
    """`takes` as `take`; a word that only looks like a third person stays."""
    lower = verb.lower()
    if lower in _AUXILIARIES:
        return _AUXILIARIES[lower]
    if lower in _NO_PLURAL_S or lower.endswith(("ss", "us")):
        return verb
    if lower.endswith(("shes", "ches", "sses", "xes", "oes")) and lower != "aches":
        return verb[:-2]
    if lower.endswith("ies") and len(lower) > len("lies"):
        return f"{verb[:-3]}y"
    return verb[:-1]


_ADVERBS = (
    r"((?:(?:also|often|always|never|ever|sometimes|just|first|still|then|now|even|almost|already|soon|once|twice|both|"
    r"myself|(?!(?:rely|apply|reply|supply|comply|fly)\b)\w+ly)\s+)*)"
)
_UNCHANGING = set(
    (
        "was were had did could would should might may must can will cannot ate drank went came got took felt thought "
        "said told knew saw gave began lost gained grew woke slept kept left made put hurt cut let threw fell found "
        "heard held met paid read ran sat spent stood understood wore wrote became broke brought caught chose drove "
        "forgot hit quit rose sent shook shut swam taught tore won thickened bled bit blew bought built burnt bent "
        "dreamt dug fed flew froze hid learnt meant rode shot slid sold sought spat spread stuck swept swore "
        "and or who in to of too alone"
    ).split()
)
_AUXILIARIES = {"has": "have", "is": "am", "does": "do"}
_INFLECTED = {bare: third for third, bare in _AUXILIARIES.items()}
_NO_PLURAL_S = {"was", "this", "always", "sometimes", "as", "previous", "perhaps", "besides"}

# "type I diabetes", "lead I", "i.e." and "I-131" hold no patient.
_I = (
    r"(?<!\btype )(?<!\bstage )(?<!\bclass )(?<!\bgrade )(?<!\bphase )(?<!\bfactor )(?<!\blead )(?<!\bgroup )"
    r"\bI\b(?![-./]\w)"
)
_TO_THIRD = _rules(
    (r"\bI(?:'|’)m\b|\bI am\b", "the patient is"),
    (r"\bI(?:'|’)ve\b|\bI have\b", "the patient has"),
    (rf"\bI(?:'|’)d\b(?=\s+{_ADVERBS}(?:had|been|\w+ed)\b)", "the patient had"),
    (r"\bI(?:'|’)d\b", "the patient would"),
    (r"\bI(?:'|’)ll\b", "the patient will"),
    (r"\bI (?:don(?:'|’)t|do not)\b", "the patient does not"),
    (r"\bI (?:haven(?:'|’)t|have not)\b", "the patient has not"),
    (r"\b(can|could|did|will|would|should|shall|may|might|must) I\b", r"\1 the patient"),
    (rf"{_I} do\b", "the patient does"),
    (rf"{_I}\s+{_ADVERBS}([a-z]+)\b(?!['’])", _third_singular),
    (_I, "the patient"),
    (r"\bmyself\b", "themselves"),
    (r"\bmy\b", "the patient's"),
    (r"\bmine\b", "the patient's"),
    (r"\bme\b", "the patient"),
    (r"\bwe\b", "they"),
    (r"\bours\b", "theirs"),
    (r"\bour\b", "their"),
    (r"(?-i:\bus\b)", "them"),
)

_SUBJECT = r"(?:the\s+(?:patient|man|woman|boy|girl|child|infant)|patient|he|she)"
_THAT = r"(?:having\s+(?:had\s+)?|any\s+)?"
_TO_FIRST = _rules(
    (rf"\b{_SUBJECT}\s+(?:denies|denied)\s+that\s+", "it is not so that "),
    (rf"\b{_SUBJECT}\s+(?:denies|denied)\s+{_THAT}(?=\w+ing\b)", "I have not been "),
    (rf"\b{_SUBJECT}\s+(?:denies|denied)\s+{_THAT}", "I have not had any "),
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
    (rf"\b{_SUBJECT}\s+(?:presents|presented|comes|came)\b", "I have come"),
    (rf"\b{_SUBJECT}(?:'|’)s\b", "my"),
    (rf"\b{_SUBJECT}\s+{_ADVERBS}([a-z]+s)\b", _first_singular),
    (rf"\b{_SUBJECT}\b", "I"),
    (r"\b(?:himself|herself)\b", "myself"),
    (r"\bhim\b|\bher\b(?=\s+(?:to|at|for|from|in|on|with|and|by|because|when|that|is|was)\b|[.,;!?]|\s*$)", "me"),
    (r"\b(?:his|her)\b", "my"),
)


def _second_verb(subject: str, barred: str, verbs: str) -> re.Pattern[str]:
    """The second verb of "she takes nothing and has no pain": no other subject may stand before it."""
    others = rf"my|that|which|who|whose|where|when|while|because|if|it|they|there{barred}"
    return re.compile(
        rf"({subject}\s+(?:(?!\b(?:{others})\b)[^.;?!]){{0,200}}?(?:,|\band|\bor|\bbut)\s+{_ADVERBS})({verbs})\b",
        re.IGNORECASE,
    )


_SECOND_IN_FIRST = _second_verb(r"\bI", "", "has|is|does|takes|drinks|smokes|lives|works|uses|eats|sleeps|feels")
# After "can" or "does not" the second verb is bare in the third person too.
_SECOND_IN_THIRD = _second_verb(
    r"\bthe patient",
    "|can|could|will|would|does|did|may|might|must|to|not|patient's",
    "have|am|take|wake|feel|get|lean|lift",
)
_MAIN_VERB = (
    r"(?:has|had|is|was|presents?|presented|comes?|came|reports?|reported|complains?|complained|visits?|visited|"
    r"develops?|developed|notes?|noted|notices?|noticed|describes?|described|seeks?|returns?|arrives?|experiences?|"
    r"experienced)\s"
)
_PERSON = (
    r"(?:man|woman|boy|girl|infant|child|gentleman|lady|male|female|newborn|student|patient|worker|primigravida|"
    rf"[\w-]+-old(?=,?\s+{_MAIN_VERB}))"
)
# Only who has an age or comes to be seen is the patient: "A woman at work has the flu." is not.
_PRESENTED = re.compile(
    r"^(?=[^.]*?-old\b|[^.]*?\b(?:presents?|presented|brought|comes?\s+to|came\s+to)\b)"
    rf"(?P<who>An?\s+(?:[\w-]+\s+){{0,5}}?{_PERSON})\b(?P<more>.*?)[,\s]+(?={_MAIN_VERB})",
    re.IGNORECASE | re.DOTALL,
)
_ELLIPTIC = re.compile(
    r"^(?=(?:(?:also|never|rarely|usually|often|still)\s+)?(?:denies|reports|takes|has|is|does|drinks|smokes|lives|works"
    r"|uses|eats|sleeps|feels|attends|plays|keeps|wears|needs|craves)\b)",
    re.IGNORECASE,
)
# The "no" of "No rash." is no interjection: it denies.
_INTERJECTION = re.compile(r"^(?:(?:yes|well|hmm|um|oh)\b[,.]?|no[,.])\s+(?=\w)", re.IGNORECASE)


def to_third_person(statement: str) -> str:
    """What a patient says of themselves, as said of a patient: "My eyes itch." as "The patient's eyes itch."."""
    text = _INTERJECTION.sub("", statement.strip())
    return _finish(_with_second_verbs(_SECOND_IN_THIRD, _inflected, _apply(_TO_THIRD, text)))


def to_first_person(sentence: str) -> str:
    """What a vignette says of a patient, as the patient would: "She takes aspirin." as "I take aspirin."."""
    text = _PRESENTED.sub(_presented, sentence.strip())
    if _ELLIPTIC.match(text):
        text = f"the patient {text[0].lower()}{text[1:]}"
    return _finish(_with_second_verbs(_SECOND_IN_FIRST, _bare, _apply(_TO_FIRST, text)))


def _presented(match: re.Match[str]) -> str:
    """The subject of a vignette's first sentence; what it tells beside age and sex becomes a sentence of its own."""
    more = match["more"].rstrip(" ,")
    return f"I am {match['who'][0].lower()}{match['who'][1:]}{more}. The patient " if more else "The patient "


def _with_second_verbs(pattern: re.Pattern[str], form: Callable[[str], str], text: str) -> str:
    previous = None
    while previous != text:
        previous, text = text, pattern.sub(lambda match: f"{match[1]}{form(match[3])}", text)
    return text


def _apply(rules: list[Rule], text: str) -> str:
    for pattern, replacement in rules:
        text = pattern.sub(replacement, text)
    return text


def _finish(text: str) -> str:
    text = re.sub(r"\s+", " ", text).strip()
    # Within the text only our own words can have lost a capital; others may follow an abbreviation.
    text = re.sub(r"([.!?]\s+)(the patient|they|their|my|it)\b", lambda match: match[1] + _capital(match[2]), text)
    text = _capital(text)
    return text if not text or text.endswith((".", "!", "?", '"', "”")) else f"{text}."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
