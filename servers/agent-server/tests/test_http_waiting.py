"""Runs that wait, over HTTP."""

import asyncio
import json

import pytest
from agents import Scripted, pay
from web import AnyClient, asked, both, client_of, fields, listening, post

from agent_server.client import ServerProblemError
from agent_server.executor import InputRequest, Question, RunResult, Waiting
from agent_server.http import refuse
from agent_server.settings import ServerSettings


ASKED = InputRequest(question=Question(text="How was it?"))
GIVEN = {"approvals": {"c1": {"approved": False, "reason": "too much"}}, "results": {"c2": 1}}


async def begin(client):
    """Start a run, and return its path and what it waits for."""
    run_id = (await post(client, {"agent": "pay"})).json()["run_id"]
    # A stream ends where the run waits.
    await client.get(f"/v1/runs/{run_id}/events", headers={"Accept": "text/event-stream"})
    run = (await client.get(f"/v1/runs/{run_id}")).json()
    return f"/v1/runs/{run_id}", run["waiting_for"]


async def test_a_run_is_answered_by_the_id_of_its_wait(tmp_path):
    async with asked(tmp_path, Scripted(pay=pay)) as client:
        path, wait = await begin(client)
        listed = (await client.get("/v1/runs", params={"status": "waiting"})).json()["runs"]
        other = await client.post(f"{path}/input", json={"wait_id": "x", **GIVEN})
        partial = await client.post(f"{path}/input", json={"wait_id": wait["wait_id"]})
        body = {"wait_id": wait["wait_id"], **GIVEN}
        first, again = [await client.post(f"{path}/input", json=body) for _ in range(2)]
        second = await client.post(f"{path}/input", json={**body, "results": {"c2": 2}})
        stranger = await client.post("/v1/runs/x/input", json=body)
        await client.post(f"{path}/cancel")

    assert wait["approvals"][0] | {"arguments": 0} == {
        "call_id": "c1",
        "name": "pay",
        "arguments": 0,
        "server": "bank",
    }
    assert [run["waiting_for"]["wait_id"] for run in listed] == [wait["wait_id"]]
    assert fields(other, 409) == fields(second, 409) == []
    assert fields(partial) == ["approvals.c1", "results.c2"]
    assert (first.status_code, again.status_code) == (202, 200)
    assert stranger.status_code == 404


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ({}, ["wait_id"]),
        ({"steer": "yes", "wait_id": "x"}, ["wait_id"]),
        ({"steer": "yes", "approvals": {}, "answer": 1}, ["approvals", "answer"]),
        ({"steer": "yes"}, ["steer"]),
        ({"wait_id": "x", "approvals": {"c1": True}}, ["approvals.c1"]),
        ({"wait_id": "x", "approvals": {"c1": {"approved": "yes"}}}, ["approvals.c1.approved"]),
        ({"wait_id": "x", "more": 1}, ["more"]),
        ({"wait_id": "x", "results": []}, ["results"]),
        ({"wait_id": "x", "results": dict.fromkeys(map(str, range(1001)))}, ["results"]),
        (dict.fromkeys(map(str, range(1001))), ["body"]),
        (
            {"wait_id": "x", "approvals": {"c1": dict.fromkeys(map(str, range(1001)))}},
            ["approvals.c1"],
        ),
    ],
)
async def test_a_malformed_answer_names_its_fields(tmp_path, body, names):
    async with asked(tmp_path, Scripted(pay=pay)) as client:
        path, _ = await begin(client)
        assert fields(await client.post(f"{path}/input", json=body)) == names


