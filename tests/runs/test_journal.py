import asyncio
import json
import os
import sqlite3
import subprocess
import sys
from collections import Counter

import pytest
import stamina
from simulator import Simulator

from openosce.errors import BusyError, ProviderError, RefusedError, RunFolderError, RunStopped, StudyError
from openosce.grading import TrialKey
from openosce.models import ChatMessage, ModelSpec, Reply, Request, Script, load_prices
from openosce.reports import analyze_run
from openosce.runs import cast as casting
from openosce.runs import prepare, run_study, to_study, unfinished
from openosce.runs.folder import Call, RunReader, RunWriter, call_address
from openosce.runs.journal import Journal, JournaledModel
from openosce.runs.study import Limits

OSCE = (sys.executable, "-c", "from openosce.cli import main; main()")
KEY = TrialKey("test/doctor", "text", "gout-01", 0)
SPEC = ModelSpec("test/doctor")
PRICES = "- {model: %s, input: 1000, output: 1000, source: made up, looked_up: 2026-11-01}\n"


class Model:
    """Answers with the number of the call, or fails as told; remembers what it was asked."""

    def __init__(self, *failures, wait=0.0, **reply):
        self._failures = list(failures)
        self._wait = wait
        self._reply = reply
        self.asked = []
        self.open = self.most_open = 0

    async def complete(self, request):
        self.asked.append((request.step, request.repeat))
        number = len(self.asked)
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        await asyncio.sleep(self._wait)
        self.open -= 1
        if self._failures and (failure := self._failures.pop(0)):
            raise failure
        return Reply(f"reply {number}", model_id="m-1", **self._reply)


def ask(folder, model, *requests, limits=None, key=KEY, spec=SPEC, prices=None):
    """Ask through the journal of a run folder, one after the other: replies and errors."""
    found = []

    async def main(writer):
        journaled = JournaledModel(model, "doctor", spec, Journal(writer, prices or load_prices(), limits), key)
        for request in requests:
            try:
                found.append((await journaled.complete(request)).text)
            except (ProviderError, RunStopped, RunFolderError) as failure:
                found.append(failure)

    limits = limits or Limits()
    with RunWriter(folder) as writer:
        asyncio.run(main(writer))
    return found


def request(step, text="It itches.", repeat=0):
    return Request((ChatMessage("user", text),), step, repeat)


def rows(folder, columns="address, reply, error"):
    connection = sqlite3.connect(folder / "run.db")
    try:
        return connection.execute(f"SELECT {columns} FROM calls ORDER BY id").fetchall()
    finally:
        connection.close()


# Replay


def test_what_was_answered_is_replayed_without_a_call(tmp_path):
    model = Model()
    first = ask(tmp_path, model, request("talk/2"), request("talk/4"))
    assert ask(tmp_path, model, request("talk/2"), request("talk/4"), request("talk/6")) == [*first, "reply 3"]
    assert [step for step, _ in model.asked] == ["talk/2", "talk/4", "talk/6"]


def test_an_empty_reply_is_a_reply_and_is_replayed(tmp_path):
    script = Script({"*": ""})
    assert ask(tmp_path, script, request("talk/2")) == [""]
    assert ask(tmp_path, Model(), request("talk/2")) == [""]


def test_each_repeat_has_a_place_of_its_own(tmp_path):
    model = Model()
    ask(tmp_path, model, request("talk/2"), request("talk/2", repeat=1))
    assert ask(tmp_path, model, request("talk/2", repeat=1), request("talk/2")) == ["reply 2", "reply 1"]
    assert len(model.asked) == 2


@pytest.mark.parametrize(
    "failure",
    [ProviderError("HTTP 500"), BusyError("HTTP 429"), RefusedError("content filter"), ProviderError("é\n" * 9)],
)
def test_a_failed_call_is_written_down_and_never_replayed(tmp_path, failure):
    model = Model(failure)
    assert ask(tmp_path, model, request("talk/2")) == [failure]
    assert ask(tmp_path, model, request("talk/2")) == ["reply 2"]
    address = call_address(KEY, "talk/2")
    assert rows(tmp_path) == [(address, None, str(failure)), (address, "reply 2", None)]


