"""Reading a diagnosis out of a doctor's free text."""

import re

_MARKER = re.compile(r"final\s+diagnosis\W*", re.IGNORECASE)
_LEAD_IN = re.compile(
    r"""^(?:
        (?:based\ on|given|considering)\b[^,]*,\s*
      | (?:i\ (?:think|believe|suspect)|it\ (?:is|seems|appears)|this\ is
          |you\ (?:may\ |probably\ |most\ likely\ )?have)\s+(?:that\s+)?(?:it\ is\s+|you\ have\s+)?
      | (?:(?:the|my|your|a|an|single|most|likely|correct|probable|provisional|working|patient's)\s+)*
          diagnos[ie]s\s*(?:is|:|would\ be|-)+\s*
      | (?:most\ likely|likely|probably|probable|possible|suspected|a\ case\ of|consistent\ with|suggestive\ of)\s+
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_NONE = re.compile(
    r"^\W*(?:none|n/a|unknown|undetermined|no (?:final |single |clear )?diagnos\w+"
    r"|(?:i )?(?:can(?:no|')t|am unable to|do not|don't)\b"
    r"|(?:it is )?(?:not possible|impossible)|unable|insufficient|not enough|more information|further)",
    re.IGNORECASE,
)
_CONCURRENT = re.compile(
    r"\s*,?\s*\b(?:with (?:a )?(?:concurrent|coexisting|secondary|superimposed|possible|associated)|with"
    r"|complicated by|secondary to|due to|caused by|leading to|in the setting of|along with|accompanied by)\b\s+",
    re.IGNORECASE,
)
_RIVALS = re.compile(
    r"\s*(?:\n+\s*(?:\d+[.)]|[-*•])?\s*|;|/(?=\s*[A-Za-z]{4})|,?\s+\b(?:or|versus|vs\.?|and/or)\b)\s*", re.IGNORECASE
)


def after_marker(reply: str) -> str:
    """What follows the last `Final Diagnosis`, or the whole reply where the words do not occur."""
    places = list(_MARKER.finditer(reply))
    return reply[places[-1].end() :].strip() if places else reply.strip()


def stated_diagnoses(reply: str) -> list[tuple[str, str | None]]:
    """The diagnoses a reply states as rivals of each other; none where it declines to name one.

    Returns:
        For each, its main name and what comes with it ("pneumonia", "sepsis"), in the reply's own words.
    """
    text = re.sub(r"[*_`#\"“”]", "", after_marker(reply)).strip()
    if not text or _NONE.match(text):
        return []
    found = []
    for piece in _RIVALS.split(text):
        name = _clean(piece)
        if name and not _NONE.match(name):
            main, *rest = _CONCURRENT.split(name, maxsplit=1)
            found.append((main.strip(" ,.") or name, rest[0] if rest else None))
    return found


def _clean(text: str) -> str:
    """The first sentence without lead-in words, remarks in brackets, and closing punctuation."""
    text = re.split(r"(?<=[a-z)])\.(?:\s|$)", text.strip(), maxsplit=1)[0]
    text = re.sub(r"\s*\([^()]*\)", "", re.sub(r"^(?:\d+[.)]|[-•])\s*", "", text))
    previous = None
    while previous != text:
        previous, text = text, _LEAD_IN.sub("", text).strip()
    return re.sub(r"^(?:an?|the)\s+", "", text.strip(" .,:;-"), flags=re.IGNORECASE)
