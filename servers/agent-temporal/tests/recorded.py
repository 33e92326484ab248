"""The agents whose runs are recorded in `histories`, and played again. They stay as they are."""

import asyncio

from served import adding, asking, call, calls, paying, script, searching

from agent_driver import Agent


MOST_HISTORY = 40
"""From how many events on the recorded run `long` goes on in a new history."""


async def hang() -> str:
    """Hang."""
    await asyncio.sleep(60)
    return "hung"


def build_agents():
    """Return the agents."""
    hanging = Agent(script(calls(call("hang")), "Done."), [hang])
    return {
        "adding": adding(),
        "asking": asking(),
        "paying": paying(),
        "hanging": hanging,
        "long": searching(4),
    }
