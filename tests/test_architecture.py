"""The import map of the design. An import that must go against it usually means a function in the wrong room."""

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "openosce"

MAY_IMPORT = {
    "errors": set(),
    "cases": {"errors"},
    "models": {"errors"},
    "statistics": {"errors"},
    "encounters": {"errors", "cases"},
    "roles": {"errors", "cases", "encounters", "models"},
    "grading": {"errors", "cases", "encounters", "models"},
    "benchmarks": {"errors", "cases", "encounters", "models", "roles", "grading"},
    "runs/folder.py": {"errors", "cases", "encounters", "grading"},
    "runs": {"errors", "cases", "encounters", "models", "roles", "grading", "benchmarks", "runs/folder.py"},
    "reports": {"errors", "cases", "encounters", "grading", "statistics", "runs/folder.py"},
    "cli": {"errors", "cases", "encounters", "models", "grading", "benchmarks", "runs", "runs/folder.py", "reports"},
    "__init__": {"errors", "cases", "encounters", "models", "roles", "grading", "benchmarks", "runs"},
}
ONLY_RAY_USER = "runs/ray.py"


def room_of(module: str) -> str:
    """`openosce.cases.record` lives in `cases`; the run folder is a room of its own."""
    if module.startswith("openosce.runs.folder"):
        return "runs/folder.py"
    return module.split(".")[1] if "." in module else "__init__"


def imported_modules(path: Path) -> set[str]:
    modules = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            modules.add(node.module or "")
    return modules


def rooms() -> dict[Path, str]:
    return {
        path: room_of("openosce." + ".".join(path.relative_to(SOURCE).with_suffix("").parts))
        for path in SOURCE.rglob("*.py")
    }


def test_no_import_goes_against_the_map():
    wrong = []
    for path, room in rooms().items():
        for module in imported_modules(path):
            if module.startswith("openosce"):
                other = room_of(module)
                if other != room and other not in MAY_IMPORT[room]:
                    wrong.append(f"{path.relative_to(SOURCE)} ({room}) imports {module} ({other})")
    assert wrong == []


def test_every_room_is_on_the_map():
    assert set(rooms().values()) <= set(MAY_IMPORT)


def test_only_one_file_may_import_ray():
    users = [str(path.relative_to(SOURCE)) for path in rooms() if "ray" in imported_modules(path)]
    assert set(users) <= {ONLY_RAY_USER}
