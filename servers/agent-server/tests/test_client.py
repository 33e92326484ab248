import asyncio
import json
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from web import AnyClient, both, client_at, executor, listening

from agent_server.client import ServerProblemError
from agent_server.executor import RunResult, Usage


async def counting(run):
    for number in range(20):
        await run.tell("count", {"number": number, "padding": "x" * 100})
        await asyncio.sleep(0.005)
    usage = Usage(input_tokens=3, cost="0.01", currency="USD")
    return RunResult(status="succeeded", output=[1, {"a": None}], usage=usage)


@both
async def test_a_run_is_asked_for_followed_and_read(tmp_path, kind):
    async with (
        listening(tmp_path, executor(counting=counting), api_keys="ada:k1") as (port, _),
        AnyClient(kind, f"http://127.0.0.1:{port}", api_key="k1") as client,
    ):
        agents = await client.call("agents")
        metadata = {"case": "1"}
        run = await client.call("create", "counting", {"input": 1}, metadata=metadata)
        same = await client.call("create", "failing", {}, idempotency_key="k")
        again = await client.call("create", "failing", {}, idempotency_key="k")
        assert same.run_id == again.run_id
        events = await client.all("events", run.run_id)
        rest = await client.all("events", run.run_id, after=21)
        none = await client.all("events", run.run_id, after=22)
        ended = await client.call("wait", run.run_id)
        sleeping = await client.call("create", "waiting", {})
        waiting = asyncio.create_task(client.call("wait", sleeping.run_id))
        await asyncio.sleep(0.1)
        cancelled = await client.call("cancel", sleeping.run_id, reason="enough")
        await client.call("cancel", sleeping.run_id)
        waited = await waiting

    assert "counting" in [agent.name for agent in agents]
    assert (run.status, run.metadata) == ("queued", {"case": "1"})
    assert [event.number for event in events] == list(range(1, 23))
    assert [event.type for event in rest] == ["run_succeeded"]
    assert none == []
    assert (ended.output, ended.usage.cost) == ([1, {"a": None}], "0.01")
    assert cancelled.cancel_reason == "enough"
    assert (waited.status, waited.cancel_reason) == ("cancelled", "enough")


@both
async def test_runs_are_listed_by_what_they_are(tmp_path, kind):
    async with (
        listening(tmp_path) as (port, _),
        AnyClient(kind, f"http://127.0.0.1:{port}") as client,
    ):
        for odd in ("0", "1", "0"):
            await client.call("create", "failing", {}, metadata={"odd": odd})
        soon = datetime.now(UTC) + timedelta(hours=1)
        every, odd, none, later = (
            await client.all("list"),
            await client.all("list", agent="failing", metadata={"odd": "1"}),
            await client.all("list", status=["cancelled"], created_before=soon),
            await client.all("list", created_after=soon),
        )

    assert [run.metadata["odd"] for run in every] == ["0", "1", "0"]
    assert [run.metadata["odd"] for run in odd] == ["1"]
    assert (none, later) == ([], [])
    client = AnyClient(kind, "http://127.0.0.1")
    with pytest.raises(ValueError, match="created_after: expected a time with its zone"):
        await client.all("list", created_after=datetime(2026, 1, 1))  # noqa: DTZ001 - what is refused


