"""The executor, which checks and executes compositions as runs of an agent server."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx
from pydantic_ai import ModelResponse

from agent_server.executor import (
    AgentDescription,
    Execution,
    JsonObject,
    Problem,
    RequestRefusedError,
    RunResult,
    UnknownAgentError,
    Waiting,
)
from agent_server.http import build_model, check_schemas
from agent_server.logs import RunFeeds
from dify_agent._daemon_client import make_http_client
from dify_agent._settings import DifyAgentSettings
from dify_agent.compositor import CompositorSessionSnapshot, LayerProvider
from dify_agent.exceptions import AgentRunValidationError
from dify_agent.plugin_daemon_transport import SilenceLimits
from dify_agent.protocol import (
    CreateRunRequest,
    RunCancelledEvent,
    RunComposition,
    RunFailedEvent,
    RunSucceededEvent,
)
from dify_agent.runtime._failure import composition_secrets
from dify_agent.runtime.layer_providers import create_default_layer_providers
from dify_agent.runtime.runner import AgentRunRunner, validate_composition
from dify_agent.runtime.waiting import RunResumption
from stream_text import has_many_values, is_list, read_member

from ._recorder import RunRecorder
from ._sink import ExecutionSink
from ._steps import RunSteps
from ._usage import sum_prices, sum_usage
from ._waits import build_waiting, read_resumption


AGENT: Final = "composition"
"""The name of the only agent, which each request describes itself."""

# For sending, and for a free connection; `SilenceLimits` bounds the reading.
_DAEMON_TIMEOUT: Final = httpx.Timeout(600, connect=10)
# Of a conversation: more than the models that there are can read at once.
_MOST_MESSAGES: Final = 10_000
_MOST_VALUES: Final = 200_000


class DifyAgentExecutor:
    """An executor of compositions, on the models and tools of one plugin daemon.

    Args:
        settings: The daemon's address and key, and the bounds of a run.
        layer_providers: Further kinds of layers that runs may ask for.
    """

    name = "dify-agent"
    """The name of the system."""

    version = "1"
    """The version of the recorded steps: of their keys and of the records under them."""

    def __init__(
        self, settings: DifyAgentSettings, *, layer_providers: Sequence[LayerProvider[Any]] = ()
    ) -> None:
        self._settings = settings
        self._layer_providers = [*build_layer_providers(settings), *layer_providers]
        self._http_client: httpx.AsyncClient | None = None
        self._feeds = RunFeeds(self.name, settings.run_logs, traces=settings.traces)

    def agents(self) -> Sequence[AgentDescription]:
        """Return the one agent, with the schema of a composition."""
        return [AgentDescription(name=AGENT, input_schema=CreateRunRequest.model_json_schema())]

    def check(self, agent: str, request: JsonObject) -> JsonObject:
        """Return the request with all defaults filled in.

        Raises:
            UnknownAgentError: If the agent is another one.
            RequestRefusedError: If the request does not describe a composition that can be run; it quotes no value.
        """
        if agent != AGENT:
            raise UnknownAgentError(agent)
        try:
            parsed = build_model(CreateRunRequest, request)
            _check_schemas(parsed.composition)
            _check_states(parsed.session_snapshot)
            validate_composition(parsed.composition, self._layer_providers)
        except AgentRunValidationError as error:
            raise RequestRefusedError(*_layer_problems(error)) from None
        except RequestRefusedError as error:
            problems = error.problems
            if problems[0].field == "body":
                problems = [Problem(field="request", message=problems[0].message)]
            raise RequestRefusedError(*problems) from None
        return parsed.model_dump(mode="json")

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[None]:
        """Keep the HTTP client for the daemon open."""
        async with make_http_client(_DAEMON_TIMEOUT) as http_client:
            self._http_client = http_client
            yield

    async def execute(self, run: Execution) -> RunResult | Waiting:
        """Run the agent that the request composes, to its end or until tool calls wait for approval or for a client's result.

        Raises:
            RuntimeError: If the executor is not open.
        """
        if self._http_client is None:
            raise RuntimeError("An executor must be opened before it executes runs.")
        # In threads, because a large request would hold up the event loop.
        requests = [await asyncio.to_thread(CreateRunRequest.model_validate, run.request)]
        run.request.clear()
        secrets = await asyncio.to_thread(composition_secrets, requests[0].composition)
        recorder = RunRecorder(self._feeds.open(run, known=secrets.known))
        try:
            sink = ExecutionSink(run, recorder)
            answers: Sequence[ModelResponse] = ()
            resumption: RunResumption | None = None
            if run.resumption is not None:
                recorder.take_decisions(run.resumption.answer.approvals)
                answers, resumption = await asyncio.to_thread(read_resumption, run.resumption)
            repeat_shown = self._settings.repeat_shown
            steps = RunSteps(run, sink, recorder, answers=answers, repeat_shown=repeat_shown)
            runner = AgentRunRunner(
                http_client=self._http_client,
                event_sink=sink,
                layer_providers=self._layer_providers,
                wrap_model=steps.wrap_model,
                capabilities=[steps.build_capability()],
                max_model_requests=self._settings.max_model_requests,
                max_seconds=self._settings.run_timeout_seconds,
                once=steps.do_once,
            )
            try:
                waiting = await runner.run(run.run_id, requests.pop(), resumption)
            except asyncio.CancelledError:
                if run.cancel_reason is None:
                    raise  # Others may go on with it.
                return _build_result(sink.take_end(), steps.answers)
            if waiting is not None:
                ended = await asyncio.to_thread(
                    build_waiting, waiting, steps.answers, secrets.known
                )
                recorder.wait(len(steps.answers), ended.request)
                return ended
            result = _build_result(sink.take_end(), steps.answers)
            recorder.end(result)
        finally:
            recorder.close()
        return result

    def interrupted(self, run_id: str, attempts: int) -> RunResult | None:  # noqa: ARG002 - the interface's
        """Make another attempt, whatever the run: its steps are recorded."""
        return None


def build_layer_providers(settings: DifyAgentSettings) -> Sequence[LayerProvider[Any]]:
    """Return the kinds of layers that runs may ask for; only here do the settings of the daemon and of Dify's API go into them."""
    return create_default_layer_providers(
        plugin_daemon_url=settings.plugin_daemon_url,
        plugin_daemon_api_key=settings.plugin_daemon_api_key.get_secret_value(),
        inner_api_url=settings.inner_api_url,
        inner_api_key=settings.inner_api_key.get_secret_value(),
        silence=SilenceLimits(
            model_seconds=settings.model_silence_seconds,
            keep_alive_seconds=settings.keep_alive_silence_seconds,
            tool_seconds=settings.tool_silence_seconds,
        ),
    )


