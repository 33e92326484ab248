"""A model that is polled is asked as often and as long as Dify's LLM node asks, by a clock of the test's own."""

import asyncio
import json

import pytest

from dify_plugin_host import HostSettings, LLMRequest, PluginHost, PollingError, PollingLimits


POLLED = '''
"""A model whose first message is the list of its polling results, one for each question."""

import wire
from wire import json

wire.ready()
asked = {}
for request in wire.requests():
    data = request["data"]
    if data["action"] == "get_ai_model_schemas":
        told = {"model": "echo-2", "label": {"en_US": "Echo"}, "model_type": "llm"}
        wire.stream(request, {"model_schema": {**told, "features": ["polling"]}})
        wire.end(request)
        continue
    if data["action"] == "start_polling":
        asked = {"start": data, "states": []}
        answers = iter(json.loads(data["prompt_messages"][-1]["content"]))
    else:
        asked["states"].append(data["plugin_state"])
    answer = next(answers)
    if answer.get("status") == "succeeded" and "result" not in answer:
        usage = {"total_tokens": 15, "total_price": "0.00002", "currency": "USD"}
        message = {"role": "assistant", "content": json.dumps(asked)}
        answer["result"] = {"model": "echo-2", "message": message, "usage": usage}
    if "raise" in answer:
        wire.error(request, "ValueError", answer["raise"])
    elif answer != {"silent": True}:
        wire.stream(request, answer)
    wire.end(request)
'''
DONE = {"status": "succeeded"}


class Clock:
    """A clock on which waiting takes no time."""

    def __init__(self):
        self.time = 1000.0
        self.longest_sleep = 0.0

    def now(self):
        return self.time

    async def sleep(self, seconds):
        self.longest_sleep = max(self.longest_sleep, seconds)
        self.time += seconds


def running(number=0, **wishes):
    return {"status": "running", "plugin_state": {"id": number}, **wishes}


@pytest.fixture(scope="module")
def polled(shared_plugins):
    """Run a model plugin that is polled, and ask it for as many results as are given."""
    (shared_plugins / "echo_model" / "main.py").write_text(POLLED)
    with asyncio.Runner() as runner:
        host = PluginHost(shared_plugins / "echo_model", credentials={"key": "k"})
        runner.run(host.start())

        async def steps(results, clock, **fields):
            message = {"role": "user", "content": json.dumps(results)}
            request = LLMRequest(model="echo-2", messages=[message], **fields)
            return [step async for step in host.poll_llm(request, clock=clock)]

        def poll(*results, clock=None, **fields):
            return runner.run(steps(results, clock or Clock(), **fields))

        yield poll
        runner.run(host.stop())


def test_an_answer_is_asked_for_until_it_is_there(polled):
    clock = Clock()
    first, second, last = polled(
        running(1), running(2, next_check_after_seconds=7), DONE, clock=clock
    )
    assert (first.status, first.attempt, first.wait_seconds) == ("running", 0, 1)
    assert (second.attempt, second.wait_seconds) == (1, 7)
    assert (last.status, last.attempt, last.wait_seconds) == ("succeeded", 2, 0)
    assert last.result["usage"]["total_tokens"] == 15
    assert json.loads(last.result["message"]["content"])["states"] == [{"id": 1}, {"id": 2}]
    assert clock.now() == 1008
    assert clock.longest_sleep == 1  # a user who stops the run is seen that soon


def test_a_start_asks_for_one_piece_with_the_schema_and_no_tools(polled):
    schema = {"type": "object", "properties": {}}
    [done] = polled(DONE, json_schema=schema, stop=["END"], parameters={"effort": "low"})
    start = json.loads(done.result["message"]["content"])["start"]
    assert (start["stream"], start["json_schema"], start["tools"]) == (False, schema, [])
    assert (start["stop"], start["model_parameters"]) == (["END"], {"effort": "low"})
    assert start["credentials"]["key"] == "k"


@pytest.mark.parametrize(("wished", "waited"), [(None, 1), (1, 1), (30, 30), (31, 30), (9999, 30)])
def test_waits_stay_between_one_and_thirty_seconds(polled, wished, waited):
    first, _ = polled(running(next_check_after_seconds=wished), DONE)
    assert first.wait_seconds == waited


def test_two_hours_are_the_most(polled):
    clock = Clock()
    with pytest.raises(PollingError, match="LLM polling timed out"):
        polled(*[running(next_check_after_seconds=30)] * 300, clock=clock)
    assert clock.now() == 1000 + 7200


def test_two_hundred_and_forty_questions_are_the_most(polled):
    clock = Clock()
    with pytest.raises(PollingError, match="LLM polling exceeded max attempts"):
        polled(*[running()] * 300, clock=clock)
    assert clock.now() == 1000 + 240


@pytest.mark.parametrize(
    ("wishes", "seconds", "problem"),
    [
        ({"expires_after_seconds": 5, "next_check_after_seconds": 9}, 5, "timed out"),
        ({"expires_after_seconds": 99_999, "next_check_after_seconds": 30}, 7200, "timed out"),
        ({"max_attempts": 3}, 3, "exceeded max attempts"),
        ({"max_attempts": 9_999}, 240, "exceeded max attempts"),
    ],
)
def test_a_plugin_can_shorten_the_limits_and_not_lengthen_them(polled, wishes, seconds, problem):
    clock = Clock()
    with pytest.raises(PollingError, match=problem):
        polled(*[running(**wishes)] * 300, clock=clock)
    assert clock.now() == 1000 + seconds


def test_each_answer_says_anew_how_long_it_may_be_asked_for(polled):
    clock = Clock()
    results = [running(expires_after_seconds=5, next_check_after_seconds=4)] * 3
    with pytest.raises(PollingError, match="timed out"):
        polled(*results, clock=clock)
    assert clock.now() == 1005  # and none can be later than the first


def test_a_failure_is_told_in_the_plugins_words(polled):
    with pytest.raises(PollingError, match=r"^the budget is gone$"):
        polled(running(), {"status": "failed", "error": "the budget is gone"})


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({"raise": "no such job"}, "ValueError: no such job"),
        ({"silent": True}, "no polling result received from plugin"),
        ({"status": "running"}, "PluginState|plugin_state"),
        ({"status": "lost"}, "oneof"),
    ],
)
def test_what_is_no_polling_result_ends_the_wait(polled, answer, problem):
    with pytest.raises(Exception, match=problem):
        polled(running(), answer)


async def test_the_limits_are_settings_and_the_machines_clock_the_default(shared_plugins):
    (shared_plugins / "echo_model" / "main.py").write_text(POLLED)
    limits = PollingLimits(min_interval_seconds=0.01, max_interval_seconds=0.01, max_attempts=2)
    settings = HostSettings(polling=limits)

    async with PluginHost(shared_plugins / "echo_model", settings=settings) as host:
        message = {"role": "user", "content": json.dumps([running()] * 5)}
        with pytest.raises(PollingError, match="exceeded max attempts"):
            [step async for step in host.poll_llm(LLMRequest(model="m", messages=[message]))]


@pytest.mark.parametrize("slowness", [4000, 8000], ids=["in the pause", "in the start itself"])
def test_a_start_that_takes_too_long_is_the_end(polled, slowness):
    class LateClock(Clock):
        def now(self):
            self.time += slowness
            return self.time

    with pytest.raises(PollingError, match="LLM polling timed out"):
        polled(running(), clock=LateClock())
