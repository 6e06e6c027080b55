"""A model behind any endpoint that speaks OpenAI's chat completions."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from openosce.errors import ProviderError, RefusedError, UnreadableReplyError
from openosce.models.failures import endpoint_error, one_line
from openosce.models.model import ChatMessage, ModelSpec, Reply, Request

if TYPE_CHECKING:
    import aiohttp

TIMEOUT = 120.0
"""Seconds within which a call must have its whole reply."""
LONGEST_REPLY = 16 * 2**20
"""Bytes of a response body at the most."""

_SHOWN = 10_000
"""Bytes of a body that an error is told from. `one_line` cuts it once keys are out: a cut key could not be found."""
_MOST_TOKENS = 2**53


class ChatCompletions:
    """One model at one endpoint. Makes one try a call; pacing and new tries are `pacing.py`'s."""

    def __init__(
        self, spec: ModelSpec, base_url: str, headers: Mapping[str, str], length_key: str = "max_tokens"
    ) -> None:
        """`headers` hold the key; `length_key` is how this provider names the limit on a reply's tokens."""
        self._name = spec.name
        self._url = base_url.rstrip("/") + "/chat/completions"
        self._headers = {**headers, "Content-Type": "application/json"}
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
            self._session = new_session(self._headers)
        try:
            # A redirect would take the key to another host.
            async with self._session.post(self._url, data=self._body(request), allow_redirects=False) as response:
                body = await _whole_body(response)
        except TimeoutError:
            raise ProviderError(f"{self._name}: no reply within {TIMEOUT:.0f} s") from None
        except aiohttp.ClientError as failure:
            raise ProviderError(f"{self._name}: {one_line(f'{type(failure).__name__}: {failure}')}") from None
        if len(body) > LONGEST_REPLY:
            raise UnreadableReplyError(f"{self._name}: a reply of more than {LONGEST_REPLY} bytes")
        if response.status != 200:
            moved = f"moved to {response.headers['Location']} " if "Location" in response.headers else ""
            told = f"HTTP {response.status}: {moved}{_told(body)}"
            raise endpoint_error(self._name, response.status, told, response.headers.get("Retry-After"))
        return self._reply(body)

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _body(self, request: Request) -> bytes:
        content: dict[str, Any] = {**self._fixed, "messages": [wire_message(message) for message in request.messages]}
        if request.schema is not None:
            schema = {"name": "reply", "strict": True, "schema": request.schema}
            content["response_format"] = {"type": "json_schema", "json_schema": schema}
        return json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")

    def _reply(self, body: bytes) -> Reply:
        try:
            data = json.loads(body)
            choice = data["choices"][0]
            text = choice["message"].get("content") or ""
            usage = data.get("usage") or {}
            cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens")
            reply = Reply(
                text=text.encode("utf-8", "replace").decode(),  # a lone surrogate can be sent, and not be stored
                finish_reason=_name(choice.get("finish_reason")),
                model_id=_name(data.get("model")),
                tokens_in=_count(usage.get("prompt_tokens")),
                tokens_cached=_count(cached),
                tokens_out=_count(usage.get("completion_tokens")),
            )
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as failure:
            shown = one_line(body[:_SHOWN].decode("utf-8", "replace"))
            raise UnreadableReplyError(
                f"{self._name}: not a chat completion ({type(failure).__name__}): {shown!r}"
            ) from None
        if reply.finish_reason == "content_filter":
            raise RefusedError(f"{self._name}: content filter: the endpoint withheld the reply")
        return reply


def _name(value: object) -> str | None:
    """A name as an endpoint gives it; None where it is no text."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else None


def _count(value: object) -> int | None:
    """A count as an endpoint gives it; None where it can be none."""
    return value if type(value) is int and 0 <= value < _MOST_TOKENS else None


async def _whole_body(response: "aiohttp.ClientResponse") -> bytes:
    """A response's body, or somewhat more than the longest that is taken."""
    packed = "Content-Encoding" in response.headers  # its length does not tell how much comes out of it
    if not packed and response.content_length is not None and response.content_length <= LONGEST_REPLY:
        return await response.read()
    body = b""
    while len(body) <= LONGEST_REPLY and (more := await response.content.read(2**20)):
        body += more
    return body


def new_session(headers: Mapping[str, str]) -> "aiohttp.ClientSession":
    """A session that opens as many connections as it is asked for; pacing limits them."""
    import aiohttp

    return aiohttp.ClientSession(
        headers=headers,
        connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
        timeout=aiohttp.ClientTimeout(total=TIMEOUT),
        auto_decompress=True,
    )


def wire_message(message: ChatMessage) -> dict[str, Any]:
    """A message as chat completions spell it."""
    if not message.images:
        return {"role": message.role, "content": message.content}
    parts: list[dict[str, Any]] = [{"type": "text", "text": message.content}]
    parts += [{"type": "image_url", "image_url": {"url": url}} for url in message.images]
    return {"role": message.role, "content": parts}


def _told(body: bytes) -> str:
    """An error's code and text, in the shapes that endpoints use."""
    text = body[:_SHOWN].decode("utf-8", "replace")
    try:
        error = json.loads(body)
    except (ValueError, RecursionError):
        return text
    if isinstance(error, list) and error:
        error = error[0]
    if isinstance(error, dict):
        error = error.get("error", error)
    if isinstance(error, dict):
        return " ".join(str(part) for part in (error.get("code"), error.get("message")) if part) or text
    return text
