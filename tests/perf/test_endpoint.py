"""The endpoint simulator: a benchmark on it is worth as much as its determinism and its counters."""

import http.client
import json
import random
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path

import pytest
from simulator import Simulator

from openosce.models import load_prompts

PERF = Path(__file__).parents[2] / "perf"
PROMPTS = load_prompts(
    [resources.files("openosce.benchmarks.craft_md") / "prompts", resources.files("openosce.grading") / "prompts"]
)
GREETING = "Hello! What symptoms have brought you here today?"
TRANSIENT = ("429", "429-after", "500", "502", "503", "reset", "truncated", "empty", "schema")


@pytest.fixture(scope="module")
def running():
    with Simulator(seed=1, retry_after=0.05, slow=0.3) as simulator:
        yield simulator


@pytest.fixture
def endpoint(running):
    running.reset()
    return running


def call(simulator, body, key=None, timeout=10):
    """One request on a connection of its own: status, headers and body; status None if it was closed."""
    host = simulator.base_url.removeprefix("http://").removesuffix("/v1")
    connection = http.client.HTTPConnection(host, timeout=timeout)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        connection.request("POST", "/v1/chat/completions", body if isinstance(body, str) else json.dumps(body), headers)
        response = connection.getresponse()
        return response.status, response.headers, response.read().decode()
    except (http.client.RemoteDisconnected, ConnectionResetError):
        return None, {}, ""
    finally:
        connection.close()


def request(model, *messages, **settings):
    """A request body; messages are (role, text), or one text of the user."""
    pairs = [("user", message) if isinstance(message, str) else message for message in messages]
    return {"model": model, "messages": [{"role": role, "content": text} for role, text in pairs], **settings}


def completion(simulator, model, *messages, **settings):
    status, _, body = call(simulator, request(model, *messages, **settings))
    assert status == 200, body
    return json.loads(body)


def text(simulator, model, *messages, **settings):
    return completion(simulator, model, *messages, **settings)["choices"][0]["message"]["content"]


def conversation(simulator, doctor="doctor", patient="patient", case="A rash on the elbow since May.", seed=1):
    """A CRAFT-MD conversation; returns what was said, greeting first."""
    doctor_system = PROMPTS.render("doctor", specialty="Dermatology", objective=None)
    patient_system = PROMPTS.render("patient", vignette=case, informant=None)
    said = [GREETING]
    while "Final Diagnosis" not in said[-1]:
        mine, other = ("user", "assistant") if len(said) % 2 else ("assistant", "user")
        model, system = (patient, patient_system) if len(said) % 2 else (doctor, doctor_system)
        turns = [(mine if n % 2 == 0 else other, words) for n, words in enumerate(said)]
        said.append(text(simulator, model, ("system", system), *turns, seed=seed))
        assert len(said) < 60
    return said


def statuses(simulator, bodies):
    return [call(simulator, body)[0] for body in bodies]


def adds_up(counters):
    return counters["requests"] == (
        sum(counters["replies"].values()) + sum(counters["no_reply"].values()) + counters["open"]
    )


# What it says


def test_a_reply_depends_on_the_request_alone_not_on_order_or_process(endpoint):
    bodies = [request("patient", f"What about point {n}?", seed=n % 3) for n in range(40)]
    bodies += [request("doctor", f"I have complaint {n}.") for n in range(40)]
    replies = [json.loads(call(endpoint, body)[2]) for body in bodies]
    shuffled = random.Random(7).sample(range(80), 80)
    with Simulator(latency=5, jitter=1) as other, ThreadPoolExecutor(16) as pool:
        again = dict(zip(shuffled, pool.map(lambda n: json.loads(call(other, bodies[n])[2]), shuffled), strict=True))
    for n, reply in enumerate(replies):
        assert [reply[part] for part in ("id", "created", "model", "choices")] == [
            again[n][part] for part in ("id", "created", "model", "choices")
        ]
    assert len({reply["choices"][0]["message"]["content"] for reply in replies}) > 20


