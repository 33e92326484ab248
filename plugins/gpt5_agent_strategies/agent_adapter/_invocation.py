"""One run, played by `agent_driver` with Dify's model and tools, and told to Dify."""

from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from typing import cast

from dify_plugin.entities.agent import AgentInvokeMessage
from dify_plugin.entities.invoke_message import InvokeMessage
from dify_plugin.interfaces.agent import AgentStrategy

from agent_loop import (
    AskApproval,
    CallModel,
    Decision,
    Event,
    Failure,
    Finished,
    ModelCallEnded,
    RoundEnded,
    RoundStarted,
    RunCompacted,
    ShowFile,
    ShowText,
    SnapshotError,
    StopReason,
    ToolCallEnded,
    ToolCallStarted,
    Usage,
)
from dify_plugin_kit.stdout import split_text
from stream_text import MarkdownGuard

from ._allowed_tools import find_allowed
from ._answer_schema import to_json_object
from ._approval_words import describe_outdated
from ._dify_log import DifyLog
from ._errors import AgentRunError
from ._open_questions import OpenQuestions, UserAnswer
from ._parameters import Parameters
from ._plugin_log import log_break, log_unused
from ._prompts import build_messages
from ._run_log import flush_traces
from ._runs import start_run
from ._settings import Settings
from ._sources import build_resources
from ._turn import Turn
from ._usage import build_execution_metadata


_OLD_FILES = "Images and files replaced by a sentence: no room in the request"
_ABOVE = "Budgets above their range"
_TOOK_OVER = "Another model takes over, because the first has failed"
_NOT_TAKEN_UP = "The question for approval in an earlier turn is not taken up"
BROKEN = "The agent run broke because of an error in the plugin. The plugin's log says more."
"""What is read of an error of our own."""


