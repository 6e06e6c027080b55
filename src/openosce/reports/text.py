"""Text of cases and models, made harmless to look at."""

_KEPT = "\n\t"
_CONTROLS = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in _KEPT]
_DIRECTIONS = [chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))]
_VISIBLE = str.maketrans({sign: f"<U+{ord(sign):04X}>" for sign in _CONTROLS + _DIRECTIONS})


def visible(text: str) -> str:
    """Show control characters and direction overrides as `<U+001B>`: they could repaint a terminal or hide text."""
    return text.replace("\r\n", "\n").translate(_VISIBLE)


def one_line(text: str, limit: int = 200) -> str:
    """The text as one short line."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= limit else line[: limit - 1] + "…"
