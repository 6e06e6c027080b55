"""The literal tokens of an AgentClinic conversation, and how they are read.

A token counts with a colon or dash behind it, in any spelling; in capitals it also counts at the beginning of a line or
sentence. `I am not DIAGNOSIS READY yet` is no diagnosis, `**Diagnosis ready:** gout` is one.

Source: AgentClinic (2024), section "Language agents", and the authors' released prompts.
"""

import re

REQUEST_TEST = "REQUEST TEST"
REQUEST_IMAGES = "REQUEST IMAGES"
DIAGNOSIS_READY = "DIAGNOSIS READY"
RESULTS = "RESULTS"
NORMAL_READINGS = "NORMAL READINGS"

_MARKS = r"[ \t*_`\"'”’\])]{0,8}"
_START = r"(?:^[ \t>*_`#\"'“(\[•-]{0,12}|(?<=[.!?:])[ \t]{1,3}[*_`\"'“(\[]{0,4})"
# "DIAGNOSIS READY? Not yet": the doctor talks about the token.
_NO_TALK = r"(?![ \t]*\?|[ \t]+(?i:is|yet|when|once|after|until|only|means)\b)"
_ENDS = " \t\r\n*_`\"'“”[]<>"
_GAP = r"[ \t_]{1,3}"


def _token(words: str) -> str:
    """Such words with a colon or dash behind them, or in capitals where a sentence begins."""
    spelled = words.replace(" ", _GAP)
    colon = rf"{_MARKS}(?:[:：–—]|[ \t]-[ \t])"
    return rf"(?:{_START}{spelled}\b{_NO_TALK}|(?i:\b{spelled})(?={colon}))(?:{colon})?{_MARKS}"


_DIAGNOSIS = re.compile(_token(DIAGNOSIS_READY), re.MULTILINE)
_TEST = re.compile(_token("REQUEST TESTS?"), re.MULTILINE)
# It asks for nothing in particular, so that it also stands within a sentence, if nothing before it there denies it.
_IMAGES = re.compile(_token("REQUEST IMAGES?"), re.MULTILINE)
_IMAGES_WITHIN = re.compile(rf"\bREQUEST{_GAP}IMAGES?\b|^\W{{0,8}}(?i:request{_GAP}images?)\W{{0,8}}$", re.MULTILINE)
_DENIES = re.compile(r"\b(?:no|not|never|without|before|until|unless|if|when)\b|n['’]t\b", re.IGNORECASE)
_RESULTS = re.compile(rf"^[ \t*_`#]{{0,8}}{RESULTS}{_MARKS}[:：]", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[a-z0-9)])[.?!][*_`]{0,4}(?=\s+[A-Z]|\s*$)")
_ITEM = re.compile(r"^(?:[-•*]|\d{1,2}[.)])\s+(?=\S)")
_SEVERAL = re.compile(r"\s*[,;]\s*(?:and\s+)?|\s+(?:and|plus|&)\s+(?!without\b)", re.IGNORECASE)


def read_diagnosis(reply: str) -> str | None:
    """What follows the last `DIAGNOSIS READY` of a reply; the words before it where nothing follows.

    Returns:
        None where the token does not occur; an empty text where it stands alone.
    """
    found = list(_DIAGNOSIS.finditer(reply))
    if not found:
        return None
    after = _bare(reply[found[-1].end() :])
    return after if re.search(r"\w", after) else _bare(reply[: found[-1].start()])


def requested_tests(reply: str) -> tuple[str, ...]:
    """What a reply orders, an entry for each `REQUEST TEST` in the doctor's words; none where it orders nothing.

    An order ends with its sentence; bullets below a token belong to it. One without words is `""`.
    """
    places = list(_TEST.finditer(reply))
    ends = [*(place.start() for place in places[1:]), len(reply)]
    return tuple(_order(reply[place.end() : end]) for place, end in zip(places, ends, strict=False))


def several_tests(order: str) -> tuple[str, ...]:
    """The single tests of one order: `CBC, CRP and chest X-ray`."""
    return tuple(test for test in map(_bare, _SEVERAL.split(order)) if test)


def asks_for_images(reply: str) -> bool:
    """Whether a reply asks for the images."""
    if _IMAGES.search(reply):
        return True
    return any(not _DENIES.search(_sentence_before(reply, found.start())) for found in _IMAGES_WITHIN.finditer(reply))


def as_results(text: str) -> str:
    """A measurement agent's words, with `RESULTS:` before them."""
    return text if _RESULTS.match(text) else f"{RESULTS}: {text}"


def _order(text: str) -> str:
    """The first line of what follows a token, to the end of its sentence, or the list that stands below."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    items = []
    for line in lines:
        if not _ITEM.match(line):
            break
        items.append(_bare(_ITEM.sub("", line)))
    if items:
        return ", ".join(items)
    return _bare(_SENTENCE_END.split(lines[0], maxsplit=1)[0]) if lines else ""


def _sentence_before(reply: str, place: int) -> str:
    return re.split(r"[.!?\n]", reply[max(0, place - 300) : place])[-1]


def _bare(text: str) -> str:
    """A text without markup and brackets at its ends."""
    bare = text.strip(_ENDS)
    return bare[:-1].strip(_ENDS) if bare.endswith(".") else bare
