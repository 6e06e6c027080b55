import asyncio
import logging
import random
import selectors
import time
from collections import Counter

import pytest
import stamina
from simulator import Simulator

from openosce.errors import AccessError, BusyError, ProviderError, RefusedError, UnreadableReplyError
from openosce.models import ChatMessage, Gate, Lane, ModelSpec, PacedModel, Rate, Reply, Request, pacing
from openosce.models.chat_completions import ChatCompletions

REQUEST = Request((ChatMessage("user", "x" * 400),), "talk/2")


class Clock:
    """A clock that jumps over every sleep; `seconds` is what a caller would have waited."""

    def __init__(self, monkeypatch):
        self._real = time.monotonic
        self._ahead = 0.0
        monkeypatch.setattr(time, "monotonic", self)

    def __call__(self):
        return self._real() + self._ahead

    def run(self, coroutine):
        clock = self

        class Selector(selectors.DefaultSelector):
            def select(self, timeout=None):
                clock._ahead += timeout or 0.0
                return super().select(0)

        with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(Selector())) as runner:
            return runner.run(coroutine)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


class Endpoint:
    """A model that takes `seconds` a call, fails as told, and remembers when it was called and how many were open."""

    def __init__(self, failures=(), seconds=0.0):
        self._failures = iter(failures)
        self._seconds = seconds
        self.times = []
        self.open = self.most_open = 0

    async def complete(self, request):
        self.times.append(time.monotonic())
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            await asyncio.sleep(self._seconds)
            failure = next(self._failures, None)
            if failure is not None:
                raise failure
            return Reply("ok")
        finally:
            self.open -= 1

    @property
    def waits(self):
        return [later - earlier for earlier, later in zip(self.times, self.times[1:], strict=False)]


def lane(most=10, overall=1000, **rates):
    return Lane(Gate(most), asyncio.Semaphore(overall), **rates)


def outcome(endpoint, its_lane=None):
    """What a paced call to this endpoint comes to: a reply, or the error."""

    async def main():
        try:
            return await PacedModel(endpoint, its_lane or lane(), "doctor").complete(REQUEST)
        except ProviderError as failure:
            return failure

    return main()


# Which failures are tried again, how often, after what waits


def test_a_call_outlasts_an_outage_of_a_minute(clock):
    endpoint = Endpoint(ProviderError(f"down {n}") for n in range(1000))
    failure = clock.run(outcome(endpoint))
    assert len(endpoint.times) == pacing.TRIES == 9
    assert 60 < sum(endpoint.waits) < pacing.ALL_WAITS
    assert str(failure) == "down 8"
    assert failure.failed_tries == tuple(f"down {n}" for n in range(8))


def test_waits_grow_from_half_a_second_to_half_a_minute(clock):
    endpoint = Endpoint(ProviderError("down") for _ in range(1000))
    clock.run(outcome(endpoint))
    for wait, doubled in zip(endpoint.waits, (0.5, 1, 2, 4, 8, 16, 30, 30), strict=True):
        assert doubled * 0.99 <= wait <= min(doubled + 1, 30) + 0.1  # a second of chance, so that not all come at once


@pytest.mark.parametrize(("asked", "waited"), [(0.05, 0.05), (7, 7), (29, 29), (1000, 30), (float("inf"), 30)])
def test_a_busy_endpoint_is_given_the_time_it_asks_for_up_to_a_limit(clock, asked, waited):
    endpoint = Endpoint([BusyError("busy", asked)] * 3)
    assert clock.run(outcome(endpoint)).text == "ok"
    assert endpoint.waits == pytest.approx([waited] * 3, abs=0.05)


def test_an_endpoint_that_asks_for_no_wait_is_not_asked_nine_times_at_once(clock):
    endpoint = Endpoint(BusyError("busy", 0.0) for _ in range(1000))
    clock.run(outcome(endpoint))
    assert sum(endpoint.waits) > 60


@pytest.mark.parametrize("kind", [RefusedError, AccessError])
def test_what_no_new_try_can_mend_is_asked_once(clock, kind):
    endpoint = Endpoint([kind("no")])
    failure = clock.run(outcome(endpoint))
    assert type(failure) is kind and failure.failed_tries == ()
    assert len(endpoint.times) == 1


