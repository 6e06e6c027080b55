"""What all figures share: colours, the settings that make them come out the same each time, and SVG and PNG.

Colours are Okabe and Ito's, safe for colour-blind readers; markers and hatches tell things apart without any colour.
"""

import io
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
INK = "#1d2329"
"""Of lines and letters. On the page it takes the colour of the page's text, light on dark or dark on light."""

_DPI = 300
_LETTERS_AN_INCH = 14
_LETTERS_OF_A_MARKER = 8
_INCHES_A_LINE = 0.2
_SETTINGS: Any = {
    "svg.hashsalt": "openosce",
    "svg.fonttype": "path",
    "text.parse_math": False,
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK),
}


@dataclass(frozen=True)
class Drawing:
    """A figure with its name (of files and anchors), its title, and what it shows in words."""

    name: str
    title: str
    words: str
    figure: "Figure"
    wide: bool = True
    """Whether it takes the whole width of a page."""


@contextmanager
def settings() -> Iterator[None]:
    """Where figures are made and saved: letters become outlines, dollars stay, equal input gives equal bytes."""
    import matplotlib  # lazily: a second of CPU

    with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
        # A name in a script that the font lacks is drawn as boxes; the table beside the figure spells it.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="constrained_layout not applied")  # names too long to leave room
        yield


def legend(figure: "Figure", row: Iterable["Axes"]) -> None:
    """Above the axes, what their markers and colours stand for, each but once, in as many columns as there is room."""
    found = {label: handle for axes in row for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    if not found:
        return
    columns = int(_LETTERS_AN_INCH * figure.get_figwidth() // (max(map(len, found)) + _LETTERS_OF_A_MARKER))
    columns = max(1, min(4, columns))
    lines = -(-len(found) // columns)
    figure.set_figheight(figure.get_figheight() + _INCHES_A_LINE * (lines - 1))
    handles = list(found.values())
    figure.legend(handles, list(found), loc="outside upper left", ncols=columns, frameon=False, fontsize=8.5)


def svg(figure: "Figure", *, transparent: bool = False) -> str:
    """The figure as an SVG document."""
    text = io.StringIO()
    with settings():
        figure.savefig(text, format="svg", metadata={"Date": None}, transparent=transparent)
    return text.getvalue()


def save(drawing: Drawing, folder: Path) -> list[Path]:
    """Write the figure as `NAME.svg` and as `NAME.png`, 300 dots an inch."""
    vectors, pixels = folder / f"{drawing.name}.svg", folder / f"{drawing.name}.png"
    vectors.write_text(svg(drawing.figure), encoding="utf-8")
    with settings():
        drawing.figure.savefig(pixels, format="png", dpi=_DPI, metadata={"Software": None})
    return [vectors, pixels]


_LEFT_OUT = re.compile(r"<!--.*?-->|<metadata>.*?</metadata>|<style .*?</style>", re.DOTALL)
_STYLE = re.compile(r'style="([^"]*)"')
_NAMES = re.compile(r'(\bid="|href="#|url\(#)')


def inline(drawing: Drawing) -> str:
    """The figure as an `<svg>` element for a page that forbids styles in attributes.

    Its ids start with the drawing's name, so that several figures can share a page. Lines and letters take the colour
    of the text around, and the `COLOURS` are the page's `--colour-0` and so on, lighter in the dark.
    """
    document = svg(drawing.figure, transparent=True)
    body = _LEFT_OUT.sub("", document[document.index("<svg") :])
    body = _STYLE.sub(_attributes, body)
    body = _NAMES.sub(rf"\g<1>{drawing.name}-", body)
    body = re.sub(INK, "currentColor", body, flags=re.IGNORECASE)
    for n, colour in enumerate(COLOURS):
        body = re.sub(colour, f"var(--colour-{n})", body, flags=re.IGNORECASE)
    opening, rest = body.split(">", 1)
    view = re.search(r'viewBox="[^"]*"', opening)
    head = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    look = 'aria-hidden="true" focusable="false" stroke-linejoin="round" stroke-linecap="butt"'
    return f"{head} {view.group() if view else ''} {look}>{rest}".strip()


def _attributes(style: re.Match[str]) -> str:
    """`fill: none; stroke: #000` as `fill="none" stroke="#000"`: every property that is used has such an attribute."""
    pairs = (part.split(":", 1) for part in style.group(1).split(";") if ":" in part)
    return " ".join(f'{name.strip()}="{value.strip()}"' for name, value in pairs)
