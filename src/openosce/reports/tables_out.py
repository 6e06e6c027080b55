"""Every table of a report as files: CSV, LaTeX for papers, and the numbers themselves."""

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from openosce.errors import RunFolderError
from openosce.reports.results import Analysis
from openosce.reports.sections import every_table
from openosce.reports.sheets import Sheet
from openosce.reports.text import visible

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "%": r"\%",
        "_": r"\_",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\textquotedbl{}",
        "−": r"$-$",
        "·": r"$\cdot$",
        "…": r"\ldots{}",
        "\n": " ",
    }
)
_LONGEST_NAME = 80
_ALWAYS, _WHERE_THERE = ("estimates", "gradings", "comparisons"), ("normalized", "cost_per_correct")


def write_tables(analysis: Analysis, folder: Path) -> list[Path]:
    """Write every table as it is shown (`NAME.csv`, `NAME.tex`), and all numbers with all digits.

    `all-estimates.csv`, `all-gradings.csv`, `all-comparisons.csv`, in a sweep `all-normalized.csv`, and with costs
    `all-cost_per_correct.csv` hold what `osce analyze --json` prints, a row an
    entry; what cannot be computed is empty, and the column `reason` says why. Cells are text as it is: a spreadsheet
    may take one that starts with an equals sign for a formula.

    Raises:
        RunFolderError: The folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        written = []
        for name, sheet in _named(analysis):
            written += [_write_csv(folder / f"{name}.csv", sheet.heads, sheet.rows), _write_latex(folder, name, sheet)]
        document = analysis.to_json()
        kept = [name for name in _WHERE_THERE if document[name]]
        for name in (*_ALWAYS, *kept):
            written.append(_write_records(folder / f"all-{name}.csv", document[name]))
        return written
    except OSError as failure:
        raise RunFolderError(f"{folder}: cannot be written: {failure.strerror or failure}") from None


def latex(sheet: Sheet, label: str) -> str:
    """The table in LaTeX, with the rules of the package `booktabs`; every text is escaped."""
    columns = "".join("l" if n in sheet.prose else "r" for n in range(len(sheet.heads)))
    lines = [
        "% needs \\usepackage{booktabs}",
        r"\begin{table}",
        rf"\caption{{{escaped(sheet.title)}}}",
        rf"\label{{tab:{label}}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _latex_row(sheet.heads),
        r"\midrule",
        *(_latex_row(row) for row in sheet.rows),
        r"\bottomrule",
        r"\end{tabular}",
        *(rf"\par\footnotesize {escaped(note)}" for note in sheet.notes),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Text that LaTeX prints as it is; control characters are spelled out."""
    return visible(text).translate(_LATEX)


def _latex_row(cells: Sequence[str]) -> str:
    # A row must not start with a bracket: LaTeX would take it for the optional argument of the \\ before.
    shown = [f"{{}}{cell}" if cell.startswith(("[", "*")) else cell for cell in map(escaped, cells)]
    return " & ".join(shown) + r" \\"


def _named(analysis: Analysis) -> list[tuple[str, Sheet]]:
    """Every table with a name for its files: the section's, and the title's where a section has several."""
    found: dict[str, Sheet] = {}
    for section, sheet in every_table(analysis):
        alone = len(section.sheets) == 1
        plain = re.sub(r"[^a-z0-9]+", "-", sheet.title.lower()).strip("-")
        name = section.name if alone else f"{section.name}-{plain}"[:_LONGEST_NAME]
        number = sum(1 for other in found if other == name or other.startswith(f"{name}--"))
        found[f"{name}--{number + 1}" if number else name] = sheet
    return list(found.items())


def _write_csv(path: Path, heads: Sequence[str], rows: Sequence[Sequence[object]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([head.replace("\n", " ") for head in heads])
        writer.writerows(rows)
    return path


def _write_latex(folder: Path, name: str, sheet: Sheet) -> Path:
    path = folder / f"{name}.tex"
    path.write_text(latex(sheet, name), encoding="utf-8")
    return path


def _write_records(path: Path, records: Sequence[Mapping[str, Any]]) -> Path:
    rows = [_flat(record) for record in records]
    heads = list(rows[0]) if rows else []
    return _write_csv(path, heads, [[row[head] for head in heads] for row in rows])


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    """`{"a": {"model": ...}}` as `{"a.model": ...}`; a list as its parts with a semicolon between."""
    flat: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, Mapping):
            flat |= {f"{key}.{inner}": found for inner, found in value.items()}
        else:
            flat[key] = "; ".join(map(str, value)) if isinstance(value, list) else value
    return flat
