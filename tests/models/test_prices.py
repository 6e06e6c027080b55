import math
from datetime import date
from importlib import resources

import pytest
import yaml

from openosce.errors import StudyError
from openosce.models import Reply, load_prices

OWN = "- {model: %s, input: %s, output: %s, source: invoice, looked_up: 2026-11-01}\n"


def own_book(tmp_path, content):
    file = tmp_path / "prices.yaml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


def test_every_shipped_price_has_a_source_a_date_and_a_model_of_a_known_provider():
    text = (resources.files("openosce.models") / "prices.yaml").read_text(encoding="utf-8")
    lines = yaml.safe_load(text)
    assert lines
    assert len({line["model"] for line in lines}) == len(lines)
    for line in lines:
        assert date(2024, 1, 1) < date.fromisoformat(line["looked_up"]) < date(2100, 1, 1)
        assert line["source"].startswith("https://")
        assert line["model"].partition("/")[0] == "openai"
        assert 0 < line.get("cached", 0.001) <= line["input"] <= line["output"] < 1000


def test_a_reply_costs_its_tokens_at_the_price_of_a_million(tmp_path):
    book = load_prices(own_book(tmp_path, OWN % ("vllm/m", 2, 10)))
    assert book.dollars("vllm/m", Reply("", tokens_in=1_000_000, tokens_out=0)) == pytest.approx(2)
    assert book.dollars("vllm/m", Reply("", tokens_in=0, tokens_out=1_000_000)) == pytest.approx(10)
    assert book.dollars("vllm/m", Reply("", tokens_in=1500, tokens_out=100)) == pytest.approx(0.004)


def test_cached_tokens_have_their_own_price_or_that_of_the_others(tmp_path):
    reply = Reply("", tokens_in=1_000_000, tokens_cached=600_000, tokens_out=0)
    cached = OWN.replace("output", "cached: 1, output")
    assert load_prices(own_book(tmp_path, cached % ("a/m", 2, 10))).dollars("a/m", reply) == pytest.approx(1.4)
    assert load_prices(own_book(tmp_path, OWN % ("a/m", 2, 10))).dollars("a/m", reply) == pytest.approx(2)


def test_an_own_book_takes_the_place_of_our_lines_and_keeps_the_others(tmp_path):
    ours, book = load_prices(), load_prices(own_book(tmp_path, OWN % ("openai/gpt-4o", 1, 1)))
    assert book.cost("openai/gpt-4o", 1e6, 1e6) == pytest.approx(2)
    assert book.cost("openai/gpt-4o-mini", 1e6, 1e6) == ours.cost("openai/gpt-4o-mini", 1e6, 1e6)
    assert book.hash != ours.hash == load_prices().hash


@pytest.mark.parametrize("model", ["vllm/llama-3-8b", "openai/gpt-4o-2024-08-06", "openai/GPT-4O", "gpt-4o", ""])
def test_an_unknown_price_makes_the_cost_unknown_and_never_0(model):
    book = load_prices()
    assert book.cost(model, 0, 0) is None
    assert book.dollars(model, Reply("", tokens_in=10, tokens_out=10)) is None
    assert book.dollars(model, Reply("")) is None


@pytest.mark.parametrize("counts", [{}, {"tokens_in": 5}, {"tokens_out": 5}])
def test_unknown_counts_make_the_cost_unknown(counts):
    assert load_prices().dollars("openai/gpt-4o", Reply("", **counts)) is None


@pytest.mark.parametrize("model", ["builtin/script", "builtin/recorded", "local/smollm2-135m"])
def test_what_runs_in_this_process_costs_nothing(model):
    book = load_prices()
    assert book.dollars(model, Reply("")) == 0
    assert book.dollars(model, Reply("", tokens_in=10, tokens_out=10)) == 0
    assert book.cost(model, 1e6, 1e6) == 0


def test_a_free_model_costs_0_where_a_book_says_so(tmp_path):
    book = load_prices(own_book(tmp_path, OWN % ("vllm/mine", 0, 0)))
    assert book.dollars("vllm/mine", Reply("", tokens_in=10, tokens_out=10)) == 0


@pytest.mark.parametrize("looked_up", ["2026-11-01", '"2026-11-01"'])
def test_the_date_can_be_written_with_and_without_quotes(tmp_path, looked_up):
    file = own_book(tmp_path, (OWN % ("a/m", 1, 1)).replace("2026-11-01", looked_up))
    assert load_prices(file).prices["a/m"].looked_up == date(2026, 11, 1)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\x00",
        "- [",
        "a: b: c",
        "just text",
        "model: a/m",
        "- a/m",
        "- {model: a/m}",
        "- {model: a/m, input: 1, output: 1, source: x}",
        OWN % ("a/m", -1, 1),
        OWN % ("a/m", ".nan", 1),
        OWN % ("a/m", ".inf", 1),
        OWN % ("a/m", "cheap", 1),
        (OWN % ("a/m", 1, 1)).replace("2026-11-01", "2026-13-45"),
        (OWN % ("a/m", 1, 1)).replace("2026-11-01", "lately"),
        (OWN % ("a/m", 1, 1)).replace("source: invoice, ", ""),
        (OWN % ("a/m", 1, 1)).replace("input", "inputs"),
    ],
)
def test_a_book_that_cannot_be_used_is_refused_in_one_line_that_names_the_file(tmp_path, content):
    file = own_book(tmp_path, content)
    with pytest.raises(StudyError) as refused:
        load_prices(file)
    assert str(refused.value).startswith(f"{file}: ")
    assert len(str(refused.value).splitlines()) == 1


def test_a_book_that_is_not_there_is_refused_by_name(tmp_path):
    with pytest.raises(StudyError, match=r"nowhere\.yaml"):
        load_prices(tmp_path / "nowhere.yaml")
    with pytest.raises(StudyError, match="cannot be read"):
        load_prices(tmp_path)


def test_no_price_of_ours_is_absurd():
    for price in load_prices().prices.values():
        assert all(math.isfinite(number) for number in (price.input, price.output))
