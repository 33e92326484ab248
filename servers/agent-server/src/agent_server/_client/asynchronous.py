"""The client for asyncio, from which the blocking one is generated."""

import uuid
from asyncio import sleep
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self

import httpx
from httpx_sse import EventSource
from pydantic import BaseModel

from agent_server._http.documents import (
    AgentDocument,
    AgentsDocument,
    EventDocument,
    RunDocument,
    RunsDocument,
)
from agent_server.runs import LAST_EVENTS, RESTING, RunStatus

from .calls import SILENCE_SECONDS, Call, Retries, ServerProblemError, build_call, check_answer


_PAGE = 100


class AsyncClient:
    """A client for asyncio; close it, or use it as a context manager. Bound a wait with `asyncio.timeout`.

    Args:
        base_url: The URL of the server, such as `http://127.0.0.1:8080`.
        api_key: The key; None if the server needs none.
        retries: How often a call is tried again, and how often a broken stream of events is resumed without a new event.
        timeout_seconds: How long an answer may take.
        silence_seconds: How long a stream of events may be silent, without even a comment, before it counts as broken.
        transport: An httpx transport to use instead of the network.

    Example:
        >>> async with AsyncClient("http://127.0.0.1:8080") as client:  # doctest: +SKIP
        ...     run = await client.create("weather", {"input": {"city": "Kyiv"}})
        ...     async for event in client.events(run.run_id):
        ...         print(event.type, event.data)
        ...     print((await client.get(run.run_id)).output)
    """

    def __init__(  # noqa: PLR0913 - all by name
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        retries: int = 5,
        timeout_seconds: float = 30,
        silence_seconds: float = SILENCE_SECONDS,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._retries = retries
        # For streams, which last as long as a run: only silence ends them.
        self._timeout = httpx.Timeout(timeout_seconds, read=silence_seconds)
        self._http = httpx.AsyncClient(
            base_url=base_url,
            headers={} if api_key is None else {"Authorization": f"Bearer {api_key}"},
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
        """Return the agents that can be run."""
        return (await self._call(build_call("GET", "agents"), AgentsDocument)).agents

    async def create(
        self,
        agent: str | None,
        request: Mapping[str, Any],
        *,
        metadata: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> RunDocument:
        """Create a run, and return it as it was accepted.

        Args:
            agent: The agent's name; None if the server has only one agent.
            request: The agent's task, such as `{"input": {…}}`.
            metadata: Names and texts to find the run by.
            idempotency_key: The same key returns the same run again; made up if left out, so that retrying this call after a broken
                connection makes no second run.

        Raises:
            ServerProblemError: If the server refuses it.
        """
        own = {"agent": agent, "metadata": None if metadata is None else dict(metadata)}
        body = {**request, **{name: value for name, value in own.items() if value is not None}}
        headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}
        call = build_call("POST", "runs", json=body, headers=headers)
        return await self._call(call, RunDocument)

    async def get(self, run_id: str) -> RunDocument:
        """Return a run.

        Raises:
            ServerProblemError: If there is no run with this id (404).
        """
        return await self._call(build_call("GET", "runs", run_id), RunDocument)

    async def list(
        self,
        *,
        agent: str | None = None,
        status: Sequence[RunStatus] = (),
        metadata: Mapping[str, str] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
    ) -> AsyncGenerator[RunDocument]:
        """Iterate over the runs, newest first; pages are fetched as needed.

        Args:
            agent: Only runs of this agent.
            status: Only runs in one of these states; all if empty.
            metadata: Only runs with these names and texts.
            created_after: Only runs that were created later.
            created_before: Only runs that were created earlier.

        Raises:
            ValueError: If a time has no zone.
        """
        params = [("limit", str(_PAGE)), *(("status", one) for one in status)]
        params += [("agent", agent)] if agent is not None else []
        params += [(f"metadata[{name}]", text) for name, text in (metadata or {}).items()]
        for name, time in (("created_after", created_after), ("created_before", created_before)):
            if time is not None:
                if time.tzinfo is None:
                    raise ValueError(f"{name}: expected a time with its zone")
                params.append((name, time.isoformat()))
        cursor: list[tuple[str, str]] = []
        while True:
            call = build_call("GET", "runs", params=params + cursor)
            page = await self._call(call, RunsDocument)
            for run in page.runs:
                yield run
            if page.next_cursor is None:
                return
            cursor = [("cursor", page.next_cursor)]

    async def cancel(self, run_id: str, *, reason: str | None = None) -> RunDocument:
        """Ask for a run to be cancelled, and return its state after that.

        Raises:
            ServerProblemError: If there is no run with this id (404).
        """
        body = {} if reason is None else {"reason": reason}
        call = build_call("POST", "runs", run_id, "cancel", json=body)
        return await self._call(call, RunDocument)

    async def answer(
        self,
        run_id: str,
        wait_id: str,
        *,
        approvals: Mapping[str, bool | Mapping[str, Any]] | None = None,
        results: Mapping[str, Any] | None = None,
        answer: Any = None,
    ) -> RunDocument:
        """Give a run what it waits for, and return its state after that; the same answer may be given again.

        Args:
            run_id: The run.
            wait_id: The `wait_id` of its `waiting_for`.
            approvals: Whether each call that waits for approval may be made, by its id: true, false, or `{"approved": …, "reason": …}`.
            results: The result of each call that the caller makes itself, by its id: any JSON.
            answer: The answer to its question: any JSON but null.

        Raises:
            ServerProblemError: If it waits for something else (409), or the answer does not fit (422).
        """
        decided = {
            call_id: {"approved": one} if isinstance(one, bool) else dict(one)
            for call_id, one in (approvals or {}).items()
        }
        body = {"wait_id": wait_id, "approvals": decided, "results": dict(results or {})}
        body |= {} if answer is None else {"answer": answer}
        return await self._call(build_call("POST", "runs", run_id, "input", json=body), RunDocument)

    async def steer(
        self, run_id: str, message: Any, *, idempotency_key: str | None = None
    ) -> RunDocument:
        """Send a message to a run under way, which reads it before its next round, and return the run's state after that.

        A message that comes too late is in the `unread` of the `details` of its result.

        Args:
            run_id: The run.
            message: The message, in a form that its agent takes, such as a text.
            idempotency_key: With the same key a message is delivered once; generated if left out, so that retrying this
                call after a broken connection delivers nothing twice.

        Raises:
            ServerProblemError: If it waits for an answer or has ended (409), or the agent does not take the message (422).
        """
        headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}
        body = {"steer": message}
        call = build_call("POST", "runs", run_id, "input", json=body, headers=headers)
        return await self._call(call, RunDocument)

    async def events(self, run_id: str, *, after: int = 0) -> AsyncGenerator[EventDocument]:
        """Iterate over a run's events as they come, each once, up to the last, or until the run waits; a stream that breaks is resumed.

        Args:
            run_id: The run.
            after: The number of the last event that the caller has; 0 for none.

        Raises:
            ServerProblemError: If there is no run with this id (404).
            httpx.TransportError: If the server cannot be reached for too long.
        """
        tries = Retries(self._retries)
        while True:
            headers = {"Accept": "text/event-stream"}
            headers |= {"Last-Event-ID": str(after)} if after else {}
            call = build_call("GET", "runs", run_id, "events", headers=headers)
            try:
                async with self._http.stream(**call, timeout=self._timeout) as answer:
                    if answer.is_error:
                        await answer.aread()
                    if check_answer(answer).status_code == HTTPStatus.NO_CONTENT:
                        return
                    async for frame in EventSource(answer).aiter_sse():
                        event = EventDocument.model_validate_json(frame.data)
                        after = event.number
                        # Only tries in a row count: an event shows that the server is alive.
                        tries.reset()
                        yield event
                        if event.type in LAST_EVENTS:
                            return
                # The stream ended before the run did, for instance because the server stops.
                pause = tries.next_pause()
            except (httpx.TransportError, ServerProblemError) as error:
                pause = tries.next_pause(error)
            await sleep(pause)

    async def wait(self, run_id: str) -> RunDocument:
        """Wait until a run has ended or waits for an answer, and return the run.

        Raises:
            ServerProblemError: If there is no run with this id (404).
        """
        while (run := await self.get(run_id)).status not in RESTING:
            # Its state is what counts, so the events so far are not read again.
            async with aclosing(self.events(run_id, after=run.last_event)) as events:
                async for _ in events:
                    pass
        return run

    async def _call[Model: BaseModel](self, call: Call, model: type[Model]) -> Model:
        tries = Retries(self._retries)
        while True:
            try:
                answer = check_answer(await self._http.request(**call))
            except (httpx.TransportError, ServerProblemError) as error:
                pause = tries.next_pause(error)
            else:
                return model.model_validate_json(answer.content)
            await sleep(pause)
