"""The runner of agents: a request in, events out.

The order is fixed: check the composition, put the layers together and enter them, set their exit intents, then take the
prompt, the model and the tools from them, and let the agent run. Anything that goes wrong before the agent runs is the
request's fault and reported as such.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Generator, Iterator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from functools import partial
from typing import Any, Final

import httpx
from pydantic_ai import (
    Agent,
    AgentStreamEvent,
    DeferredToolRequests,
    DeferredToolResults,
    FunctionToolCallEvent,
    RunContext,
    Tool,
)
from pydantic_ai.agent import EventStreamHandler
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import Model

from dify_agent._limits import MAX_MODEL_REQUESTS
from dify_agent.compositor import (
    CompositorRun,
    CompositorSessionSnapshot,
    Layer,
    LayerProvider,
    Once,
    RunEnd,
    RunStart,
    StepWork,
    do_once,
)
from dify_agent.exceptions import AgentRunValidationError
from dify_agent.layers.dify_plugin._secrets import ConfigSecrets
from dify_agent.layers.dify_plugin.configs import MOST_TOOLS
from dify_agent.layers.history import HistoryLayer
from dify_agent.layers.output import OUTPUT_TOOL_NAME, OutputLayer
from dify_agent.protocol import (
    CreateRunRequest,
    RunCancelledEvent,
    RunComposition,
    RunStartedEvent,
    RunSucceededEvent,
)

from ._agent import (
    MODEL_LAYER_NAME,
    PreparedAgent,
    ToolsLayer,
    find_model_layer,
    find_only_layer,
    find_question,
    require_open_calls,
    require_user_prompts,
)
from ._composition import build_compositor, find_layer_problems
from ._failure import RunTimeError, build_run_failed, composition_secrets
from ._stream import RunEventReader, redact_json
from .event_sink import RunEventSink
from .layer_providers import create_default_layer_providers
from .waiting import RunResumption, WaitingRun, WaitingState


__all__ = ["AgentRunRunner", "validate_composition"]


type _End = Callable[..., RunSucceededEvent | WaitingRun]
"""A function that returns the end of a run from its `session_snapshot`."""

type ModelWrapper = Callable[[Model, EventStreamHandler[Any]], Model]
"""A function that puts something between an agent and its model; it also gets the handler of the agent's events."""

_REQUEST_FAULTS: Final = (KeyError, TypeError, RuntimeError, ValueError)


