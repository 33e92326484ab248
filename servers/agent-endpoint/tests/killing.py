"""Servers that are killed while agents stream, wait and go on, with a ledger outside of what their models and tools did."""

import json
import os
import random
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from pathlib import Path

import httpx


# One for all, without TLS: each client reads the certificates of the machine otherwise. A server closes a connection
# that is idle for five seconds, perhaps as it is used again: none is kept.
UNKEPT = httpx.Limits(max_keepalive_connections=0)
# Seconds after which something never happens: on a busy machine it takes half a minute until a server is there again.
PATIENCE = 600
CLIENT = httpx.Client(timeout=PATIENCE, trust_env=False, verify=False, limits=UNKEPT)
ROUNDS = 6


class Server:
    """A server process that can be killed and started again."""

    def __init__(self, database, name, ledger):
        script = Path(__file__).with_name("dying_server.py")
        self._command = [sys.executable, str(script), database, name, str(ledger)]
        self._process = None
        self.start()

    def start(self):
        environment = os.environ | {"PYTHONUNBUFFERED": "1"}
        self._process = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.url = self._process.stdout.readline().split()[-1]
        assert self.url.startswith("http://"), self.url

    def kill(self):
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()

    def stop(self):
        self._process.terminate()
        self._process.stdout.close()
        return self._process.wait()


class Person(threading.Thread):
    """A client that begins a run, follows each of its responses on whichever server there is, and approves what it is asked, after a while."""

    def __init__(self, servers, name, ledger):
        super().__init__(daemon=True, name=name)
        self._servers = servers
        self._ledger = ledger
        self.responses = []
        self.error = None

    def run(self):
        try:
            self._talk()
        except Exception as error:  # noqa: BLE001 - told by the test
            self.error = error

    def _talk(self):
        body = {"model": "agent", "input": self.name}
        while True:
            created = self.ask("POST", "/v1/responses", json={**body, "background": True})
            followed = self._follow(created["id"])
            self.responses.append(followed)
            asked = [one for one in followed["output"] if one["type"] == "mcp_approval_request"]
            if not asked:
                return
            time.sleep(random.choice([0, 0, 0.2, 0.6]))
            for one in asked:
                note(self._ledger, f"{self.name} approve {json.loads(one['arguments'])['n']}")
            answers = [
                {"type": "mcp_approval_response", "approval_request_id": one["id"], "approve": True}
                for one in asked
            ]
            body = {"model": "agent", "input": answers, "previous_response_id": created["id"]}

    def ask(self, method, path, **fields):
        """Return the answer of any server that is there; a request that was cut off is sent again."""
        headers = {"Idempotency-Key": f"{self.name} {len(self.responses)}"}
        deadline = time.monotonic() + PATIENCE
        while True:
            url = random.choice(self._servers).url + path
            try:
                response = CLIENT.request(method, url, headers=headers, **fields)
            except httpx.HTTPError:
                response = None
            if response is not None and response.is_success:
                return response.json()
            assert time.monotonic() < deadline, (path, response and response.text)
            time.sleep(0.05)

    def _follow(self, response_id):
        """Return a response as its events told it, each of which has to come once."""
        last, deadline = -1, time.monotonic() + PATIENCE
        while True:
            assert time.monotonic() < deadline, (response_id, last)
            url = random.choice(self._servers).url + f"/v1/responses/{response_id}"
            params = {"stream": "true"} | ({"starting_after": last} if last >= 0 else {})
            try:
                with CLIENT.stream("GET", url, params=params) as stream:
                    for line in stream.iter_lines():
                        if not line.startswith("data: {"):
                            continue
                        event = json.loads(line[6:])
                        assert event["sequence_number"] == last + 1, (last, event)
                        last += 1
                        if event["type"] in {"response.completed", "response.failed"}:
                            return event["response"]
            except httpx.HTTPError:
                pass
            time.sleep(0.05)


def note(ledger, line):
    with ledger.open("a") as file:
        file.write(f"{line}\n")


