"""Servers of both systems that are killed at any moment, one and two of them."""

import os
import random
import sys
import time

import pytest

from systems import Watcher, ask, create, finish


KILLS = int(os.environ.get("KILLS", "6"))
CONCURRENCY = 4


def kill_while_they_work(system, database, *, servers, **settings):
    """Return the ids of runs under which servers were killed, their watchers, and the servers that are left."""
    seed = random.randrange(1_000_000)
    sys.stdout.write(f"seed {seed}\n")
    chance = random.Random(seed)
    settings |= {"lease_seconds": 1, "concurrency": CONCURRENCY, "max_attempts": 100}
    living = [system.start(database, **settings) for _ in range(servers)]
    ids, watchers = [], []
    for _ in range(KILLS):
        for _ in range(4):
            number = len(ids)
            body = system.request(number, rounds=4, seconds=0.1)
            ids.append(create(chance.choice(living), body, key=f"run-{number}"))
            watchers.append(Watcher(living, ids[-1]))
        time.sleep(chance.uniform(0, 1.5))
        dying = chance.randrange(servers)
        living[dying].kill()
        time.sleep(chance.choice([0, 0.3, 1.5]))
        living[dying] = system.start(database, **settings)
    return ids, watchers, living


def check_events(ids, watchers, living):
    """Return the runs once they have ended, with their events, of which no watcher has missed any."""
    found = []
    for run_id, watcher in zip(ids, watchers, strict=True):
        run = finish(living, run_id)
        events = ask(living, "GET", f"/v1/runs/{run_id}/events?limit=1000")["events"]
        watcher.join(600)
        numbers = list(range(1, len(events) + 1))
        assert [event["number"] for event in events] == watcher.numbers == numbers
        attempts = [one["data"]["attempt"] for one in events if one["type"] == "run_started"]
        assert attempts == list(range(1, run["attempt"] + 1))
        assert events[-1]["type"] == f"run_{run['status']}"
        found.append((run, events))
    listed = ask(living, "GET", "/v1/runs?limit=100&status=running&status=queued")["runs"]
    assert listed == []
    return found


@pytest.mark.parametrize("servers", [1, 2])
@pytest.mark.parametrize("on_crash", ["fail", "rerun"])
def test_scripts_are_run_once_or_again_as_the_setting_says(scripts, database, servers, on_crash):
    ids, watchers, living = kill_while_they_work(
        scripts, database, servers=servers, on_crash=on_crash
    )
    found = check_events(ids, watchers, living)

    done = scripts.done()
    interrupted = 0
    for number, (run, _) in enumerate(found):
        times = done[number, "script"]
        if run["status"] == "succeeded":
            assert run["output"].endswith(f"done {number}")
            assert times == 1 or (on_crash == "rerun" and times > 0)
        else:
            assert on_crash == "fail"
            assert run["error"]["type"] == "interrupted"
            assert times <= 1
            interrupted += 1
    again = sum(times - 1 for times in done.values())
    sys.stdout.write(f"{len(ids)} runs, {interrupted} interrupted, {again} scripts run again\n")
    assert interrupted + again <= KILLS * CONCURRENCY
    assert [server.end() for server in living] == [0] * servers


@pytest.mark.parametrize("servers", [1, 2])
def test_compositions_go_on_and_repeat_only_what_was_cut(compositions, database, servers):
    ids, watchers, living = kill_while_they_work(compositions, database, servers=servers)
    found = check_events(ids, watchers, living)

    done = compositions.done()
    for number, (run, events) in enumerate(found):
        assert (run["status"], run["output"]) == ("succeeded", f"some words done {number}"), run
        results = [one["data"]["tool_call_id"] for one in events if one["type"] == "tool_result"]
        assert results == [f"c{step}" for step in range(4)]
        assert all(done[number, str(step)] for step in range(4))
    again = sum(times - 1 for times in done.values())
    sys.stdout.write(f"{len(ids)} runs, {again} tool calls made again\n")
    assert again <= KILLS * CONCURRENCY
    assert [server.end() for server in living] == [0] * servers
