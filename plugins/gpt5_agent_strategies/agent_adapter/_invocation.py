"""One turn of the agent node: a run that `agent_driver` plays with Dify's model and tools, and its messages for Dify."""

from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from typing import cast

from dify_plugin.entities.invoke_message import InvokeMessage
from dify_plugin.interfaces.agent import AgentStrategy

from agent_loop import (
    AskApproval,
    Decision,
    Event,
    Failure,
    Finished,
    ModelCallEnded,
    RunCompacted,
    SnapshotError,
    StopReason,
    Usage,
)
from dify_plugin_kit.error_texts import without_server_words

from ._allowed_tools import find_allowed
from ._approval_words import describe_outdated
from ._errors import AgentRunError
from ._node_messages import NodeMessages
from ._open_questions import OpenQuestions, UserAnswer
from ._parameters import Parameters
from ._plugin_log import log_break
from ._prompts import build_messages
from ._remembered_turns import RememberedTurns
from ._run_log import flush_traces
from ._runs import start_run
from ._settings import Settings
from ._turn import Turn


_ABOVE = "Budgets above their range"
_MEMORY = "Remembered turns"
_NOT_TAKEN_UP = "The question for approval in an earlier turn is not taken up"
BROKEN = "The agent run broke because of an error in the plugin. The plugin's log says more."
"""The sentence for an error in the plugin itself."""


