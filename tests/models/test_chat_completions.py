import asyncio
import gzip
import json
import socket
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from openosce.errors import AccessError, BusyError, ProviderError, RefusedError, UnreadableReplyError
from openosce.models import ChatMessage, ModelSpec, Reply, Request
from openosce.models import chat_completions as client
from openosce.models.chat_completions import ChatCompletions

KEY = "zq-planted-key-4711"
REQUEST = Request((ChatMessage("system", "You are a doctor."), ChatMessage("user", "It itches.")), "talk/2", 1)
COMPLETION = {
    "model": "m-2026-01-01",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Since when?"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 12, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 8}},
}


@asynccontextmanager
async def endpoint(handle):
    """An endpoint on loopback; gives its base URL."""
    runner = web.ServerRunner(web.Server(handle, access_log=None), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


class Asked(list):
    """The requests that an endpoint has seen: path, headers, body."""

    async def note(self, request):
        self.append((request.path, request.headers, await request.read()))

    @property
    def body(self):
        return json.loads(self[-1][2])


def ask(handle, request=REQUEST, *, settings=None, headers=None, length_key="max_tokens", name="vllm/org/m"):
    """Ask an endpoint once: the reply or the error, and what the endpoint saw."""
    asked = Asked()

    async def noting(given):
        await asked.note(given)
        return await handle(given)

    async def main():
        async with endpoint(noting) as url:
            model = ChatCompletions(ModelSpec(name, url, settings or {}), url, headers or {}, length_key)
            try:
                return await model.complete(request)
            except ProviderError as failure:
                return failure
            finally:
                await model.close()

    return asyncio.run(main()), asked


def answering(body, status=200, **headers):
    """An endpoint that always answers the same; a body that is no text or bytes is sent as JSON."""
    content = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()

    async def handle(request):
        return web.Response(body=content, status=status, headers={k.replace("_", "-"): v for k, v in headers.items()})

    return handle


def completion(**changes):
    """A good completion with some of its parts changed; `content` stands for the message's."""
    changed = json.loads(json.dumps(COMPLETION))
    if "content" in changes:
        changed["choices"][0]["message"]["content"] = changes.pop("content")
    if "finish_reason" in changes:
        changed["choices"][0]["finish_reason"] = changes.pop("finish_reason")
    return {**changed, **changes}


def harmless(failure):
    """The error's text, seen to be one short line that can be stored and printed."""
    text = str(failure)
    assert text.startswith("vllm/org/m: ")
    assert text.isprintable() and len(text) < 400
    assert KEY not in text
    return text


# What is sent


def test_the_request_holds_the_settings_and_messages_and_nothing_of_the_study():
    settings = {"temperature": 0.7, "top_p": 0.9, "max_tokens": 50, "seed": 4, "stop": ["\n\n"]}
    _, asked = ask(answering(COMPLETION), settings={**settings, "extra_body": {"top_k": 5, "min_p": 0.1}})
    assert asked.body == {
        "model": "org/m",
        **settings,
        "top_k": 5,
        "min_p": 0.1,
        "messages": [{"role": "system", "content": "You are a doctor."}, {"role": "user", "content": "It itches."}],
    }
    path, headers, _ = asked[0]
    assert path == "/v1/chat/completions"
    assert headers["Content-Type"] == "application/json"


def test_the_limit_of_tokens_is_named_as_the_provider_names_it():
    _, asked = ask(answering(COMPLETION), settings={"max_tokens": 50}, length_key="max_completion_tokens")
    assert asked.body["max_completion_tokens"] == 50
    assert "max_tokens" not in asked.body


def test_without_settings_the_providers_defaults_stand():
    _, asked = ask(answering(COMPLETION))
    assert set(asked.body) == {"model", "messages"}


def test_a_schema_is_sent_as_a_response_format():
    schema = {"type": "object", "properties": {"verdict": {"type": "boolean"}}}
    _, asked = ask(answering(COMPLETION), Request(REQUEST.messages, "grade", schema=schema))
    assert asked.body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "reply", "strict": True, "schema": schema},
    }


def test_images_go_as_parts_behind_the_text():
    picture = "data:image/png;base64,iVBORw0KGgo="
    _, asked = ask(answering(COMPLETION), Request((ChatMessage("user", "The ECG:", (picture,)),), "talk/2"))
    assert asked.body["messages"] == [
        {
            "role": "user",
            "content": [{"type": "text", "text": "The ECG:"}, {"type": "image_url", "image_url": {"url": picture}}],
        }
    ]