def _build_result(
    end: RunSucceededEvent | RunFailedEvent | RunCancelledEvent, answers: Sequence[ModelResponse]
) -> RunResult:
    usage = sum_usage(answers)
    details: JsonObject = {}
    if end.session_snapshot is not None:
        # It is JSON already, and may be large.
        layers = [dict(layer) for layer in end.session_snapshot.layers]
        details["session_snapshot"] = {**dict(end.session_snapshot), "layers": layers}
    if prices := sum_prices(answers):
        details["prices"] = prices
    if not isinstance(end, RunSucceededEvent):
        why = (end.error, end.error_type) if isinstance(end, RunFailedEvent) else (None, None)
        return RunResult(
            status="failed", error=why[0], error_type=why[1], usage=usage, details=details
        )
    if end.deferred_tool_call is not None:
        details["deferred_tool_call"] = end.deferred_tool_call.model_dump(mode="json")
    return RunResult(status="succeeded", output=end.output, usage=usage, details=details)


def _check_schemas(composition: RunComposition) -> None:
    """Refuse schemas that are too large: those of answers together, since each is checked, and each tool's, which only goes on.

    A run that is stored already has its own.
    """
    answers: list[tuple[str, Any]] = []
    for index, layer in enumerate(composition.layers):
        at = f"composition.layers.{index}.config"
        answers.append((f"{at}.json_schema", read_member(layer.config, "json_schema")))
        tools: Any = read_member(layer.config, "tools")
        for number, tool in enumerate(tools if is_list(tools) else ()):
            name = "parameters_json_schema"
            check_schemas([(f"{at}.tools.{number}.{name}", read_member(tool, name))])
    check_schemas(answers)


def _check_states(snapshot: CompositorSessionSnapshot | None) -> None:
    """Refuse a conversation so long that Pydantic AI, which walks through all of it before each request, would hold up all others."""
    states = [layer.runtime_state for layer in snapshot.layers] if snapshot else []
    told: list[Any] = [state.get("messages") for state in states]
    is_long = any(is_list(one) and len(one) > _MOST_MESSAGES for one in told)
    if is_long or has_many_values(states, most=_MOST_VALUES):
        limits = f"{_MOST_MESSAGES:,} messages, and {_MOST_VALUES:,} values in all"
        problem = Problem(field="session_snapshot", message=f"expected at most {limits}")
        raise RequestRefusedError(problem)


def _layer_problems(error: AgentRunValidationError) -> Sequence[Problem]:
    problems = {f"composition.layers.{index}": text for index, text in error.layers.items()}
    found = problems or {"composition": str(error)}
    return [Problem(field=field, message=text) for field, text in found.items()]
