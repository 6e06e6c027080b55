import asyncio
import tomllib
from itertools import product
from pathlib import Path

import pytest
from aiohttp import web

from openosce.errors import StudyError
from openosce.models import ChatMessage, ModelSpec, Request, load_prices
from openosce.models.chat_completions import ChatCompletions
from openosce.models.providers import PRESETS, base_url, build_model, require_key
from openosce.runs import to_study

KEYS = {preset.key: f"preset-{name}-0815" for name, preset in PRESETS.items() if preset.key}
OWN_KEYS = {f"OPENOSCE_{role}_API_KEY": f"own-{role}-0815" for role in ("DOCTOR", "PATIENT", "SUMMARIZER", "GRADER")}
AZURE = {"AZURE_OPENAI_ENDPOINT": "https://mine.openai.azure.com/"}


def headers_sent(monkeypatch, spec, role, environment):
    """The headers of one call, whatever its URL: every connection ends at an endpoint on loopback."""
    seen = {}

    async def handle(request):
        seen.update(request.headers)
        return web.json_response({"choices": [{"message": {"content": "ok"}}]})

    async def main():
        runner = web.ServerRunner(web.Server(handle), shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        model = build_model(spec, role, environment)
        assert isinstance(model, ChatCompletions)
        monkeypatch.setattr(model, "_url", f"http://127.0.0.1:{runner.addresses[0][1]}/v1/chat/completions")
        try:
            await model.complete(Request((ChatMessage("user", "Hello"),), "check"))
        finally:
            await model.close()
            await runner.cleanup()

    asyncio.run(main())
    return seen


def values_sent(monkeypatch, spec, role="doctor", environment=None):
    """The values of those headers that hold any of our keys."""
    known = [*KEYS.values(), *OWN_KEYS.values(), "own-all-0815"]
    sent = headers_sent(monkeypatch, spec, role, environment or {})
    return {name: value for name, value in sent.items() if any(key in value for key in known)}


@pytest.mark.parametrize("name", [name for name in PRESETS if name != "azure"])
def test_a_preset_knows_its_endpoint_and_sends_its_own_key_alone(monkeypatch, name):
    spec = ModelSpec(f"{name}/org/model")
    assert base_url(spec) == PRESETS[name].base_url
    environment = {**KEYS, **OWN_KEYS, "OPENOSCE_API_KEY": "own-all-0815"}
    key = PRESETS[name].key
    expected = {"Authorization": f"Bearer {KEYS[key]}"} if key else {}
    assert values_sent(monkeypatch, spec, environment=environment) == expected


def test_endpoints_on_other_machines_are_encrypted_and_ask_for_a_key():
    for preset in PRESETS.values():
        if preset.base_url and "localhost" not in preset.base_url:
            assert preset.base_url.startswith("https://") and preset.key
        elif preset.base_url:
            assert preset.key is None


def test_azure_takes_its_endpoint_and_its_key_from_the_environment(monkeypatch):
    spec = ModelSpec("azure/my-deployment")
    assert base_url(spec, AZURE) == "https://mine.openai.azure.com/openai/v1"
    sent = values_sent(monkeypatch, spec, environment={**KEYS, **AZURE})
    assert sent == {"api-key": KEYS["AZURE_OPENAI_API_KEY"]}
    with pytest.raises(StudyError, match="AZURE_OPENAI_ENDPOINT"):
        build_model(spec, "doctor", KEYS)


def test_an_azure_endpoint_that_holds_a_password_is_refused():
    with pytest.raises(StudyError, match="password"):
        base_url(ModelSpec("azure/m"), {"AZURE_OPENAI_ENDPOINT": "https://me:hunter2@mine.openai.azure.com"})


@pytest.mark.parametrize("name", [*PRESETS, "sim"])
def test_no_presets_key_goes_to_a_base_url_of_ones_own(monkeypatch, name):
    spec = ModelSpec(f"{name}/m", "http://gpu-box:8000/v1")
    assert base_url(spec) == "http://gpu-box:8000/v1"
    assert values_sent(monkeypatch, spec, environment={**KEYS, **AZURE}) == {}


@pytest.mark.parametrize("role", ["doctor", "patient", "summarizer", "grader"])
def test_a_base_url_of_ones_own_gets_the_roles_key_before_the_common_one_and_no_other_roles(monkeypatch, role):
    spec = ModelSpec("openai/m", "http://gpu-box:8000/v1")
    common = {**KEYS, "OPENOSCE_API_KEY": "own-all-0815"}
    assert values_sent(monkeypatch, spec, role, common) == {"Authorization": "Bearer own-all-0815"}
    sent = values_sent(monkeypatch, spec, role, {**common, **OWN_KEYS})
    assert sent == {"Authorization": f"Bearer own-{role.upper()}-0815"}
    others = {name: key for name, key in OWN_KEYS.items() if role.upper() not in name}
    assert values_sent(monkeypatch, spec, role, others) == {}


@pytest.mark.parametrize("around", ["%s\n", " %s ", "%s\r\n", "\t%s"])
def test_a_key_that_was_read_from_a_file_with_its_line_end_works(monkeypatch, around):
    own = ModelSpec("openai/m", "http://gpu-box:8000/v1")
    sent = values_sent(monkeypatch, own, environment={"OPENOSCE_API_KEY": around % "own-all-0815"})
    assert sent == {"Authorization": "Bearer own-all-0815"}
    preset = {"OPENAI_API_KEY": around % KEYS["OPENAI_API_KEY"]}
    assert values_sent(monkeypatch, ModelSpec("openai/m"), environment=preset) == {
        "Authorization": f"Bearer {KEYS['OPENAI_API_KEY']}"
    }


@pytest.mark.parametrize("key", ["abc\ndef-secret", "abc\x00def-secret"])
def test_a_key_that_no_header_can_hold_is_refused_without_telling_it(key):
    own = ModelSpec("openai/m", "http://h/v1")
    for spec, variable in ((ModelSpec("openai/m"), "OPENAI_API_KEY"), (own, "OPENOSCE_API_KEY")):
        with pytest.raises(StudyError, match=variable) as refused:
            build_model(spec, "doctor", {variable: key})
        assert "secret" not in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize("variable", [preset.key for preset in PRESETS.values() if preset.key])
def test_a_missing_key_is_named_before_the_run(variable):
    (name,) = [name for name, preset in PRESETS.items() if preset.key == variable]
    for environment in ({}, {variable: ""}, {variable: " \n"}):
        with pytest.raises(StudyError, match=f"set {variable} in the environment"):
            require_key(ModelSpec(f"{name}/m"), environment)
    require_key(ModelSpec(f"{name}/m"), {variable: "some-key"})
    require_key(ModelSpec(f"{name}/m", "http://gpu-box/v1"), {})


@pytest.mark.parametrize("name", ["vllm/m", "ollama/m", "llama.cpp/m", "builtin/interviewer", "local/smollm2-135m"])
def test_what_needs_no_key_is_not_asked_for_one(name):
    require_key(ModelSpec(name), {})


@pytest.mark.parametrize(
    "url",
    ["http://me:hunter2@gpu-box/v1", "http://hunter2@gpu-box/v1", "https://gpu-box/v1?key=hunter2",
     "http://:hunter2@h/v1", "http://me:hunter2@h:99999/v1", "me:hunter2@gpu-box/v1", "http://me:hunter2@[::1/v1"],
)  # fmt: skip
def test_a_base_url_with_a_password_is_refused_and_not_repeated(url):
    for name in ("vllm/m", "openai/m", "litellm/openai/m", "inspect/openai/m"):
        with pytest.raises(StudyError, match="password") as refused:
            build_model(ModelSpec(name, url), "doctor", {})
        assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    "url", ["gpu-box:8000", "localhost/v1", "ftp://h/v1", "http://", "http:///v1", "file:///etc/passwd", "http://[::1/v1",
            "http://h:port/v1", "http://h:99999/v1", "http://h/v1\nX-Header: 1", "/v1"],
)  # fmt: skip
def test_what_is_no_base_url_is_refused_in_one_line(url):
    with pytest.raises(StudyError, match="no base URL") as refused:
        build_model(ModelSpec("vllm/m", url), "doctor", {})
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize("url", ["http://h/v1", "http://h/v1/", "https://h:8443/a/b", "http://[::1]:8000/v1"])
def test_usual_base_urls_are_taken(url):
    assert base_url(ModelSpec("vllm/m", url)) == url