def test_every_try_before_a_reply_or_a_failure_has_a_row(tmp_path):
    last = ProviderError("third")
    last.failed_tries = ("first", "second")
    ask(tmp_path, Model(last, failed_tries=("fourth",)), request("talk/2"), request("talk/2"))
    assert [error for _, _, error in rows(tmp_path)] == ["first", "second", "third", "fourth", None]


@pytest.mark.parametrize(
    ("spec", "asked"),
    [
        (SPEC, request("talk/2", "It hurts.")),
        (ModelSpec("test/doctor", settings={"temperature": 1}), request("talk/2")),
        (ModelSpec("test/doctor", "http://elsewhere/v1"), request("talk/2")),
        (SPEC, Request((ChatMessage("user", "It itches.", ("data:image/png;base64,AA==",)),), "talk/2")),
        (SPEC, Request((ChatMessage("user", "It itches."),), "talk/2", schema={"type": "object"})),
    ],
)
def test_another_request_at_the_same_place_is_refused_and_not_asked(tmp_path, spec, asked):
    ask(tmp_path, Model(), request("talk/2"))
    model = Model()
    (refused,) = ask(tmp_path, model, asked, spec=spec)
    assert isinstance(refused, RunFolderError)
    assert "another request" in str(refused) and "talk/2" in str(refused)
    assert model.asked == []
    assert len(rows(tmp_path)) == 1


@pytest.mark.parametrize("odd", [{"tokens_in": 2**70}, {"tokens_out": ["5"]}, {"tokens_cached": object()}])
def test_what_cannot_be_written_stops_the_run_instead_of_being_lost(tmp_path, odd):
    call = Call(call_address(KEY, "talk/2"), "hash", "doctor", "reply")
    with pytest.raises(RunFolderError, match=r"run\.db cannot be written"), RunWriter(tmp_path) as writer:
        writer.write(Call(**{**vars(call), **odd}))
    assert rows(tmp_path) == []


# Limits


def test_the_limit_of_calls_counts_answered_calls_of_all_starts_and_no_replay(tmp_path):
    steps = [request(f"talk/{n}") for n in range(6)]
    model = Model()
    first = ask(tmp_path, model, *steps, limits=Limits(calls=4))
    assert [isinstance(found, RunStopped) for found in first] == [False] * 4 + [True] * 2
    assert "limit of 4 calls is reached; raise limits.calls" in str(first[4])
    again = ask(tmp_path, model, *steps, limits=Limits(calls=5))
    assert again[:5] == [*first[:4], "reply 5"] and isinstance(again[5], RunStopped)
    assert len(model.asked) == 5


def test_calls_that_are_open_count_against_the_limit(tmp_path):
    async def main(writer, model):
        journal = Journal(writer, load_prices(), Limits(calls=7))
        journaled = JournaledModel(model, "doctor", SPEC, journal, KEY)
        asked = (journaled.complete(request(f"talk/{n}")) for n in range(50))
        return await asyncio.gather(*asked, return_exceptions=True)

    model = Model(wait=0.01)
    with RunWriter(tmp_path) as writer:
        ended = asyncio.run(main(writer, model))
    assert len(model.asked) == 7
    assert Counter(type(end) for end in ended) == {Reply: 7, RunStopped: 43}


