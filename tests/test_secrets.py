"""A key in the environment appears in no file, on no terminal and in no error, whatever an endpoint makes of it."""

import base64
import json
import threading
import traceback
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import stamina
from typer.testing import CliRunner

from openosce.cli import app
from openosce.errors import InputError
from openosce.models import chat_completions
from openosce.models.providers import PRESETS

KEYS = {
    "OPENAI_API_KEY": "zq-planted-openai-4711",
    "OPENOSCE_API_KEY": "zq-planted-common-4711",
    "OPENOSCE_DOCTOR_API_KEY": "zq-planted-doctor-4711",
    "AZURE_OPENAI_API_KEY": "zq-planted-azure-4711",
}
GOOD = {"model": "m-1", "choices": [{"message": {"content": "Final Diagnosis: Gout"}, "finish_reason": "stop"}]}


@pytest.fixture(autouse=True)
def planted(monkeypatch):
    for variable, key in KEYS.items():
        monkeypatch.setenv(variable, key)
    monkeypatch.setenv("COLUMNS", "300")


@contextmanager
def echoing(shape):
    """An endpoint that answers each request in this shape, with the headers it was sent; counts those with a key."""
    seen = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            heard = "; ".join(f"{name}: {value} {value.split()[-1]}" for name, value in self.headers.items())
            seen.extend(key for key in KEYS.values() if key in heard)
            status, headers, body = shape(heard, len(seen))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def error(status, **headers):
    """An error as endpoints write it, with the headers in its words."""
    return lambda heard, n: (
        status,
        headers,
        json.dumps({"error": {"message": f"no: {heard}", "code": heard}}).encode(),
    )


SHAPES = {
    "401": error(401),
    "400": error(400),
    "403 as text": lambda heard, n: (403, {}, f"Forbidden\n{heard}".encode()),
    "404 as HTML": lambda heard, n: (404, {}, f"<html>\n<pre>{heard}</pre></html>".encode()),
    "429": error(429, **{"Retry-After": "0.01"}),
    "500": error(500),
    "200 as HTML": lambda heard, n: (200, {}, f"<html>{'x' * 250}{heard}</html>".encode()),
    "200 cut off": lambda heard, n: (200, {}, json.dumps({**GOOD, "debug": heard}).encode()[:-2]),
    "redirect": lambda heard, n: (302, {"Location": f"/login?from={heard.split('Bearer ')[-1].split(';')[0]}"}, b""),
    "every other": lambda heard, n: (200, {}, json.dumps(GOOD).encode()) if n % 2 else error(500)(heard, n),
}


def osce(*arguments):
    """Run a command in this process: all that it printed, and what it raised."""
    with stamina.set_testing(True, attempts=3):
        done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    raised = "".join(traceback.format_exception(done.exception)) if done.exception else ""
    assert done.exception is None or isinstance(done.exception, InputError | SystemExit), raised
    return done.output + done.stderr + raised


def keys_in(*texts):
    """The keys found, also by halves or in base64."""
    whole = [text if isinstance(text, bytes) else text.encode("utf-8", "replace") for text in texts]
    looks = {key: (b"zq-planted", key.encode()[3:], base64.b64encode(key.encode())[:-4]) for key in KEYS.values()}
    return {key for key, forms in looks.items() for form in forms for text in whole if form in text}


def everything_in(folder):
    return [path.read_bytes() for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("shape", SHAPES)
def test_no_key_is_in_any_file_or_word_of_a_run(tmp_path, shape):
    with echoing(SHAPES[shape]) as (url, seen):
        doctor = ("--doctor", "mine/m", "--base-url", url)
        said = osce("run", "craft-md", *doctor, "--trials", 1, "--limit", 1, "--out", tmp_path / "run")
    assert set(seen) == {KEYS["OPENOSCE_DOCTOR_API_KEY"]}
    assert (tmp_path / "run" / "run.db").is_file()
    assert keys_in(said, *everything_in(tmp_path)) == set()


@pytest.mark.parametrize("shape", ["400", "500"])
def test_no_key_is_in_anything_that_is_made_of_a_run(tmp_path, monkeypatch, shape):
    with echoing(SHAPES[shape]) as (url, seen):
        monkeypatch.setitem(PRESETS, "openai", replace(PRESETS["openai"], base_url=url))
        common = ("run", "craft-md", "--doctor", "openai/m", "--trials", 1, "--limit", 2, "--out", tmp_path / "run")
        said = [osce(*common), osce(*common)]
    assert set(seen) == {KEYS["OPENAI_API_KEY"]}
    said += [osce(verb, tmp_path / "run") for verb in ("analyze", "show", "report")]
    said.append(osce("analyze", tmp_path / "run", "--json"))
    assert keys_in(*said, *everything_in(tmp_path)) == set()


@pytest.mark.parametrize("shape", SHAPES)
def test_no_key_is_in_the_words_of_a_check(monkeypatch, shape):
    with echoing(SHAPES[shape]) as (url, seen):
        monkeypatch.setitem(PRESETS, "azure", replace(PRESETS["azure"], base_url=url))
        said = [osce("models", "check", "mine/m", "--base-url", url), osce("models", "check", "azure/m")]
        said.append(osce("models", "list"))
    assert set(seen) == {KEYS["OPENOSCE_DOCTOR_API_KEY"], KEYS["AZURE_OPENAI_API_KEY"]}
    assert keys_in(*said) == set()


def test_no_key_is_in_a_dry_run(tmp_path):
    said = osce("run", "craft-md", "--doctor", "openai/gpt-4o", "--dry-run", "--out", tmp_path / "run")
    assert keys_in(said) == set()


def test_no_key_is_in_the_traceback_of_a_bug(tmp_path, monkeypatch):
    def bug(self, body):
        raise RuntimeError("a bug")

    monkeypatch.setattr(chat_completions.ChatCompletions, "_reply", bug)
    good = lambda heard, n: (200, {}, json.dumps(GOOD).encode())  # noqa: E731
    with echoing(good) as (url, seen):
        flags = [
            "--doctor",
            "mine/m",
            "--base-url",
            url,
            "--trials",
            "1",
            "--limit",
            "1",
            "--out",
            str(tmp_path / "run"),
        ]
        done = CliRunner().invoke(app, ["run", "craft-md", *flags])
    assert isinstance(done.exception, RuntimeError) and seen
    shown = "".join(traceback.format_exception(done.exception))
    assert "a bug" in shown
    assert keys_in(shown, done.output, done.stderr, *everything_in(tmp_path)) == set()