def kill_servers(folder, database, *, number_of_servers, kills, runs, others=()):
    """Kill servers and what they depend on at any moment of a conversation, then check what people were told and what was done."""
    seed = random.randrange(1_000_000)
    sys.stdout.write(f"seed {seed}\n")
    chance = random.Random(seed)
    ledger = folder / "ledger"
    ledger.touch()
    servers = [Server(database, f"server {n}", ledger) for n in range(number_of_servers)]
    people = [Person(servers, f"run{n}", ledger) for n in range(runs)]
    try:
        made = kill_while_they_talk([*servers, *others], people, chance, kills)
        for person in people:
            person.join(timeout=2 * PATIENCE)
        for person in people:
            check(person)
        again = check_ledger(ledger, people, made)
        codes = [server.stop() for server in servers]
    finally:
        for server in servers:
            server.kill()
    assert codes == [0] * number_of_servers
    sys.stdout.write(f"{made} kills, {runs} runs, {again} calls made again: cut off by a kill\n")


def kill_while_they_talk(victims, people, chance, kills):
    """Have people begin one after the other, and return how many kills there were; there are no more once all have ended."""
    waiting = list(people)
    for number in range(kills):
        while waiting and len(people) - len(waiting) <= number * len(people) / kills:
            waiting.pop(0).start()
        time.sleep(chance.uniform(0.05, 0.6))
        if not waiting and not any(person.is_alive() for person in people):
            return number
        victim = chance.choice(victims)
        victim.kill()
        time.sleep(chance.choice([0, 0, 0.3, 0.8]))
        victim.start()
    for person in waiting:
        person.start()
    return kills


def check(person):
    """Check that a person was told the whole run, and everything once."""
    assert not person.is_alive(), person.name
    assert person.error is None, person.error
    for response in person.responses:
        assert response["status"] == "completed", response["error"]
        assert person.ask("GET", f"/v1/responses/{response['id']}") == response
    last = person.responses[-1]
    usage = [response["usage"]["input_tokens"] for response in person.responses]
    assert last["output"][-1]["content"][0]["text"] == f"I am at {ROUNDS}. "
    # Each round's usage is its number; what a kill has cut off is no part of it.
    assert sum(usage) == sum(range(1, ROUNDS + 1)), usage
    run_id = str(uuid.UUID(last["id"].split("_")[1]))
    events = person.ask("GET", f"/v1/runs/{run_id}/events?limit=1000")["events"]
    assert [event["number"] for event in events] == list(range(1, len(events) + 1))
    types = Counter(event["type"] for event in events)
    # In three of the rounds one call waits.
    assert types["run_waiting"] == types["run_answered"] == ROUNDS // 2
    for kind, count in (("tool_started", 2), ("tool_ended", 2)):
        keys = [event["data"]["call_id"] for event in events if event["type"] == kind]
        assert len(keys) == len(set(keys)) == (ROUNDS - 1) * count
    assert sum(event["type"] == "model_ended" for event in events) == ROUNDS
    assert said(events) == [f"I am at {number}. " for number in range(1, ROUNDS + 1)]


def said(events):
    """Return what the model said in each round, without what was void."""
    texts = {}
    for event in events:
        number = event["data"].get("round")
        if event["type"] == "model_started":
            assert event["data"]["again"] == (number in texts)
            texts[number] = ""
        elif event["type"] == "text":
            texts[number] += event["data"]["text"]
    return list(texts.values())


def check_ledger(ledger, people, kills):
    """Check that nothing was done twice but what a kill fell into, and nothing before it was approved; return how many calls were made again."""
    lines = ledger.read_text().splitlines()
    done = Counter(lines)
    again = 0
    for person in people:
        for number in range(1, ROUNDS):
            name = "pay" if number % 2 else "look"
            for call in (f"{name} {number}", f"look {-number}"):
                begun, ended = (done[f"{person.name} {what} {call}"] for what in ("begin", "end"))
                assert 1 <= ended <= begun, call
                again += begun - 1
            if name == "pay":
                approved = lines.index(f"{person.name} approve {number}")
                assert approved < lines.index(f"{person.name} begin pay {number}")
    # A kill cuts off at most the two calls of a round of each run.
    assert again <= 2 * kills * len(people)
    return again