def test_an_unknown_provider_needs_a_base_url_and_the_known_ones_are_listed():
    with pytest.raises(StudyError, match="unknown provider 'acme'") as refused:
        build_model(ModelSpec("acme/m"), "doctor", {})
    assert all(name in str(refused.value) for name in (*PRESETS, "litellm", "inspect", "local", "builtin"))
    assert isinstance(build_model(ModelSpec("acme/m", "http://h/v1"), "doctor", {}), ChatCompletions)


def test_a_roles_variable_points_it_elsewhere_and_its_own_table_comes_first():
    tables = {
        "study": {"benchmark": "craft-md", "base_url": "http://all/v1"},
        "roles": {
            "doctor": {"models": ["openai/m", "builtin/interviewer"]},
            "patient": {"model": "openai/m"},
            "grader": {"model": "openai/m", "base_url": "http://table/v1"},
        },
    }
    environment = {f"OPENOSCE_{role}_BASE_URL": f"http://{role.lower()}/v1" for role in ("DOCTOR", "GRADER")}
    study = to_study(tables, environment=environment)
    assert [doctor.base_url for doctor in study.doctors] == ["http://doctor/v1", None]
    assert study.roles["patient"].base_url == "http://all/v1"
    assert study.roles["grader"].base_url == "http://table/v1"


def test_the_page_on_models_tells_every_preset_as_it_is_and_its_examples_work(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    for name, preset in PRESETS.items():
        (line,) = [line for line in page.splitlines() if line.startswith(f"| `{name}/` |")]
        assert (preset.base_url or "AZURE_OPENAI_ENDPOINT") in line
        assert (f"`{preset.key}`" if preset.key else "–") in line
    settings = page.partition("### Settings")[2].partition("```toml\n")[2].partition("```")[0]
    study = to_study({"study": {"benchmark": "craft-md"}, **tomllib.loads(settings)}, environment={})
    assert study.doctors[0].settings["extra_body"] == {"reasoning_effort": "low"}
    assert study.roles["patient"].base_url == "http://gpu-box:8000/v1"
    book = tmp_path / "prices.yaml"
    book.write_text(page.partition("```yaml\n")[2].partition("```")[0])
    assert load_prices(book).cost("openai/gpt-4o", 1e6, 0) == 2.5


def test_which_provider_serves_a_model_does_not_depend_on_the_model():
    for provider, model in product(PRESETS, ("gpt-4o", "org/model:free", "a/b/c")):
        assert ModelSpec(f"{provider}/{model}").provider == provider