def test_text_of_any_script_arrives_as_it_is_and_half_a_character_as_a_question_mark():
    _, asked = ask(answering(COMPLETION), Request((ChatMessage("user", "38,5 °C 発熱 🤒 \ud83e"),), "talk/2"))
    assert asked.body["messages"][0]["content"] == "38,5 °C 発熱 🤒 ?"


@pytest.mark.parametrize("header", ["Authorization", "api-key", None])
def test_a_key_stands_in_its_header_and_nowhere_else(header):
    _, asked = ask(answering(COMPLETION), headers={header: KEY} if header else {})
    path, headers, body = asked[0]
    assert [name for name, value in headers.items() if KEY in value] == ([header] if header else [])
    assert KEY not in path and KEY.encode() not in body


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_so_that_no_other_host_gets_the_key(status):
    elsewhere = Asked()

    async def steal(request):
        await elsewhere.note(request)
        return web.json_response(COMPLETION)

    async def main():
        async with endpoint(steal) as other, endpoint(answering("", status, Location=f"{other}/x")) as url:
            model = ChatCompletions(ModelSpec("vllm/org/m", url), url, {"api-key": KEY})
            try:
                with pytest.raises(AccessError) as failed:
                    await model.complete(REQUEST)
            finally:
                await model.close()
            return failed.value, other

    failure, other = asyncio.run(main())
    assert elsewhere == []
    assert f"HTTP {status}" in harmless(failure) and other in str(failure)


# What comes back


def test_a_reply_tells_its_text_its_end_its_model_and_its_tokens():
    reply, _ = ask(answering(COMPLETION))
    assert reply == Reply("Since when?", "stop", "m-2026-01-01", tokens_in=12, tokens_cached=8, tokens_out=3)


@pytest.mark.parametrize("usage", [{}, None, {"prompt_tokens_details": None}])
def test_counts_that_are_not_reported_are_unknown(usage):
    reply, _ = ask(answering(completion(usage=usage)))
    assert (reply.text, reply.tokens_in, reply.tokens_cached, reply.tokens_out) == ("Since when?", None, None, None)


@pytest.mark.parametrize("count", ['"12"', "[12]", "{}", "1e400", "NaN", "-3", str(2**70), "true", "0.5"])
def test_counts_that_cannot_be_are_unknown_and_do_not_cost_the_reply(count):
    usage = '{"prompt_tokens": COUNT, "completion_tokens": COUNT, "prompt_tokens_details": {"cached_tokens": COUNT}}'
    body = json.dumps(completion(usage="USAGE")).replace('"USAGE"', usage.replace("COUNT", count))
    reply, _ = ask(answering(body))
    assert (reply.text, reply.tokens_in, reply.tokens_cached, reply.tokens_out) == ("Since when?", None, None, None)


@pytest.mark.parametrize("odd", [5, ["x"], {"a": 1}, True])
def test_a_model_or_an_end_that_is_no_text_is_unknown(odd):
    reply, _ = ask(answering(completion(model=odd, finish_reason=odd)))
    assert (reply.text, reply.model_id, reply.finish_reason) == ("Since when?", None, None)


@pytest.mark.parametrize("content", [None, ""])
def test_no_content_is_an_empty_reply(content):
    reply, _ = ask(answering(completion(content=content, finish_reason="length")))
    assert (reply.text, reply.finish_reason) == ("", "length")


def test_half_a_character_anywhere_in_a_reply_becomes_something_that_can_be_stored():
    reply, _ = ask(answering(completion(content="ab\ud83e cd", model="m\ud83e", finish_reason="st\udc00op")))
    assert [text.encode() for text in (reply.text, reply.model_id, reply.finish_reason)]
    assert reply.text == "ab? cd"


def test_a_body_in_pieces_is_put_together():
    content = json.dumps(completion(content="発熱 🤒 " * 500), ensure_ascii=False).encode()

    async def handle(request):
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        for start in range(0, len(content), 7):  # 7 cuts characters in two
            await response.write(content[start : start + 7])
        await response.write_eof()
        return response

    reply, _ = ask(handle)
    assert reply.text == "発熱 🤒 " * 500


