"""Who serves models: the part of a model's name before the first `/`.

Keys come from the environment and from nowhere else. With a base URL of one's own no preset's key is sent, only
`OPENOSCE_<ROLE>_API_KEY` or `OPENOSCE_API_KEY`.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from openosce.errors import StudyError
from openosce.models.chat_completions import ChatCompletions
from openosce.models.model import Model, ModelSpec
from openosce.models.recorded import read_recorded
from openosce.models.script import read_script


@dataclass(frozen=True)
class Preset:
    """Where a provider's chat completions are, and which variable holds its key."""

    base_url: str | None
    """None: it differs for every user."""
    key: str | None = None
    key_header: str = "Authorization"
    length_key: str = "max_tokens"
    """How this provider names the limit on a reply's tokens."""


PRESETS: dict[str, Preset] = {
    "openai": Preset("https://api.openai.com/v1", "OPENAI_API_KEY", length_key="max_completion_tokens"),
    "azure": Preset(None, "AZURE_OPENAI_API_KEY", "api-key", "max_completion_tokens"),
    "anthropic": Preset("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    "gemini": Preset("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    "mistral": Preset("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "together": Preset("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "openrouter": Preset("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "vllm": Preset("http://localhost:8000/v1"),
    "ollama": Preset("http://localhost:11434/v1"),
    "llama.cpp": Preset("http://localhost:8080/v1"),
}

BUILTIN_MODELS: dict[str, Callable[[Path], Model]] = {
    "builtin/script": read_script,
    "builtin/recorded": read_recorded,
}
"""Models that need no network; both read their replies from a file."""


def _litellm(spec: ModelSpec, key: str | None) -> Model:
    from openosce.models.litellm_bridge import LiteLLMModel

    return LiteLLMModel(spec, key)


def _inspect(spec: ModelSpec, key: str | None) -> Model:
    from openosce.models.inspect_bridge import InspectModel

    return InspectModel(spec, key)


def _local(spec: ModelSpec, key: str | None) -> Model:
    from openosce.models.local import LocalModel

    return LocalModel(spec)


BRIDGES: dict[str, Callable[[ModelSpec, str | None], Model]] = {
    "litellm": _litellm,
    "inspect": _inspect,
    "local": _local,
}
"""Providers behind another library, which is an extra."""


def build_model(spec: ModelSpec, role: str, environment: Mapping[str, str] = os.environ) -> Model:
    """The model behind a name.

    Args:
        spec: Name, base URL and settings.
        role: The role it plays; decides which variables hold its key.
        environment: Where keys are looked up.

    Raises:
        StudyError: The provider or the model is unknown, or a file or an extra is missing.
    """
    if spec.name in BUILTIN_MODELS:
        file = spec.settings.get("file")
        if not file:
            raise StudyError(f'{spec.name} needs its replies: set file = "..." in the role\'s table')
        return BUILTIN_MODELS[spec.name](Path(file))
    if spec.provider in BRIDGES:
        if spec.base_url is not None:
            check_url(spec, spec.base_url)
        return BRIDGES[spec.provider](spec, _own_key(role, environment))
    if spec.provider not in PRESETS and spec.base_url is None:
        known = ", ".join(("builtin", *PRESETS, *BRIDGES))
        raise StudyError(
            f"unknown provider {spec.provider!r} in {spec.name!r}; known are {known}; any other needs a base URL"
        )
    preset = PRESETS.get(spec.provider, Preset(None))
    return ChatCompletions(spec, base_url(spec, environment), _headers(spec, role, environment), preset.length_key)


def require_key(spec: ModelSpec, environment: Mapping[str, str] = os.environ) -> None:
    """See that a preset's key is there; a dry run needs none.

    Raises:
        StudyError: It is missing; the message names its variable.
    """
    preset = PRESETS.get(spec.provider)
    if preset and preset.key and spec.base_url is None and not _key(preset.key, environment):
        raise StudyError(f"{spec.name} needs a key: set {preset.key} in the environment")


def base_url(spec: ModelSpec, environment: Mapping[str, str] = os.environ) -> str:
    """Where a model's endpoint is.

    Raises:
        StudyError: The URL is none, or holds a password, which would end up in manifests.
    """
    url = spec.base_url or (PRESETS[spec.provider].base_url if spec.provider in PRESETS else None)
    if url is None and spec.provider == "azure" and environment.get("AZURE_OPENAI_ENDPOINT"):
        url = environment["AZURE_OPENAI_ENDPOINT"].rstrip("/") + "/openai/v1"
    if url is None:
        raise StudyError(f"{spec.name} needs a base URL; set AZURE_OPENAI_ENDPOINT or --base-url")
    return check_url(spec, url)


def check_url(spec: ModelSpec, url: str) -> str:
    """See that a base URL can be used, and written down.

    Raises:
        StudyError: It is no URL, or holds a password, which would end up in manifests.
    """
    if "@" in url or "?" in url:
        raise StudyError(
            f"{spec.name}: the base URL holds a password or a query; give keys in OPENOSCE_API_KEY instead"
        )
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0 and url.isprintable()
    except ValueError:  # half an IPv6 address, a port that is none
        usable = False
    if not usable:
        raise StudyError(f"{spec.name}: {url!r} is no base URL; expected http(s)://host[:port]/path")
    return url


def _key(variable: str, environment: Mapping[str, str]) -> str | None:
    """The key in a variable, without the line end that a file may have left behind it.

    Raises:
        StudyError: No header can hold it; the message does not tell it.
    """
    key = environment.get(variable, "").strip()
    if not key.isprintable():
        raise StudyError(f"{variable} holds a line end or a control character; set it to the key alone")
    return key or None


def _own_key(role: str, environment: Mapping[str, str]) -> str | None:
    """The key that goes with a base URL of one's own."""
    return _key(f"OPENOSCE_{role.upper()}_API_KEY", environment) or _key("OPENOSCE_API_KEY", environment)


def _headers(spec: ModelSpec, role: str, environment: Mapping[str, str]) -> dict[str, str]:
    if spec.base_url is not None:
        key = _own_key(role, environment)
        return {"Authorization": f"Bearer {key}"} if key else {}
    preset = PRESETS[spec.provider]
    key = _key(preset.key, environment) if preset.key else None
    if key is None:
        return {}
    return {preset.key_header: f"Bearer {key}" if preset.key_header == "Authorization" else key}
