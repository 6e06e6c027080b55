import subprocess
import sys

import pytest
from simulator import Simulator
from typer.testing import CliRunner

from openosce.cli import app
from openosce.errors import InputError
from openosce.models.providers import BRIDGES, PRESETS

OSCE = (sys.executable, "-c", "from openosce.cli import main; main()")
KEY = "zq-planted-key-4711"


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """No key of whoever runs the tests."""
    for role in ("", "DOCTOR_", "GRADER_"):
        monkeypatch.delenv(f"OPENOSCE_{role}API_KEY", raising=False)
        monkeypatch.delenv(f"OPENOSCE_{role}BASE_URL", raising=False)
    for preset in PRESETS.values():
        if preset.key:
            monkeypatch.delenv(preset.key, raising=False)
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture(scope="module")
def endpoint():
    with Simulator() as running:
        yield running


def models(*arguments):
    """What `osce models` prints; an error is raised."""
    done = CliRunner().invoke(app, ["models", *map(str, arguments)])
    if isinstance(done.exception, InputError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


def refused(*arguments):
    """The one line of an unusable input."""
    with pytest.raises(InputError) as error:
        models(*arguments)
    assert len(str(error.value).splitlines()) == 1
    return str(error.value)


# list


def test_every_provider_is_listed_with_its_endpoint_and_the_variable_of_its_key():
    lines = {line.split()[0]: line for line in models("list").splitlines() if line.strip()}
    for name, preset in PRESETS.items():
        assert (preset.base_url or "AZURE_OPENAI_ENDPOINT") in lines[name]
        assert (f"{preset.key} (not set)" if preset.key else "none needed") in lines[name]
    for name in BRIDGES:
        assert f"openosce[{name}]" in lines[name]
    assert "builtin/script" in lines


def test_the_list_says_that_a_key_is_set_and_never_which(monkeypatch):
    monkeypatch.setenv("MISTRAL_API_KEY", KEY)
    shown = models("list")
    assert "MISTRAL_API_KEY (set)" in shown and "OPENAI_API_KEY (not set)" in shown
    assert KEY not in shown


# check


def test_a_model_that_answers_is_shown_with_what_it_told(endpoint):
    shown = models("check", "sim/any-model", "--base-url", endpoint.base_url).splitlines()
    assert shown[0] == f"endpoint: {endpoint.base_url}"
    assert shown[1].startswith("reply: '") and shown[1].endswith(" ms")
    assert shown[2] == "model: any-model-2026; finish reason: stop"
    assert shown[3].startswith("tokens: 9 in, ")
    assert shown[4] == "price: unknown; give it in a price book"


def test_a_check_is_one_call(endpoint):
    endpoint.reset()
    models("check", "sim/any-model", "--base-url", endpoint.base_url, "--max-tokens", 1)
    assert endpoint.counters()["requests"] == 1
    assert endpoint.counters()["models"]["any-model"]["completion_tokens"] == 1


@pytest.mark.parametrize("role", ["doctor", "grader"])
def test_the_roles_own_variables_are_looked_at(endpoint, monkeypatch, role):
    monkeypatch.setenv(f"OPENOSCE_{role.upper()}_BASE_URL", endpoint.base_url)
    monkeypatch.setenv("OPENOSCE_API_KEY", "another")
    assert "HTTP 401" in refused("check", "sim/needs-key", "--role", role)
    monkeypatch.setenv(f"OPENOSCE_{role.upper()}_API_KEY", "sim-secret")
    assert "model: needs-key-2026" in models("check", "sim/needs-key", "--role", role)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["gpt-4o"], "the model 'gpt-4o' has no provider; write it provider/name"),
        (["acme/m"], "unknown provider 'acme'"),
        (["openai/gpt-4o"], "set OPENAI_API_KEY in the environment"),
        (["azure/m"], "set AZURE_OPENAI_ENDPOINT"),
        (["vllm/m", "--base-url", "localhost"], "is no base URL"),
        (["vllm/m", "--base-url", "http://me:hunter2@localhost/v1"], "holds a password"),
        (["builtin/script"], "needs its replies"),
        (["vllm/m", "--base-url", "http://127.0.0.1:1/v1"], "vllm/m cannot be reached: vllm/m: Client"),
    ],
)
def test_what_is_missing_is_named_in_one_line(arguments, expected):
    assert expected in refused("check", *arguments)


def test_what_the_endpoint_refuses_is_told_in_its_words(endpoint):
    line = refused("check", "sim/nobody", "--base-url", endpoint.base_url)
    assert "HTTP 404: model_not_found The model 'nobody' does not exist" in line


def test_a_refusal_is_one_line_and_exit_code_2(endpoint):
    command = [*OSCE, "models", "check", "sim/needs-key", "--base-url", endpoint.base_url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, f"endpoint: {endpoint.base_url}\n")
    assert done.stderr.startswith("error: sim/needs-key cannot be reached: ")
    assert len(done.stderr.splitlines()) == 1