class Invocation:
    """One run between Dify's session and the state machine.

    Args:
        strategy: The strategy that is called.
        parameters: What the node has set.
        settings: What the administrator has set.

    Raises:
        ParameterError: If a parameter cannot be kept in this run.
    """

    def __init__(self, strategy: AgentStrategy, parameters: Parameters, settings: Settings) -> None:
        # The order counts: the tools say whether files are offered before the messages name them, and a question is taken out of the storage
        # before the run that it belongs to is made, so that no failure leaves it to be answered twice.
        self._strategy = strategy
        self._parameters = parameters
        self._turn = turn = Turn.begin(strategy, parameters, settings)
        self._toolbox, self._known = turn.toolbox, turn.known
        messages, self._files = build_messages(parameters, turn.at_hand)
        own_names = turn.toolbox.own_names
        allowed, self._not_there = find_allowed(parameters.allowed_tools, own_names)
        self._finished: Finished | None = None
        self._model = parameters.model.full_name
        self._log = DifyLog(turn)
        self._used = Usage()
        self._has_shown = False
        rules = parameters.approval_rules
        self._approvals = approvals = None if rules is None else OpenQuestions(turn, rules)
        self._answer = approvals and approvals.take()
        self._not_taken_up = approvals.lost if approvals else ()
        self._notice = ""
        self._guard = MarkdownGuard()
        self._start = partial(start_run, turn, messages, allowed=allowed, approvals=approvals)
        try:
            self._prepare(self._answer)
        except SnapshotError as error:
            # What was kept does not fit any more: the message begins a run of its own.
            if error.fault == "older":
                self._notice = describe_outdated(query=parameters.query)
            self._not_taken_up, self._answer = (str(error),), None
            self._prepare()

    def _prepare(self, answer: UserAnswer | None = None) -> None:
        """Create the run and its driver; with an answer, the run that was waiting for it."""
        if answer and answer.decisions:
            run, self._events = self._start(resume=answer.snapshot, decisions=answer.decisions)
            self._turn.at_hand.load(answer.question.files)
            [*_, self._model] = run.models
        else:
            run, self._events = self._start()
        self._run = run

    def run(self) -> Iterator[InvokeMessage]:
        """Drive the run to its end, whatever happens, then tell its sources and figures."""
        yield from self._warn("Tools left out", self._toolbox.left_out)
        yield from self._warn("Allowed tools left out", self._not_there)
        yield from self._warn("Files left out", self._files.left_out)
        yield from self._warn("Prompt policy overrides", self._parameters.unused_overrides)
        yield from self._warn(_ABOVE, self._parameters.budgets_above, about="counts")
        yield from self._warn(_NOT_TAKEN_UP, self._not_taken_up, about="why")
        try:
            with closing(self._toolbox.answers):
                yield from self._play(self._answer)
            yield from self._tell_sources()
            yield from self._tell_value()
        except Exception as error:  # noqa: BLE001 - whatever it is, the run is ended in good order
            log_break(error, self._known)
            yield from self._break_off()
        yield from self._tell_figures()
        flush_traces()
        if self._finished is not None and not self._finished.is_answered:
            raise AgentRunError(self._finished.error)

    def _warn(
        self, label: str, lines: tuple[str, ...], *, about: str = "left_out"
    ) -> Iterator[InvokeMessage]:
        """Log, in Dify and in the plugin's own log, what was given but is not used, and anything else unusual."""
        if lines:
            log_unused(label, lines, self._known)
            yield self._log.warn(label, lines, about=about)

    def _break_off(self) -> Iterator[InvokeMessage]:
        """End a run that an error in the plugin broke, and report as much of it as still works."""
        if self._run.state == "finished":
            return
        for event in self._run.feed(Failure(message=BROKEN)):
            self._note(event)
            with suppress(Exception):
                yield from self._tell(event)

    def _play(self, answer: UserAnswer | None) -> Iterator[InvokeMessage]:
        """Play the run with the person's answer to its question, or ask again if the answer decides nothing."""
        if answer:
            yield self._log.answered(answer)
            yield from self._show(answer.shown)
        yield from self._show(self._notice)
        if answer and not answer.decisions:
            self._finish_asking(rounds=0)
        else:
            yield from self._drive()

    def _drive(self) -> Iterator[InvokeMessage]:
        asked = None
        with closing(self._events) as events:
            for event in events:
                self._note(event)
                yield from self._tell(event)
                asked = event if isinstance(event, AskApproval) else None
        if asked is not None and self._approvals is not None:
            yield from self._ask(asked, self._approvals)

    def _ask(self, asked: AskApproval, approvals: OpenQuestions) -> Iterator[InvokeMessage]:
        """End the turn with the question; if it cannot be stored, deny the calls and go on with the run."""
        question = approvals.put(asked)
        if not isinstance(question, str):
            yield from self._show(f"{self._guard.close()}{question.text}")
            yield self._log.asked(question, of=approvals.user)
            self._finish_asking(rounds=asked.round)
            return
        yield from self._warn("Approval", (question,), about="why")
        denied = {
            call.call_id: Decision(call_id=call.call_id, is_approved=False, reason=question)
            for call in asked.calls
        }
        self._run, self._events = self._start(resume=asked.snapshot, decisions=denied)
        yield from self._drive()

    def _finish_asking(self, *, rounds: int) -> None:
        """End the turn with a question."""
        self._finished = Finished(
            reason=cast("StopReason", "approval"),
            rounds=rounds,
            usage=self._used,
            budgets=self._run.budget_uses,
            models=self._run.models,
        )

    def _note(self, event: Event) -> None:
        if isinstance(event, ModelCallEnded):
            self._used += event.usage
        if isinstance(event, Finished):  # What an earlier turn has used was told in that one.
            self._finished = replace(event, usage=self._used) if self._answer else event

    def _tell(self, event: Event) -> Iterator[InvokeMessage]:
        match event:
            case ShowText(text=text):
                yield from self._show(self._escape(text))
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

    def _escape(self, text: str) -> str:
        """Return a text of the run, escaped so that it cannot hide a question behind it. An answer by a schema is not Markdown and comes last, so it stays unchanged."""
        is_value = self._parameters.answer_schema and self._run.state == "finished"
        return text if self._approvals is None or is_value else self._guard.feed(text)

    def _show(self, text: str) -> Iterator[InvokeMessage]:
        """Show a text, without leading line breaks if it is the first one of the turn."""
        text = text if self._has_shown else text.lstrip("\n")
        self._has_shown = self._has_shown or bool(text)
        yield from map(self._strategy.create_text_message, split_text(text))

    def _tell_model(self, event: RoundStarted) -> Iterator[InvokeMessage]:
        """Report that another model takes over."""
        if event.model is not None and event.model != self._model:
            self._model = event.model
            model = f"{event.model}, from round {event.round} on"
            yield from self._warn(_TOOK_OVER, (model,), about="model")

    def _tell_sources(self) -> Iterator[AgentInvokeMessage]:
        resources = build_resources(self._parameters.context)
        if resources:
            yield self._strategy.create_retriever_resource_message(resources, context="")

    def _tell_value(self) -> Iterator[AgentInvokeMessage]:
        finished = self._finished if self._run.state == "finished" else None
        if self._parameters.answer_schema and finished is not None and finished.is_answered:
            yield self._strategy.create_json_message(to_json_object(finished.value))

    def _tell_figures(self) -> Iterator[AgentInvokeMessage]:
        if self._finished is not None:
            yield self._strategy.create_json_message(build_execution_metadata(self._finished))
