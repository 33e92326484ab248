"""Servers for tests: an application that is asked in memory, and one that listens."""

import asyncio
import json
import socket
from contextlib import asynccontextmanager

import httpx
import pytest
from agents import PATIENCE, GivenSettings, Scripted, lay_out

from agent_server.client import AsyncClient, Client
from agent_server.engine import open_engine
from agent_server.executor import RunResult
from agent_server.http import Server, build_app


async def slow(run):
    """Tell a tick every few milliseconds, until somebody ends it."""
    number = 0
    while True:
        number += 1
        await run.tell("tick", {"number": number})
        await asyncio.sleep(0.02)


async def waiting(run):
    await run.tell("waiting", {})
    await asyncio.sleep(600)


async def failing(_run):
    return RunResult(status="failed", error="The model is gone.", error_type="model_error")


def executor(**scripts):
    return Scripted(**({"slow": slow, "waiting": waiting, "failing": failing} | scripts))


def settings_of(folder, **changes):
    return GivenSettings(state=folder, **({"stop_seconds": 0.1, "lease_seconds": 2} | changes))


@asynccontextmanager
async def asked(folder, agents=None, *, routes=(), key=None, **settings):
    """Yield a client of an application with an engine of its own."""
    agents = agents or executor()
    bounds = lay_out(settings_of(folder, **settings))
    async with open_engine(bounds, agents) as runs:
        app = build_app(bounds, agents, runs, routes=routes)
        async with client_of(app, key=key) as client:
            yield client


def client_of(app, *, key=None, host="127.0.0.1"):
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url=f"http://{host}", headers=headers)


# No connection is kept: a server closes one that is idle for five seconds, perhaps as it is used again.
UNKEPT = httpx.Limits(max_keepalive_connections=0)


def client_at(port, **options):
    """Return a client of a server that listens; without TLS, for which it would read the machine's certificates for longer than most tests take."""
    bounds = {"timeout": PATIENCE, "verify": False, "limits": UNKEPT}
    return httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", **bounds | options)


@asynccontextmanager
async def listening(folder, agents=None, *, routes=(), **settings):
    """Yield the port of a server that listens, and the runs that it serves."""
    agents = agents or executor()
    bounds = lay_out(settings_of(folder, **settings))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        async with open_engine(bounds, agents) as runs:
            server = Server(build_app(bounds, agents, runs, routes=routes), bounds)
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            try:
                yield listener.getsockname()[1], runs
            finally:
                server.should_exit = True
                await serving


async def post(client, body, **headers):
    return await client.post("/v1/runs", json=body, headers=headers)


async def ended(client, run_id):
    """Return a run's document once it has ended."""
    async with asyncio.timeout(PATIENCE):
        while True:
            run = (await client.get(f"/v1/runs/{run_id}")).json()
            if run["finished_at"] is not None:
                return run
            await asyncio.sleep(0.01)


def fields(answer, status=422):
    """Return the fields that a problem document names."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    document = json.loads(answer.content)
    assert document["status"] == status
    assert document["title"]
    assert document["detail"]
    return [one["field"] for one in document.get("errors", ())]


async def until(is_so, *, every=0.01):
    """Return once something is so."""
    async with asyncio.timeout(PATIENCE):
        while not is_so():  # noqa: ASYNC110 - what others do raises no event here
            await asyncio.sleep(every)


class AnyClient:
    """The client for asyncio by the methods of the one that waits, so that one scene shows both."""

    def __init__(self, kind, base_url, **options):
        self._is_async = kind is AsyncClient
        self._client = kind(base_url, **options)

    async def __aenter__(self):
        if self._is_async:
            await self._client.__aenter__()
        else:
            self._client.__enter__()
        return self

    async def __aexit__(self, *error):
        if self._is_async:
            await self._client.__aexit__(*error)
        else:
            self._client.__exit__(*error)

    async def call(self, name, *args, **options):
        method = getattr(self._client, name)
        if self._is_async:
            return await method(*args, **options)
        return await asyncio.to_thread(method, *args, **options)

    async def all(self, name, *args, **options):
        method = getattr(self._client, name)
        if self._is_async:
            return [one async for one in method(*args, **options)]
        return await asyncio.to_thread(lambda: list(method(*args, **options)))


both = pytest.mark.parametrize("kind", [Client, AsyncClient])
