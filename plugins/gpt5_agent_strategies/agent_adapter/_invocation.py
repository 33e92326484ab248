"""One run: the driver between Dify's session and the state machine of `agent_loop`."""

import os
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from typing import Any, cast

from dify_plugin.entities.agent import AgentInvokeMessage
from dify_plugin.entities.invoke_message import InvokeMessage
from dify_plugin.interfaces.agent import AgentStrategy

from agent_loop import (
    AgentRun,
    CallModel,
    Event,
    Failure,
    Finished,
    ModelCallEnded,
    ModelFailure,
    RoundEnded,
    RoundStarted,
    RunTools,
    ShowText,
    TimeShort,
    ToolCallEnded,
    ToolCallStarted,
    Usage,
)

from ._clock import Clock
from ._errors import AgentRunError, ParameterError
from ._file_links import accept_file_links
from ._logs import RunLog
from ._metadata import build_execution_metadata
from ._model_calls import ModelCalls
from ._output import split_text
from ._parameters import Parameters
from ._plugin_log import log_break, log_unused
from ._prompts import build_messages
from ._secrets import find_secrets
from ._settings import Settings
from ._sources import build_resources
from ._tool_executor import ToolExecutor
from ._tools import Toolbox


type _Action = CallModel | RunTools
type _Messages = Generator[InvokeMessage, None, _Action | None]

_BROKEN = "The agent run broke because of an error in the plugin. The plugin's log says more."


def invoke_agent(
    strategy: AgentStrategy, raw_parameters: Mapping[str, Any]
) -> Iterator[AgentInvokeMessage]:
    """Run an agent and yield what Dify is told of it.

    Files pass as the tool messages that they came as, which have the same fields; see `read_answer` for why.

    Raises:
        ParameterError: If a parameter cannot be read.
        AgentRunError: If the run failed; everything else has been yielded before.
    """
    accept_file_links(strategy.session)
    return cast("Iterator[AgentInvokeMessage]", _run(strategy, raw_parameters))


def _run(strategy: AgentStrategy, raw_parameters: Mapping[str, Any]) -> Iterator[InvokeMessage]:
    try:
        settings = Settings.from_environment(os.environ)
        invocation = _Invocation(strategy, Parameters.from_raw(raw_parameters), settings)
    except Exception as error:  # noqa: BLE001 - whatever it is, the figures are told
        failure = error if isinstance(error, ParameterError) else AgentRunError(_BROKEN)
        if failure is not error:
            log_break(error, find_secrets(raw_parameters.get("tools")))
        finished = Finished(reason="error", rounds=0, usage=Usage(), error=str(failure))
        yield strategy.create_json_message(build_execution_metadata(finished))
        raise failure from None  # the SDK sends a trace with the whole chain of errors
    yield from invocation.run()


