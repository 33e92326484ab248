"""Model requests and tool calls as steps of a run, which are not repeated after a crash.

Requests follow each other, so their steps are named by numbers. The tool calls of an answer run at the same time, in any order; their
steps are named by facts that are the same in every attempt: the number of the request, and the call's id, name and arguments.
"""

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from pydantic_ai import ModelMessage, ModelResponse, RunContext
from pydantic_ai.agent import AgentRunResult, EventStreamHandler
from pydantic_ai.capabilities import AbstractCapability, ValidatedToolArgs, WrapRunHandler
from pydantic_ai.capabilities.abstract import WrapToolExecuteHandler
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models import (
    CompletedStreamedResponse,
    Model,
    ModelRequestContext,
    ModelRequestParameters,
    StreamedResponse,
)
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from agent_server.executor import Execution, TransientError
from dify_agent.compositor import StepWork
from dify_agent.protocol import ModelRequestStartedEvent

from ._recorder import RunRecorder
from ._records import TOOL_ERRORS, ToolRecord, dump_response, parse_response
from ._sink import ExecutionSink
from ._transient_errors import to_transient, to_transient_result


_DIGEST_DIGITS: Final = 16


class RunSteps:
    """The steps of one attempt to execute a run.

    Args:
        run: The attempt.
        sink: The sink for its events.
        recorder: Its log.
        answers: The models' answers before the run last waited; their content is not read.
        repeat_shown: Whether to repeat a model request that broke off even if part of the answer was shown.

    Attributes:
        answers: The models' answers so far, including those of earlier attempts.
    """

    def __init__(
        self,
        run: Execution,
        sink: ExecutionSink,
        recorder: RunRecorder,
        *,
        answers: Sequence[ModelResponse] = (),
        repeat_shown: bool,
    ) -> None:
        self.answers = [*answers]
        self._run = run
        self._sink = sink
        self._recorder = recorder
        self._repeat_shown = repeat_shown
        self._request_count = len(answers)
        self._calls: Counter[str] = Counter()

    def wrap_model(self, model: Model, event_stream_handler: EventStreamHandler[Any]) -> Model:
        """Return a model whose requests are steps, which include the handling of their events."""
        return _StepModel(model, steps=self, event_stream_handler=event_stream_handler)

    def build_capability(self) -> AbstractCapability[Any]:
        """Return the capability that makes every tool call a step."""
        return _ToolSteps(self)

    async def do_once(self, key: str, work: StepWork) -> bytes:
        """Do a step of a layer that gets ready once in the life of the run; one that fails in a transient way is done again."""

        async def take() -> bytes:
            with _raising_transient():
                return await work()

        try:
            return await self._run.step(f"start:{key}", take)
        except TransientError as error:
            raise _fault(error) from None

    async def request_model(
        self, request: Callable[[], Awaitable[ModelResponse]], asked: ModelRequestContext
    ) -> ModelResponse:
        """Make a model request once in the life of the run, and record its answer."""
        self._request_count += 1
        number = self._request_count
        started = ModelRequestStartedEvent(
            run_id=self._run.run_id, request_index=number, attempt=self._run.attempt
        )

        async def work() -> bytes:
            async with self._sink.in_request(started):
                with _raising_transient():
                    response = await request()
                # For an answer that has emitted nothing, such as one of tool calls only.
                await self._sink.tell_started()
            return dump_response(response)

        await asyncio.to_thread(self._recorder.ask, number, asked)  # Large requests take long.
        try:
            recorded = await self._run.step(
                f"model:{number}", work, after_events=self._repeat_shown
            )
            response = parse_response(recorded)
        except TransientError as error:
            fault = _fault(error)
            self._recorder.answer_failed(number, fault)
            raise fault from None
        except Exception as error:
            self._recorder.answer_failed(number, error)
            raise
        self._recorder.answer(number, response)
        self.answers.append(response)
        return response

    async def call_tool(
        self,
        call: ToolCallPart,
        arguments: ValidatedToolArgs,
        execute: Callable[[], Awaitable[object]],
    ) -> object:
        """Call a tool once in the life of the run, and record its result, or the error that answers the model.

        A call that fails in a transient way is made again; if it keeps failing, its failure is its result.
        """
        key = self._tool_key(call)
        # The outcome of the latest try here, which is used as it is; the record is for attempts
        # after a crash.
        live: list[object] = []

        async def work() -> bytes:
            # Another try: the result of the one before does not count.
            live.clear()
            try:
                with _raising_transient():
                    result = await execute()
            except TOOL_ERRORS as error:
                live.append(error)
                return _dump(ToolRecord.from_error(error))
            live.append(result)
            if (transient := to_transient_result(result)) is not None:
                raise transient
            return _dump(ToolRecord.from_result(result))

        async def give_up() -> bytes:
            return _dump(ToolRecord.from_result(live[0]))

        self._recorder.bind(call, arguments)
        try:
            recorded = await self._run.step(key, work)
        except TransientError as error:
            # Each try raised, so there is no result for the model.
            if not live:
                raise _fault(error) from None
            # Recorded under the same key, so that an attempt after a crash gets the same failure.
            recorded = await self._run.step(key, give_up)
        return self._result(call, live[0] if live else None, recorded)

    def _result(self, call: ToolCallPart, live: object, recorded: bytes) -> object:
        """Return or raise the outcome of a call, from this attempt or from the record of an earlier one."""
        try:
            if isinstance(live, Exception):
                raise live
            result = ToolRecord.model_validate_json(recorded).replay() if live is None else live
        except TOOL_ERRORS as error:
            self._recorder.fail(call, error)
            raise
        self._recorder.finish(call, result)
        return result

    def _tool_key(self, call: ToolCallPart) -> str:
        text = json.dumps([call.tool_call_id, call.tool_name, call.args_as_json_str()])
        digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:_DIGEST_DIGITS]
        key = f"tool:{self._request_count}:{digest}"
        self._calls[key] += 1
        # The number tells identical calls apart; which of them came first makes no difference.
        return f"{key}:{self._calls[key]}"


