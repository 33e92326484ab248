"""A server in a process of its own, to be killed: `python dying_server.py DATABASE NAME` begins a run of three steps."""

import asyncio
import sys

from agents import Scripted, engine, start

from agent_server.executor import RunResult


async def three_steps(run):
    """Take three steps, the second of which takes longer than this server lives."""
    done = []
    for name in ("first", "second", "third"):

        async def work(name=name):
            await run.tell("begun", {"step": name})
            if name == "second" and run.attempt == 1:
                await asyncio.sleep(600)
            return name.encode()

        done.append((await run.step(name, work)).decode())
    return RunResult(status="succeeded", output=" ".join(done))


LEDGERED = Scripted(three_steps=three_steps)


async def serve(database, name):
    async with engine(database, LEDGERED, server_name=name) as runs:
        run_id = await start(runs, "three_steps")
        # An event is shown once it is stored.
        async for batch in runs.watch_events(run_id, tenant="ada"):
            if any(event.data.get("step") == "second" for event in batch):
                sys.stdout.write("begun second\n")
                sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
