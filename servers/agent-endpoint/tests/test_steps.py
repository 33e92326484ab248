"""Steps that are made where their run is played."""

from itertools import groupby
from traceback import walk_stack

from scripted import asked, call, calls, run

from agent_driver import Agent, Guardrails
from agent_server.logs import read_about


async def test_driver_and_server_make_a_step_between_themselves_and_a_tools_lines_name_it(
    tmp_path,
):
    led, named = {}, []

    def note(name):
        frames = (frame.f_globals["__name__"] for frame, _ in walk_stack(None))
        ours = [one.partition(".")[0] for one in frames if one.startswith("agent_")]
        led[name] = [package for package, _ in groupby(ours)][:3]
        named.append((name, read_about().get("tool"), read_about().get("agent")))

    async def model(asked):
        note("model")
        yield "Done." if asked.round == 2 else calls(call("look"))

    async def look() -> str:
        """Look."""
        note("look")
        return "seen"

    guardrails = Guardrails(input=[lambda _: note("guardrail")])
    agent = Agent(model, [look], guardrails=guardrails)
    async with asked(tmp_path, {"agent": agent}) as client:
        await run(client, "agent", "?")

    between = ["agent_driver", "agent_server", "agent_driver"]
    assert (led["guardrail"], led["model"]) == (between, between)
    assert named == [
        ("guardrail", None, "agent"),
        ("model", None, "agent"),
        ("look", "look", "agent"),
        ("model", None, "agent"),
    ]