def test_the_limit_in_dollars_stops_before_the_call_that_would_pass_it(tmp_path):
    book = tmp_path / "prices.yaml"
    book.write_text(PRICES % "test/doctor")
    prices = load_prices(book)
    model = Model(tokens_in=400, tokens_out=100)  # half a dollar a call
    steps = [request(f"talk/{n}") for n in range(10)]
    run = tmp_path / "run"
    first = ask(run, model, *steps, limits=Limits(dollars=2), prices=prices)
    assert len(model.asked) == 4
    assert "limit of $2 is reached; raise limits.dollars" in str(first[4])
    ask(run, model, *steps, limits=Limits(dollars=3), prices=prices)
    assert len(model.asked) == 6
    assert [dollars for (dollars,) in rows(run, "dollars")] == pytest.approx([0.5] * 6)


def test_a_limit_in_dollars_needs_every_price_before_the_run(tmp_path):
    tables = {"study": {"benchmark": "craft-md", "base_url": "http://127.0.0.1:9/v1"}, "limits": {"dollars": 5},
              "roles": {"doctor": {"model": "openai/gpt-4o"}, "grader": {"model": "acme/judge"}}}  # fmt: skip
    with pytest.raises(StudyError, match="price of 'acme/judge' is unknown"):
        prepare(to_study(tables), tmp_path / "run")
    assert not (tmp_path / "run").exists()
    book = tmp_path / "prices.yaml"
    book.write_text(PRICES % "acme/judge")
    tables["limits"]["price_book"] = str(book)
    assert prepare(to_study(tables), tmp_path / "run").prices.cost("acme/judge", 1, 0) == pytest.approx(0.001)


