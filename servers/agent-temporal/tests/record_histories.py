"""Record the histories that `test_replays.py` plays again, from a real Temporal: they are the version before for whatever is changed later.

By hand, where `/tmp/temporal/bin/server` is Temporal's server (the session `temporal` builds one):

    TEMPORAL_SERVER=/tmp/temporal/bin/server python tests/record_histories.py

A change that cannot play them any more needs a new number in `_names.py`, and then new histories.
"""

import asyncio
import sys
import tempfile
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from recorded import MOST_HISTORY, build_agents
from served import Whole, engine
from temporalio.client import Client

from agent_server.executor import Approval
from agent_temporal._names import queue_of  # noqa: PLC2701
from agent_temporal._players import add_player, find_player  # noqa: PLC2701 - histories that end early


HERE = Path(__file__).parent
NAMESPACE = "recorded"
sys.path.insert(0, str(HERE.parents[2] / "checks" / "temporal"))

from temporal_server import TemporalServer  # noqa: E402 - from the folder above


@asynccontextmanager
async def served(folder, url, executor, *, most_history=4000):
    """Serve agents whose workflows go on in a new history from so many events on."""
    async with engine(folder, executor, engine=url, stop_seconds=1) as here:
        server = here.runs._workflows._server
        for queue in (queue_of(server.executor, one) for one in server.versions):
            player = find_player(NAMESPACE, queue)
            add_player(NAMESPACE, queue, replace(player, most_history=most_history))
        yield here


async def record(target, url, folder):
    """Record each kind of run."""
    client = await Client.connect(target, namespace=NAMESPACE)

    async def write(run_id, *names):
        handle = client.get_workflow_handle(run_id)
        execution = (await handle.describe()).run_id
        for name in reversed(names):
            one = client.get_workflow_handle(run_id, run_id=execution)
            history = await one.fetch_history()
            (HERE / "histories" / f"{name}.json").write_text(history.to_json() + "\n")
            started = history.events[0].workflow_execution_started_event_attributes
            execution = started.continued_execution_run_id
        assert not execution, f"expected {len(names)} histories"

    async with served(folder / "1", url, build_agents()) as here:
        run_id = await here.start("asking")
        await here.ends(run_id)
        await write(run_id, "parallel")

        waiting = await here.rests(await here.start("paying"))
        await here.answer(waiting, approvals={"c1": Approval(approved=True)})
        await here.ends(waiting.run_id)
        await write(waiting.run_id, "answered")

        run_id = await here.start("hanging")
        await asyncio.sleep(3)  # It hangs by then.
        await here.runs.cancel(run_id, tenant="ada")
        await here.ends(run_id)
        await asyncio.sleep(1)
        await write(run_id, "cancelled")

    async with served(folder / "2", url, build_agents(), most_history=MOST_HISTORY) as here:
        run_id = await here.start("long")
        await here.ends(run_id)
        await write(run_id, "continued_1", "continued_2")

    async with served(folder / "3", url, Whole()) as here:
        waiting = await here.rests(await here.start("wonder", question="?"))
        await here.answer(waiting, answer="Because.")
        await here.ends(waiting.run_id)
        await write(waiting.run_id, "whole")


def main():
    """Record all histories."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        server = TemporalServer(Path(folder))
        server.start()
        try:
            url = server.create(NAMESPACE)
            asyncio.run(record(server.target, url, Path(folder)))
        finally:
            server.kill()


if __name__ == "__main__":
    main()
