"""Model requests and tool calls as DBOS steps: what finished once is not done again after a crash."""

from collections import defaultdict, deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from dbos import DBOS, StepOptions, StepReservation
from pydantic_ai import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, RunContext
from pydantic_ai.agent import AgentRunResult, EventStreamHandler
from pydantic_ai.capabilities import AbstractCapability, ValidatedToolArgs, WrapRunHandler
from pydantic_ai.capabilities.abstract import WrapToolExecuteHandler
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models import (
    CompletedStreamedResponse,
    Model,
    ModelRequestParameters,
    StreamedResponse,
)
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from dify_agent.protocol import ModelRequestStartedEvent

from .sink import StreamEventSink


class RunSteps:
    """The numbered and recorded steps of one execution of one run.

    DBOS finds a recorded step by its number, so numbers must be drawn in the same order on every
    execution. Model requests follow each other and draw theirs as they start. The tool calls of one
    response run at the same time, so theirs are reserved in the order of the response before any starts.

    Attributes:
        attempt: The running number of this execution of the run, from 1.
    """

    def __init__(self, *, run_id: str, sink: StreamEventSink, attempt: int) -> None:
        self.attempt = attempt
        self._run_id = run_id
        self._sink = sink
        self._request_count = 0
        self._reservations: dict[str, deque[StepReservation]] = {}

    def wrap_model(self, model: Model, event_stream_handler: EventStreamHandler[Any]) -> Model:
        """Make every request to a model a step, inside which its events are handled."""
        return _StepModel(model, steps=self, event_stream_handler=event_stream_handler)

    def build_capability(self) -> AbstractCapability[Any]:
        """Make every tool call a step."""
        return _ToolSteps(self)

    async def request_model(self, request: Callable[[], Awaitable[ModelResponse]]) -> ModelResponse:
        """Make a model request once, and remember its response."""
        self._request_count += 1
        started = ModelRequestStartedEvent(
            run_id=self._run_id, request_index=self._request_count, attempt=self.attempt
        )

        async def step() -> bytes:
            async with self._sink.batched():
                await self._sink.emit(started)
                response = await request()
            return ModelMessagesTypeAdapter.dump_json([response])

        recorded = await DBOS.run_step_async(_step_options("model_request"), step)
        response = _parse_response(recorded)
        self._reserve_tool_calls(response)
        return response

    async def call_tool(
        self, call: ToolCallPart, execute: Callable[[], Awaitable[object]]
    ) -> object:
        """Call a tool once, and remember its result or its error."""

        async def step() -> object:
            return await execute()

        options = _step_options(f"tool_call:{call.tool_name}")
        reserved = self._reservations.get(call.tool_call_id)
        if reserved:
            return await reserved.popleft().run_async(options, step)
        # A call that an earlier run left in the history belongs to no response of this run.
        return await DBOS.run_step_async(options, step)

    def _reserve_tool_calls(self, response: ModelResponse) -> None:
        reservations: dict[str, deque[StepReservation]] = defaultdict(deque)
        for call in response.tool_calls:
            reservations[call.tool_call_id].append(DBOS.reserve_step())
        self._reservations = dict(reservations)


def _step_options(name: str) -> StepOptions:
    # Preemptible: a cancelled run lets go of the daemon's connection instead of reading to the end.
    return {"name": name, "preemptible": True}


def _parse_response(recorded: bytes) -> ModelResponse:
    (message,) = ModelMessagesTypeAdapter.validate_json(recorded)
    if not isinstance(message, ModelResponse):  # pragma: no cover - only responses are recorded
        raise TypeError(f"recorded model request: expected a ModelResponse, got {message!r}")
    return message


class _StepModel(WrapperModel):
    def __init__(
        self, wrapped: Model, *, steps: RunSteps, event_stream_handler: EventStreamHandler[Any]
    ) -> None:
        super().__init__(wrapped)
        self._steps = steps
        self._event_stream_handler = event_stream_handler

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        async def request() -> ModelResponse:
            return await self.wrapped.request(messages, model_settings, model_request_parameters)

        return await self._steps.request_model(request)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        async def request() -> ModelResponse:
            async with self.wrapped.request_stream(
                messages, model_settings, model_request_parameters, run_context
            ) as stream:
                if run_context is not None:
                    await self._event_stream_handler(run_context, stream)
                async for _ in stream:
                    pass
            return stream.get()

        response = await self._steps.request_model(request)
        # The events were handled inside the step, so the graph gets a stream without any.
        yield CompletedStreamedResponse(response, model_request_parameters=model_request_parameters)


@dataclass
class _ToolSteps(AbstractCapability[Any]):
    steps: RunSteps

    async def wrap_run(
        self, ctx: RunContext[Any], *, handler: WrapRunHandler
    ) -> AgentRunResult[Any]:
        if ctx.agent is None:  # pragma: no cover - an agent runs
            return await handler()
        # Results in call order, as they come on a replay too: storing an event draws a step number.
        with ctx.agent.parallel_tool_call_execution_mode("parallel_ordered_events"):
            return await handler()

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],  # noqa: ARG002 - Pydantic AI's signature
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,  # noqa: ARG002 - likewise
        args: ValidatedToolArgs,
        handler: WrapToolExecuteHandler,
    ) -> Any:
        async def execute() -> object:
            return await handler(args)

        return await self.steps.call_tool(call, execute)