@pytest.mark.parametrize("kind", [RefusedError, AccessError])
def test_after_a_failure_for_now_a_final_one_still_ends_it_and_both_are_kept(clock, kind):
    endpoint = Endpoint([BusyError("busy"), ProviderError("down"), kind("no")])
    failure = clock.run(outcome(endpoint))
    assert type(failure) is kind and failure.failed_tries == ("busy", "down")
    assert len(endpoint.times) == 3


def test_replies_that_cannot_be_read_are_asked_for_three_times(clock):
    endpoint = Endpoint(UnreadableReplyError(f"cut off {n}") for n in range(10))
    failure = clock.run(outcome(endpoint))
    assert len(endpoint.times) == pacing.TRIES_UNREADABLE == 3
    assert (str(failure), failure.failed_tries) == ("cut off 2", ("cut off 0", "cut off 1"))


def test_other_failures_between_them_do_not_add_tries_to_unreadable_replies(clock):
    unreadable, busy = UnreadableReplyError, BusyError
    failures = [unreadable("a"), busy("b"), unreadable("c"), busy("d"), unreadable("e"), busy("f")]
    endpoint = Endpoint(failures)
    failure = clock.run(outcome(endpoint))
    assert (str(failure), failure.failed_tries) == ("e", ("a", "b", "c", "d"))


@pytest.mark.parametrize("count", [0, 1, 2, 8])
def test_a_reply_tells_the_tries_before_it(clock, count):
    endpoint = Endpoint(ProviderError(f"down {n}") for n in range(count))
    reply = clock.run(outcome(endpoint))
    assert reply == Reply("ok", failed_tries=tuple(f"down {n}" for n in range(count)))


def test_what_is_no_failure_of_an_endpoint_is_not_tried_again(clock):
    endpoint = Endpoint([ProviderError("down"), ValueError("a bug")])
    with pytest.raises(ValueError, match="a bug"):
        clock.run(outcome(endpoint))
    assert len(endpoint.times) == 2


def test_a_call_can_be_cancelled_while_it_waits_for_its_next_try(clock):
    async def main():
        endpoint, its_lane = Endpoint([BusyError("busy", 20.0)]), lane(1)
        call = asyncio.create_task(outcome(endpoint, its_lane))
        await asyncio.sleep(5)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert len(endpoint.times) == 1
        await asyncio.wait_for(its_lane.gate.enter("doctor"), 1)

    clock.run(main())


def test_new_tries_write_nothing_on_the_terminal(capfd, monkeypatch):
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    with stamina.set_testing(True, attempts=3):
        asyncio.run(outcome(Endpoint([ProviderError("down")] * 2)))
    assert capfd.readouterr() == ("", "")


def test_new_tries_can_be_heard_by_whoever_listens(caplog):
    with stamina.set_testing(True, attempts=3), caplog.at_level(logging.WARNING, "stamina"):
        asyncio.run(outcome(Endpoint([ProviderError("down")] * 2)))
    assert len(caplog.records) == 2


def test_every_request_that_an_endpoint_counts_is_a_reply_or_a_failed_try():
    faults = {"429": 0.1, "429-after": 0.05, "500": 0.1, "502": 0.05, "reset": 0.05, "truncated": 0.1, "schema": 0.05}

    async def main(url):
        model = ChatCompletions(ModelSpec("sim/patient", url), url, {})
        paced, found = PacedModel(model, lane(20), "patient"), []

        async def one(n):
            try:
                reply = await paced.complete(Request((ChatMessage("user", f"Point {n}?"),), f"talk/{n}"))
                found.append((1, reply.failed_tries))
            except ProviderError as failure:
                found.append((0, (*failure.failed_tries, str(failure))))

        await asyncio.gather(*(one(n) for n in range(300)))
        await model.close()
        return found

    with Simulator(faults={**faults, "filter": 0.02, "bad": 0.02}, retry_after=0.01) as endpoint:
        with stamina.set_testing(True, attempts=9):
            found = asyncio.run(main(endpoint.base_url))
        counted = endpoint.counters()
    told = Counter(sign for _, failures in found for failure in failures for sign in _signs(failure))
    struck = counted["faults"]
    assert sum(answered + len(failures) for answered, failures in found) == counted["requests"]
    assert told["429"] == struck["429"] + struck["429-after"]
    assert (told["500"], told["502"]) == (struck["500"], struck["502"])
    assert told["unreadable"] == struck["truncated"] + struck["schema"]
    assert told["filter"] == struck["filter"] and told["400"] == struck["bad"]
    assert told["lost"] == struck["reset"]
    assert counted["asked_again"] == 0