def test_model_messages_seed_and_max_tokens_decide_the_reply_and_the_other_settings_do_not(endpoint):
    plain = completion(endpoint, "patient", "Any fever?")
    settings = {"temperature": 0.9, "stop": ["e"], "response_format": {"type": "json_object"}}
    assert completion(endpoint, "patient", "Any fever?", **settings)["choices"] == plain["choices"]
    assert len({text(endpoint, "patient", "Any fever?", seed=seed) for seed in range(20)}) > 5
    (cut,) = completion(endpoint, "patient", "Any fever?", max_tokens=3)["choices"]
    assert (len(cut["message"]["content"]), cut["finish_reason"]) == (12, "length")


def test_a_reply_has_the_form_of_a_chat_completion(endpoint):
    reply = completion(endpoint, "patient", ("system", "x" * 9), "Any fever?")
    assert (reply["object"], reply["created"], reply["model"]) == ("chat.completion", 0, "patient-2026")
    (choice,) = reply["choices"]
    assert (choice["index"], choice["finish_reason"], choice["message"]["role"]) == (0, "stop", "assistant")
    usage, answered = reply["usage"], len(choice["message"]["content"])
    assert usage["prompt_tokens"] == 3 + 3
    assert usage["completion_tokens"] == -(-answered // 4)
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert usage["prompt_tokens_details"] == {"cached_tokens": 0}


@pytest.mark.parametrize(("doctor", "questions"), [("doctor", 10), ("doctor-q3", 3), ("doctor-q20", 20)])
def test_a_doctor_asks_different_questions_and_then_diagnoses(endpoint, doctor, questions):
    said = conversation(endpoint, doctor)
    asked = said[2:-1:2]
    assert len(asked) == len(set(asked)) == questions
    assert all(question.endswith("?") for question in asked)
    assert re.fullmatch(r"\*\*Final Diagnosis:\*\* [A-Z][\w -]+", said[-1])


def test_the_number_of_questions_is_an_option():
    with Simulator(questions=2) as endpoint:
        assert len(conversation(endpoint)[2:-1:2]) == 2


@pytest.mark.parametrize("kind", ["text", "talk"])
def test_a_doctor_chooses_one_of_the_listed_options(endpoint, kind):
    options = ["A. Gout", "B. Septic arthritis", "C. Pseudogout", "D. Lyme disease"]
    chosen = set()
    for n in range(20):
        values = {"specialty": "Rheumatology", "told": f"Case {n}.", "question": None, "choices": "\n".join(options)}
        earlier = [("assistant", GREETING), ("user", f"Case {n}.")] if kind == "talk" else []
        chosen.add(text(endpoint, "doctor", *earlier, PROMPTS.render(f"answer_{kind}_mcq", **values)))
    assert chosen <= set(options)
    assert len(chosen) > 1


@pytest.mark.parametrize("kind", ["text", "talk"])
def test_a_doctor_asked_for_a_diagnosis_names_one_disease(endpoint, kind):
    named = set()
    for n in range(20):
        told = f"Case {n}. " + "A long story. " * 300
        prompt = PROMPTS.render(f"answer_{kind}_frq", specialty="Rheumatology", told=told, question=None)
        earlier = [("assistant", GREETING), ("user", told)] if kind == "talk" else []
        named.add(text(endpoint, "doctor", *earlier, prompt))
    assert 1 < len(named) <= 8
    assert all("?" not in name and len(name) < 40 for name in named)


def test_a_patient_answers_in_one_sentence_with_a_word_of_the_question(endpoint):
    reply = text(endpoint, "patient", ("system", "You are a patient"), "Does swimming aggravate it?")
    assert reply.count(".") == 1
    assert reply.endswith(".")
    assert re.search(r"\b(does|swimming|aggravate)\b", reply)


def test_a_summarizer_joins_the_answers_in_one_paragraph(endpoint):
    prompt = PROMPTS.render("summarize", statements="I am 40.\nMy knee hurts.")
    assert text(endpoint, "summarizer", prompt).endswith("I am 40. My knee hurts.")


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ("**Final Diagnosis:** Gout", "Gout"),
        ("Gout.", "Gout"),
        ("Gout or pseudogout", "Multiple"),
        ("Gout\nPseudogout", "Multiple"),
        ("Gout; obesity", "Multiple"),
        ("Where does it hurt?", "None"),
        ("", "None"),
    ],
)
def test_a_grader_extracts_a_diagnosis(endpoint, answer, name):
    prompt = PROMPTS.render("grade_extract", specialty="Rheumatology", answer=answer)
    assert text(endpoint, "grader", prompt) == name


