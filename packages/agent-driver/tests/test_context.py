"""What the functions of tools are given beside the model's arguments."""

import asyncio
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import pytest
from scripted import Script, as_tool, ask, use

from agent_driver import drive
from agent_loop import AgentRun, ToolCallEnded
from agent_tooling import Context, Tool, tool


@dataclass
class Database:
    url: str


class Replica(Database):
    pass


class Reads(Protocol):
    def read(self) -> str: ...


@runtime_checkable
class Has(Protocol):
    url: str


@tool
def look_up(context: Context[Database], key: str) -> str:
    """Look up a key."""
    return f"{context.deps.url}/{key} {context.tool} {context.call_id} {context.attempt}"


@tool(name="alook_up")
async def alook_up(context: Context[Database], key: str) -> str:
    """Look up a key."""
    return look_up.function(context, key)


KEY = '{"key": "k"}'


def results(events):
    return {e.call.call_id: e.result for e in events if isinstance(e, ToolCallEnded)}


@pytest.mark.parametrize("deps", [Database("db"), Replica("db")])
@pytest.mark.parametrize("made", [look_up, alook_up])
def test_a_tool_gets_the_dependencies_of_the_run_and_who_has_called_it(play, run, made, deps):
    events = play(run, Script(ask(use(made.name, KEY, "c7")), "So."), [made], deps=deps)
    assert results(events)["c7"].content == f"db/k {made.name} c7 1"


def test_a_tool_that_was_found_by_a_search_is_called_by_its_own_name(play, run):
    call = use("call_tool", json.dumps({"name": "look_up", "arguments": {"key": "k"}}))
    model = Script(ask(call), "So.")
    events = play(run, model, [look_up], deps=Database("db"), tool_search=1)
    assert results(events)["c1"].content == "db/k look_up c1 1"


def test_agents_hand_the_dependencies_to_their_tools(play, run):
    inner = as_tool("inner", "Digs.", Script(ask(use("look_up", KEY)), "Dug."), [look_up])
    dig = ask(use("inner", '{"task": "Dig."}', "i1"))
    outer = as_tool("outer", "Finds.", (model := Script(dig, "Found.")), [inner])
    task = use("outer", '{"task": "Find."}')
    assert results(play(run, Script(ask(task), "So."), [outer], deps=Database("db")))
    assert model.requests[1].messages[-1].content == "Dug."


def takes(kind: Any) -> Tool:
    def work(context, number: int) -> str:
        """Work."""
        return f"{context} {number}"

    work.__annotations__["context"] = Context[kind]
    return Tool.from_function(work)


@pytest.mark.parametrize(
    ("kind", "deps", "message"),
    [
        (Database, None, r"deps: the tool work takes a Context\[Database\], got none"),
        (Database, "db", r"deps: the tool work takes a Context\[Database\], got str"),
        (Replica, Database("db"), r"Context\[Replica\], got Database"),
        (None, "db", r"Context\[NoneType\], got str"),
        (Database | str, None, r"Context\[.*Database \| str\], got none"),
        (Reads, None, r"Context\[Reads\], got none"),
        (list[str], None, r"Context\[list\], got none"),
        (Has, "db", r"Context\[Has\], got str"),
    ],
)
def test_dependencies_of_another_type_are_refused_by_the_name_of_the_tool(
    play, run, kind, deps, message
):
    made, model = takes(kind), Script("never")
    for tools in ([made], [as_tool("helper", "Helps.", Script(), [made])]):
        with pytest.raises(TypeError, match=message):
            play(run, model, tools, deps=deps)
    assert model.requests == []


@pytest.mark.parametrize(
    ("kind", "deps"),
    [
        (object, None),
        (Any, None),
        (None, None),
        (Any, 3),
        (Database | None, None),
        (list[str] | None, None),
        (list[str], ["a"]),
        (Reads, "cannot be told"),
        (Has, Database("db")),
        (Callable[[], str], print),
    ],
)
def test_dependencies_that_may_be_of_the_type_are_taken(run, kind, deps):
    drive(run, Script(), [takes(kind)], deps=deps).close()


def test_a_long_function_sees_that_it_was_given_up(play, run, clock):
    seen = threading.Event()

    @tool(timeout=0.15)
    def work(context: Context) -> None:
        """Work."""
        assert not context.is_cancelled()
        clock.move(0.15)
        while not context.is_cancelled():
            time.sleep(0.005)
        seen.set()

    assert results(play(run, Script(ask(use("work")), "So."), [work]))["c1"].is_unfinished
    assert seen.wait(60)


def test_time_goes_on_while_somebody_looks_at_an_event(run):
    seen = threading.Event()

    @tool(timeout=0.1)
    def work(context: Context) -> None:
        """Work."""
        while not context.is_cancelled():
            time.sleep(0.005)
        seen.set()

    def quick() -> None:
        """Be quick."""

    calls = ask(use("work"), use("quick", call_id="c2"))
    events = drive(run, Script(calls, "So."), [work, quick])
    next(event for event in events if isinstance(event, ToolCallEnded))
    assert seen.wait(60)
    assert results(events)["c1"].is_unfinished


@pytest.mark.parametrize("is_agent", [False, True])
def test_a_function_sees_that_its_run_was_cancelled(play, run, is_agent):
    cancelled, seen = threading.Event(), threading.Event()

    def work(context: Context) -> str:
        """Work."""
        cancelled.set()
        if context.is_cancelled():  # Before the run itself has noticed.
            seen.set()
        return "done"

    tools, call = [work], use("work")
    if is_agent:
        tools = [as_tool("helper", "Helps.", Script(ask(call), "So."), tools)]
        call = use("helper", '{"task": "Help."}')
    assert play(run, Script(ask(call), "So."), tools, cancelled=cancelled)
    assert seen.wait(60)


def test_whoever_closes_the_generator_is_seen_too():
    begun, seen = threading.Event(), threading.Event()

    def work(context: Context) -> None:
        """Work."""
        begun.set()
        while not context.is_cancelled():
            time.sleep(0.005)
        seen.set()

    def quick() -> None:
        """Be quick."""
        begun.wait(60)

    calls = ask(use("work"), use("quick", call_id="c2"))
    events = drive(AgentRun([], maximum_iterations=2), Script(calls), [work, quick])
    while not isinstance(next(events), ToolCallEnded):
        pass
    events.close()
    assert seen.wait(60)


def test_an_async_function_may_hand_its_context_on(play, run):
    async def work(context: Context) -> str:
        """Work."""
        await asyncio.sleep(0)
        return f"{context.attempt} {context.deps}"

    events = play(run, Script(ask(use("work")), "So."), [work], deps="d", tool_timeout=5)
    assert results(events)["c1"].content == "1 d"
