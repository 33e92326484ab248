"""The same run has the same events on both engines, but for ids and times."""

import re
import sys
from collections import defaultdict

from agent_driver import Agent, agent_tool
from agent_server.executor import Approval, InputAnswer
from agent_server.runs import NewAnswer
from long_agents import engine, events, finish, rests, start


def look(place: str) -> str:
    """Look somewhere."""
    if place == "nowhere":
        raise ValueError("there is nothing")
    return f"It is dry in {place}."


def pay(euros: int) -> str:
    """Pay somebody."""
    return f"paid {euros}"


def call(call_id, name, arguments):
    return {"call_id": call_id, "name": name, "arguments": arguments}


def script(*rounds):
    """Return a model that says one thing after the other, by the number of its answers before."""

    async def model(asked):
        made = sum(getattr(one, "role", None) == "assistant" for one in asked.messages)
        for piece in rounds[min(made, len(rounds) - 1)]:
            yield piece
        yield {"usage": {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}}

    return model


helper = Agent(
    script(
        ["<think>Where?</think>", {"tool_calls": [call("h1", "look", '{"place": "Berne"}')]}],
        ["It is ", "dry."],
    ),
    [look],
)
agent = Agent(
    script(
        [
            "<think>Let me see.</think>",
            {
                "tool_calls": [
                    call("c1", "look", '{"place": "Rome"}'),
                    call("c2", "look", '{"place": "nowhere"}'),
                    call("c3", "ask", '{"task": "Look in Berne."}'),
                    call("c4", "unknown", "{}"),
                ]
            },
        ],
        [
            {
                "tool_calls": [
                    call("c5", "pay", '{"euros": 5}'),
                    call("c6", "look", '{"place": "Bonn"}'),
                ]
            }
        ],
        ["\n\nAll ", "is ", "paid."],
    ),
    [look, pay, agent_tool("ask", "Ask the helper.", helper)],
    approval_rules={"pay": "always"},
)


async def play(folder, url):
    """Return what each agent of the run has told, in order, without ids and times: agents that work at the same time tell it in any."""
    async with engine(folder, url, {"agent": agent}) as runs:
        run_id = await start(runs, "agent")
        waits = await rests(runs, run_id)
        asked = waits.waiting_for
        approvals = {asked.request.approvals[0].call_id: Approval(approved=True)}
        new = NewAnswer(wait_id=asked.wait_id, answer=InputAnswer(approvals=approvals))
        await runs.answer(run_id, new, tenant="ada")
        run = await finish(runs, run_id)
        told = await events(runs, run_id)
    assert run.status == "succeeded", run
    assert run.result.output.strip() == "All is paid."
    found = defaultdict(list)
    for type_, data in told:
        text = re.sub(r"[0-9a-f]{32}", "ID", repr(data))
        found[tuple(data.get("path", ()))].append((type_, text))
    return found


async def test_the_same_run_has_the_same_events_on_both_engines(tmp_path, engine_url):
    on_tables = await play(tmp_path / "tables", "tables")
    on_temporal = await play(tmp_path / "temporal", engine_url)

    sys.stdout.write(f"{sum(map(len, on_tables.values()))} events\n")
    assert on_temporal == on_tables
    assert set(on_tables) == {(), ("c3",)}