def test_a_grader_keeps_concurrent_diagnoses_where_they_are_asked_for(endpoint):
    prompt = PROMPTS.render("grade_extract_all", specialty="Rheumatology", answer="Gout; obesity")
    assert text(endpoint, "grader", prompt) == "Gout; obesity"


@pytest.mark.parametrize("template", ["grade_compare", "grade_same"])
def test_a_grader_compares_names_ignoring_case(endpoint, template):
    same = PROMPTS.render(template, reference="Tinea pedis", answer="tinea Pedis")
    other = PROMPTS.render(template, reference="Tinea pedis", answer="Tinea corporis")
    assert (text(endpoint, "grader", same), text(endpoint, "grader", other)) == ("yes", "no")


def test_any_model_plays_the_role_that_the_prompt_asks_for(endpoint):
    said = conversation(endpoint, "any-model", "any-model")
    assert len(said) == 2 + 2 * 10 + 1
    assert all("?" not in answer for answer in said[1::2])
    assert text(endpoint, "any-model", PROMPTS.render("summarize", statements="I am 40.")).endswith("I am 40.")
    extract = PROMPTS.render("grade_extract", specialty="Rheumatology", answer="**Final Diagnosis:** Gout")
    assert text(endpoint, "any-model", extract) == "Gout"
    assert text(endpoint, "any-model", PROMPTS.render("grade_same", reference="Gout", answer="gout")) == "yes"


def test_content_may_come_in_parts(endpoint):
    def seen(image):
        return [{"type": "text", "text": "Does it itch?"}, {"type": "image_url", "image_url": {"url": image}}]

    first = completion(endpoint, "patient", ("user", seen("data:1")))
    assert first["usage"]["prompt_tokens"] == 4
    assert completion(endpoint, "patient", ("user", seen("data:2")))["id"] != first["id"]


# How it refuses and fails


def test_an_unknown_model_is_not_found(endpoint):
    status, _, body = call(endpoint, request("no-such-model", "Hello"))
    error = json.loads(body)["error"]
    assert (status, error["type"], error["code"]) == (404, "invalid_request_error", "model_not_found")
    assert "no-such-model" in error["message"]


def test_a_locked_model_wants_its_key(endpoint):
    body = request("needs-key", "Hello")
    assert [call(endpoint, body, key)[0] for key in (None, "wrong", "sim-secret")] == [401, 401, 200]


@pytest.mark.parametrize(
    "body",
    [
        "{",
        "[]",
        {"model": "doctor", "messages": []},
        {"model": "doctor", "messages": ["Hello"]},
        {"model": "doctor", "messages": [{"role": 1, "content": "Hello"}]},
        {"model": "doctor", "messages": [{"role": "user", "content": 1}]},
        {"messages": [{"role": "user", "content": "Hello"}]},
        {**request("doctor", "Hello"), "max_tokens": 0.5},
        {**request("doctor", "Hello"), "stream": True},
    ],
)
def test_a_malformed_request_is_a_bad_request(endpoint, body):
    status, _, reply = call(endpoint, body)
    assert (status, json.loads(reply)["error"]["type"]) == (400, "invalid_request_error")


@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [
        ("429", 429, "rate_limit_exceeded"),
        ("429-after", 429, "rate_limit_exceeded"),
        ("500", 500, None),
        ("503", 503, "overloaded"),
        ("filter-400", 400, "content_filter"),
        ("bad", 400, None),
    ],
)
def test_a_fault_with_a_status_is_an_error_like_openai_s(endpoint, fault, status, code):
    endpoint.set_faults({fault: 1})
    got, headers, body = call(endpoint, request("doctor", "Hello"))
    assert (got, json.loads(body)["error"]["code"]) == (status, code)
    assert headers["Retry-After"] == ("0.05" if fault == "429-after" else None)
    assert endpoint.counters()["faults"] == {fault: 1}


