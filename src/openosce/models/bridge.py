"""What the bridges to other libraries share. Importing this module imports none of them."""

import os
from collections.abc import Collection
from importlib import import_module
from types import ModuleType
from typing import Any

from openosce.errors import StudyError
from openosce.models.model import ModelSpec

SETTINGS = ("temperature", "top_p", "max_tokens", "seed", "stop", "extra_body")
"""The settings that a bridge to network endpoints knows."""


def imported(module: str, spec: ModelSpec, extra: str) -> ModuleType:
    """Import a package that only this model needs.

    Raises:
        StudyError: It is missing or broken; the message names the extra that brings it.
    """
    try:
        return import_module(module)
    except (ImportError, OSError, RuntimeError) as failure:  # a compiled library that does not load raises the latter
        reason = " ".join(str(failure).split())
        raise StudyError(f"{spec.name} needs more: pip install 'openosce[{extra}]' ({reason})") from None


def checked_settings(spec: ModelSpec, known: Collection[str]) -> dict[str, Any]:
    """The settings of a model.

    Raises:
        StudyError: One of them would have no effect.
    """
    unknown = sorted(set(spec.settings) - set(known))
    if unknown:
        raise StudyError(f"{spec.name} does not take the setting(s) {', '.join(unknown)}; it takes {', '.join(known)}")
    return dict(spec.settings)


def own_key(api_key: str | None) -> str:
    """The key for a base URL of one's own; never a provider's, which a library would take from the environment."""
    return api_key or os.environ.get("OPENOSCE_API_KEY") or "none"
