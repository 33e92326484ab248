"""Clients of a server, for programs that wait and for asyncio: runs and their events, also across cuts and restarts.

Every call may be made again without harm, and is: where the server cannot be reached, or asks to come back later, a call is tried some more times before
its error is raised. Errors are `ServerProblemError`, of an answer that says what is wrong, and httpx's own where there was no answer.
"""

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import aclosing, closing
from datetime import datetime
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final, Self

import httpx
from httpx_sse import EventSource
from pydantic import BaseModel

from ._client.calls import (
    Call,
    Retries,
    ServerProblemError,
    build_cancel,
    build_create,
    build_events,
    build_get,
    build_list,
    check_answer,
    find_pause,
)
from ._http.documents import (
    AgentDocument,
    AgentsDocument,
    ErrorDocument,
    EventDocument,
    FieldProblemDocument,
    RunDocument,
    RunsDocument,
    UsageDocument,
)
from .runs import FINISHED, LAST_EVENTS, RunStatus


__all__ = [
    "AgentDocument",
    "AsyncClient",
    "Client",
    "ErrorDocument",
    "EventDocument",
    "FieldProblemDocument",
    "RunDocument",
    "ServerProblemError",
    "UsageDocument",
]

_SILENCE_SECONDS: Final = 60.0  # Longer than a living stream is silent, for it carries comments.


