"""What a failed call means: for now, for this request, or for everybody; and how it is told without any key."""

import os
import re

from openosce.errors import AccessError, BusyError, ProviderError, RefusedError

_BUSY = {429, 503, 529}
_NO_ACCESS = {301, 302, 303, 307, 308, 401, 402, 403, 404}
_FILTERED = ("content_filter", "content_policy_violation", "content management policy")
_HOLDS_KEY = re.compile(r"KEY|TOKEN|SECRET|PASSWORD")
_LOOKS_LIKE_KEY = re.compile(r"(?i)\bsk-[\w.*-]{6,}|\bbearer\s+\S+|\bkey=[^&\s]+|\bAIza[\w-]{20,}")
_SHORTEST_KEY = 8
_SHOWN = 300


def one_line(text: object) -> str:
    """One short line of what an endpoint or a library told, without any key, and harmless to print and to store."""
    line = str(text)
    for variable, value in os.environ.items():
        key = value.strip()
        if len(key) >= _SHORTEST_KEY and _HOLDS_KEY.search(variable.upper()):
            line = line.replace(key, "***")
    line = _LOOKS_LIKE_KEY.sub("***", " ".join(line.split()))[:_SHOWN]
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in line)


def endpoint_error(name: str, status: int | None, told: object, retry_after: str | None = None) -> ProviderError:
    """What a failed call means: for now, for this request, or for everybody."""
    line = one_line(told)
    message = f"{name}: {line}"
    if any(sign in line for sign in _FILTERED):
        return RefusedError(f"{name}: content filter: {line}")
    if status is None:
        return ProviderError(message)
    if status in _BUSY:
        return BusyError(message, retry_seconds(retry_after))
    if status in _NO_ACCESS:
        return AccessError(message)
    return RefusedError(message) if 400 <= status < 500 and status != 408 else ProviderError(message)


def retry_seconds(retry_after: str | None) -> float | None:
    """`Retry-After` in seconds; its form as a date is used by no model endpoint, and is taken as not given."""
    try:
        return max(0.0, float(retry_after)) if retry_after else None
    except ValueError:
        return None