def osce(*arguments, **environment):
    return subprocess.run(
        [*OSCE, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip


def stopped(done):
    """The line that says why a run stopped."""
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("stopped: ")]
    assert "go on with: osce run craft-md" in done.stderr
    return line


def command(endpoint, folder, *more):
    models = ("--doctor", "sim/doctor", "--patient", "sim/patient", "--grader", "sim/grader")
    common = ("--base-url", endpoint.base_url, "--trials", 1, "--limit", 3, "--out", folder)
    return ("run", "craft-md", *models, *common, *more)


def go_on(endpoint, folder):
    """Run what `command` runs, in this process; gives the estimates."""
    roles = {role: {"model": f"sim/{role}"} for role in ("doctor", "patient", "grader")}
    head = {"benchmark": "craft-md", "trials": 1, "base_url": endpoint.base_url}
    prepared = prepare(to_study({"study": head, "roles": roles}), folder, limit=3)
    run_study(prepared, lambda total, todo: None, lambda trial: None)
    with RunReader(folder) as reader:
        return analyze_run(reader).to_json()["estimates"]


def test_a_run_stops_exactly_at_its_limit_of_calls_and_a_higher_one_goes_on(tmp_path):
    with Simulator(latency=2, questions=2) as endpoint:
        whole = go_on(endpoint, tmp_path / "whole")
        needed = endpoint.counters()["requests"]
        endpoint.reset()
        line = stopped(osce(*command(endpoint, tmp_path / "run", "--set", "limits.calls=25")))
        assert "the limit of 25 calls is reached; raise limits.calls to go on" in line
        assert endpoint.counters()["requests"] == 25
        assert go_on(endpoint, tmp_path / "run") == whole
        counted = endpoint.counters()
    assert (counted["requests"], counted["asked_again"]) == (needed, 0)


def test_a_wrong_key_stops_the_run_with_one_line_and_once_it_is_right_the_run_goes_on(tmp_path):
    with Simulator(latency=2, questions=2) as endpoint:
        roles = command(endpoint, tmp_path, "--grader", "sim/needs-key-grader")
        line = stopped(osce(*roles, OPENOSCE_API_KEY="sim-wrong-key"))
        assert line == "stopped: sim/needs-key-grader: HTTP 401: invalid_api_key Incorrect API key provided"
        before = endpoint.counters()
        kept = [reply for _, reply, error in rows(tmp_path) if error is None]
        assert len(kept) == before["replies"]["200"] > 20
        done = osce(*roles, OPENOSCE_GRADER_API_KEY="sim-secret")
        assert done.returncode == 0, done.stderr
        after = endpoint.counters()
    assert after["asked_again"] == 0
    assert after["models"]["doctor"]["requests"] == 3 * (3 + 8)


def test_one_models_wrong_key_ends_the_other_models_conversations_too(tmp_path):
    with Simulator(latency=20, questions=3) as endpoint:
        two = ("--doctor", "sim/needs-key", "--limit", 12, "--in-flight", 24)
        stopped(osce(*command(endpoint, tmp_path, *two), OPENOSCE_API_KEY=""))
        counted = endpoint.counters()
    assert counted["replies"]["401"] > 0
    assert counted["models"]["doctor"]["requests"] <= 24 < 12 * (4 + 8)


# What a run keeps


@pytest.fixture
def models(monkeypatch):
    """Models in the place of endpoints, by name."""
    known = {
        "test/doctor": Script({"talk/2": "Since when?", "talk/*": "Final Diagnosis: Gout", "answer/*": "Gout"}),
        "test/patient": Script({"talk/*": "Since May."}),
        "test/grader": Grader(),
    }
    monkeypatch.setattr(casting, "build_model", lambda spec, role: known[spec.name])
    with stamina.set_testing(True, attempts=1):
        yield known


class Grader(Model):
    """Extracts the same from every answer; says yes to the first question about it, and no to every repetition."""

    async def complete(self, request):
        reply = await super().complete(request)
        text = "Gout" if request.step.startswith("grade/extract") else "no" if request.repeat else "yes"
        return Reply(text, model_id=f"grader-{request.step.split('/')[1]}", tokens_in=reply.tokens_in)


def start(folder, *, trials=2, arms=("vignette_frq",), only=(), repeats=1, grader="test/grader"):
    roles = {"doctor": {"model": "test/doctor"}, "patient": {"model": "test/patient"},
             "summarizer": {"model": "builtin/record"}, "grader": {"model": grader}}  # fmt: skip
    head = {"benchmark": "craft-md", "trials": trials, "grader_repeats": repeats}
    study = to_study({"study": head, "roles": roles, "craft_md": {"arms": list(arms)}})
    prepared = prepare(study, folder, only=only)
    run_study(prepared, lambda total, todo: None, lambda trial: None)
    return prepared


def test_trials_that_ask_the_same_at_the_same_time_share_one_verdict(tmp_path, models):
    models["test/grader"]._wait = 0.05
    start(tmp_path, trials=20, only=["celiac-disease-01", "kawasaki-disease-01"])
    asked = Counter(models["test/grader"].asked)
    assert set(asked.values()) == {1}
    kinds = Counter(step.split("/")[1] for step, _ in asked)
    assert kinds["extract"] <= 2 and kinds["compare"] >= 2
    start(tmp_path, trials=20, only=["celiac-disease-01", "kawasaki-disease-01"])
    assert Counter(models["test/grader"].asked) == asked


def test_a_shared_verdict_that_fails_is_missing_for_all_who_waited_and_is_asked_again_by_the_next_start(
    tmp_path, models
):
    grader = models["test/grader"] = Grader(ProviderError("HTTP 500"), wait=0.05)
    prepared = start(tmp_path, trials=8, only=["celiac-disease-01"])
    assert len(unfinished(prepared)) == 8
    assert len(grader.asked) == 1
    start(tmp_path, trials=8, only=["celiac-disease-01"])
    assert unfinished(prepared) == []
    assert [step.split("/")[1] for step, _ in grader.asked] == ["extract", "extract", "compare"]


def test_repeated_verdicts_are_each_asked_once_and_averaged(tmp_path, models):
    start(tmp_path, trials=2, only=["celiac-disease-01"], repeats=4)
    asked = models["test/grader"].asked
    assert len(asked) == len(set(asked)) == 4 + 4
    with RunReader(tmp_path) as reader:
        (estimate,) = [e for e in analyze_run(reader).to_json()["estimates"] if e["group"] == "all"]
    assert estimate["mean"] == pytest.approx(0.25)


def test_a_rule_is_not_repeated(tmp_path, models):
    start(tmp_path, trials=1, only=["celiac-disease-01"], repeats=4, grader="builtin/lexicon")
    with RunReader(tmp_path) as reader:
        (trial,) = reader.trials("celiac-disease-01")
    policies = [score.policy for answer in trial.answers for score in answer.scores]
    assert len(policies) == len(set(policies))


def test_the_manifest_names_every_model_id_that_came_back(tmp_path, models):
    start(tmp_path)
    returned = json.loads((tmp_path / "manifest.json").read_text())["models_returned"]
    assert returned["grader"] == ["grader-compare", "grader-extract"]
    assert returned["doctor"] == ["builtin/script"]


class Forgetful(Script):
    """Says nothing when first asked, and fails when told."""

    def __init__(self, replies, broken=()):
        super().__init__(replies)
        self.broken = broken

    async def complete(self, request):
        if request.step in self.broken:
            raise ProviderError("HTTP 500")
        return Reply("") if request.repeat < 1 and request.step == "talk/2" else await super().complete(request)


@pytest.mark.parametrize("broken", ["talk/3", "talk/4", "answer/multi_turn_frq"])
def test_every_message_points_to_the_call_it_came_from_also_after_a_new_start(tmp_path, models, broken):
    doctor = {"talk/2": "Since when?", "talk/4": "How bad?", "talk/*": "Final Diagnosis: Gout", "answer/*": "Gout"}
    models["test/doctor"], models["test/patient"] = (
        Forgetful(doctor, [broken]),
        Forgetful({"*": "Since May."}, [broken]),
    )
    arms = ("multi_turn_frq", "multi_turn_own")
    prepared = start(tmp_path, arms=arms, grader="builtin/lexicon")
    assert len(unfinished(prepared)) == 24
    for model in (models["test/doctor"], models["test/patient"]):
        model.broken = ()
    start(tmp_path, arms=arms, grader="builtin/lexicon")
    connection = sqlite3.connect(tmp_path / "run.db")
    found = connection.execute(
        """SELECT e.doctor, e.condition, e.case_id, e.trial, m.n, m.speaker, m.text, c.address, c.reply, c.role
           FROM messages m JOIN encounters e ON e.id = m.encounter_id LEFT JOIN calls c ON c.id = m.call_id"""
    ).fetchall()
    connection.close()
    assert len(found) == 24 * 7
    for doctor_name, condition, case_id, trial, n, speaker, text, address, reply, role in found:
        if n == 0:
            assert address is None
            continue
        repeat = 1 if n == 2 else 0
        assert json.loads(address) == [doctor_name, condition, case_id, trial, f"talk/{n}", repeat]
        assert (reply, role) == (text, speaker)


def test_whoever_waited_for_a_call_that_failed_does_not_undo_the_one_that_was_made_anew(tmp_path):
    calls = 0

    class FailsOnce:
        async def complete(self, request):
            nonlocal calls
            calls += 1
            mine = calls
            await asyncio.sleep(0)
            if mine == 1:
                raise ProviderError("down")
            return Reply("gout")

    async def talk(journal):
        async def once():
            return await JournaledModel(FailsOnce(), "grader", SPEC, journal, None).complete(request("grade/extract/1"))

        async def again():
            try:
                return await once()
            except ProviderError:
                return await once()

        async def never_again():
            with pytest.raises(ProviderError):
                await once()
            return await once()

        return await asyncio.gather(again(), never_again(), again())

    with RunWriter(tmp_path) as writer:
        replies = asyncio.run(talk(Journal(writer, load_prices(), Limits())))
    assert [reply.text for reply in replies] == ["gout"] * 3
    assert calls == 2
    assert len(rows(tmp_path)) == 2
