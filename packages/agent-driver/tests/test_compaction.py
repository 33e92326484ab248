"""Runs that outgrow what a model reads, as drivers play them."""

import asyncio
import json

import pytest

from agent_driver import adrive
from agent_loop import (
    AgentRun,
    CompactedWindow,
    Finished,
    Message,
    RunCompacted,
    ToolCallEnded,
    Usage,
    Window,
)
from agent_tooling import Tool
from run_log import RunFile, RunLog, list_runs


QUESTION = {"role": "user", "content": "Which number is it?"}


def look(number: int) -> str:
    """Look."""
    return f"{number} " * 1_500


class Model:
    """A model that asks for a tool round after round, and sums up when it is asked to."""

    def __init__(self, rounds=20):
        self.rounds = rounds
        self.requests = []

    def __call__(self, call):
        self.requests.append(call)
        if call.is_compaction:
            yield {"text": "It is 7.", "usage": {"input_tokens": 50}}
        elif call.round <= self.rounds:
            written = {"call_id": f"c{call.round}", "name": "look"}
            yield {"tool_calls": [written | {"arguments": json.dumps({"number": call.round})}]}
        else:
            yield "It is 7."


class OfAPI(Model):
    """A model whose API makes conversations shorter."""

    def compact(self, call):
        assert call.is_compaction
        short = Message(role="assistant", opaque_body={"responses_output": [len(call.messages)]})
        return CompactedWindow(messages=(QUESTION, short), usage=Usage(input_tokens=3))


class OfAsyncAPI(OfAPI):
    async def compact(self, call):
        await asyncio.sleep(0)
        return super().compact(call)


class OfGateway(Model):
    def compact(self, _):
        raise ConnectionError("404")


@pytest.fixture
def long_run():
    return AgentRun([QUESTION], maximum_iterations=50, window=Window(tokens=12_000))


def only(events, kind):
    return [event for event in events if isinstance(event, kind)]


def test_a_summary_is_had_from_the_model_and_shown_to_nobody(play, long_run):
    model = Model()
    events = play(long_run, model, [look])
    compacted = only(events, RunCompacted)
    assert {event.kind for event in compacted} == {"summary"}
    assert only(events, Finished)[0].usage.input_tokens == 50 * len(compacted)
    assert "".join(getattr(event, "text", "") for event in events).count("It is 7.") == 2
    assert "It is 7." in model.requests[-1].messages[1].content


def test_results_that_are_sent_no_more_leave_room_for_new_ones(play, long_run):
    events = play(long_run, Model(rounds=20), [look], result_characters=400_000)
    assert not any("left out" in event.result.content for event in only(events, ToolCallEnded))


def test_what_a_tool_pins_stays(play):
    model = Model()
    tool = Tool.from_function(look)
    pinned = Tool(
        name="look",
        description="Look.",
        parameters=tool.parameters,
        function=lambda number: f"pinned {number}",
        is_pinned=True,
    )
    play(AgentRun([QUESTION], maximum_iterations=90, window=Window(tokens=2_000)), model, [pinned])
    told = [m.content for m in model.requests[-1].messages if getattr(m, "role", "") == "tool"]
    assert told == [f"pinned {number}" for number in range(1, 21)]


def test_a_model_whose_api_makes_conversations_shorter_is_asked_for_that(play, long_run):
    model = OfAPI()
    events = play(long_run, model, [look])
    assert {event.kind for event in only(events, RunCompacted)} == {"api"}
    assert not any(request.is_compaction for request in model.requests)
    assert model.requests[-1].messages[1].opaque_body["responses_output"][0] > 3


async def test_an_api_that_has_to_be_awaited_is(long_run):
    events = [event async for event in adrive(long_run, OfAsyncAPI(), [look])]
    assert {event.kind for event in only(events, RunCompacted)} == {"api"}


def test_where_the_api_cannot_the_model_is_asked_for_a_summary(play, long_run, caplog):
    model = OfGateway()
    events = play(long_run, model, [look])
    assert {event.kind for event in only(events, RunCompacted)} == {"summary"}
    assert "404" in caplog.text


def test_the_log_tells_of_it_and_of_one_break_of_the_prefix(play, long_run, tmp_path):
    events = play(long_run, Model(), [look], log=RunLog(tmp_path))
    [summary] = list_runs(tmp_path)
    file = RunFile(summary.path)
    records = [record for record in file.iter_records() if record["type"] == "compaction"]
    compacted = only(events, RunCompacted)
    assert [record["kind"] for record in records] == ["summary"] * len(compacted)
    assert [record["replaced"] for record in records] == [event.replaced for event in compacted]
    requests = list(file.iter_requests())
    assert len([request for request in requests if request.dropped]) == len(compacted)
    assert file.problems == ()
