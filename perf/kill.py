"""Killed again and again, a run still ends as one that was never stopped: `python perf/kill.py [--kills 100]`.

`osce run` works against the simulated endpoint, is killed with SIGKILL at a random moment, is started again with the
same command, and so on; then it is let to its end. What is checked stands in `KilledRun._check_start` and
`check_end`.
"""

import argparse
import json
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from conversation import write_cases
from results import save
from simulator import Simulator

from openosce.models import ChatMessage, ModelSpec, Request, request_hash

ARMS = ("vignette_mcq", "vignette_frq", "multi_turn_frq", "summarized_frq", "multi_turn_own")
IN_FLIGHT = 20
LATENCY_MS = 30
QUESTIONS = 6
COMMIT_MS = 100
"""The journal may lag so much behind the replies (`runs/folder/writer.py`)."""
MOST_LOST = IN_FLIGHT + IN_FLIGHT * COMMIT_MS // LATENCY_MS
"""Replies that one kill can lose: those of the last 100 ms, and one for each call in flight."""
LATEST_KILL = 0.8
"""Seconds after its first call at which a run is killed at the latest."""
CASES_PER_KILL = 16
"""Enough for the run not to end before the last kill; checked."""

OSCE = (sys.executable, "-c", "from openosce.cli import main; main()")


class BrokenPromise(AssertionError):
    """The run did not keep what the design promises."""


@dataclass(frozen=True)
class Outcome:
    """What the kills came to."""

    kills: int
    kills_before_any_call: int
    """Kills that hit the run while it was still starting up."""
    cases: int
    calls: int
    """Calls in the finished journal."""
    calls_at_the_last_kill: int
    replies_lost: int
    """Calls that were answered but not yet in the journal when the run was killed; they were asked again."""
    most_lost_by_one_kill: int
    most_lost_allowed: int
    seconds: float


def survive(kills: int, folder: Path, seed: int = 1) -> Outcome:
    """Kill a run so many times, let it end, and compare it with one that was never stopped.

    That no call in the journal is asked again, and that a kill loses no more replies than it may, is checked after
    every kill.

    Args:
        kills: How often.
        folder: An empty folder for cases, runs and the endpoint's record.
        seed: Decides the moments of the kills.

    Raises:
        BrokenPromise: A call was asked again that need not be, or the runs differ; the message says in what.
    """
    started = time.monotonic()
    cases = folder / "cases.jsonl"
    write_cases(cases, CASES_PER_KILL * kills)
    with Simulator(latency=LATENCY_MS, jitter=0, questions=QUESTIONS) as simulator:
        let_end(command(simulator, cases, folder / "whole"))
    record = folder / "record.jsonl"
    with Simulator(latency=LATENCY_MS, jitter=0, questions=QUESTIONS, record=record) as simulator:
        killed = KilledRun(simulator, record, command(simulator, cases, folder / "killed"), folder / "killed")
        chance = random.Random(seed)
        lost = [killed.start_and_kill(chance.uniform(0, LATEST_KILL)) for _ in range(kills)]
        at_the_last_kill = recorded(folder / "killed").total()
        killed.let_end()
        check_end(folder / "killed", folder / "whole", CASES_PER_KILL * kills)
        killed.start_once_more()
    return Outcome(
        kills=kills,
        kills_before_any_call=killed.without_a_call,
        cases=CASES_PER_KILL * kills,
        calls=recorded(folder / "killed").total(),
        calls_at_the_last_kill=at_the_last_kill,
        replies_lost=sum(lost),
        most_lost_by_one_kill=max(lost),
        most_lost_allowed=MOST_LOST,
        seconds=round(time.monotonic() - started, 1),
    )


def command(simulator: Simulator, cases: Path, run: Path) -> list[str]:
    """The one command that starts the run, and goes on with it."""
    roles = [f"--{role}=sim/{role}" for role in ("doctor", "patient", "grader")]
    arms = f"craft_md.arms={json.dumps(ARMS)}"
    options = [f"--cases={cases}", "--trials=1", f"--base-url={simulator.base_url}", f"--in-flight={IN_FLIGHT}"]
    return [*OSCE, "run", "craft-md", *roles, *options, f"--set={arms}", f"--out={run}"]