@pytest.mark.parametrize("body", ["[" * 100_000, '{"a":' * 100_000])
@pytest.mark.parametrize("status", [200, 500])
def test_json_nested_without_end_is_one_failed_call(body, status):
    failure, _ = ask(answering(body, status))
    assert isinstance(failure, ProviderError)
    harmless(failure)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "ok",
        b"\xff\xfe\x00",
        "null",
        "[]",
        "{}",
        "5",
        '"text"',
        {"choices": []},
        {"choices": {}},
        {"choices": None},
        {"choices": [None]},
        {"choices": [{}]},
        {"choices": [{"message": None}]},
        {"choices": [{"message": []}]},
        {"choices": [{"message": {"content": 5}}]},
        {"choices": [{"message": {"content": ["a"]}}]},
        {"choices": [{"message": {"content": {"text": "a"}}}]},
        {"result": {"output": "Since when?"}},
        json.dumps(COMPLETION)[:100],
        "data: " + json.dumps(COMPLETION),
        f"<html>\n<body>Bearer {KEY} \x1b[31mred\x00</body></html>",
    ],
)
def test_what_is_no_chat_completion_is_unreadable(body):
    failure, _ = ask(answering(body))
    assert isinstance(failure, UnreadableReplyError)
    assert "not a chat completion" in harmless(failure)


def test_a_reply_without_end_is_cut_off_and_unreadable(monkeypatch):
    monkeypatch.setattr(client, "LONGEST_REPLY", 100_000)
    sent = 0

    async def endless(request):
        nonlocal sent
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b" " * 10_000)
            sent += 10_000

    whole = answering(" " * 200_000)
    packed = answering(gzip.compress(json.dumps(completion(content="x" * 2_000_000)).encode()), Content_Encoding="gzip")
    for handle in (endless, whole, packed):
        failure, _ = ask(handle)
        assert isinstance(failure, UnreadableReplyError)
        assert "more than 100000 bytes" in harmless(failure)
    assert sent < 50_000_000


def test_the_longest_reply_is_16_mb_and_one_of_15_is_taken():
    assert client.LONGEST_REPLY == 16 * 2**20
    reply, _ = ask(answering(completion(content="x" * (15 * 2**20))))
    assert len(reply.text) == 15 * 2**20


def test_a_packed_reply_is_unpacked():
    reply, _ = ask(answering(gzip.compress(json.dumps(COMPLETION).encode()), Content_Encoding="gzip"))
    assert reply.text == "Since when?"
    failure, _ = ask(answering(b"this is no gzip", Content_Encoding="gzip"))
    assert isinstance(failure, ProviderError)
    harmless(failure)


# How it fails


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, RefusedError),
        (401, AccessError),
        (402, AccessError),
        (403, AccessError),
        (404, AccessError),
        (408, ProviderError),
        (413, RefusedError),
        (422, RefusedError),
        (429, BusyError),
        (500, ProviderError),
        (502, ProviderError),
        (503, BusyError),
        (504, ProviderError),
        (529, BusyError),
        (202, ProviderError),
    ],
)
def test_a_status_says_for_whom_and_for_how_long_the_call_failed(status, kind):
    failure, asked = ask(answering({"error": {"message": "No.", "code": "nope"}}, status))
    assert type(failure) is kind
    assert harmless(failure) == f"vllm/org/m: HTTP {status}: nope No."
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("given", "seconds"),
    [("2", 2), ("0.05", 0.05), ("0", 0), ("-4", 0), ("Wed, 21 Oct 2026 07:28:00 GMT", None), ("", None), (None, None)],
)
@pytest.mark.parametrize("status", [429, 503, 529])
def test_how_long_a_busy_endpoint_asks_to_wait_is_kept(given, seconds, status):
    failure, _ = ask(answering("busy", status, **({} if given is None else {"Retry_After": given})))
    assert isinstance(failure, BusyError)
    assert failure.retry_after == seconds


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"error": {"message": "Too long.", "code": "context_length_exceeded"}}, "context_length_exceeded Too long."),
        ({"error": {"message": "Too long.", "code": None}}, "Too long."),
        ({"message": "Too long.", "type": "invalid_request_error"}, "Too long."),
        ([{"error": {"code": 400, "message": "Too long.", "status": "INVALID_ARGUMENT"}}], "400 Too long."),
        ({"error": "Too long."}, '{"error": "Too long."}'),
        ({"detail": [{"msg": "Too long."}]}, '{"detail": [{"msg": "Too long."}]}'),
        ({"error": None}, '{"error": null}'),
        ({"error": {"message": {"deep": ["Too long."]}}}, "{'deep': ['Too long.']}"),
        ([], "[]"),
        ("Too\r\n\tlong.", "Too long."),
        ("<html>\n<h1>Too long.</h1>\n</html>", "<html> <h1>Too long.</h1> </html>"),
        (b"Too \xff long.", "Too � long."),
        ("", ""),
    ],
)
def test_the_endpoints_words_are_told_in_whatever_shape_they_come(body, told):
    failure, _ = ask(answering(body, 400))
    assert isinstance(failure, RefusedError)
    assert harmless(failure).strip() == f"vllm/org/m: HTTP 400: {told}".strip()


