"""Text of cases and models, made harmless to look at."""

import re

_KEPT = "\n\t"
_CONTROLS = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in _KEPT]
_DIRECTIONS = [chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))]
_SURROGATES = [chr(code) for code in range(0xD800, 0xE000)]
_VISIBLE = {ord(sign): f"<U+{ord(sign):04X}>" for sign in _CONTROLS + _DIRECTIONS + _SURROGATES}
_HIDDEN = re.compile(f"[{''.join(map(re.escape, _CONTROLS + _DIRECTIONS))}\ud800-\udfff]")


def visible(text: str) -> str:
    """Show control characters and direction overrides as `<U+001B>`: they could repaint a terminal or hide text."""
    if not _HIDDEN.search(text):  # nearly always, and many times faster than translating
        return text
    return text.replace("\r\n", "\n").translate(_VISIBLE)


def one_line(text: str, limit: int = 200) -> str:
    """The text as one short line."""
    line = visible(" ".join(text[: 16 * limit].split()))
    return line if len(line) <= limit and len(text) <= 16 * limit else line[: limit - 1] + "…"


def shortened(text: str, limit: int) -> str:
    """The text made visible, cut at `limit` characters with a word on how much is left out."""
    if len(text) <= limit:
        return visible(text)
    return f"{visible(text[:limit])} … [{len(text) - limit:,} more characters]"