def let_end(run: Sequence[str]) -> None:
    """Start a run and let it come to its end."""
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    require(done.returncode == 0, f"the run ended with exit code {done.returncode}: {done.stderr[-500:]}")


class KilledRun:
    """A run that is killed and started again, with what the endpoint saw of it."""

    def __init__(self, simulator: Simulator, record: Path, run: Sequence[str], folder: Path) -> None:
        self._simulator = simulator
        self._record = record
        self._read = 0
        self._command = run
        self._folder = folder
        self.without_a_call = 0

    def start_and_kill(self, after: float) -> int:
        """Start the run, kill it so many seconds after its first call; returns how many replies that lost."""
        before = recorded(self._folder)
        requests = self._simulator.counters()["requests"]
        process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # How long a start takes depends on what else the machine does: the clock starts with the first call.
        while self._simulator.counters()["requests"] == requests and process.poll() is None:
            time.sleep(0.005)
        try:
            process.wait(after)
            raise BrokenPromise(f"the run ended before it was killed, with exit code {process.returncode}")
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        return self._check_start(before)

    def let_end(self) -> None:
        """Start the run and let it come to its end."""
        before = recorded(self._folder)
        let_end(self._command)
        require(self._check_start(before) == 0, "replies were lost although the run was not killed")

    def start_once_more(self) -> None:
        """A finished run asks nothing."""
        requests = self._simulator.counters()["requests"]
        let_end(self._command)
        require(self._simulator.counters()["requests"] == requests, "a finished run asked the endpoint again")

    def _check_start(self, before: Counter[str]) -> int:
        """What must hold after every start; returns how many replies it lost."""
        asked, answered = self._seen_by_the_endpoint()
        self.without_a_call += not asked
        again = [request for request in asked if request in before]
        require(not again, f"{len(again)} calls were asked again although the journal held them")
        after = recorded(self._folder)
        require(not before - after, "the journal has lost calls that it held")
        lost = answered - (after - before).total()
        require(lost <= MOST_LOST, f"one kill lost {lost} replies; at most {MOST_LOST} may be lost")
        require(lost >= 0, f"the journal holds {-lost} calls that the endpoint never answered")
        return lost

    def _seen_by_the_endpoint(self) -> tuple[list[str], int]:
        """The requests of this start, and how many of them were answered."""
        while self._simulator.counters()["open"]:  # until it has noticed that its client is gone
            time.sleep(0.005)
        with self._record.open(encoding="utf-8") as record:
            record.seek(self._read)
            lines = [json.loads(line) for line in iter(record.readline, "")]
            self._read = record.tell()
        asked = [hash_of(line["request"], self._simulator.base_url) for line in lines]
        return asked, sum(line["status"] == 200 for line in lines)


def hash_of(body: dict[str, Any], base_url: str) -> str:
    """The hash under which the journal keeps a request that the endpoint saw."""
    messages = tuple(ChatMessage(message["role"], message["content"]) for message in body["messages"])
    return request_hash(ModelSpec(f"sim/{body['model']}", base_url), Request(messages, step="-"))


def recorded(run: Path) -> Counter[str]:
    """The request hashes of the answered calls in the journal; the database must be sound."""
    try:
        return Counter(request for (request,) in rows(run, "SELECT request_hash FROM calls WHERE error IS NULL"))
    except sqlite3.OperationalError:  # killed before there was a database, or a table in it
        return Counter()


def rows(run: Path, sql: str) -> Iterator[tuple[Any, ...]]:
    """Read the database as it was left, without mending it."""
    connection = sqlite3.connect(f"{(run / 'run.db').as_uri()}?mode=ro", uri=True)
    try:
        (state,) = connection.execute("PRAGMA integrity_check").fetchone()
        require(state == "ok", f"run.db is damaged: {state}")
        yield from connection.execute(sql).fetchall()
    finally:
        connection.close()