@pytest.mark.parametrize("status", [200, 400, 401, 429, 500])
def test_no_words_of_an_endpoint_bring_a_key_or_a_control_character_into_an_error(status, monkeypatch):
    monkeypatch.setenv("OPENOSCE_API_KEY", KEY)
    words = f"\x1b[2J\x07 {KEY}\n\x00 Bearer {KEY} \ud800 " + "x" * 50_000
    for body in (words.encode("utf-8", "replace"), {"error": {"message": words, "code": words}}, {"error": words}):
        failure, _ = ask(answering(body, status), headers={"Authorization": f"Bearer {KEY}"})
        harmless(failure).encode()


@pytest.mark.parametrize("before", [*range(255, 300, 3), 9_990])
def test_a_key_that_the_cut_goes_through_is_not_told_by_halves(before, monkeypatch):
    monkeypatch.setenv("OPENOSCE_API_KEY", KEY)
    for status in (200, 400):
        failure, _ = ask(answering("x" * before + KEY, status))
        assert KEY[:4] not in harmless(failure)


def test_a_content_filter_refuses_for_good_whether_it_comes_as_a_reply_or_as_an_error():
    as_reply = answering(completion(content="", finish_reason="content_filter"))
    as_error = answering({"error": {"code": "content_filter", "message": "The prompt was filtered"}}, 400)
    as_prose = answering({"error": {"message": "triggered the content management policy"}}, 400)
    for handle in (as_reply, as_error, as_prose):
        failure, _ = ask(handle)
        assert isinstance(failure, RefusedError)
        assert "content filter" in harmless(failure)


@pytest.mark.parametrize("after", [0, 60])
def test_a_connection_that_breaks_is_a_failure_for_now(after):
    async def handle(request):
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        if after:
            await response.prepare(request)
            await response.write(b" " * after)
        request.transport.abort()
        return response

    failure, _ = ask(handle)
    assert type(failure) is ProviderError
    harmless(failure)


def test_an_endpoint_that_never_answers_fails_after_the_timeout(monkeypatch):
    monkeypatch.setattr(client, "TIMEOUT", 0.1)

    async def hang(request):
        await asyncio.sleep(30)

    async def drip(request):
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b" ")
            await asyncio.sleep(0.02)

    for handle in (hang, drip):
        failure, _ = ask(handle)
        assert type(failure) is ProviderError
        assert "no reply within" in harmless(failure)


def test_an_endpoint_that_is_not_there_fails_for_now():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"

        async def main():
            model = ChatCompletions(ModelSpec("vllm/org/m", url), url, {"Authorization": f"Bearer {KEY}"})
            try:
                await model.complete(REQUEST)
            finally:
                await model.close()

        with pytest.raises(ProviderError) as failed:
            asyncio.run(main())
    assert "ClientConnectorError" in harmless(failed.value)


def test_a_closed_model_opens_anew_and_closing_twice_is_nothing():
    async def main():
        async with endpoint(answering(COMPLETION)) as url:
            model = ChatCompletions(ModelSpec("vllm/org/m", url), url, {})
            await model.close()
            for _ in range(2):
                assert (await model.complete(REQUEST)).text == "Since when?"
                await model.close()
                await model.close()

    asyncio.run(main())


def test_a_model_closed_while_a_call_is_open_fails_that_call():
    async def main():
        began = asyncio.Event()

        async def hang(request):
            began.set()
            await asyncio.sleep(30)

        async with endpoint(hang) as url:
            model = ChatCompletions(ModelSpec("vllm/org/m", url), url, {})
            call = asyncio.create_task(model.complete(REQUEST))
            await began.wait()
            await model.close()
            with pytest.raises(ProviderError) as failed:
                await call
            harmless(failed.value)

    asyncio.run(main())


def test_a_cancelled_call_leaves_the_model_usable():
    async def main():
        began = asyncio.Event()

        async def slow_at_first(request):
            if not began.is_set():
                began.set()
                await asyncio.sleep(30)
            return web.json_response(COMPLETION)

        async with endpoint(slow_at_first) as url:
            model = ChatCompletions(ModelSpec("vllm/org/m", url), url, {})
            call = asyncio.create_task(model.complete(REQUEST))
            await began.wait()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert (await model.complete(REQUEST)).text == "Since when?"
            await model.close()

    asyncio.run(main())