async def test_who_starts_a_run_need_not_be_able_to_approve_it(tmp_path):
    keys = "ada:k:start,ada:a:answer,ada:both"
    async with asked(tmp_path, Scripted(pay=pay), api_keys=keys, key="both") as client:
        app = client._transport.app
        path, wait = await begin(client)
        body = {"wait_id": wait["wait_id"], **GIVEN}
        async with client_of(app, key="k") as starts, client_of(app, key="a") as answers:
            seen = [(await one.get(path)).status_code for one in (starts, answers)]
            refused = [
                await starts.post(f"{path}/input", json=body),
                await starts.post(f"{path}/input", json={"wait_id": "x", "answer": 1}),
                await answers.post("/v1/runs", json={"agent": "pay"}),
                await answers.post(f"{path}/cancel"),
                await answers.post(f"{path}/input", json={"wait_id": "x", "results": {"c2": 1}}),
                await answers.post(f"{path}/input", json={"steer": "hurry"}),
            ]
            own = await starts.post(f"{path}/input", json={"wait_id": "x", "results": {"c2": 1}})
            taken = await answers.post(f"{path}/input", json=body)
            started = await starts.post("/v1/runs", json={"agent": "pay"})
        events = (await client.get(f"{path}/events")).json()["events"]

    assert seen == [200, 200]
    assert [fields(one, 403) for one in refused] == [[]] * 6
    assert own.status_code == 409  # It may give results, but the id is not the run's.
    assert (taken.status_code, started.status_code) == (202, 202)
    [answered] = [event for event in events if event["type"] == "run_answered"]
    assert len(answered["data"]["key"]) == 16


def test_a_key_has_one_limit():
    keys = ServerSettings(api_keys="ada:k:start,ada:k:start").keys()
    assert (keys["k"].tenant, keys["k"].may_start, keys["k"].may_answer) == ("ada", True, False)
    with pytest.raises(ValueError, match="one limit"):
        ServerSettings(api_keys="ada:k:start,ada:k")


async def test_a_stream_ends_where_the_run_waits(tmp_path):
    async with asked(tmp_path, Scripted(pay=pay)) as client:
        path, wait = await begin(client)
        headers = {"Accept": "text/event-stream"}
        stream = await client.get(f"{path}/events", headers=headers)
        seen = await client.get(f"{path}/events", headers=headers | {"Last-Event-ID": "3"})
        beyond = await client.get(f"{path}/events", headers=headers | {"Last-Event-ID": "9"})
        page = (await client.get(f"{path}/events")).json()

    assert "event: run_waiting" in stream.text
    assert wait["wait_id"] in stream.text
    assert seen.status_code == 204
    assert beyond.text.startswith("id: 3\n")
    assert page["is_complete"] is False


@both
async def test_the_client_waits_answers_and_follows(tmp_path, kind):
    async with (
        listening(tmp_path, Scripted(pay=pay)) as (port, _),
        AnyClient(kind, f"http://127.0.0.1:{port}") as client,
    ):
        run_id = (await client.call("create", "pay", {})).run_id
        first = (await client.call("wait", run_id)).waiting_for
        seen = await client.all("events", run_id)
        given = {"approvals": {"c1": True}, "results": {"c2": "x"}}
        await client.call("answer", run_id, first.wait_id, **given)
        second = (await client.call("wait", run_id)).waiting_for
        no = {"c1": {"approved": False}}
        with pytest.raises(ServerProblemError, match="steer: expected to be absent"):
            await client.call("steer", run_id, "yes")
        with pytest.raises(ServerProblemError, match="409"):
            await client.call("answer", run_id, first.wait_id, approvals=no)
        await client.call("answer", run_id, second.wait_id, answer="good")
        run = await client.call("wait", run_id)

    assert seen[-1].type == "run_waiting"
    assert second.question.schema_ == {"type": "string"}
    assert (run.status, run.output["paid"]) == ("succeeded", True)


class Steered(Scripted):
    """An executor whose runs take texts while they are under way."""

    def check_steer(self, agent, message):
        if not isinstance(message, str):
            raise refuse("steer", f"expected a text for {agent}")
        return message


class Held:
    """An agent that reads what it is told in steps, of which each begins when it is let go on."""

    def __init__(self):
        self.at, self.go = asyncio.Queue(), asyncio.Semaphore(0)

    async def __call__(self, run):
        heard, number, steps = [], 0, int(run.request["steps"])

        async def hear():
            self.at.put_nowait(run.attempt)
            await self.go.acquire()
            return json.dumps(list(await run.read_steered(len(heard)))).encode()

        while number < steps:
            number += 1
            heard += json.loads(await run.step(f"model:{number}", hear))
        return RunResult(status="succeeded", output=heard, steered=len(heard))