def check_end(killed: Path, whole: Path, cases: int) -> None:
    """What must hold of the finished run: every encounter is whole, and every word is that of the other run."""
    for what, sql in HALF_WRITTEN.items():
        found = list(rows(killed, sql))
        require(not found, f"{len(found)} encounters have {what}")
    (encounters,) = rows(killed, "SELECT COUNT(*) FROM encounters")
    require(encounters == (cases,), f"{encounters[0]} encounters of {cases}")
    for what, sql in CONTENT.items():
        require(Counter(rows(killed, sql)) == Counter(rows(whole, sql)), f"the {what} of the two runs differ")
    require(estimates(killed) == estimates(whole), "the estimates of the two runs differ")


_PLANNED = ", ".join(f"'{arm}'" for arm in ARMS)
HALF_WRITTEN = {
    "messages that are not 0, 1, 2, ...": """
        SELECT e.id FROM encounters e LEFT JOIN messages m ON m.encounter_id = e.id GROUP BY e.id
        HAVING COUNT(m.n) < 2 OR MIN(m.n) <> 0 OR MAX(m.n) <> COUNT(m.n) - 1""",
    "not exactly one answer in every planned arm": f"""
        SELECT e.id FROM encounters e LEFT JOIN answers a ON a.encounter_id = e.id AND a.arm IN ({_PLANNED})
        GROUP BY e.id HAVING COUNT(a.id) <> {len(ARMS)} OR COUNT(DISTINCT a.arm) <> {len(ARMS)}""",
    "not exactly one accuracy under the run's policy for an answer": f"""
        SELECT a.encounter_id FROM answers a
        LEFT JOIN scores s ON s.answer_id = a.id AND s.metric = 'accuracy' AND s.policy LIKE 'paper@%'
        WHERE a.arm IN ({_PLANNED}) GROUP BY a.id HAVING COUNT(s.metric) <> 1""",
    "a score twice": """
        SELECT a.encounter_id FROM answers a JOIN scores s ON s.answer_id = a.id
        GROUP BY a.id, metric, policy, grader HAVING COUNT(*) > 1""",
}
"""Encounters with ...: none may be found."""
_KEY = "e.doctor, e.condition, e.case_id, e.trial"
CONTENT = {
    "encounters": f"SELECT {_KEY}, ended, error FROM encounters e",
    "messages": f"""SELECT {_KEY}, n, speaker, listener, text, c.address
        FROM messages m JOIN encounters e ON e.id = m.encounter_id LEFT JOIN calls c ON c.id = m.call_id""",
    "answers": f"SELECT {_KEY}, arm, text, missing_reason FROM answers a JOIN encounters e ON e.id = a.encounter_id",
    "scores": f"""SELECT {_KEY}, arm, metric, value, policy, grader, evidence, s.missing_reason
        FROM scores s JOIN answers a ON a.id = s.answer_id JOIN encounters e ON e.id = a.encounter_id""",
    "calls": "SELECT address, role, reply, model_id, tokens_in, tokens_out, error FROM calls",
}
"""Everything that the two runs must have in common: all but row numbers, times and prefix caches."""


def estimates(run: Path) -> object:
    """What `osce analyze --json` prints, but for how long the calls took and what a prefix cache could have saved."""
    done = subprocess.run([*OSCE, "analyze", str(run), "--json"], capture_output=True, text=True, check=False)
    require(done.returncode == 0, f"osce analyze failed: {done.stderr[-500:]}")
    analysis = json.loads(done.stdout)
    del analysis["calls"]
    return analysis


def require(holds: bool, otherwise: str) -> None:
    """Raise what is broken, also where Python's own assertions are switched off."""
    if not holds:
        raise BrokenPromise(otherwise)


def main() -> None:
    """Kill, check, show, write down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="decides the moments")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        outcome = asdict(survive(given.kills, Path(folder), given.seed))
    for name, value in outcome.items():
        print(f"{name.replace('_', ' ')}: {value}")
    save("kill", outcome)


if __name__ == "__main__":
    main()
