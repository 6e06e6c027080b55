"""Where measurements go: `results.json`, one section a script, and tables for the terminal and the README."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results.json")
_LOAD_BEFORE = os.getloadavg()[0]
"""What else the machine was doing when the script started."""


def save(section: str, content: Any) -> None:
    """Put a section in the place of an earlier one."""
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {}
    results[section] = {"date": date.today().isoformat(), "machine": machine(), "results": content}
    RESULTS.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


def machine() -> dict[str, Any]:
    """What the numbers were measured on, no names."""
    return {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "os": platform.freedesktop_os_release().get("PRETTY_NAME", platform.system()),
        "load_before": round(_LOAD_BEFORE, 2),
    }


def table(rows: Sequence[Mapping[str, object]]) -> str:
    """The rows as a Markdown table; all have the keys of the first, and numbers stand to the right."""
    heads = list(rows[0])
    cells = [[_cell(row[head]) for head in heads] for row in rows]
    widths = [max(len(line[i]) for line in [heads, *cells]) for i in range(len(heads))]
    right = [isinstance(value, int | float) for value in rows[0].values()]
    rule = ["-" * (width - 1) + ":" if aligned else "-" * width for width, aligned in zip(widths, right, strict=True)]

    def line(texts: Sequence[str]) -> str:
        padded = [
            text.rjust(width) if aligned else text.ljust(width)
            for text, width, aligned in zip(texts, widths, right, strict=True)
        ]
        return "| " + " | ".join(padded) + " |"

    return "\n".join([line(heads), line(rule), *map(line, cells)])


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int | float) else str(value)
