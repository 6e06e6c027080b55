"""`inspect/...`: any model that Inspect AI's `get_model` builds. An extra, imported when such a model is built."""

import asyncio
import re
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any

from openosce.errors import ProviderError, RefusedError, StudyError, UnreadableReplyError
from openosce.models.bridge import SETTINGS, checked_settings, imported, own_key
from openosce.models.chat_completions import TIMEOUT
from openosce.models.failures import endpoint_error, one_line
from openosce.models.model import ChatMessage, ModelSpec, Reply, Request

_CONNECTIONS = 10_000
"""More than ever are open: pacing limits the calls, Inspect should not do it once more."""
_WRAPPERS = {"RetryError", "ModelGenerateError"}
"""What Inspect and its retry library put around a provider's error, with much text of their own."""
_UNREADABLE = (ValueError, TypeError, LookupError, AttributeError)
"""What providers' libraries raise for a reply of another shape."""
_MARKUP = re.compile(r"\[/?(?:bold|italic|blue|red)[^\]]*\]|^ERROR: ")


class InspectModel:
    """One model behind Inspect's model interface. Makes one try a call."""

    def __init__(self, spec: ModelSpec, api_key: str | None = None) -> None:
        """`api_key` goes with `spec.base_url`; without a base URL Inspect finds the provider's key itself.

        Raises:
            StudyError: inspect-ai or the provider's own package is missing, or Inspect knows no such provider or key.
        """
        self._name = spec.name
        settings = checked_settings(spec, SETTINGS)
        if "stop" in settings:
            settings["stop_seqs"] = list(settings.pop("stop"))
        self._inspect = imported("inspect_ai.model", spec, "inspect")
        config = self._inspect.GenerateConfig(max_retries=0, max_connections=_CONNECTIONS, **settings)
        try:
            self._model = self._inspect.get_model(
                spec.name.partition("/")[2],
                config=config,
                base_url=spec.base_url,
                api_key=None if spec.base_url is None else own_key(api_key),
                memoize=False,
            )
        except Exception as failure:
            raise StudyError(f"{spec.name}: {_MARKUP.sub('', one_line(_MARKUP.sub('', str(failure))))}") from None
        client: Any = getattr(self._model.api, "client", None)
        if hasattr(client, "max_retries"):  # the OpenAI and Anthropic libraries would try again on their own
            client.max_retries = 0

    async def complete(self, request: Request) -> Reply:
        """Ask once."""
        try:
            with _unrecorded():
                async with asyncio.timeout(TIMEOUT):
                    output = await self._model.generate(self._messages(request), config=self._config(request))
        except TimeoutError:
            raise ProviderError(f"{self._name}: no reply within {TIMEOUT:.0f} s") from None
        except Exception as failure:
            raise _failure(self._name, failure) from None
        return self._reply(output)

    async def close(self) -> None:
        """Close the connections."""
        await self._model.api.aclose()

    def _config(self, request: Request) -> Any:
        """What this request adds to the model's own settings."""
        if request.schema is None:
            return self._inspect.GenerateConfig()
        schema = self._inspect.ResponseSchema(name="reply", json_schema=dict(request.schema), strict=True)
        return self._inspect.GenerateConfig(response_schema=schema)

    def _messages(self, request: Request) -> list[Any]:
        kinds = {
            "system": self._inspect.ChatMessageSystem,
            "user": self._inspect.ChatMessageUser,
            "assistant": self._inspect.ChatMessageAssistant,
        }
        return [kinds[message.role](content=self._content(message)) for message in request.messages]

    def _content(self, message: ChatMessage) -> Any:
        if not message.images:
            return message.content
        images = [self._inspect.ContentImage(image=url) for url in message.images]
        return [self._inspect.ContentText(text=message.content), *images]

    def _reply(self, output: Any) -> Reply:
        if not output.choices:
            raise UnreadableReplyError(f"{self._name}: a reply without a choice")
        if output.stop_reason == "content_filter":
            raise RefusedError(f"{self._name}: content filter: the endpoint withheld the reply")
        usage = output.usage
        if output.stop_reason == "model_length" and usage is None:
            # Inspect turns the provider's error into a reply here; as a doctor's words it would be scored.
            raise RefusedError(f"{self._name}: the request is too long: {one_line(output.completion)}")
        cached = usage.input_tokens_cache_read if usage else None
        return Reply(
            text=output.completion.encode("utf-8", "replace").decode(),
            finish_reason=output.stop_reason,
            model_id=output.model or None,
            tokens_in=usage.input_tokens + (cached or 0) + (usage.input_tokens_cache_write or 0) if usage else None,
            tokens_cached=cached,
            tokens_out=usage.output_tokens if usage else None,
        )


class _Unrecorded:
    """Takes the events that Inspect would keep for its log."""

    def on_pending(self, event: object) -> None:
        """Drop it."""

    def on_complete(self, event: object) -> None:
        """Drop it."""


def _unrecorded() -> AbstractContextManager[None]:
    """Keep Inspect from adding each call to a transcript that nobody reads and that grows until the process ends.

    Versions without this hook record as they do; that costs memory, 10 kB a short call, and nothing else.
    """
    try:
        hook = import_module("inspect_ai.model._model").use_model_event_sink
    except (ImportError, AttributeError):
        return nullcontext()
    sink: AbstractContextManager[None] = hook(_Unrecorded())
    return sink


def _failure(name: str, failure: BaseException) -> ProviderError:
    """The provider's own error, whatever it is wrapped in."""
    while type(failure).__name__ in _WRAPPERS and failure.__cause__ is not None:
        failure = failure.__cause__
    status = _status(failure)
    if status is None and isinstance(failure, _UNREADABLE):
        return UnreadableReplyError(f"{name}: not a readable reply: {one_line(f'{type(failure).__name__}: {failure}')}")
    headers = getattr(getattr(failure, "response", None), "headers", None) or {}
    told = getattr(failure, "provider_message", None) or f"{type(failure).__name__}: {failure}"
    return endpoint_error(name, status, f"HTTP {status}: {told}" if status else told, headers.get("retry-after"))


def _status(failure: BaseException) -> int | None:
    """The HTTP status, under the names that providers' libraries give it."""
    for attribute in ("status_code", "code"):
        status = getattr(failure, attribute, None)
        if isinstance(status, int):
            return status
    return None
