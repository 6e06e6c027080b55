import pytest

from openosce.errors import AccessError, BusyError, ProviderError, RefusedError
from openosce.models.failures import endpoint_error, one_line, retry_seconds

KEY = "zq-planted-key-4711"


@pytest.mark.parametrize(
    "variable",
    ["OPENAI_API_KEY", "OPENOSCE_API_KEY", "OPENOSCE_DOCTOR_API_KEY", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "my_key"],
)
def test_the_value_of_any_variable_that_may_hold_a_key_is_taken_out(variable, monkeypatch):
    monkeypatch.setenv(variable, KEY)
    assert one_line(f"wrong key {KEY}, really {KEY}!") == "wrong key ***, really ***!"


def test_a_key_that_stands_in_its_variable_with_a_line_end_is_taken_out_too(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\n")
    assert KEY not in one_line(f"wrong key {KEY}!")


@pytest.mark.parametrize(
    "told",
    [
        "Incorrect API key provided: sk-proj-abc123XYZ",
        "Incorrect API key provided: sk-abc1***********XYZ9",
        "Authorization: Bearer abcdef",
        "authorization: BEARER abcdef",
        "GET https://host/v1?key=abcdef&alt=json",
        "API key not valid: AIzaSyA1234567890abcdefghijklmnopq",
    ],
)
def test_what_looks_like_a_key_is_taken_out_whoever_it_belongs_to(told):
    line = one_line(told)
    assert "***" in line
    assert not any(part in line for part in ("abc", "XYZ", "AIza"))


def test_a_key_is_taken_out_before_the_line_is_cut(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for length in range(270, 305):
        line = one_line("x" * length + " " + KEY)
        assert KEY[:2] not in line and len(line) <= 300


def test_words_that_are_no_key_stay():
    told = "The task-specific model desk-lamp-9 is not in this region; risk-adjusted; monkey=3"
    assert one_line(told) == told


@pytest.mark.parametrize("sign", ["\n", "\r\n", "\t", "\x1b[31m", "\x00", "\u202e", "\ud800", "\u2028", "\x9b2J"])
def test_no_sign_that_could_break_a_line_a_terminal_or_a_database_stays(sign):
    line = one_line(f"a{sign}b")
    assert line.isprintable()
    assert line[0] == "a" and line[-1] == "b"
    line.encode()


@pytest.mark.parametrize(
    ("status", "kind"),
    [(None, ProviderError), (307, AccessError), (401, AccessError), (404, AccessError), (408, ProviderError),
     (400, RefusedError), (418, RefusedError), (429, BusyError), (503, BusyError), (529, BusyError),
     (500, ProviderError), (504, ProviderError)],
)  # fmt: skip
def test_a_status_tells_what_kind_of_failure_it_is(status, kind):
    failure = endpoint_error("openai/m", status, "HTTP: no")
    assert type(failure) is kind
    assert str(failure) == "openai/m: HTTP: no"


@pytest.mark.parametrize("status", [None, 400, 403, 500])
def test_a_content_filter_is_a_refusal_whatever_status_it_comes_with(status):
    failure = endpoint_error("openai/m", status, "content_policy_violation: no")
    assert type(failure) is RefusedError
    assert "content filter" in str(failure)


@pytest.mark.parametrize(
    ("given", "seconds"),
    [(None, None), ("", None), ("soon", None), ("3", 3.0), ("0.5", 0.5), ("-1", 0.0), ("1e9", 1e9), ("nan", 0.0)],
)
def test_the_seconds_to_wait_are_read_and_never_negative(given, seconds):
    assert retry_seconds(given) == seconds
