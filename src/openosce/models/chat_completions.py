"""A model behind any endpoint that speaks OpenAI's chat completions."""

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from openosce.errors import AccessError, BusyError, ProviderError, RefusedError, UnreadableReplyError
from openosce.models.model import ChatMessage, ModelSpec, Reply, Request

if TYPE_CHECKING:
    import aiohttp

TIMEOUT = 120.0
"""Seconds within which a call must have its whole reply."""
LONGEST_REPLY = 16 * 2**20
"""Bytes of a response body at the most."""

_BUSY = {429, 503, 529}
_NO_ACCESS = {401, 403, 404}
_SHOWN = 300
_SECRET = re.compile(r"(?i)\b(?:sk|key|bearer|token)[-_ ][\w.-]{8,}")


class ChatCompletions:
    """One model at one endpoint. Makes one try a call; pacing and new tries are `pacing.py`'s."""

    def __init__(
        self, spec: ModelSpec, base_url: str, headers: Mapping[str, str], length_key: str = "max_tokens"
    ) -> None:
        """`headers` hold the key; `length_key` is how this provider names the limit on a reply's tokens."""
        self._name = spec.name
        self._url = base_url.rstrip("/") + "/chat/completions"
        self._headers = {**headers, "Content-Type": "application/json"}
        self._secrets = [value.removeprefix("Bearer ") for value in headers.values()]
        settings = dict(spec.settings)
        extra = settings.pop("extra_body", {})
        if "max_tokens" in settings:
            settings[length_key] = settings.pop("max_tokens")
        self._fixed = {"model": spec.name.partition("/")[2], **settings, **extra}
        self._session: aiohttp.ClientSession | None = None

    async def complete(self, request: Request) -> Reply:
        """Ask once."""
        import aiohttp

        if self._session is None:
            self._session = new_session()
        try:
            async with self._session.post(self._url, data=self._body(request), headers=self._headers) as response:
                body = await response.content.read(LONGEST_REPLY + 1) if response.status == 200 else b""
                while len(body) <= LONGEST_REPLY and (more := await response.content.read(LONGEST_REPLY)):
                    body += more
        except TimeoutError:
            raise ProviderError(f"{self._name}: no reply within {TIMEOUT:.0f} s") from None
        except aiohttp.ClientError as failure:
            raise ProviderError(f"{self._name}: {self._safe(f'{type(failure).__name__}: {failure}')}") from None
        if len(body) > LONGEST_REPLY:
            raise UnreadableReplyError(f"{self._name}: a reply of more than {LONGEST_REPLY} bytes")
        if response.status != 200:
            raise self._failure(response.status, body, response.headers.get("Retry-After"))
        return self._reply(body)

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _body(self, request: Request) -> bytes:
        content: dict[str, Any] = {**self._fixed, "messages": [_message(message) for message in request.messages]}
        if request.schema is not None:
            schema = {"name": "reply", "strict": True, "schema": request.schema}
            content["response_format"] = {"type": "json_schema", "json_schema": schema}
        return json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")

    def _failure(self, status: int, body: bytes, retry_after: str | None) -> ProviderError:
        """What an HTTP error means: for now, for this request, or for everybody."""
        code, told = _told(body)
        message = f"{self._name}: HTTP {status}: {self._safe(told)}"
        if status in _BUSY:
            return BusyError(message, _seconds(retry_after))
        if code in {"content_filter", "content_policy_violation"} or "content management policy" in told:
            return RefusedError(f"{self._name}: content filter: HTTP {status}: {self._safe(told)}")
        if status in _NO_ACCESS:
            return AccessError(message)
        return RefusedError(message) if 400 <= status < 500 and status != 408 else ProviderError(message)

    def _reply(self, body: bytes) -> Reply:
        try:
            data = json.loads(body)
            choice = data["choices"][0]
            text = choice["message"].get("content") or ""
            usage = data.get("usage") or {}
            cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens")
            reply = Reply(
                text=text.encode("utf-8", "replace").decode(),  # a lone surrogate can be sent, and not be stored
                finish_reason=choice.get("finish_reason"),
                model_id=data.get("model"),
                tokens_in=usage.get("prompt_tokens"),
                tokens_cached=cached,
                tokens_out=usage.get("completion_tokens"),
            )
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as failure:
            shown = self._safe(body[:_SHOWN].decode("utf-8", "replace"))
            raise UnreadableReplyError(
                f"{self._name}: not a chat completion ({type(failure).__name__}): {shown!r}"
            ) from None
        if reply.finish_reason == "content_filter":
            raise RefusedError(f"{self._name}: content filter: the endpoint withheld the reply")
        return reply

    def _safe(self, text: str) -> str:
        """One short line of what the endpoint told, without any key."""
        for secret in self._secrets:
            if secret:
                text = text.replace(secret, "***")
        return _SECRET.sub("***", " ".join(text.split()))[:_SHOWN]


def new_session() -> "aiohttp.ClientSession":
    """A session that opens as many connections as it is asked for; pacing limits them."""
    import aiohttp

    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
        timeout=aiohttp.ClientTimeout(total=TIMEOUT),
        auto_decompress=True,
    )


def _message(message: ChatMessage) -> dict[str, Any]:
    if not message.images:
        return {"role": message.role, "content": message.content}
    parts: list[dict[str, Any]] = [{"type": "text", "text": message.content}]
    parts += [{"type": "image_url", "image_url": {"url": url}} for url in message.images]
    return {"role": message.role, "content": parts}


def _told(body: bytes) -> tuple[str | None, str]:
    """An error's code and text, in the shapes that endpoints use."""
    text = body[:10_000].decode("utf-8", "replace")
    try:
        error = json.loads(body)
    except ValueError:
        return None, text
    if isinstance(error, list) and error:
        error = error[0]
    if isinstance(error, dict):
        error = error.get("error", error)
    if isinstance(error, dict):
        code = error.get("code")
        return (code if isinstance(code, str) else None), str(error.get("message") or text)
    return None, text


def _seconds(retry_after: str | None) -> float | None:
    """`Retry-After` in seconds; its form as a date is not used by model endpoints, and is taken as not given."""
    try:
        return max(0.0, float(retry_after)) if retry_after else None
    except ValueError:
        return None
