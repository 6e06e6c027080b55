"""Prompts are files. A pack is a folder of templates; a user's own folder replaces any of them by name.

A template in a folder of the pack is named with it, as `biases/doctor/recency`; there a user may add further ones.
"""

import hashlib
from collections.abc import Iterable, Iterator
from importlib.resources.abc import Traversable
from pathlib import Path

import jinja2
from jinja2 import meta
from jinja2.sandbox import SandboxedEnvironment

from openosce.errors import PromptError

_SUFFIX = ".txt"
_DEEPEST = 2
"""Folders in a template's name at the most."""


class PromptPack:
    """Templates by name, and one hash over all of them.

    Values are put in as they are: template syntax inside a case's text is text. An unknown variable is an error.
    """

    def __init__(self, templates: dict[str, str]) -> None:
        self._texts = templates
        environment = SandboxedEnvironment(undefined=jinja2.StrictUndefined, keep_trailing_newline=False)
        self._templates = {name: environment.from_string(text.strip()) for name, text in templates.items()}

    @property
    def hash(self) -> str:
        """A fingerprint of names and texts."""
        content = "\0".join(f"{name}\0{self._texts[name].strip()}" for name in sorted(self._texts))
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    @property
    def texts(self) -> dict[str, str]:
        """The templates by name, as text."""
        return dict(self._texts)

    def render(self, template: str, /, **values: object) -> str:
        """Fill in a template.

        Raises:
            PromptError: The pack lacks it, or it uses a variable that is not given.
        """
        if template not in self._templates:
            raise PromptError(f"the prompt pack has no template {template!r}; it has {', '.join(sorted(self._texts))}")
        try:
            return self._templates[template].render(**values)
        except Exception as failure:  # a template is a user's own program: it may raise whatever it likes
            raise PromptError(f"the prompt template {template!r} does not render: {failure}") from None


def load_prompts(folders: Iterable[Traversable], own: Path | None = None) -> PromptPack:
    """Load the templates of several shipped folders, and the user's own in their place.

    Raises:
        PromptError: The user's folder is missing, or holds a template that is unknown, unreadable or uses a variable
            that the shipped one of that name, or those of its folder, do not have.
    """
    texts = {name: file.read_text(encoding="utf-8") for folder in folders for name, file in _files(folder)}
    if own is None:
        return PromptPack(texts)
    if not own.is_dir():
        raise PromptError(f"{own}: no such prompt folder")
    files = {name: own / f"{name}{_SUFFIX}" for name in sorted(name for name, _ in _files(own))}
    if not files:
        raise PromptError(f"{own}: holds no template; known names are {_known(texts)}")
    shipped = dict(texts)
    for name, file in files.items():
        alike = [shipped[name]] if name in shipped else _neighbours(name, shipped)
        if not alike:
            raise PromptError(f"{file}: no template has this name; known names are {_known(texts)}")
        texts[name] = _read_own(file, set().union(*map(_variables, alike)))
    return PromptPack(texts)


def _files(folder: Traversable, within: str = "") -> Iterator[tuple[str, Traversable]]:
    """The templates of a folder and of the folders in it, by name."""
    for file in folder.iterdir():
        if file.name.endswith(_SUFFIX):
            yield within + file.name.removesuffix(_SUFFIX), file
        elif within.count("/") < _DEEPEST and file.is_dir():
            yield from _files(file, f"{within}{file.name}/")


def _neighbours(name: str, texts: dict[str, str]) -> list[str]:
    """The templates in the same folder of the pack, beside which a user may put further ones."""
    folder = name.rpartition("/")[0]
    return [text for other, text in texts.items() if folder and other.rpartition("/")[0] == folder]


def _known(texts: dict[str, str]) -> str:
    return ", ".join(f"{name}{_SUFFIX}" for name in sorted(texts))


def _read_own(file: Path, allowed: set[str]) -> str:
    try:
        text = file.read_text(encoding="utf-8-sig")  # some editors begin a file with a byte order mark
        unknown = _variables(text) - allowed
    except (OSError, UnicodeDecodeError) as failure:
        raise PromptError(f"{file}: cannot be read: {failure}") from None
    except jinja2.TemplateSyntaxError as failure:
        raise PromptError(f"{file}:{failure.lineno}: not a template: {failure.message}") from None
    if unknown:
        raise PromptError(
            f"{file}: unknown variable(s) {', '.join(sorted(unknown))}; this template has {', '.join(sorted(allowed))}"
        )
    if not text.strip():
        raise PromptError(f"{file}: is empty; delete it to have the shipped template")
    # Rendered once, so that what fails does so before anything is asked.
    PromptPack({str(file): text}).render(str(file), **dict.fromkeys(allowed, "text"))
    return text


def _variables(text: str) -> set[str]:
    return meta.find_undeclared_variables(SandboxedEnvironment().parse(text))