async def ended(client, path):
    await client.get(f"{path}/events", headers={"Accept": "text/event-stream"})
    return (await client.get(path)).json()


async def test_a_run_under_way_reads_each_message_once(tmp_path, monkeypatch):
    monkeypatch.setattr("agent_server._store.steering.MOST", 2)
    held = Held()
    async with asked(tmp_path, Steered(held=held)) as client:
        run_id = (await post(client, {"agent": "held", "steps": 4})).json()["run_id"]
        path = f"/v1/runs/{run_id}"
        await held.at.get()
        key = {"Idempotency-Key": "k"}
        told = [await client.post(f"{path}/input", json={"steer": "a"}, headers=key) for _ in "ab"]
        other = await client.post(f"{path}/input", json={"steer": "b"}, headers=key)
        wrong = await client.post(f"{path}/input", json={"steer": 3})
        answer = await client.post(f"{path}/input", json={"wait_id": "x", "answer": "yes"})
        for _ in "abc":
            held.go.release()
            await held.at.get()
        await client.post(f"{path}/input", json={"steer": "b"})
        much = await client.post(f"{path}/input", json={"steer": "c"})
        stranger = await client.post("/v1/runs/x/input", json={"steer": "b"})
        held.go.release()
        run = await ended(client, path)
        late = await client.post(f"{path}/input", json={"steer": "c"})

    assert [one.status_code for one in told] == [202, 200]
    assert (fields(other), fields(wrong)) == (["Idempotency-Key"], ["steer"])
    assert (fields(answer, 409), fields(late, 409), stranger.status_code) == ([], [], 404)
    assert (fields(much, 409), much.json()["detail"]) == ([], "A run takes at most 2 messages.")
    assert "has ended" in late.json()["detail"]
    assert (run["output"], run["details"]) == (["a", "b"], {})


async def test_what_comes_too_late_to_be_read_is_told_with_the_end(tmp_path):
    async def deaf(_run):
        at.set()
        await go.wait()
        return RunResult(status="succeeded", output=1, details={"unread": ["x"]}, steered=1)

    at, go = asyncio.Event(), asyncio.Event()
    async with asked(tmp_path, Steered(deaf=deaf)) as client:
        run_id = (await post(client, {"agent": "deaf"})).json()["run_id"]
        path = f"/v1/runs/{run_id}"
        await at.wait()
        for number in range(4):
            await client.post(f"{path}/input", json={"steer": str(number)})
        go.set()
        run = await ended(client, path)
        last = (await client.get(f"{path}/events")).json()["events"][-1]

    assert run["details"] == last["data"]["details"] == {"unread": ["x", "1", "2", "3"]}


async def test_a_message_waits_with_its_run_and_is_no_answer(tmp_path):
    async def patient(run):
        if run.resumption is None:
            at.set()
            await go.wait()
            return Waiting(request=ASKED, state=b"")
        heard = await run.read_steered(0)
        return RunResult(status="succeeded", output=list(heard), steered=len(heard))

    at, go = asyncio.Event(), asyncio.Event()
    async with asked(tmp_path, Steered(patient=patient)) as client:
        path = f"/v1/runs/{(await post(client, {'agent': 'patient'})).json()['run_id']}"
        await at.wait()
        await client.post(f"{path}/input", json={"steer": "be brief"})
        go.set()
        wait = (await ended(client, path))["waiting_for"]
        refused = await client.post(f"{path}/input", json={"steer": "yes"})
        given = {"wait_id": wait["wait_id"], "answer": "good"}
        assert (await client.post(f"{path}/input", json=given)).status_code == 202
        run = await ended(client, path)

    assert fields(refused, 409) == []
    assert "waits for an answer: send one that names the wait_id" in refused.json()["detail"]
    assert run["output"] == ["be brief"]
