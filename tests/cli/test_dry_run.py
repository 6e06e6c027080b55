import json
import re

import pytest
from simulator import Simulator
from typer.testing import CliRunner

from openosce.cli import app
from openosce.runs import prepare, run_study, to_study

ROLES = ("doctor", "patient", "summarizer", "grader")


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


def dry_run(*arguments):
    """The lines of a dry run, and its table: role and model to calls, tokens in, tokens out, dollars."""
    done = CliRunner().invoke(app, ["run", "craft-md", "--dry-run", *map(str, arguments)])
    assert done.exit_code == 0, done.output
    cells = [line.split() for line in done.stdout.splitlines()]
    table = {(cell[0], cell[1]): cell[2:] for cell in cells if len(cell) == 6 and cell[0] in ROLES}
    return done.stdout, table


def named(url, roles=ROLES):
    return [part for role in roles for part in (f"--{role}", f"sim/{role}")] + ["--base-url", url]


def start(url, folder, limit):
    """Run the first cases of what `named` names."""
    roles = {role: {"model": f"sim/{role}"} for role in ROLES}
    study = to_study({"study": {"benchmark": "craft-md", "trials": 1, "base_url": url}, "roles": roles})
    run_study(prepare(study, folder, limit=limit), lambda total, todo: None, lambda trial: None)


def test_a_dry_run_calls_nobody_needs_no_key_and_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with Simulator() as endpoint:
        dry_run(*named(endpoint.base_url), "--out", tmp_path / "run")
        assert endpoint.counters()["requests"] == 0
    dry_run("--doctor", "openai/gpt-4o", "--out", tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_built_in_roles_make_no_call_and_cost_nothing(tmp_path):
    shown, table = dry_run("--out", tmp_path / "run")
    assert set(table) == {("doctor", "builtin/interviewer"), ("patient", "builtin/record"),
                          ("summarizer", "builtin/record"), ("grader", "builtin/lexicon")}  # fmt: skip
    assert all(numbers == ["0", "0", "0", "0.00"] for numbers in table.values())
    assert "dollars in all: 0.00" in shown


def test_an_unknown_price_is_called_unknown_and_makes_the_sum_unknown(tmp_path):
    shown, table = dry_run("--doctor", "openai/gpt-4o", "--grader", "vllm/judge", "--out", tmp_path / "run")
    assert table["grader", "vllm/judge"][3] == "unknown"
    assert float(table["doctor", "openai/gpt-4o"][3]) > 0
    assert "dollars in all: unknown; give the missing prices in a price book" in shown


def test_known_prices_are_those_of_the_expected_tokens(tmp_path):
    book = tmp_path / "prices.yaml"
    book.write_text("- {model: vllm/judge, input: 3, output: 7, source: invoice, looked_up: 2026-11-01}\n")
    more = ("--grader", "vllm/judge", "--set", f"limits.price_book={json.dumps(str(book))}", "--trials", 100)
    shown, table = dry_run("--doctor", "openai/gpt-4o", *more, "--out", tmp_path / "run")

    def dollars(role, model, price_in, price_out):
        _, tokens_in, tokens_out, cost = (float(cell.replace(",", "")) for cell in table[role, model])
        assert cost == pytest.approx((tokens_in * price_in + tokens_out * price_out) / 1e6, abs=0.01)
        return cost

    both = dollars("doctor", "openai/gpt-4o", 2.5, 10) + dollars("grader", "vllm/judge", 3, 7)
    total = float(re.search(r"dollars in all: ([\d,.]+)", shown)[1].replace(",", ""))
    assert total == pytest.approx(both, abs=0.02) and total > 1


def test_after_a_part_of_the_run_only_the_rest_is_expected(tmp_path):
    with Simulator(questions=1) as endpoint:
        whole = named(endpoint.base_url)
        _, before = dry_run(*whole, "--trials", 1, "--out", tmp_path)
        start(endpoint.base_url, tmp_path, limit=9)
        shown, after = dry_run(*whole, "--trials", 1, "--out", tmp_path)
    assert "to run: 3 of 12 conversations, 27 answers" in shown
    assert {place: int(numbers[0].replace(",", "")) * 4 for place, numbers in after.items()} == {
        place: int(numbers[0].replace(",", "")) for place, numbers in before.items()
    }