class AgentRunRunner:
    """A runner of agents, one for each call of `run`; calls may run at the same time.

    The HTTP client is the caller's: it must be open as long as runs continue, and no run closes it.
    """

    def __init__(  # noqa: PLR0913 - each names one part of the engine around the runner
        self,
        *,
        http_client: httpx.AsyncClient,
        event_sink: RunEventSink,
        layer_providers: Sequence[LayerProvider[Any]] | None = None,
        tools: Sequence[Tool[object]] = (),
        wrap_model: ModelWrapper | None = None,
        capabilities: Sequence[AbstractCapability[object]] = (),
        max_model_requests: int = MAX_MODEL_REQUESTS,
        max_seconds: float | None = None,
        once: Once = do_once,
    ) -> None:
        """Take the parts that all runs share.

        Args:
            http_client: The client for calls of models and tools.
            event_sink: The sink for the events.
            layer_providers: The kinds of layers that requests may ask for; the default ones if left out.
            tools: Tools that every run has besides those of its layers.
            wrap_model: Puts something between each agent and its model.
            capabilities: Pydantic AI capabilities of every agent.
            max_model_requests: The most model requests of a run; one that needs more fails with `model_request_limit`.
            max_seconds: The most seconds of one call of `run`; a run that takes longer fails with `run_time_limit`. None for any number.
            once: Does a step of a layer that gets ready once in the life of a run.
        """
        self._http_client = http_client
        self._event_sink = event_sink
        self._layer_providers = (
            create_default_layer_providers() if layer_providers is None else tuple(layer_providers)
        )
        self._tools = tuple(tools)
        self._wrap_model = wrap_model
        self._capabilities = tuple(capabilities)
        self._max_model_requests = max_model_requests
        self._max_seconds = max_seconds
        self._once = once

    async def run(
        self, run_id: str, request: CreateRunRequest, resumption: RunResumption | None = None
    ) -> WaitingRun | None:
        """Run the agent that the request describes, to its end or until tool calls wait for approval or for a result from outside.

        The sink gets `run_started`, the agent's events, and one of `run_succeeded`, `run_failed` and `run_cancelled`.
        Cancelling the task cancels the run: its connections are closed, then the cancellation continues. An error of the run
        becomes an event and is not raised. A run that waits has no last event yet: call this again, with the same id and request.

        Args:
            run_id: The run.
            request: What it is to do.
            resumption: What it continues with, if it has waited.

        Returns:
            The calls that it waits for, and what it continues from; None once it has ended.
        """
        secrets = composition_secrets(request.composition)
        run: CompositorRun | None = None
        try:
            if resumption is None:
                await self._event_sink.emit(RunStartedEvent(run_id=run_id))
            async with AsyncExitStack() as stack:
                run = await self._enter(request, resumption, stack)
                # What the layers were made of may hold files, and nobody reads it again.
                request = request.model_copy(update={"composition": RunComposition()})
                async with _within(self._max_seconds):
                    end, said = await self._execute(
                        run_id, request, resumption, run=run, secrets=secrets
                    )
                # What has been answered is an answer, however long layers take to note it.
                if said is not None:
                    await self._end(run_id, run, said)
            ended = end(session_snapshot=await _take_snapshot(run))
        except asyncio.CancelledError:
            snapshot = None if run is None else await _take_snapshot(run)
            await self._event_sink.emit(RunCancelledEvent(run_id=run_id, session_snapshot=snapshot))
            raise
        except Exception as error:  # noqa: BLE001 - whatever a model, a tool or a layer raises is how the run ended
            snapshot = None if run is None else await _take_snapshot(run)
            ended = build_run_failed(run_id, error, secrets=secrets, session_snapshot=snapshot)
        if isinstance(ended, WaitingRun):
            return ended
        await self._event_sink.emit(ended)
        return None

    async def _execute(
        self,
        run_id: str,
        request: CreateRunRequest,
        resumption: RunResumption | None,
        *,
        run: CompositorRun,
        secrets: ConfigSecrets,
    ) -> tuple[_End, RunEnd | None]:
        """Run the agent, and return a function that makes the run's end from the snapshot, and what the layers note before.

        The snapshot exists only once the layers are left.
        """
        if MODEL_LAYER_NAME not in run.slots and request.session_snapshot is not None:
            # Only the layers' exit intents count.
            return partial(RunSucceededEvent, run_id=run_id), None

        # The first events of a run that goes on are of the calls that waited, which were told before it did.
        are_calls_told = resumption is not None

        async def report(
            _context: RunContext[object], events: AsyncIterable[AgentStreamEvent]
        ) -> None:
            nonlocal are_calls_told
            hidden = FunctionToolCallEvent if are_calls_told else ()
            are_calls_told = False
            reader = RunEventReader(run_id, secrets)
            try:
                async for event in events:
                    if isinstance(event, hidden):
                        continue
                    for emitted in reader.read(event):
                        await self._event_sink.emit(emitted)
            finally:
                # Here and not at the run's end: a durable engine records a step's events with the step.
                for emitted in reader.end():
                    await self._event_sink.emit(emitted)

        prepared = await self._prepare(run_id, request, run, report)
        result = await prepared.run(
            run_id,
            event_stream_handler=report,
            max_model_requests=self._max_model_requests,
            resumption=resumption,
        )
        said = run.said_prompts if request.deferred_tool_results is None else ()
        if not isinstance(result.output, DeferredToolRequests):
            output = redact_json(result.output, secrets.spoken)
            end = partial(RunSucceededEvent, run_id=run_id, output=output)
            return end, RunEnd(said=said, output=output)
        if (question := find_question(run, result.output)) is not None:
            prepared.keep(result.all_messages())
            call = question.model_copy(update={"args": redact_json(question.args, secrets.known)})
            end = partial(RunSucceededEvent, run_id=run_id, deferred_tool_call=call)
            return end, RunEnd(said=said, output=None)
        run.set_exit_intents(default="suspend")  # The request's are for the run's end.
        wait = partial(
            _wait,
            result.output,
            part=1 if resumption is None else resumption.state.part + 1,
            messages=result.all_messages(),
            usage=result.usage,
        )
        return wait, None

    async def _enter(
        self, request: CreateRunRequest, resumption: RunResumption | None, stack: AsyncExitStack
    ) -> CompositorRun:
        """Enter the layers on `stack`."""

        def build() -> AbstractAsyncContextManager[CompositorRun]:
            configs = {spec.name: spec.config for spec in request.composition.layers}
            begun = request if resumption is None else resumption.state
            return build_compositor(request.composition, self._layer_providers).enter(
                configs, session_snapshot=begun.session_snapshot
            )

        with _as_request_faults():
            # In a thread, because a large composition would hold up the event loop.
            run = await stack.enter_async_context(await asyncio.to_thread(build))
            run.set_exit_intents(default=request.on_exit.default, layers=request.on_exit.layers)
            return run

    async def _prepare(
        self,
        run_id: str,
        request: CreateRunRequest,
        run: CompositorRun,
        handler: EventStreamHandler[object],
    ) -> PreparedAgent:
        with _as_request_faults():
            await self._start(run_id, run)
            history = find_only_layer(run, HistoryLayer)
            results = request.deferred_tool_results
            if results is not None:
                require_open_calls(history, results)
            return PreparedAgent(
                agent=await self._build_agent(run, handler),
                user_prompts=require_user_prompts(run) if results is None else (),
                history=history,
                deferred_results=None if results is None else DeferredToolResults(**dict(results)),
            )

    async def _start(self, run_id: str, run: CompositorRun) -> None:
        """Let the layers get ready, in the order of the graph."""
        for layer, start in self._starts(run_id, run):
            await layer.on_start(start)

    async def _end(self, run_id: str, run: CompositorRun, end: RunEnd) -> None:
        """Let the layers note what was said, in the order of the graph."""
        for layer, start in self._starts(run_id, run):
            await layer.on_end(start, end)

    def _starts(
        self, run_id: str, run: CompositorRun
    ) -> Iterator[tuple[Layer[Any, Any, Any], RunStart]]:
        """Yield each layer with its means; the names of steps begin with its place in the graph."""
        said = run.said_prompts
        for number, slot in enumerate(run.slots.values()):

            async def once(key: str, work: StepWork, place: str = f"{number}:") -> bytes:
                return await self._once(place + key, work)

            start = RunStart(run_id=run_id, http_client=self._http_client, said=said, once=once)
            yield slot.layer, start

    async def _build_agent(
        self, run: CompositorRun, handler: EventStreamHandler[object]
    ) -> Agent[object, Any]:
        model = find_model_layer(run).get_model(http_client=self._http_client)
        tools = await self._resolve_run_tools(run)
        output = find_only_layer(run, OutputLayer)
        agent = Agent[object, Any](
            model if self._wrap_model is None else self._wrap_model(model, handler),
            name="dify_agent",
            output_type=[str if output is None else output.output_type, DeferredToolRequests],
            instructions=run.prompts,
            tools=tools,
            capabilities=self._capabilities,
        )
        if output is not None:
            agent.output_validator(output.validate_output)
        return agent

    async def _resolve_run_tools(self, run: CompositorRun) -> list[Tool[object]]:
        """Return the server's tools, the layers' ready-made ones, and those that plugins and Dify have, in the order of the layers.

        Raises:
            AgentRunValidationError: If two tools have the same name, wherever they come from, or there are too many.
        """
        resolved = [*self._tools, *run.tools]
        slots = run.slots.values()
        called: list[Tool[object]] = []
        for layer in (slot.layer for slot in slots if isinstance(slot.layer, ToolsLayer)):
            called += await layer.get_tools(http_client=self._http_client)
            if len(called) > MOST_TOOLS:
                raise AgentRunValidationError(
                    f"Agent run takes at most {MOST_TOOLS} tools of plugins and of Dify."
                )
        resolved += called
        names = Counter(tool.name for tool in resolved)
        # The model calls the output layer by a tool of this name, which no other tool may have.
        if any(isinstance(slot.layer, OutputLayer) for slot in slots):
            names[OUTPUT_TOOL_NAME] += 1
        if duplicates := sorted(name for name, count in names.items() if count > 1):
            raise AgentRunValidationError(
                f"Agent run requires unique tool names across all layers, got duplicates: {', '.join(duplicates)}."
            )
        return resolved