def test_a_bad_gateway_answers_in_html(endpoint):
    endpoint.set_faults({"502": 1})
    status, headers, body = call(endpoint, request("doctor", "Hello"))
    assert (status, headers.get_content_type()) == (502, "text/html")
    assert "Bad Gateway" in body


def test_a_reset_closes_without_a_reply(endpoint):
    endpoint.set_faults({"reset": 1})
    assert call(endpoint, request("doctor", "Hello"))[0] is None
    assert endpoint.counters()["no_reply"] == {"closed": 1}


def test_a_slow_reply_comes_late_and_whole(endpoint):
    endpoint.set_faults({"slow": 1})
    started = time.monotonic()
    assert "?" in text(endpoint, "doctor", "Hello")
    assert time.monotonic() - started >= 0.3


def test_a_hanging_request_stays_open_until_its_client_goes(endpoint):
    endpoint.set_faults({"hang": 1})
    with pytest.raises(TimeoutError):
        call(endpoint, request("doctor", "Hello"), timeout=0.2)
    patience = time.monotonic() + 5
    while endpoint.counters()["open"] and time.monotonic() < patience:
        time.sleep(0.01)
    counters = endpoint.counters()
    assert (counters["open"], counters["no_reply"], counters["faults"]) == (0, {"client left": 1}, {"hang": 1})


def test_spoiled_replies_are_spoiled_as_named(endpoint):
    body = request("doctor", "Hello")
    endpoint.set_faults({"truncated": 1})
    with pytest.raises(json.JSONDecodeError):
        json.loads(call(endpoint, body)[2])
    endpoint.set_faults({"truncated": 0, "schema": 1})
    assert "choices" not in json.loads(call(endpoint, body)[2])
    endpoint.set_faults({"schema": 0, "empty": 1})
    (choice,) = json.loads(call(endpoint, body)[2])["choices"]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("", "stop")
    endpoint.set_faults({"empty": 0, "filter": 1})
    (choice,) = json.loads(call(endpoint, body)[2])["choices"]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("", "content_filter")


def test_a_long_reply_is_long_whatever_max_tokens_says_and_can_be_sent_back(endpoint):
    endpoint.set_faults({"long": 1})
    reply = completion(endpoint, "doctor", "Hello", max_tokens=10)
    assert reply["usage"]["completion_tokens"] == 100_000
    words = reply["choices"][0]["message"]["content"]
    answer = completion(endpoint, "patient", *[("assistant", words)] * 5, "And now?")
    assert answer["usage"]["prompt_tokens"] == 500_002


def test_a_retry_meets_its_own_fate_so_that_it_may_succeed(endpoint):
    endpoint.set_faults(dict.fromkeys(TRANSIENT, 0.9 / len(TRANSIENT)))
    replies = [call(endpoint, request("doctor", "Hello")) for _ in range(60)]
    good = [status == 200 and body.endswith("}}}") and "?" in body for status, _, body in replies]
    assert 0 < sum(good) < 30
    assert len({body for (_, _, body), usable in zip(replies, good, strict=True) if usable}) <= 2


def test_a_final_fault_stays_however_often_one_asks(endpoint):
    endpoint.set_faults({"filter-400": 0.5})
    bodies = [request("doctor", f"Hello {n}") for n in range(20)]
    first = statuses(endpoint, bodies)
    assert set(first) == {200, 400}
    assert statuses(endpoint, bodies) == statuses(endpoint, bodies) == first


def test_which_requests_fail_hangs_on_the_seed_not_on_the_order(endpoint):
    bodies = [request("doctor", f"Hello {n}") for n in range(60)]
    faults = {"429": 0.2, "500": 0.2, "reset": 0.2}
    endpoint.set_faults(faults)
    forwards = [statuses(endpoint, bodies) for _ in range(2)]
    endpoint.reset()
    endpoint.set_faults(faults)
    backwards = [statuses(endpoint, bodies[::-1])[::-1] for _ in range(2)]
    assert forwards == backwards
    assert forwards[0] != forwards[1]
    with Simulator(seed=2, faults=faults) as other:
        assert statuses(other, bodies) != forwards[0]


