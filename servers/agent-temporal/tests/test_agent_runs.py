"""Runs of agents that workflows play."""

import asyncio
from collections import Counter

import pytest
from served import adding, asking, call, calls, engine, paying, script, searching

from agent_driver import Agent, agent_tool
from agent_server.executor import Approval
from agent_server.runs import RunFilter


YES = Approval(approved=True)

pytestmark = pytest.mark.usefixtures("temporal")


# What is told from time to time is told by no timer in such a test, however long a busy machine takes for a step.
SLOW = 0.01


def types(told):
    return [type_ for type_, _ in told]


async def test_an_agent_answers_and_its_events_tell_how(tmp_path, temporal):
    temporal.pace = SLOW
    async with engine(tmp_path, {"adding": adding()}) as here:
        run_id = await here.start("adding")
        run = await here.ends(run_id)
        told = await here.events(run_id)

    assert (run.status, run.result.output) == ("succeeded", "It was five. ")
    assert types(told)[:5] == [
        *("run_started", "model_started", "model_ended", "tool_started", "tool_started")
    ]
    assert [data["text"] for type_, data in told if type_ == "text"] == ["It ", "was ", "five. "]
    assert types(told)[-2:] == ["model_ended", "run_succeeded"]
    assert temporal.executions[run_id][0].result == {"abandoned": [], "status": "succeeded"}
    # Of calls that are made at once, the first carries what was told, and the others wait until it is stored.
    assert {name: len(made) for name, made in temporal.made.items()} == {
        "begin": 1,
        "make-step": 4,
        "tell": 1,
        "end": 1,
    }


async def test_what_agents_that_are_called_as_tools_do_is_told_with_their_path(tmp_path):
    async with engine(tmp_path, {"asking": asking()}) as here:
        run_id = await here.start("asking")
        run = await here.ends(run_id)
        told = await here.events(run_id)

    assert run.result.output == "Outer says so. "
    within = [data["text"] for type_, data in told if type_ == "text" and data["path"] == ["c1"]]
    assert within == ["Inner ", "says ", "so. "]


async def test_what_calls_at_once_carry_grows_with_their_number_only(tmp_path, temporal):
    def look(text: str) -> str:
        """Look."""
        return text[:1]

    made = [call("look", f"c{number}", text="x" * 1000) for number in range(30)]
    async with engine(tmp_path, {"agent": Agent(script(calls(*made), "Done."), [look])}) as here:
        run = await here.ends(await here.start("agent"))
    carried = sum(len(one.told.events) for [one, *_] in temporal.made["make-step"])

    assert run.status == "succeeded"
    # The start of the round's calls once, and then their ends.
    assert carried <= 2 * 30 + 4


async def test_what_was_about_to_be_told_when_a_run_ends_is_told_with_its_end(tmp_path, temporal):
    def quick() -> str:
        """Be quick."""
        return "quick"

    async def slow() -> str:
        """Be slow."""
        await asyncio.sleep(0.2)
        return "slow"

    temporal.pace = SLOW
    model = script(calls(call("quick"), call("slow", "c2")), "Done.")
    async with engine(tmp_path, {"agent": Agent(model, [quick, slow])}) as here:
        run_id = await here.start("agent")
        run = await here.ends(run_id)
        told = await here.events(run_id)

    assert run.status == "succeeded"
    assert types(told).count("tool_ended") == 2
    assert len(temporal.made["tell"]) == 1


async def test_a_run_waits_for_a_person_and_goes_on(tmp_path):
    async with engine(tmp_path, {"paying": paying()}) as here:
        waiting = await here.rests(await here.start("paying"))
        answered, is_new = await here.answer(waiting, approvals={"c1": YES})
        run = await here.ends(waiting.run_id)
        told = await here.events(waiting.run_id)

    assert (waiting.status, is_new, answered.waiting_for) == ("waiting", True, None)
    assert (run.status, run.result.output) == ("succeeded", "All is paid. ")
    assert [data["output"] for type_, data in told if type_ == "tool_ended"] == ["paid 5"]
    rounds = [data["round"] for type_, data in told if type_ == "model_started"]
    assert rounds == [1, 2]


async def test_a_long_run_goes_on_in_a_new_history(tmp_path, temporal):
    temporal.weight = 600

    async def pay(euros: int) -> str:
        """Pay somebody, and say something to the run."""
        if euros in {3, 9}:
            [run] = (await here.runs.list(RunFilter(), tenant="ada", limit=1)).runs
            await here.runs.steer(run.run_id, f"told {euros}", tenant="ada")
        return f"paid {euros}"

    async with engine(tmp_path, {"long": searching(12).with_(tools=[pay])}) as here:
        run_id = await here.start("long")
        run = await here.ends(run_id)
        told = await here.events(run_id)
        state = await here.runs.read_state(run_id, tenant="ada")

    # It was told something in two of the histories, and has heard it once.
    steered = [(one["round"], one["messages"]) for type_, one in told if type_ == "steered"]
    assert steered == [(5, ["told 3"]), (11, ["told 9"])]
    assert [state.count(b'"told %d"' % euros) for euros in (3, 9)] == [1, 1]
    assert run.result.output == "All is found. "
    assert run.attempt == 1
    assert len(temporal.executions[run_id]) > 2
    keys = [step.key for step, _ in temporal.made["make-step"]]
    assert len(keys) == len(set(keys)) == 25
    assert types(told).count("tool_ended") == 12


async def test_what_was_told_in_another_order_is_told_once_in_a_new_history(tmp_path, temporal):
    temporal.pace, temporal.weight = 1000, 600

    async def wait(seconds: float) -> str:
        """Wait."""
        await asyncio.sleep(seconds)
        return "waited"

    # No two rounds are alike, which would be a loop.
    asked = [
        calls(
            call("wait", f"a{number}", seconds=0.1 + number / 1e3),
            call("wait", f"b{number}", seconds=number / 1e3),
            call("research", f"r{number}", task=f"Why {number}?"),
        )
        for number in range(4)
    ]
    inner = Agent(script(calls(call("wait", seconds=0.05)), "Inner."), [wait])
    research = agent_tool("research", "Looks.", inner)
    agent = Agent(script(*asked, "Done."), [wait, research], maximum_iterations=8)
    async with engine(tmp_path, {"agent": agent}) as here:
        run_id = await here.start("agent")
        run = await here.ends(run_id)
        told = await here.events(run_id)

    assert run.result.output == "Done. "
    assert len(temporal.executions[run_id]) > 2
    assert count(told, "tool_started") == count(told, "tool_ended")
    assert set(count(told, "tool_ended").values()) == {1}
    assert len(count(told, "tool_ended")) == 16
    assert types(told).count("model_ended") == 13


def count(told, kind):
    return Counter((*data["path"], data["call_id"]) for type_, data in told if type_ == kind)
