"""What many watchers and many runs cost a server: no thread, no file and no connection stays."""

import asyncio
import json
import time

import httpx
import psutil
import pytest


THREADS = 48  # 32 for work; the rest are those that DBOS and the process have of their own
TICK = """
import json, sys, time
for number in range(json.load(sys.stdin)["number"]):
    time.sleep(0.25)
    print(json.dumps({"time": time.time()}), flush=True)
"""


async def _watch(client, run_id):
    """Return how long each output took to come."""
    late = []
    async with client.stream("GET", f"/runs/{run_id}/events") as response:
        async for line in response.aiter_lines():
            value = json.loads(line[5:]).get("value") if line.startswith("data:") else None
            if value:
                late.append(time.time() - value["time"])
    return late


@pytest.fixture(scope="module")
def server(tmp_path_factory, module_server):
    folder = tmp_path_factory.mktemp("agents") / "tick"
    folder.mkdir()
    (folder / "main.py").write_text(TICK, encoding="utf-8")
    return module_server(folder, max_queued=1000)


@pytest.mark.parametrize(
    ("watchers", "outputs"), [(30, 4), pytest.param(100, 240, marks=pytest.mark.long)]
)
def test_each_of_many_watchers_has_each_event_soon_and_takes_no_thread(server, watchers, outputs):
    async def watch_all():
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(
            base_url=server.client.base_url, timeout=120, limits=limits
        ) as client:
            return await asyncio.gather(*(_watch(client, run_id) for _ in range(watchers)))

    run_id = server.submit("tick", {"number": outputs}).json()["run_id"]
    late = asyncio.run(watch_all())

    assert psutil.Process(server.process.pid).num_threads() <= THREADS
    assert [len(watched) for watched in late] == [outputs] * watchers
    assert max(map(max, late)) < 2


@pytest.mark.parametrize("runs", [4, pytest.param(300, marks=pytest.mark.long)])
def test_runs_leave_no_threads_files_or_connections(server, runs):
    process = psutil.Process(server.process.pid)

    def run(number):
        for run_id in [
            server.submit("tick", {"number": 0}).json()["run_id"] for _ in range(number)
        ]:
            assert server.follow(run_id)[-1][1]["status"] == "succeeded"
        return process.num_fds(), len(process.net_connections())

    files, connections = run(runs // 2)
    files_later, connections_later = run(runs // 2)

    assert process.num_threads() <= THREADS
    # The database's pool may still fill up, but not beyond its size.
    assert files_later <= files + 30
    assert connections_later <= connections + 10