async def _take_snapshot(run: CompositorRun) -> CompositorSessionSnapshot:
    # In a thread: of a long conversation it takes long.
    return await asyncio.to_thread(lambda: run.session_snapshot)


@contextmanager
def _as_request_faults() -> Generator[None]:
    """Raise what goes wrong before the agent runs as the request's fault."""
    try:
        yield
    # A ValueError, too, but one that already says what it has to.
    except AgentRunValidationError:
        raise
    except _REQUEST_FAULTS as error:
        raise AgentRunValidationError(str(error) or type(error).__name__) from error


@asynccontextmanager
async def _within(seconds: float | None) -> AsyncGenerator[None]:
    """Raise a `RunTimeError` if it takes longer."""
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            yield
    except TimeoutError:
        if limit.expired():
            raise RunTimeError(seconds) from None
        raise


def _wait(requests: DeferredToolRequests, **state: Any) -> WaitingRun:
    return WaitingRun(requests=requests, state=WaitingState(**state))


def validate_composition(
    composition: RunComposition, layer_providers: Sequence[LayerProvider[Any]]
) -> None:
    """Check types, names, dependencies and configurations of a composition, without making a layer.

    Raises:
        AgentRunValidationError: If the composition cannot be run; it names each layer that is at fault.
    """
    try:
        problems = find_layer_problems(composition, layer_providers)
    except _REQUEST_FAULTS as error:
        raise AgentRunValidationError(str(error)) from error
    if problems:
        raise AgentRunValidationError("; ".join(problems.values()), layers=problems)