def _signs(failure):
    signs = {"HTTP 429": "429", "HTTP 500": "500", "HTTP 502": "502", "not a chat completion": "unreadable",
             "content filter": "filter", "HTTP 400": "400", "Disconnected": "lost", "reset": "lost"}  # fmt: skip
    return {sign for part, sign in signs.items() if part in failure}


# How many calls are open


@pytest.mark.parametrize("most", [1, 3, 20])
def test_never_more_calls_are_open_than_allowed_and_never_fewer_than_can_be(clock, most):
    endpoint = Endpoint(seconds=1.0)

    async def main():
        its_lane = lane(most)
        await asyncio.gather(*(outcome(endpoint, its_lane) for _ in range(60)))

    start = clock()
    clock.run(main())
    assert endpoint.most_open == most
    assert clock() - start == pytest.approx(60 / most, abs=0.5)


def test_all_endpoints_together_keep_to_the_overall_limit(clock):
    endpoint = Endpoint(seconds=1.0)

    async def main():
        overall = asyncio.Semaphore(5)
        lanes = [Lane(Gate(4), overall) for _ in range(3)]
        await asyncio.gather(*(outcome(endpoint, lanes[n % 3]) for n in range(60)))

    clock.run(main())
    assert endpoint.most_open == 5


def test_a_burst_of_refusals_shrinks_the_gate_once(clock):
    gate = Gate(100)
    for _ in range(50):
        gate.refused()
    assert gate.limit == pytest.approx(70)
    clock._ahead += 5
    gate.refused()
    assert gate.limit == pytest.approx(49)


def test_the_gate_never_closes_altogether_and_grows_back_to_its_most_and_no_further(clock):
    gate = Gate(10)
    for _ in range(100):
        clock._ahead += 5
        gate.refused()
    assert gate.limit == 1
    answers = 0
    while gate.limit < 10:
        gate.answered(1.0)
        answers += 1
    assert 40 < answers < 70  # one place more in as many answers as there are places: 1 + 2 + ... + 9, and a little
    for _ in range(1000):
        gate.answered(1.0)
    assert gate.limit == 10


def test_while_an_endpoint_is_busy_fewer_calls_are_open_and_all_get_through(clock):
    class Overloaded(Endpoint):
        """Bears eight calls at once."""

        async def complete(self, request):
            if self.open >= 8:
                self._failures = iter([BusyError("busy", 1.0)])
            return await super().complete(request)

    endpoint, its_lane = Overloaded(seconds=1.0), lane(64)

    async def main():
        return await asyncio.gather(*(outcome(endpoint, its_lane) for _ in range(400)))

    replies = clock.run(main())
    assert sum(isinstance(reply, Reply) for reply in replies) >= 390
    assert its_lane.gate.limit < 20


def test_a_slow_endpoint_gets_fewer_calls_and_more_again_when_it_recovers(clock):
    gate = Gate(50)

    def answers(seconds, count):
        for _ in range(count):
            clock._ahead += 10
            gate.answered(seconds)

    answers(1.0, 100)
    assert gate.limit == 50
    answers(20.0, 15)
    assert gate.limit < 25
    answers(1.0, 2000)
    assert gate.limit == 50


def test_usual_variation_of_the_latency_does_not_shrink_the_gate(clock):
    chance, gate = random.Random(3), Gate(50)
    for _ in range(3000):
        clock._ahead += 1
        gate.answered(chance.lognormvariate(0, 0.6))
    assert gate.limit == 50


def test_a_role_with_few_calls_does_not_queue_behind_one_with_many(clock):
    endpoint, order = Endpoint(seconds=1.0), []

    async def main():
        its_lane = lane(4)

        async def call(role):
            await PacedModel(endpoint, its_lane, role).complete(REQUEST)
            order.append(role)

        doctors = [asyncio.create_task(call("doctor")) for _ in range(100)]
        await asyncio.sleep(0.5)
        await asyncio.gather(*(call("grader") for _ in range(4)), *doctors)

    clock.run(main())
    assert order[:4] == ["doctor"] * 4
    assert order[4:12].count("grader") == 4


