"""Runs that are cancelled while something is under way."""

import asyncio
import sys
import time
from contextlib import suppress

from temporalio.client import Client

from agent_driver import Agent
from long_agents import engine, events, finish, start


async def test_a_cancelled_run_ends_within_a_second_and_names_what_it_abandons(
    tmp_path, engine_url
):
    heard = []

    async def model(_asked):
        yield "I think"
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            heard.append(time.monotonic())
            raise

    async with engine(tmp_path, engine_url, {"slow": Agent(model)}, lease_seconds=3) as runs:
        run_id = await start(runs, "slow")
        async for batch in runs.watch_events(run_id, tenant="ada"):
            if batch[-1].type == "text":
                break
        asked_at = time.monotonic()
        await runs.cancel(run_id, tenant="ada", reason="no longer wanted")
        run = await finish(runs, run_id)
        took = time.monotonic() - asked_at
        target, namespace = engine_url.removeprefix("temporal://").split("/")
        client = await Client.connect(target, namespace=namespace)
        summary = await client.get_workflow_handle(run_id).result()
        told = await events(runs, run_id)
        async with asyncio.timeout(10):
            while not heard:  # noqa: ASYNC110 - the model's last word is no event
                await asyncio.sleep(0.05)

    sys.stdout.write(f"ended after {took:.2f} s, heard after {heard[0] - asked_at:.2f} s\n")
    assert (run.status, run.cancel_reason) == ("cancelled", "no longer wanted")
    assert took < 1
    assert summary == {"status": "cancelled", "abandoned": ["model:1"]}
    assert told[-1] == ("run_cancelled", {"reason": "no longer wanted"})
    # With the next heartbeat of its activity.
    assert heard[0] - asked_at < 3


async def test_a_run_that_waits_is_cancelled_from_outside(tmp_path, engine_url):
    def pay() -> str:
        """Pay."""
        return "paid"

    async def model(_asked):
        yield {"tool_calls": [{"call_id": "c1", "name": "pay", "arguments": "{}"}]}

    agent = Agent(model, [pay], approval_rules={"pay": "always"})
    async with engine(tmp_path, engine_url, {"paying": agent}) as runs:
        run_id = await start(runs, "paying")
        while (await runs.get(run_id, tenant="ada")).status != "waiting":  # noqa: ASYNC110 - no event of ours
            await asyncio.sleep(0.05)
        target, namespace = engine_url.removeprefix("temporal://").split("/")
        client = await Client.connect(target, namespace=namespace)
        with suppress(Exception):
            await client.get_workflow_handle(run_id).cancel()
        run = await finish(runs, run_id)

    assert run.status == "cancelled"
