"""Servers that are killed at any moment, with a ledger of what their steps did.

The short form runs always; `nox -s kills` makes sixty kills on each database, of one server and of two.
"""

import random
import sys
import threading
import time
from collections import Counter

import httpx
import pytest
from agents import PATIENCE

from processes import ServerProcess


# One for all, without TLS: each client reads the certificates of the machine otherwise. A server closes a connection
# that is idle for five seconds, perhaps as it is used again: none is kept.
UNKEPT = httpx.Limits(max_keepalive_connections=0)
CLIENT = httpx.Client(timeout=PATIENCE, trust_env=False, verify=False, limits=UNKEPT)
ROUNDS = 3
FINISHED = {"succeeded", "failed", "cancelled"}


@pytest.fixture(scope="module", autouse=True)
def _closed():
    """Close the client at the end."""
    yield
    CLIENT.close()


class Server:
    """A server that can be killed and started again."""

    def __init__(self, ledger, database, name):
        self._command = ["ledger_server.py", ledger, "--database", database, "--port", "0"]
        self._command += ["--server-name", name, "--lease-seconds", "0.6", "--max-attempts", "1000"]
        self._command += ["--unready-seconds", "0"]
        self.start()

    def start(self):
        self._process = ServerProcess(*self._command)
        self.url = self._process.read_line().split()[-1]
        assert self.url.startswith("http://"), self.url

    def kill(self):
        self._process.kill()

    def stop(self):
        return self._process.stop()


class Follower(threading.Thread):
    """A client that follows one run, and comes back to whichever server there is after the last event that it has."""

    def __init__(self, servers, run_id):
        super().__init__(daemon=True)
        self._servers = servers
        self._run_id = run_id
        self.numbers = []

    def run(self):
        while True:
            try:
                if self._read(random.choice(self._servers).url):
                    return
            except httpx.HTTPError:
                time.sleep(0.05)

    def _read(self, url):
        last = str(self.numbers[-1]) if self.numbers else "0"
        headers = {"Accept": "text/event-stream", "Last-Event-ID": last}
        path = f"{url}/v1/runs/{self._run_id}/events"
        with CLIENT.stream("GET", path, headers=headers) as response:
            if response.status_code == httpx.codes.NO_CONTENT:
                return True
            for line in response.iter_lines():
                if line.startswith("id:"):
                    self.numbers.append(int(line[3:]))
        return False


def ask(servers, method, path, **fields):
    """Return the answer of any server that is there."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            url = random.choice(servers).url + path
            response = CLIENT.request(method, url, **fields)
        except httpx.HTTPError:
            response = None
        if response is not None and response.is_success:
            return response.json()
        assert time.monotonic() < deadline, (path, response and response.text)
        time.sleep(0.05)


def create(servers, number):
    """Create a run, and no second one if the first answer was lost."""
    headers = {"Idempotency-Key": f"run-{number}"}
    body = {"agent": "rounds", "number": number}
    return ask(servers, "POST", "/v1/runs", json=body, headers=headers)["run_id"]


def kill_servers(tmp_path, database, *, number_of_servers, kills, runs):
    seed = random.randrange(1_000_000)
    sys.stdout.write(f"seed {seed}" + "\n")
    chance = random.Random(seed)
    ledger = tmp_path / "ledger"
    servers = [Server(ledger, database, f"server {n}") for n in range(number_of_servers)]
    try:
        ids, followers = kill_while_they_work(servers, chance, kills=kills, runs=runs)
        check(servers, ids, followers, ledger)
        codes = [server.stop() for server in servers]
    finally:
        for server in servers:
            server.kill()
    assert codes == [0] * number_of_servers


def kill_while_they_work(servers, chance, *, kills, runs):
    ids, followers = [], []
    for number in range(kills):
        for _ in range(max(1, runs // kills)):
            ids.append(create(servers, len(ids)))
            followers.append(Follower(servers, ids[-1]))
            followers[-1].start()
        if number % 5 == 3:
            ask(servers, "POST", f"/v1/runs/{chance.choice(ids)}/cancel", json={"reason": "enough"})
        time.sleep(chance.uniform(0, 0.5))
        server = chance.choice(servers)
        server.kill()
        time.sleep(chance.choice([0, 0, 0.3, 1]))
        server.start()
    return ids, followers


def check(servers, ids, followers, ledger):
    deadline = time.monotonic() + PATIENCE
    waiting = set(ids)
    while waiting:
        assert time.monotonic() < deadline, waiting
        time.sleep(0.05)
        found = [ask(servers, "GET", f"/v1/runs/{run_id}") for run_id in waiting]
        waiting -= {run["run_id"] for run in found if run["status"] in FINISHED}
    steps = set()
    for run_id, follower in zip(ids, followers, strict=True):
        run = ask(servers, "GET", f"/v1/runs/{run_id}")
        events = ask(servers, "GET", f"/v1/runs/{run_id}/events?limit=1000")["events"]
        follower.join(timeout=PATIENCE)
        numbers = [event["number"] for event in events]
        attempts = [e["data"]["attempt"] for e in events if e["type"] == "run_started"]
        assert numbers == list(range(1, len(events) + 1)) == follower.numbers
        assert events[-1]["type"] == f"run_{run['status']}"
        assert attempts == list(range(1, run["attempt"] + 1))
        assert run["status"] in (
            {"succeeded", "cancelled"} if run["cancel_requested"] else {"succeeded"}
        )
        if run["status"] == "succeeded":
            steps |= {(run_id, f"alone:{n}") for n in range(ROUNDS)}
            steps |= {(run_id, f"together:{n}:{one}") for n in range(ROUNDS) for one in range(3)}
    recorded, done = set(), Counter()
    for line in ledger.read_text().splitlines():
        what, *step = line.split()
        if what == "has":
            recorded.add(tuple(step))
        else:
            assert tuple(step) not in recorded, f"{step} was done again"
            done[tuple(step)] += 1
    assert steps <= recorded
    again = sum(count - 1 for count in done.values())
    sys.stdout.write(
        f"{len(ids)} runs, {len(done)} steps, {again} done again for they were not recorded yet\n"
    )


@pytest.mark.untraced
def test_a_server_that_is_killed_again_and_again_loses_and_repeats_nothing(tmp_path):
    database = f"sqlite:///{tmp_path / 'runs.sqlite'}"
    kill_servers(tmp_path, database, number_of_servers=1, kills=2, runs=6)


@pytest.mark.long
@pytest.mark.parametrize("number_of_servers", [1, 2])
def test_sixty_kills_lose_and_repeat_nothing(tmp_path, database, number_of_servers):
    kill_servers(tmp_path, database, number_of_servers=number_of_servers, kills=60, runs=180)