def test_faults_come_at_their_rates(endpoint):
    endpoint.set_faults({"429": 0.1, "500": 0.2, "bad": 0.3})
    statuses(endpoint, [request("doctor", f"Hello {n}") for n in range(1000)])
    faults = endpoint.counters()["faults"]
    expected = {"429": 0.1 * 0.7, "500": 0.2 * 0.7, "bad": 0.3}
    assert {name: count / 1000 for name, count in faults.items()} == pytest.approx(expected, abs=0.05)


def test_impossible_faults_are_refused(endpoint):
    for rates in ({"500": 1.5}, {"500": 0.6, "503": 0.6}, {"earthquake": 0.1}):
        with pytest.raises(ValueError, match=r"rate|fault"):
            endpoint.set_faults(rates)
    assert call(endpoint, request("doctor", "Hello"))[0] == 200
    command = [sys.executable, PERF / "endpoint.py", "--fault", "earthquake=0.1"]
    failed = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert failed.returncode == 2
    assert "unknown fault 'earthquake'" in failed.stderr


def test_in_an_outage_half_hear_503_and_half_are_closed_until_it_is_over(endpoint):
    endpoint.outage(0.4)
    bodies = [request("doctor", f"Hello {n}") for n in range(20)]
    assert sorted(statuses(endpoint, bodies), key=str) == [503] * 10 + [None] * 10
    time.sleep(0.45)
    assert set(statuses(endpoint, bodies)) == {200}
    counters = endpoint.counters()
    assert counters["faults"] == {"outage-503": 10, "outage-closed": 10}
    assert adds_up(counters)


# What it counts


def test_the_counters_add_up_whatever_happens(endpoint):
    endpoint.set_faults({**dict.fromkeys(TRANSIENT, 0.06), "hang": 0.02, "slow": 0.05, "filter": 0.1, "bad": 0.1})
    bodies = [request("doctor" if n % 2 else "patient", f"Hello {n}") for n in range(200)]
    bodies += [request("no-such-model", "Hello")] * 3

    def patient_call(body):
        try:
            call(endpoint, body, timeout=1)
        except TimeoutError:
            return "timeout"

    with ThreadPoolExecutor(32) as pool:
        hung = list(pool.map(patient_call, bodies)).count("timeout")
    time.sleep(0.1)
    counters = endpoint.counters()
    faults, replies = counters["faults"], counters["replies"]
    assert adds_up(counters)
    assert (counters["requests"], counters["distinct"], counters["open"]) == (203, 200, 0)
    assert counters["no_reply"] == {"closed": faults["reset"], "client left": faults["hang"]}
    assert faults["hang"] == hung
    assert replies["429"] == faults["429"] + faults["429-after"]
    assert (replies["404"], replies["400"]) == (3, faults["bad"])
    refused = sum(faults[name] for name in ("429", "429-after", "500", "502", "503", "reset", "hang", "bad"))
    assert replies["200"] == 200 - refused
    assert sum(model["requests"] for model in counters["models"].values()) == 200


def test_tokens_are_summed_per_model(endpoint):
    usages = [completion(endpoint, "patient", f"Question {n}?")["usage"] for n in range(5)]
    counted = endpoint.counters()["models"]["patient"]
    assert counted["prompt_tokens"] == sum(usage["prompt_tokens"] for usage in usages)
    assert counted["completion_tokens"] == sum(usage["completion_tokens"] for usage in usages)


def test_asking_again_counts_only_where_a_good_reply_was_given(endpoint):
    body = request("doctor", "Hello")
    for rates in ({"500": 1}, {"500": 0, "empty": 1}, {"empty": 0}):
        endpoint.set_faults(rates)
        call(endpoint, body)
    assert endpoint.counters()["asked_again"] == 0
    call(endpoint, body)
    call(endpoint, {**body, "temperature": 0.5})
    counters = endpoint.counters()
    assert (counters["requests"], counters["distinct"], counters["asked_again"]) == (5, 2, 1)


