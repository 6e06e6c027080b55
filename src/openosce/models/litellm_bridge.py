"""`litellm/...`: any model that litellm reaches. An extra; litellm is imported when such a model is built."""

import asyncio
import logging
import os
from types import ModuleType
from typing import Any

from openosce.errors import AccessError, ProviderError, RefusedError, StudyError, UnreadableReplyError
from openosce.models.bridge import SETTINGS, checked_settings, imported, own_key
from openosce.models.chat_completions import TIMEOUT, wire_message
from openosce.models.failures import endpoint_error, one_line
from openosce.models.model import ModelSpec, Reply, Request


class LiteLLMModel:
    """One model behind `litellm.acompletion`. Makes one try a call."""

    def __init__(self, spec: ModelSpec, api_key: str | None = None) -> None:
        """`api_key` goes with `spec.base_url`; without a base URL litellm finds the provider's key itself.

        Raises:
            StudyError: litellm is missing, or knows no such provider, key or setting.
        """
        self._name = spec.name
        model = spec.name.partition("/")[2]
        settings = checked_settings(spec, SETTINGS)
        self._litellm = _quiet_litellm(spec)
        _check_provider(self._litellm, spec, model)
        self._fixed: dict[str, Any] = {"model": model, "num_retries": 0, **settings}
        if spec.base_url is not None:
            self._fixed |= {"api_base": spec.base_url, "api_key": own_key(api_key)}
        self._takes_schema = self._litellm.supports_response_schema(model)

    async def complete(self, request: Request) -> Reply:
        """Ask once."""
        try:
            async with asyncio.timeout(TIMEOUT):
                response = await self._litellm.acompletion(**self._arguments(request))
        except TimeoutError:
            raise ProviderError(f"{self._name}: no reply within {TIMEOUT:.0f} s") from None
        except Exception as failure:
            raise self._failure(failure) from None
        return self._reply(response)

    async def close(self) -> None:
        """Close litellm's connections; it keeps them for all its models together."""
        await self._litellm.close_litellm_async_clients()

    def _arguments(self, request: Request) -> dict[str, Any]:
        arguments = {**self._fixed, "messages": [wire_message(message) for message in request.messages]}
        if request.schema is not None and self._takes_schema:
            schema = {"name": "reply", "strict": True, "schema": dict(request.schema)}
            arguments["response_format"] = {"type": "json_schema", "json_schema": schema}
        return arguments

    def _failure(self, failure: Exception) -> ProviderError:
        if isinstance(failure, self._litellm.UnsupportedParamsError):
            return AccessError(f"{self._name}: {one_line(failure)}")
        if isinstance(failure, self._litellm.ContentPolicyViolationError):
            return RefusedError(f"{self._name}: content filter: {one_line(failure)}")
        headers = getattr(failure, "litellm_response_headers", None) or {}
        return endpoint_error(self._name, getattr(failure, "status_code", None), failure, headers.get("retry-after"))

    def _reply(self, response: Any) -> Reply:
        try:
            choice = response.choices[0]
            text = choice.message.content or ""
        except (IndexError, TypeError, AttributeError) as failure:
            raise UnreadableReplyError(f"{self._name}: a reply without a choice ({type(failure).__name__})") from None
        if choice.finish_reason == "content_filter":
            raise RefusedError(f"{self._name}: content filter: the endpoint withheld the reply")
        usage: Any = getattr(response, "usage", None)
        if usage is not None and not usage.prompt_tokens:
            usage = None  # litellm fills in zeros for what the endpoint does not report
        return Reply(
            text=text.encode("utf-8", "replace").decode(),  # a lone surrogate can be sent, and not be stored
            finish_reason=choice.finish_reason,
            model_id=response.model,
            tokens_in=getattr(usage, "prompt_tokens", None),
            tokens_cached=getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None),
            tokens_out=getattr(usage, "completion_tokens", None),
        )


def _quiet_litellm(spec: ModelSpec) -> ModuleType:
    """litellm without its log lines, its telemetry, and the price list that it would fetch when imported."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    litellm = imported("litellm", spec, "litellm")
    vars(litellm).update(suppress_debug_info=True, telemetry=False)
    logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)
    return litellm


def _check_provider(litellm: ModuleType, spec: ModelSpec, model: str) -> None:
    """Find out before the run what no call would survive."""
    try:
        _, provider, _, _ = litellm.get_llm_provider(model)
    except Exception:
        raise StudyError(f"litellm knows no provider of {model!r}; write litellm/PROVIDER/MODEL") from None
    supported = litellm.get_supported_openai_params(model) or SETTINGS
    refused = [name for name in spec.settings if name not in supported and name != "extra_body"]
    if refused and not litellm.drop_params:
        raise StudyError(f"{spec.name}: {provider} does not take the setting(s) {', '.join(refused)}")
    missing = litellm.validate_environment(model)["missing_keys"] if spec.base_url is None else []
    # Some providers can do without the variables listed for them (a role, a profile, a default URL); keys they need.
    if missing and all(variable.endswith("_API_KEY") for variable in missing):
        raise StudyError(f"{spec.name} needs a key: set {' or '.join(missing)} in the environment")