@asynccontextmanager
async def _cutting(port, *, size):
    """Yield the port of a way to the server on which answers end after some bytes, as if a cable were pulled."""
    tasks = set()

    async def connect(reader, writer):
        tasks.add(asyncio.current_task())
        behind, ahead = await asyncio.open_connection("127.0.0.1", port)
        request = await reader.readuntil(b"\r\n\r\n")
        # Or the last answer would end only once the server has waited for another request.
        ahead.write(request.replace(b"keep-alive", b"close"))
        left = size
        while left > 0 and (data := await behind.read(left)):
            left -= len(data)
            writer.write(data)
            await writer.drain()
        writer.transport.abort()
        ahead.transport.abort()

    server = await asyncio.start_server(connect, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
    await asyncio.gather(*tasks, return_exceptions=True)


@both
async def test_events_that_are_cut_off_are_taken_up_again_each_once(tmp_path, kind):
    async with listening(tmp_path, executor(counting=counting)) as (port, _):
        async with client_at(port) as client:
            run_id = (await client.post("/v1/runs", json={"agent": "counting"})).json()["run_id"]
        async with (
            _cutting(port, size=3000) as cut,
            AnyClient(kind, f"http://127.0.0.1:{cut}") as client,
        ):
            events = await client.all("events", run_id)

    assert [event.number for event in events] == list(range(1, 23))


def _answering(*answers):
    """Return what plays a server that gives one answer after the other, and what it was asked."""
    left, requests = list(answers), []

    def answer(request):
        requests.append(request)
        status, body, headers = left.pop(0)
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return httpx.Response(status, content=content, headers=headers)

    return httpx.MockTransport(answer), requests


_AWAY = (503, {"title": "", "status": 503, "detail": "away"}, {"Retry-After": "0"})
_AGENTS = (200, {"agents": []}, {})
_SSE = {"Content-Type": "text/event-stream"}
_LAST = json.dumps(
    {"number": 1, "type": "run_failed", "created_at": "2026-11-23T06:00:00Z", "data": {}}
).encode()


@both
async def test_a_server_that_is_busy_or_away_is_asked_again(kind):
    transport, requests = _answering(_AWAY, (502, b"<html>", {}), _AGENTS)
    silent, streams = _answering(_AWAY, (200, b"", _SSE), (200, b"data: %b\n\n" % _LAST, _SSE))

    async with AnyClient(kind, "http://x", transport=transport) as client:
        agents = await client.call("agents")
    async with AnyClient(kind, "http://x", transport=silent) as client:
        events = await client.all("events", "a/b", after=7)

    assert agents == []
    assert len(requests) == 3
    assert [event.type for event in events] == ["run_failed"]
    assert [request.headers["last-event-id"] for request in streams] == ["7"] * 3
    assert streams[0].url.raw_path == b"/v1/runs/a%2Fb/events"


@both
async def test_runs_are_listed_over_all_pages(kind):
    run = {
        "run_id": "a",
        "agent": "b",
        "status": "queued",
        "metadata": {},
        "attempt": 0,
        "created_at": "2026-11-23T06:00:00Z",
        "started_at": None,
        "finished_at": None,
        "cancel_requested": False,
        "cancel_reason": None,
        "last_event": 0,
        "output": None,
        "error": None,
        "usage": None,
        "details": {},
    }
    pages = [{"runs": [run], "next_cursor": "x"}, {"runs": [run], "next_cursor": None}]
    transport, requests = _answering(*((200, page, {}) for page in pages))

    async with AnyClient(kind, "http://x", transport=transport) as client:
        runs = await client.all("list", agent="b")

    assert [one.run_id for one in runs] == ["a", "a"]
    asked = [dict(request.url.params) for request in requests]
    assert asked == [{"limit": "100", "agent": "b"}, {"limit": "100", "agent": "b", "cursor": "x"}]


@both
async def test_what_another_try_would_not_mend_is_raised_with_what_the_server_says(kind):
    problem = {
        "title": "",
        "status": 422,
        "detail": "The request is not valid.",
        "errors": [{"field": "input", "message": "expected an object"}],
    }
    transport, requests = _answering((422, problem, {}), (404, b"", {}), (404, b"", {}))

    async with AnyClient(kind, "http://x", transport=transport) as client:
        with pytest.raises(ServerProblemError) as refused:
            await client.call("create", None, {"input": 1})
        for ask in (client.call("get", "x"), client.all("events", "x")):
            with pytest.raises(ServerProblemError, match="404: Not Found"):
                await ask
        error = refused.value

    assert str(error) == "422: The request is not valid. (input: expected an object)"
    assert (error.status, error.errors[0].field) == (422, "input")
    assert json.loads(requests[0].content) == {"input": 1}
    assert requests[0].headers["idempotency-key"]


@both
async def test_after_enough_tries_the_error_is_raised(kind):
    transport, requests = _answering(*[_AWAY] * 4, (200, b"", _SSE))

    async with AnyClient(kind, "http://x", transport=transport, retries=1) as client:
        for ask in (client.call("agents"), client.all("events", "x")):
            with pytest.raises(ServerProblemError) as caught:
                await ask
            assert caught.value.retry_after_seconds == 0
    async with AnyClient(kind, "http://x", transport=transport, retries=0) as client:
        with pytest.raises(httpx.TransportError, match="ended before the run did"):
            await client.all("events", "x")
    async with AnyClient(kind, "http://127.0.0.1:1", retries=0) as client:
        with pytest.raises(httpx.ConnectError):
            await client.call("agents")

    assert len(requests) == 5