class Client:
    """A client for programs that wait for each answer; close it, or use it as a context manager.

    Args:
        base_url: Where the server is, such as `http://127.0.0.1:8080`.
        api_key: The key; None where the server asks for none.
        retries: How often a call is tried again, and how often a stream of events that was cut off is taken up again without a new event.
        timeout_seconds: How long an answer may take.
        silence_seconds: How long a stream of events may say nothing, not even a comment, before it counts as cut off.
        transport: A transport of httpx's own in place of the network.

    Example:
        >>> with Client("http://127.0.0.1:8080") as client:  # doctest: +SKIP
        ...     run = client.create("weather", {"input": {"city": "Kyiv"}})
        ...     for event in client.events(run.run_id):
        ...         print(event.type, event.data)
        ...     print(client.get(run.run_id).output)
    """

    def __init__(  # noqa: PLR0913 - all by name
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        retries: int = 5,
        timeout_seconds: float = 30,
        silence_seconds: float = _SILENCE_SECONDS,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._retries = retries
        self._timeout = httpx.Timeout(timeout_seconds, read=silence_seconds)
        self._http = httpx.Client(
            base_url=base_url,
            headers=_build_headers(api_key),
            timeout=timeout_seconds,
            transport=transport,
        )

    def __enter__(self) -> Self:
        """Return the client."""
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        """Close the client."""
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def agents(self) -> Sequence[AgentDocument]:
        """Return the agents that runs can be asked for."""
        return self._call(Call(method="GET", path="/v1/agents"), AgentsDocument).agents

    def create(
        self,
        agent: str | None,
        request: Mapping[str, Any],
        *,
        metadata: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> RunDocument:
        """Ask for a run, and return it as it was accepted.

        Args:
            agent: The agent's name; None where the server has one agent only.
            request: What the agent shall do, such as `{"input": {…}}`.
            metadata: What to find again with the run.
            idempotency_key: Under the same key the same run is returned again; made up where there is none, so that a try of this call
                after a cut makes no second run.

        Raises:
            ServerProblemError: If the server refuses it.
        """
        key = idempotency_key or str(uuid.uuid4())
        return self._call(build_create(agent, request, metadata, key), RunDocument)

    def get(self, run_id: str) -> RunDocument:
        """Return a run.

        Raises:
            ServerProblemError: If there is none of this id (404).
        """
        return self._call(build_get(run_id), RunDocument)

    def list(
        self,
        *,
        agent: str | None = None,
        status: Sequence[RunStatus] = (),
        metadata: Mapping[str, str] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
    ) -> Generator[RunDocument]:
        """Iterate over the runs, the newest first; they are asked for page by page.

        Args:
            agent: Only of this agent.
            status: Only in one of these states; none for all.
            metadata: Only with these names and texts.
            created_after: Only later ones.
            created_before: Only earlier ones.
        """
        call = build_list(agent, status, metadata, created_after, created_before)
        while True:
            page = self._call(call, RunsDocument)
            yield from page.runs
            if page.next_cursor is None:
                return
            call = call.with_cursor(page.next_cursor)

    def cancel(self, run_id: str, *, reason: str | None = None) -> RunDocument:
        """Ask for the end of a run, and return it as it stands then.

        Raises:
            ServerProblemError: If there is none of this id (404).
        """
        return self._call(build_cancel(run_id, reason), RunDocument)

    def events(self, run_id: str, *, after: int = 0) -> Generator[EventDocument]:
        """Iterate over the events of a run as they come, each once, up to its last one; a stream that is cut off is taken up again.

        Args:
            run_id: The run.
            after: The number of the last event that is known; 0 for none.

        Raises:
            ServerProblemError: If there is none of this id (404).
            httpx.TransportError: If the server cannot be reached for too long.
        """
        tries = Retries(self._retries)
        while True:
            try:
                with self._http.stream(**build_events(run_id, after, self._timeout)) as answer:
                    if answer.is_error:
                        answer.read()
                    if check_answer(answer).status_code == HTTPStatus.NO_CONTENT:
                        return
                    for frame in EventSource(answer).iter_sse():
                        event = EventDocument.model_validate_json(frame.data)
                        after = event.number
                        tries.reset()
                        yield event
                        if event.type in LAST_EVENTS:
                            return
                pause = tries.next_pause()
            except (httpx.TransportError, ServerProblemError) as error:
                pause = find_pause(error, tries)
            time.sleep(pause)

    def wait(self, run_id: str) -> RunDocument:
        """Wait for the end of a run, and return it.

        Raises:
            ServerProblemError: If there is none of this id (404).
        """
        while (run := self.get(run_id)).status not in FINISHED:
            with closing(self.events(run_id, after=run.last_event)) as events:
                for _ in events:
                    pass
        return run

    def _call[Model: BaseModel](self, call: Call, model: type[Model]) -> Model:
        tries = Retries(self._retries)
        while True:
            try:
                answer = check_answer(self._http.request(**call.arguments))
            except (httpx.TransportError, ServerProblemError) as error:
                pause = find_pause(error, tries)
            else:
                return model.model_validate_json(answer.content)
            time.sleep(pause)


class AsyncClient:
    """A client for asyncio; close it, or use it as a context manager. Bound a wait with `asyncio.timeout`.

    Args:
        base_url: Where the server is, such as `http://127.0.0.1:8080`.
        api_key: The key; None where the server asks for none.
        retries: How often a call is tried again, and how often a stream of events that was cut off is taken up again without a new event.
        timeout_seconds: How long an answer may take.
        silence_seconds: How long a stream of events may say nothing, not even a comment, before it counts as cut off.
        transport: A transport of httpx's own in place of the network.
    """

    def __init__(  # noqa: PLR0913 - all by name
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        retries: int = 5,
        timeout_seconds: float = 30,
        silence_seconds: float = _SILENCE_SECONDS,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._retries = retries
        self._timeout = httpx.Timeout(timeout_seconds, read=silence_seconds)
        self._http = httpx.AsyncClient(
            base_url=base_url,
            headers=_build_headers(api_key),
            timeout=timeout_seconds,
            transport=transport,
        )

    async def __aenter__(self) -> Self:
        """Return the client."""
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        """Close the client."""
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def agents(self) -> Sequence[AgentDocument]:
        """Return the agents that runs can be asked for."""
        return (await self._call(Call(method="GET", path="/v1/agents"), AgentsDocument)).agents

    async def create(
        self,
        agent: str | None,
        request: Mapping[str, Any],
        *,
        metadata: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> RunDocument:
        """Ask for a run, and return it as it was accepted; see `Client.create`.

        Raises:
            ServerProblemError: If the server refuses it.
        """
        key = idempotency_key or str(uuid.uuid4())
        return await self._call(build_create(agent, request, metadata, key), RunDocument)

    async def get(self, run_id: str) -> RunDocument:
        """Return a run.

        Raises:
            ServerProblemError: If there is none of this id (404).
        """
        return await self._call(build_get(run_id), RunDocument)

    async def list(
        self,
        *,
        agent: str | None = None,
        status: Sequence[RunStatus] = (),
        metadata: Mapping[str, str] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
    ) -> AsyncGenerator[RunDocument]:
        """Iterate over the runs, the newest first; see `Client.list`."""
        call = build_list(agent, status, metadata, created_after, created_before)
        while True:
            page = await self._call(call, RunsDocument)
            for run in page.runs:
                yield run
            if page.next_cursor is None:
                return
            call = call.with_cursor(page.next_cursor)

    async def cancel(self, run_id: str, *, reason: str | None = None) -> RunDocument:
        """Ask for the end of a run, and return it as it stands then.

        Raises:
            ServerProblemError: If there is none of this id (404).
        """
        return await self._call(build_cancel(run_id, reason), RunDocument)

    async def events(self, run_id: str, *, after: int = 0) -> AsyncGenerator[EventDocument]:
        """Iterate over the events of a run as they come, each once, up to its last one; see `Client.events`.

        Raises:
            ServerProblemError: If there is none of this id (404).
            httpx.TransportError: If the server cannot be reached for too long.
        """
        tries = Retries(self._retries)
        while True:
            try:
                async with self._http.stream(
                    **build_events(run_id, after, self._timeout)
                ) as answer:
                    if answer.is_error:
                        await answer.aread()
                    if check_answer(answer).status_code == HTTPStatus.NO_CONTENT:
                        return
                    async for frame in EventSource(answer).aiter_sse():
                        event = EventDocument.model_validate_json(frame.data)
                        after = event.number
                        tries.reset()
                        yield event
                        if event.type in LAST_EVENTS:
                            return
                pause = tries.next_pause()
            except (httpx.TransportError, ServerProblemError) as error:
                pause = find_pause(error, tries)
            await asyncio.sleep(pause)

    async def wait(self, run_id: str) -> RunDocument:
        """Wait for the end of a run, and return it.

        Raises:
            ServerProblemError: If there is none of this id (404).
        """
        while (run := await self.get(run_id)).status not in FINISHED:
            async with aclosing(self.events(run_id, after=run.last_event)) as events:
                async for _ in events:
                    pass
        return run

    async def _call[Model: BaseModel](self, call: Call, model: type[Model]) -> Model:
        tries = Retries(self._retries)
        while True:
            try:
                answer = check_answer(await self._http.request(**call.arguments))
            except (httpx.TransportError, ServerProblemError) as error:
                pause = find_pause(error, tries)
            else:
                return model.model_validate_json(answer.content)
            await asyncio.sleep(pause)


def _build_headers(api_key: str | None) -> dict[str, str]:
    return {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
