"""Reading a diagnosis out of a doctor's free text: what its first sentence, or the list in its place, states."""

import re
from collections.abc import Callable, Iterator
from itertools import takewhile

_MARKER = re.compile(r"final\s+diagnosis(?P<signs>[^\w\n]*)", re.IGNORECASE)
_LEAD_IN = re.compile(
    r"""^(?:
        (?:based\ on|given|considering)\b[^,]*,\s*
      | (?:i\ (?:think|believe|suspect)|it\ (?:is|seems|appears)|it's|this\ is|(?:it|this)\ (?:could|may|might)\ be
          |(?:you|(?:the\ )?patient)\ (?:may\ |probably\ |(?:most\ )?likely\ )?ha(?:ve|s))\s+
          (?:that\s+)?(?:it\ is\s+|you\ have\s+)?
      | (?:(?:the|my|your|a|an|single|most|likely|correct|probable|provisional|working|final|patient's)\s+){0,5}
          (?:diagnos[ie]s|dx)(?:\s+(?:for|in|of)\ (?:this|the|my)\ \w+)?\s*(?:is|:|would\ be|-)+\s*
      | (?:(?:the|these|your|his|her)\ )?(?:\w+\ (?:and\ \w+\ )?)?(?:symptoms|findings)\ (?:are|suggest|indicate)\s+
      | (?:is|to\ be|would\ be|could\ be)\b[\s:]+
      | (?:most\ likely|likely|probably|probable|possible|suspected|a\ case\ of|consistent\ with|suggestive\ of)\s+
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_NONE = re.compile(
    r"^\W*(?:(?:as an ai[^,]*, )?(?:i |a |the )?(?:final |diagnosis )*"
    r"(?:can(?:no|['’])t|am unable to|do not|don['’]t|could not)\b"
    r"|(?:it is |there is )?(?:none|n/a|unknown|undetermined|not possible|impossible|unable|insufficient|not enough)\b"
    r"|no (?:final |single |clear )?diagnos|more information\b|further\b)",
    re.IGNORECASE,
)
_CONCURRENT = re.compile(
    r"\s*,?\s*\b(?:with (?:a )?(?:concurrent|coexisting|secondary|superimposed|possible|associated)|with"
    r"|complicated by|secondary to|due to|caused by|leading to|in the setting of|along with|accompanied by)\b\s+",
    re.IGNORECASE,
)
_RIVALS = re.compile(r"\s*(?:;|/(?=\s*[A-Za-z]{4})|,?\s+\b(?:or|versus|vs\.?|and/or)(?!\w))\s*", re.IGNORECASE)
_ITEM = re.compile(r"^(?:\d+[.)]|[-•])\s+")
# `Hepatitis B. The ...` ends a sentence; `St. Louis`, `E. coli` and `vs. gout` do not.
_SENTENCE_END = re.compile(
    r"(?<!\bSt)(?<!\bDr)(?<!\bvs)(?:(?<=[a-z)])[.!?](?=\s|$)|(?<=\w)(?<!^[A-Z])[.!?](?=\s+[A-Z]|\s*$))"
)
_REMARK = re.compile(
    r"\s+\((?!(?:type|stage|grade|class|group|subtype|variant)\b|\w\)|[ivx]+\))[^()]*\)", re.IGNORECASE
)
_LONGEST = 400
"""No statement of a diagnosis is longer; what follows is not read."""


def after_marker(reply: str) -> str:
    """What follows the last `Final Diagnosis:`, with a colon if one has it; the whole reply where there is none."""
    places = list(_MARKER.finditer(reply))
    if not places:
        return reply.strip()
    # "Final Diagnosis: gout. The final diagnosis should be confirmed ..." states gout.
    with_colon = [place for place in places if ":" in place["signs"]]
    return reply[(with_colon or places)[-1].end() :].strip()


def stated_diagnoses(reply: str, is_name: Callable[[str], bool]) -> list[tuple[str, str | None]]:
    """The diagnoses a reply states as rivals of each other; none where it declines to name one.

    Args:
        reply: What the doctor answered.
        is_name: Whether a text is as a whole the name of one disease, and is not to be taken apart.

    Returns:
        For each, its main name and what comes with it ("pneumonia", "sepsis"), in the reply's own words.
    """
    bulleted = re.sub(r"^\s*\*\s+", "- ", after_marker(reply), flags=re.MULTILINE)
    text = re.sub(r"[*_`#\"“”\[\]<>]", "", bulleted).strip()
    return [pair for statement in _statements(text) for pair in _rivals(statement, is_name)]


def _statements(text: str) -> list[str]:
    """The first sentence, or the items of the list that stands in its place or is announced by it."""
    lines = [line.strip() for line in text[:_LONGEST].splitlines() if line.strip()]
    announced = bool(lines) and lines[0].endswith(":")
    items = [_ITEM.sub("", line) for line in takewhile(_ITEM.match, lines[announced:])]
    return [_first_sentence(line) for line in items or lines[:1]]


def _rivals(statement: str, is_name: Callable[[str], bool]) -> Iterator[tuple[str, str | None]]:
    whole = next(filter(is_name, (statement, _clean(statement))), None)
    if whole is not None:
        yield whole, None
    elif not _NONE.match(statement):
        for name in map(_clean, _RIVALS.split(statement)):
            if is_name(name):
                yield name, None
            elif name and not _NONE.match(name):
                main, *rest = _CONCURRENT.split(name, maxsplit=1)
                yield main.strip(" ,.") or name, rest[0] if rest else None


def _first_sentence(text: str) -> str:
    return _SENTENCE_END.split(text, maxsplit=1)[0]


def without_remarks(text: str) -> str:
    """The text without what stands in brackets, unless that tells one disease from another: `hemophilia (A)`."""
    return _REMARK.sub("", text).strip()


def _clean(text: str) -> str:
    """A name without lead-in words, remarks in brackets, and closing punctuation."""
    text = (without_remarks(text) or text).strip(" ()")
    previous = None
    while previous != text:
        previous, text = text, _LEAD_IN.sub("", text).strip()
    name = re.sub(r"^(?:an?|the)\s+", "", text.strip(" .,:;-?!"), flags=re.IGNORECASE)
    return name if re.search(r"\w", name) else ""
