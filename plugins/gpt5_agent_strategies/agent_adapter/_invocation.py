"""One run, played by `agent_driver` with Dify's model and tools, and told to Dify."""

import os
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from typing import Any, cast

from dify_plugin.entities.agent import AgentInvokeMessage
from dify_plugin.entities.invoke_message import InvokeMessage
from dify_plugin.interfaces.agent import AgentStrategy

from agent_driver import drive
from agent_loop import (
    AgentRun,
    CallModel,
    Event,
    Failure,
    Finished,
    ModelCallEnded,
    RoundEnded,
    RoundStarted,
    RunCompacted,
    ShowFile,
    ShowText,
    ToolCallEnded,
    ToolCallStarted,
    Usage,
)

from ._allowed_tools import find_allowed
from ._answer_schema import to_json_object
from ._errors import AgentRunError, ParameterError
from ._fallback import to_fallback
from ._file_links import accept_file_links
from ._files_at_hand import FilesAtHand
from ._logs import RunLog
from ._metadata import build_execution_metadata
from ._model_calls import ModelCalls, find_room
from ._output import split_text
from ._parameters import Parameters
from ._plugin_log import log_break, log_unused
from ._prompts import build_messages
from ._run_log import find_run_log
from ._secrets import find_secrets
from ._settings import Settings
from ._sources import build_resources
from ._tools import Toolbox
from ._windows import to_window


_OLD_FILES = "Images and files replaced by a sentence: no room in the request"
_TOOK_OVER = "Another model takes over, because the first has failed"
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
        self._parameters = parameters
        at_hand = FilesAtHand(strategy.session)
        self._toolbox = Toolbox.from_raw(
            parameters.tools,
            strategy.session,
            settings,
            model=parameters.model,
            at_hand=at_hand,
        )
        messages, self._files = build_messages(parameters, at_hand)
        allowed, self._not_there = find_allowed(parameters.allowed_tools, self._toolbox.own_names)
        self._known = find_secrets(parameters.tools)
        self._finished: Finished | None = None
        self._model = parameters.model.full_name
        self._log = RunLog(
            strategy,
            models=parameters.models,
            toolbox=self._toolbox,
            has_content=settings.logs_content,
            known=self._known,
        )
        self._run = AgentRun(
            messages,
            tools=self._toolbox.prompts,
            maximum_iterations=parameters.maximum_iterations,
            emit_intermediate_thoughts=parameters.emit_intermediate_thoughts,
            tool_choice=parameters.model.tool_choice,
            has_tool_choice=parameters.model.has_tool_choice,
            budgets=parameters.budgets,
            allowed_tools=allowed,
            answer_schema=parameters.answer_schema,
            has_answer_format=parameters.model.has_answer_format,
            model=parameters.model.full_name,
            fallback=parameters.fallback and to_fallback(parameters.fallback, settings),
            max_request_bytes=find_room(self._toolbox.prompts, parameters.models.values()),
            window=to_window(parameters.model.input_tokens, settings),
            redact=self._known.redact,
        )
        model = ModelCalls(
            strategy.session,
            parameters.models,
            run_seconds=settings.time.run_seconds,
            known=self._known,
        )
        self._events = drive(
            self._run,
            model,
            self._toolbox.tools,
            time_budget=settings.time,
            result_characters=settings.result_characters,
            log=find_run_log(os.environ, parameters=parameters, known=self._known),
        )

    def run(self) -> Iterator[InvokeMessage]:
        """Drive the run to its end, whatever happens, then tell its sources and figures."""
        yield from self._warn("Tools left out", self._toolbox.left_out)
        yield from self._warn("Allowed tools left out", self._not_there)
        yield from self._warn("Files left out", self._files.left_out)
        yield from self._warn("Prompt policy overrides", self._parameters.unused_overrides)
        try:
            yield from self._drive()
            yield from self._tell_sources()
            yield from self._tell_value()
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
        with closing(self._toolbox.answers), closing(self._events) as events:
            for event in events:
                self._note(event)
                yield from self._tell(event)

    def _note(self, event: Event) -> None:
        if isinstance(event, Finished):
            self._finished = event

    def _tell(self, event: Event) -> Iterator[InvokeMessage]:
        match event:
            case ShowText(text=text):
                yield from map(self._strategy.create_text_message, split_text(text))
            case ShowFile(file=file):
                yield file
            case CallModel(left_out=count) if count:
                yield from self._warn(_OLD_FILES, (f"{count} images or files of the request",))
            case RoundStarted():
                yield from self._tell_model(event)
                yield from self._log.start_round(event)
            case RunCompacted():
                yield self._log.compacted(event)
            case ModelCallEnded():
                yield from self._log.end_model_call(event)
            case ToolCallStarted():
                yield from self._log.start_tool_call(event)
            case ToolCallEnded():
                yield from event.result.artifact or ()
                yield from self._log.end_tool_call(event)
            case RoundEnded():
                yield from self._log.end_round(event)
            case _:
                pass

    def _tell_model(self, event: RoundStarted) -> Iterator[InvokeMessage]:
        """Tell of another model that takes over."""
        if event.model is not None and event.model != self._model:
            self._model = event.model
            yield from self._warn(_TOOK_OVER, (f"{event.model}, from round {event.round} on",))

    def _tell_sources(self) -> Iterator[AgentInvokeMessage]:
        resources = build_resources(self._parameters.context)
        if resources:
            yield self._strategy.create_retriever_resource_message(resources, context="")

    def _tell_value(self) -> Iterator[AgentInvokeMessage]:
        finished = self._finished
        if self._parameters.answer_schema and finished is not None and finished.is_answered:
            yield self._strategy.create_json_message(to_json_object(finished.value))

    def _tell_figures(self) -> Iterator[AgentInvokeMessage]:
        if self._finished is not None:
            yield self._strategy.create_json_message(build_execution_metadata(self._finished))