def test_a_growing_conversation_reuses_its_prefix(endpoint):
    conversation(endpoint)
    doctor = endpoint.counters()["models"]["doctor"]
    assert doctor["requests"] == 11
    assert doctor["repeated_prefix_tokens"] / doctor["prompt_tokens"] >= 0.8


def test_cached_tokens_are_those_of_whole_messages_asked_of_the_same_model_before(endpoint):
    def cached(model, *messages):
        return completion(endpoint, model, *messages)["usage"]["prompt_tokens_details"]["cached_tokens"]

    system, first = ("system", "s" * 40), ("user", "u" * 20)
    assert cached("patient", system, first) == 0
    assert cached("patient", system, first) == 15
    assert cached("patient", system, first, ("assistant", "yes"), ("user", "more?")) == 15
    assert cached("patient", system, ("user", "u" * 24)) == 10
    assert cached("patient", ("user", "u" * 20)) == 0
    assert cached("any-model", system, first) == 0


def test_a_refused_request_fills_no_cache(endpoint):
    endpoint.set_faults({"429": 1})
    call(endpoint, request("patient", "Hello"))
    endpoint.set_faults({"429": 0})
    assert completion(endpoint, "patient", "Hello")["usage"]["prompt_tokens_details"]["cached_tokens"] == 0


def test_latency_is_the_request_s_own_and_many_wait_at_once():
    bodies = [request("doctor", f"Hello {n}") for n in range(30)]

    def seconds(body):
        started = time.monotonic()
        assert call(endpoint, body)[0] == 200
        return time.monotonic() - started

    with Simulator(latency=200, jitter=0.5) as endpoint, ThreadPoolExecutor(30) as pool:
        first, second = list(pool.map(seconds, bodies)), list(pool.map(seconds, bodies))
        assert endpoint.counters()["most_open"] > 10
    assert sum(first) / 30 == pytest.approx(0.2, rel=0.5)
    assert max(first) > 1.5 * min(first)
    assert sorted(abs(a - b) for a, b in zip(first, second, strict=True))[15] < 0.05


def test_a_record_has_every_request_and_no_key(tmp_path):
    record = tmp_path / "requests.jsonl"
    with Simulator(record=record, faults={"bad": 0.5}) as endpoint:
        for n in range(10):
            call(endpoint, request("needs-key", f"Hello {n}"), key="sim-secret")
        call(endpoint, "{")
        counters = endpoint.counters()
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert [line["n"] for line in lines] == list(range(1, 12))
    assert sum(line["fault"] == "bad" for line in lines) == counters["faults"]["bad"]
    assert lines[0]["request"]["messages"][0]["content"] == "Hello 0"
    assert (lines[-1]["status"], lines[-1]["request"]) == (400, "{")
    assert "sim-secret" not in record.read_text()


# How it runs


def test_a_reset_goes_back_to_the_start():
    with Simulator(faults={"bad": 1}) as endpoint:
        fresh = endpoint.counters()
        endpoint.set_faults({"bad": 0})
        assert call(endpoint, request("doctor", "Hello"))[0] == 200
        endpoint.outage(60)
        endpoint.reset()
        assert endpoint.counters() == fresh
        assert call(endpoint, request("doctor", "Hello"))[0] == 400


def test_it_lists_its_models_on_loopback(endpoint):
    assert endpoint.base_url.startswith("http://127.0.0.1:")
    connection = http.client.HTTPConnection(endpoint.base_url.split("/")[2], timeout=10)
    connection.request("GET", "/v1/models")
    names = [model["id"] for model in json.loads(connection.getresponse().read())["data"]]
    connection.close()
    assert names == ["doctor", "patient", "summarizer", "grader", "student", "examiner", "any-model", "needs-key"]


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_when_told_even_with_requests_open(by):
    command = [sys.executable, PERF / "endpoint.py", "--fault", "hang=1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        host = process.stdout.readline().split("/")[2]
        connection = http.client.HTTPConnection(host, timeout=10)
        connection.request("POST", "/v1/chat/completions", json.dumps(request("doctor", "Hello")))
        time.sleep(0.1)
        process.send_signal(by)
        rest, errors = process.communicate(timeout=10)
        connection.close()
    assert (process.returncode, rest, errors) == (0, "", "")