class Invocation:
    """One turn between Dify's session and the state machine.

    Args:
        strategy: The called strategy.
        parameters: The node's parameters.
        settings: The administrator's settings.

    Raises:
        ParameterError: If a parameter cannot be kept in this run.
    """

    def __init__(self, strategy: AgentStrategy, parameters: Parameters, settings: Settings) -> None:
        # The order matters: the tools decide whether files are offered before the messages name them,
        # and a question is taken out of the storage before its run is made, so that no failure leaves
        # it to be answered twice.
        self._parameters = parameters
        self._turn = turn = Turn.begin(strategy, parameters, settings)
        self._memory = memory = RememberedTurns(turn) if parameters.remembers_turns else None
        messages, self._files = build_messages(parameters, turn.at_hand, memory)
        # The index of the question among the run's messages; 0 if they were compacted since.
        self._begins_at = len(messages) - 1
        allowed, self._not_there = find_allowed(parameters.allowed_tools, turn.toolbox.own_names)
        self._finished: Finished | None = None
        self._messages = NodeMessages(turn)
        self._used = Usage()
        rules = parameters.approval_rules
        self._approvals = approvals = None if rules is None else OpenQuestions(turn, rules)
        self._answer = approvals and approvals.take()
        self._not_taken_up = approvals.lost if approvals else ()
        self._notice = ""
        self._start = partial(start_run, turn, messages, allowed=allowed, approvals=approvals)
        try:
            self._prepare(self._answer)
        except SnapshotError as error:
            # The stored run does not fit any more, so the message begins a new run.
            if error.fault == "older":
                self._notice = describe_outdated(query=parameters.query)
            self._not_taken_up, self._answer = (str(error),), None
            self._prepare()

    def _prepare(self, answer: UserAnswer | None = None) -> None:
        """Create the run and its driver; with an answer, the run that was waiting for it."""
        if answer and answer.decisions:
            run, self._events = self._start(resume=answer.snapshot, decisions=answer.decisions)
            self._begins_at = answer.question.begins_at
            if self._memory:
                self._memory.take_notes()  # The run does not begin with this history.
            self._turn.at_hand.load(answer.question.files)
            [*_, self._messages.model] = run.models
        else:
            run, self._events = self._start()
        self._run = run

    def run(self) -> Iterator[InvokeMessage]:
        """Drive the run to its end, whatever happens, then report its sources and figures."""
        yield from self._messages.warn("Tools left out", self._turn.toolbox.left_out)
        yield from self._messages.warn("Allowed tools left out", self._not_there)
        yield from self._messages.warn("Files left out", self._files.left_out)
        yield from self._messages.warn("Prompt policy overrides", self._parameters.unused_overrides)
        yield from self._messages.warn(_ABOVE, self._parameters.budgets_above, about="counts")
        yield from self._messages.warn(_NOT_TAKEN_UP, self._not_taken_up, about="why")
        yield from self._warn_of_memory()
        try:
            # Tools that were given up may still be answering when the run ends.
            with closing(self._turn.toolbox.answers):
                yield from self._play(self._answer)
            yield from self._messages.emit_sources()
            yield from self._messages.emit_value(self._finished, self._run)
            yield from self._messages.emit_final_answer(self._finished)
            yield from self._remember(self._finished)
        except Exception as error:  # noqa: BLE001 - whatever it is, the run is ended properly
            log_break(error, self._turn.known)
            yield from self._break_off()
        # Even after a failure: Dify takes tokens and price from them.
        yield from self._messages.emit_figures(self._finished)
        flush_traces()
        if self._finished is not None and not self._finished.is_answered:
            # The public reads it on an app's page; the logs have the whole.
            raise AgentRunError(without_server_words(self._finished.error or ""))

    def _remember(self, finished: Finished | None) -> Iterator[InvokeMessage]:
        """Keep an answered turn, if the node remembers turns."""
        if self._memory and finished and finished.is_answered and self._run.state == "finished":
            self._memory.keep(
                finished.messages[self._begins_at :] if self._begins_at else (),
                texts=("".join(self._messages.shown), finished.final_text),
                models=finished.models,
                earlier=self._earlier,
            )
        yield from self._warn_of_memory()

    def _warn_of_memory(self) -> Iterator[InvokeMessage]:
        if self._memory:
            yield from self._messages.warn(_MEMORY, self._memory.take_notes(), about="why")

    @property
    def _earlier(self) -> int:
        """How many messages of the history belong to the run of this turn: each question for approval, and what led to it."""
        return self._answer.question.earlier if self._answer and self._answer.decisions else 0

    def _break_off(self) -> Iterator[InvokeMessage]:
        """End a run that an error in the plugin broke, and report as much of it as still works."""
        # The run itself was over, and only its sources or its value have failed.
        if self._run.state == "finished":
            return
        for event in self._run.feed(Failure(message=BROKEN)):
            self._note(event)
            # Sending the message may be what has broken.
            with suppress(Exception):
                yield from self._messages.emit(event, self._run)

    def _play(self, answer: UserAnswer | None) -> Iterator[InvokeMessage]:
        """Play the run with the person's answer to its question, or ask again if the answer decides nothing."""
        if answer:
            yield self._messages.dify_log.answered(answer)
            yield from self._messages.show(answer.shown)
        yield from self._messages.show(self._notice)
        if answer and not answer.decisions:
            self._finish_asking(answer.shown, rounds=0)
        else:
            yield from self._drive()

    def _drive(self) -> Iterator[InvokeMessage]:
        asked = None
        with closing(self._events) as events:
            for event in events:
                self._note(event)
                yield from self._messages.emit(event, self._run)
                # A question is the last event of the driver.
                asked = event if isinstance(event, AskApproval) else None
        if asked is not None and self._approvals is not None:
            yield from self._ask(asked, self._approvals)

    def _ask(self, asked: AskApproval, approvals: OpenQuestions) -> Iterator[InvokeMessage]:
        """End the turn with the question; if it cannot be stored, deny the calls and go on with the run."""
        question = approvals.put(asked, begins_at=self._begins_at, earlier=self._earlier + 2)
        if not isinstance(question, str):
            yield from self._messages.show_question(question.text)
            yield self._messages.dify_log.asked(question, of=approvals.user)
            self._finish_asking(question.text, rounds=asked.round)
            return
        yield from self._messages.warn("Approval", (question,), about="why")
        denied = {
            call.call_id: Decision(call_id=call.call_id, is_approved=False, reason=question)
            for call in asked.calls
        }
        self._run, self._events = self._start(resume=asked.snapshot, decisions=denied)
        yield from self._drive()

    def _finish_asking(self, question: str, *, rounds: int) -> None:
        """End the turn with a question."""
        self._finished = Finished(
            # The run has not stopped, but waits, so `StopReason` does not include this.
            reason=cast("StopReason", "approval"),
            rounds=rounds,
            usage=self._used,
            budgets=self._run.budget_uses,
            models=self._run.models,
            final_text=question,
        )

    def _note(self, event: Event) -> None:
        if isinstance(event, RunCompacted):
            self._begins_at = 0
        if isinstance(event, ModelCallEnded):
            self._used += event.usage
        if isinstance(event, Finished):  # An earlier turn has reported its own usage itself.
            self._finished = replace(event, usage=self._used) if self._answer else event
