"""Workflows that Temporal forgets at any moment: their runs go on from the recorded steps."""

import asyncio
from collections import Counter

from served import adding, call, calls, engine, eventually, script

from agent_driver import Agent, agent_tool


async def wait(seconds: float) -> str:
    """Wait."""
    await asyncio.sleep(seconds)
    return f"{seconds}"


def busy():
    """Return an agent that does much at once, some of which takes longer."""
    within = calls(call("wait", seconds=0.04), call("wait", "c3", seconds=0))
    research = agent_tool("research", "Looks.", Agent(script(within, "Inner."), [wait]))
    asked = calls(
        *(call("wait", seconds=0.06), call("wait", "c2", seconds=0)),
        call("research", "c4", task="Why?"),
    )
    return Agent(script(asked, "Outer says so."), [wait, research])


def own(told):
    """Return what a run's workflow tells itself."""
    types = {"model_ended", "tool_started", "tool_ended"}
    return Counter((type_, str(sorted(data.items()))) for type_, data in told if type_ in types)


async def play(folder, temporal, agent, cut):
    """Run an agent whose workflow hears nothing any more after so many activations, and is forgotten once its steps are made.

    Return the run, what it has told, and whether it was forgotten.
    """
    temporal.freeze_at = cut
    async with engine(folder, {"agent": agent}) as here:
        run_id = await here.start("agent")
        first = temporal.executions[run_id][0]
        await eventually(lambda: first.is_frozen or first.result)
        is_cut = first.is_frozen
        if is_cut:
            await eventually(lambda: all(one.task.done() for one in first.making.values()))
            temporal.freeze_at = 0
            await temporal.forget(run_id)
            temporal.begin("agent-run", run_id, first.queue, [run_id])
        run = await here.ends(run_id)
        return run, await here.events(run_id), is_cut


async def test_a_run_goes_on_wherever_its_workflow_is_lost(tmp_path, temporal):
    temporal.pace = 1000
    cut, is_cut = 0, True
    while is_cut:
        cut += 3
        run, told, is_cut = await play(tmp_path / str(cut), temporal, busy(), cut)

        assert run.result.output == "Outer says so. ", cut
        assert own(told).total() == 14, cut
    # On a busy machine a workflow hears of several things at once, of no fewer than these one after the other.
    assert cut > 6


async def test_what_is_told_in_order_is_told_once_wherever_the_workflow_is_lost(tmp_path, temporal):
    _, whole, _ = await play(tmp_path / "whole", temporal, adding(), 0)
    cut, is_cut = 0, True
    while is_cut:
        cut += 2
        run, told, is_cut = await play(tmp_path / str(cut), temporal, adding(), cut)

        assert run.status == "succeeded"
        assert own(told) == own(whole), cut
    assert cut > 5