def test_two_roles_that_both_wait_share_the_places_evenly(clock):
    endpoint, order = Endpoint(seconds=1.0), []

    async def main():
        its_lane = lane(10)

        async def call(role):
            await PacedModel(endpoint, its_lane, role).complete(REQUEST)
            order.append(role)

        await asyncio.gather(*(call(role) for role in ["doctor"] * 100 + ["patient"] * 100))

    clock.run(main())
    assert 40 <= order[10:110].count("patient") <= 60


@pytest.mark.parametrize("seed", range(30))
def test_calls_cancelled_at_any_moment_leak_no_place_and_stop_nobody_else(clock, seed):
    chance = random.Random(seed)
    most = chance.randint(1, 5)

    async def main():
        gate = Gate(most)
        done = []

        async def visit(n, role):
            await gate.enter(role)
            try:
                await asyncio.sleep(chance.random())
                if chance.random() < 0.2:
                    gate.refused()
                else:
                    gate.answered(0.5)
            finally:
                gate.leave(role)
            done.append(n)

        tasks = [asyncio.create_task(visit(n, chance.choice("abc"))) for n in range(60)]
        doomed = set(chance.sample(range(60), 40))
        for n in chance.sample(sorted(doomed), 40):
            if chance.random() < 0.6:
                await asyncio.sleep(chance.choice([0, 0, chance.random() / 4]))
            tasks[n].cancel()
        ended = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 200)
        assert [end for end in ended if not isinstance(end, asyncio.CancelledError | None)] == []
        assert set(range(60)) - doomed <= set(done)
        gate.limit = float(most)
        for _ in range(most):
            await asyncio.wait_for(gate.enter("a"), 1)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(gate.enter("a"), 1)

    clock.run(main())


def test_a_waiting_call_that_is_cancelled_as_a_place_comes_free_passes_it_on(clock):
    async def main():
        gate = Gate(1)
        await gate.enter("a")
        first, second = (asyncio.create_task(gate.enter("a")) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()  # it has not woken up yet when the place comes free
        gate.leave("a")
        with pytest.raises(asyncio.CancelledError):
            await first
        await asyncio.wait_for(second, 1)
        third = asyncio.create_task(gate.enter("a"))
        await asyncio.sleep(0)
        gate.leave("a")
        third.cancel()  # it has the place already, and does not know yet
        with pytest.raises(asyncio.CancelledError):
            await third
        await asyncio.wait_for(gate.enter("a"), 1)

    clock.run(main())


@pytest.mark.parametrize("failure", [ProviderError("x"), BusyError("x"), RefusedError("x"), ValueError("x")])
def test_a_failed_call_gives_its_place_back(clock, failure):
    async def main():
        its_lane = lane(1, overall=1)
        with pytest.raises(type(failure)):
            await its_lane.call(Endpoint([failure]), "doctor", REQUEST)
        await asyncio.wait_for(its_lane.call(Endpoint(), "doctor", REQUEST), 1)

    clock.run(main())


# How often


def test_requests_a_minute_are_spread_evenly_also_after_a_pause(clock):
    endpoint = Endpoint()

    async def main():
        its_lane = lane(100, requests=Rate(30))
        await asyncio.gather(*(outcome(endpoint, its_lane) for _ in range(5)))
        await asyncio.sleep(60)
        await asyncio.gather(*(outcome(endpoint, its_lane) for _ in range(3)))

    clock.run(main())
    assert endpoint.waits == pytest.approx([2, 2, 2, 2, 60, 2, 2], abs=0.1)


def test_new_tries_keep_to_the_rate_too(clock):
    endpoint = Endpoint([BusyError("busy", 0.01)] * 3)
    clock.run(outcome(endpoint, lane(100, requests=Rate(6))))
    assert endpoint.waits == pytest.approx([10, 10, 10], abs=0.1)


def test_tokens_a_minute_are_estimated_from_the_prompt(clock):
    endpoint = Endpoint()

    async def main():
        its_lane = lane(100, tokens=Rate(600))  # a prompt of 400 characters has about 100 tokens
        await asyncio.gather(*(outcome(endpoint, its_lane) for _ in range(4)))

    clock.run(main())
    assert endpoint.waits == pytest.approx([10, 10, 10], abs=0.1)
