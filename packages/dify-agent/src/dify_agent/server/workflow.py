"""The workflow that is a run, as DBOS starts it, and starts it again after a crash."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import httpx
from dbos import DBOS

from dify_agent.compositor import LayerProvider
from dify_agent.runtime.runner import AgentRunRunner

from ._requests import RequestStore
from .sink import EVENT_STREAM, StreamEventSink
from .steps import RunSteps


WORKFLOW_NAME = "dify_agent_run"
_MAX_RECOVERY_ATTEMPTS = 20  # A run that crashes its server must not do so for ever.


class RunWorker:
    """What executes runs, and stops in a way that lets another server go on with them."""

    def __init__(
        self,
        *,
        http_client: httpx.AsyncClient,
        requests: RequestStore,
        layer_providers: Sequence[LayerProvider[Any]],
    ) -> None:
        self._http_client = http_client
        self._requests = requests
        self._layer_providers = layer_providers
        self._executions: set[asyncio.Task[object]] = set()
        self._is_stopping = False

    async def execute(self, run_id: str) -> str:
        """Execute a run to its end, and return its last event as JSON text."""
        task = asyncio.current_task()
        if self._is_stopping or task is None:
            # Not an outcome: DBOS keeps the run as unfinished, and another server takes it up.
            raise asyncio.CancelledError
        self._executions.add(task)
        try:
            return await self._execute(run_id)
        finally:
            self._executions.discard(task)

    async def stop(self, *, drain_seconds: float) -> None:
        """Let executions end for a while, then break off the rest without an outcome."""
        self._is_stopping = True
        if self._executions:
            await asyncio.wait(self._executions, timeout=drain_seconds)
        left = set(self._executions)
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left)

    async def _execute(self, run_id: str) -> str:
        claimed = await asyncio.to_thread(self._requests.claim, run_id)
        sink = StreamEventSink()
        steps = RunSteps(run_id=run_id, sink=sink, attempt=claimed.attempt)
        runner = AgentRunRunner(
            http_client=self._http_client,
            event_sink=sink,
            layer_providers=self._layer_providers,
            wrap_model=steps.wrap_model,
            capabilities=[steps.build_capability()],
        )
        await runner.run(run_id, claimed.request)
        # Wakes who reads the stream; the end of a workflow alone does not.
        await DBOS.close_stream_async(EVENT_STREAM)
        return sink.take_terminal()


def register_run_workflow(worker: RunWorker) -> Callable[[str], Coroutine[Any, Any, str]]:
    """Tell DBOS what to execute for a run, and return what to enqueue."""

    @DBOS.workflow(name=WORKFLOW_NAME, max_recovery_attempts=_MAX_RECOVERY_ATTEMPTS)
    async def run_agent(run_id: str) -> str:
        return await worker.execute(run_id)

    return run_agent