class _Invocation:
    """One run between Dify's session and the state machine."""

    def __init__(self, strategy: AgentStrategy, parameters: Parameters, settings: Settings) -> None:
        self._strategy = strategy
        self._session = strategy.session
        self._parameters = parameters
        self._clock = Clock(settings.time)
        self._toolbox = Toolbox.from_raw(parameters.tools)
        self._known = find_secrets(parameters.tools)
        self._causes: dict[str, str] = {}
        self._finished: Finished | None = None
        self._calls = ModelCalls(
            self._session, parameters.model, clock=self._clock, known=self._known
        )
        self._executor = ToolExecutor(
            self._session,
            self._toolbox,
            clock=self._clock,
            settings=settings,
            known=self._known,
        )
        self._log = RunLog(
            strategy,
            model=parameters.model,
            toolbox=self._toolbox,
            has_content=settings.logs_content,
            known=self._known,
        )
        self._run = AgentRun(
            build_messages(parameters),
            tools=[tool.prompt for tool in self._toolbox.tools.values()],
            maximum_iterations=parameters.maximum_iterations,
            emit_intermediate_thoughts=parameters.emit_intermediate_thoughts,
            tool_choice=parameters.model.tool_choice,
            has_tool_choice=parameters.model.has_tool_choice,
            redact=self._known.redact,
        )

    def run(self) -> Iterator[InvokeMessage]:
        """Drive the run to its end, whatever happens, then tell its sources and figures."""
        yield from self._warn("Tools left out", self._toolbox.left_out)
        yield from self._warn("Prompt policy overrides", self._parameters.unused_overrides)
        try:
            yield from self._drive()
            yield from self._tell_sources()
        except Exception as error:  # noqa: BLE001 - whatever it is, the run is ended in good order
            log_break(error, self._known)
            yield from self._break_off()
        yield from self._tell_figures()
        if self._finished is not None and not self._finished.is_answered:
            raise AgentRunError(self._finished.error)

    def _warn(self, label: str, lines: tuple[str, ...]) -> Iterator[InvokeMessage]:
        """Tell the app's builder and the plugin's log of what was given and is not used."""
        if lines:
            log_unused(label, lines, self._known)
            yield self._log.warn(label, lines)

    def _break_off(self) -> Iterator[InvokeMessage]:
        """End a run that an error of our own has broken; what cannot be told of it any more is left untold."""
        if self._run.state == "finished":
            return
        for event in self._run.feed(Failure(message=_BROKEN)):
            self._note(event)
            with suppress(Exception):
                yield from self._tell(event)

    def _drive(self) -> Iterator[InvokeMessage]:
        self._watch_time()
        action = yield from self._report(self._run.start())
        while action:
            match action:
                case CallModel():
                    action = yield from self._call_model(action)
                case RunTools():
                    action = yield from self._run_tools(action)

    def _call_model(self, request: CallModel) -> _Messages:
        action: _Action | None = None
        answer = self._calls.iter_answer(request, may_retry=lambda: self._run.may_retry)
        for received in answer:
            if isinstance(received, ModelFailure):
                self._watch_time()
            action = yield from self._report(self._run.feed(received))
        return action

    def _run_tools(self, request: RunTools) -> _Messages:
        action: _Action | None = None
        has_closing = self._parameters.maximum_iterations > 1
        for outcome in self._executor.run(request.calls, keeps_closing_time=has_closing):
            yield from outcome.shown
            if outcome.cause:
                self._causes[outcome.result.call_id] = outcome.cause
            self._watch_time()
            action = yield from self._report(self._run.feed(outcome.result))
        return action

    def _watch_time(self) -> None:
        if self._clock.is_short:
            self._run.feed(TimeShort())

    def _report(self, events: tuple[Event, ...]) -> _Messages:
        """Tell Dify of the events, and return the one that asks for something, which is the last if there is one."""
        action: _Action | None = None
        for event in events:
            self._note(event)
            if isinstance(event, CallModel | RunTools):
                action = event
            else:
                yield from self._tell(event)
        return action

    def _note(self, event: Event) -> None:
        if isinstance(event, Finished):
            self._finished = event

    def _tell(self, event: Event) -> Iterator[AgentInvokeMessage]:
        match event:
            case ShowText(text=text):
                yield from map(self._strategy.create_text_message, split_text(text))
            case RoundStarted():
                yield from self._log.start_round(event)
            case ModelCallEnded():
                yield from self._log.end_model_call(event)
            case ToolCallStarted():
                yield from self._log.start_tool_call(event)
            case ToolCallEnded():
                cause = self._causes.pop(event.result.call_id, None)
                yield from self._log.end_tool_call(event, cause=cause)
            case RoundEnded():
                yield from self._log.end_round(event)
            case _:
                pass

    def _tell_sources(self) -> Iterator[AgentInvokeMessage]:
        resources = build_resources(self._parameters.context)
        if resources:
            yield self._strategy.create_retriever_resource_message(resources, context="")

    def _tell_figures(self) -> Iterator[AgentInvokeMessage]:
        if self._finished is not None:
            yield self._strategy.create_json_message(build_execution_metadata(self._finished))