@contextmanager
def _raising_transient() -> Generator[None]:
    """Raise a `TransientError` in place of an error that is worth another try."""
    try:
        yield
    except Exception as error:
        if (transient := to_transient(error)) is not None:
            raise transient from error
        raise


def _fault(error: TransientError) -> BaseException:
    """Return the error behind a `TransientError` for which there was no further try."""
    return error.__cause__ or RuntimeError("A step failed without being taken.")


def _dump(record: ToolRecord) -> bytes:
    return record.model_dump_json().encode()


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
        asked = self._asked(messages, model_settings, model_request_parameters)
        request = partial(self.wrapped.request, messages, model_settings, model_request_parameters)
        return await self._steps.request_model(request, asked)

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

        asked = self._asked(messages, model_settings, model_request_parameters)
        response = await self._steps.request_model(request, asked)
        # The events were handled inside the step, so the graph gets a stream without any.
        yield CompletedStreamedResponse(response, model_request_parameters=model_request_parameters)

    def _asked(
        self,
        messages: list[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
    ) -> ModelRequestContext:
        return ModelRequestContext(
            model=self.wrapped,
            messages=messages,
            model_settings=settings,
            model_request_parameters=parameters,
        )


@dataclass
class _ToolSteps(AbstractCapability[Any]):
    steps: RunSteps

    async def wrap_run(
        self, ctx: RunContext[Any], *, handler: WrapRunHandler
    ) -> AgentRunResult[Any]:
        if ctx.agent is None:  # pragma: no cover - an agent runs
            return await handler()
        # Results in the order of the calls, as on a replay: events outside of model requests are steps
        # with a number.
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
        return await self.steps.call_tool(call, args, partial(handler, args))
