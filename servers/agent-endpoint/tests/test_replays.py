"""Runs that are cut off and go on at another server."""

import asyncio
import logging
from collections import Counter
from functools import partial

import pytest
from scripted import call, calls, engine

from agent_driver import Agent, agent_tool
from agent_server.runs import FINISHED, NewRun


class Cut:
    """A place at which the first attempt hangs until its server stops."""

    def __init__(self):
        self.reached = asyncio.Event()
        self.is_cut = False
        self.done = Counter()

    async def here(self):
        if not self.is_cut:
            self.is_cut = True
            self.reached.set()
            await asyncio.sleep(600)


async def pause():
    """Let 0.2 s pass in which this process does not stand still: events are stored within 100 ms."""
    for _ in range(20):
        await asyncio.sleep(0.01)


async def play(folder, agents, cut, **settings):
    """Run an agent, whose server stops at the cut, to its end at another; return the run and its events."""
    async with engine(folder, agents, **settings) as (runs, executor):
        request = executor.check("agent", {"input": "?"})
        run, _ = await runs.create(NewRun(tenant="t", agent="agent", request=request))
        async with asyncio.timeout(600):
            await cut.reached.wait()
        await pause()
    async with engine(folder, agents, **settings) as (runs, _):
        watched = runs.watch_events(run.run_id, tenant="t")
        events = [(event.type, event.data) async for batch in watched for event in batch]
        return await runs.get(run.run_id, tenant="t"), events


def texts(events, path=()):
    return [data["text"] for type_, data in events if type_ == "text" and data["path"] == [*path]]


async def test_a_call_of_a_model_that_was_cut_off_is_made_again_and_its_pieces_are_void(tmp_path):
    cut = Cut()

    async def model(_asked):
        cut.done["model"] += 1
        yield "It "
        await cut.here()
        yield "is four."

    run, events = await play(tmp_path, {"agent": Agent(model)}, cut)

    assert (run.status, run.attempt, cut.done["model"]) == ("succeeded", 2, 2)
    started = [data["again"] for type_, data in events if type_ == "model_started"]
    assert started == [False, True]
    assert texts(events) == ["It ", "It ", "is four."]
    assert [type_ for type_, _ in events].count("model_ended") == 1


async def test_what_was_recorded_is_neither_done_nor_told_again(tmp_path):
    cut = Cut()

    async def model(asked):
        cut.done[f"model {asked.round}"] += 1
        if asked.round == 1:
            yield "<think>Hm.</think>I look. "
            yield {"files": [{"media_type": "image/png", "data": b"x"}]}
            yield calls(call("look"), call("hang", "c2"))
        else:
            yield "Done."

    async def look() -> str:
        """Look."""
        cut.done["look"] += 1
        return "seen"

    async def hang() -> str:
        """Hang."""
        cut.done["hang"] += 1
        await pause()
        await cut.here()
        return "hung"

    agent = Agent(model, [look, hang], emit_intermediate_thoughts=True)
    run, events = await play(tmp_path, {"agent": agent}, cut)

    assert run.result.output.endswith("Done.")
    assert cut.done == {"model 1": 1, "look": 1, "hang": 2, "model 2": 1}
    types = Counter(type_ for type_, _ in events)
    assert types["model_started"] == types["model_ended"] == 2
    assert types["tool_started"] == types["tool_ended"] == 2
    assert (types["reasoning"], types["file"]) == (1, 1)
    assert "".join(texts(events)).count("I look.") == 1


async def test_what_a_run_was_told_it_hears_once_however_it_is_cut(tmp_path):
    cut, heard = Cut(), []

    async def model(asked):
        heard.append([one.content for one in asked.messages[1:]])
        if asked.round < 3:
            yield calls(call("look", f"c{asked.round}"))
        else:
            yield "Done."

    async def look() -> str:
        """Look."""
        cut.done["look"] += 1
        await cut.tell({1: "first", 2: "second", 3: "third"}[cut.done["look"]])
        if cut.done["look"] == 2:
            await cut.here()
        return "seen"

    agents = {"agent": Agent(model, [look])}
    async with engine(tmp_path, agents) as (runs, executor):
        request = executor.check("agent", {"input": "?"})
        run, _ = await runs.create(NewRun(tenant="t", agent="agent", request=request))

        cut.tell = partial(runs.steer, run.run_id, tenant="t")
        async with asyncio.timeout(600):
            await cut.reached.wait()
    async with engine(tmp_path, agents) as (runs, _):
        cut.tell = partial(runs.steer, run.run_id, tenant="t")
        watched = runs.watch_events(run.run_id, tenant="t")
        events = [(event.type, event.data) async for batch in watched for event in batch]

    steered = [(one["round"], one["messages"]) for type_, one in events if type_ == "steered"]
    assert steered == [(2, ["first"]), (3, ["second", "third"])]
    assert heard[-1] == ["", "seen", "first", "", "seen", "second", "third"]


async def test_agents_that_are_called_as_tools_go_on_as_well(tmp_path):
    cut = Cut()

    async def inner(asked):
        cut.done[f"inner {asked.round}"] += 1
        if asked.round == 1:
            yield calls(call("look"))
        else:
            yield "In"
            await cut.here()
            yield "ner."

    async def look() -> str:
        """Look."""
        cut.done["look"] += 1
        return "seen"

    async def outer(asked):
        cut.done[f"outer {asked.round}"] += 1
        yield calls(call("ask", task="?")) if asked.round == 1 else "Outer."

    tool = agent_tool("ask", "Asks.", Agent(inner, [look]))
    run, events = await play(tmp_path, {"agent": Agent(outer, [tool])}, cut)

    assert run.result.output == "Outer."
    assert cut.done == {"outer 1": 1, "inner 1": 1, "look": 1, "inner 2": 2, "outer 2": 1}
    within = [data for type_, data in events if type_ == "model_started" and data["path"]]
    assert [(one["round"], one["again"]) for one in within] == [(1, False), (2, False), (2, True)]
    assert texts(events, ["c1"]) == ["In", "In", "ner."]
    assert [type_ for type_, _ in events].count("tool_started") == 2


async def test_a_run_that_tells_too_much_fails_by_that(tmp_path, caplog):
    caplog.set_level(logging.CRITICAL)

    async def model(_asked):
        for _ in range(100):
            yield "more "

    async with engine(tmp_path, {"agent": Agent(model)}, max_events=20) as (runs, executor):
        request = executor.check("agent", {"input": "?"})
        run, _ = await runs.create(NewRun(tenant="t", agent="agent", request=request))
        async for _ in runs.watch_events(run.run_id, tenant="t"):
            pass
        ended = await runs.get(run.run_id, tenant="t")

    assert ended.status in FINISHED
    assert ended.result.error_type == "event_limit"


@pytest.mark.parametrize("limit", [12, 13])
async def test_a_limit_that_is_reached_where_a_call_begins_is_told_as_that(tmp_path, limit, caplog):
    caplog.set_level(logging.CRITICAL)

    async def model(asked):
        yield calls(call("look", f"c{asked.round}"))

    def look() -> str:
        """Look."""
        return ""

    async with engine(tmp_path, {"agent": Agent(model, [look])}, max_events=limit) as (runs, _):
        request = {"input": "?"}
        run, _ = await runs.create(NewRun(tenant="t", agent="agent", request=request))
        async for _ in runs.watch_events(run.run_id, tenant="t"):
            pass
        ended = await runs.get(run.run_id, tenant="t")

    assert ended.result.error_type == "event_limit"
