"""One run of an agent: what it begins with, and what it comes to."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from agent_driver._answers import ModelIsAsyncError
from agent_driver._declare.agent_settings import RunOptions, refuse_unknown
from agent_driver._declare.declaration import Declaration
from agent_driver._tools.calls import describe_calls
from agent_loop import (
    AgentRun,
    AskApproval,
    AskedCall,
    Event,
    LocalProtocolError,
    Message,
    ToolCall,
    ToolResult,
    dump_messages,
    read_user_message,
)
from agent_tooling import denied_call_text
from stream_text import is_object

from .approval import read_decisions
from .result import Result, add_notice, read_ending


if TYPE_CHECKING:
    from agent_driver.sessions import Conversation, Session

_log = logging.getLogger("agent_driver")
_OPTIONS: Final = frozenset(RunOptions.__annotations__)
_OF_DRIVE: Final = ("deps", "cancelled", "decisions", "steps")
_UNKNOWN: Final = (
    "tool invoke error: the outcome of this call is not known. The user had approved it, and nothing was saved of the run that made it, so it may have taken effect. "
    "Do not make it again unless the user asks for it, knowing that."
)


type Prompt = str | Iterable[object] | None
"""What a run is asked: a text, or messages; None where it is resumed."""


class Play:
    """One run of an agent.

    Args:
        declared: The agent.
        prompt: What is asked; None where a run is resumed.
        options: The keys of `RunOptions`.

    Attributes:
        session: Where the conversation is loaded from and saved to; None for nowhere.
        run: The run, once it has begun.
        settings: What it is driven with besides run, model and tools.
        notice: What the person has to know of calls that an earlier run was given; None for nothing.
    """

    def __init__(
        self,
        declared: Declaration,
        prompt: Prompt,
        options: Mapping[str, Any],
    ) -> None:
        refuse_unknown(options, _OPTIONS, "run option")
        self.declared = declared
        self.session: Session | None = options.get("session")
        if self.session is not None and not hasattr(self.session, "load"):
            kind = type(self.session).__name__
            raise TypeError(f"session: expected a Session, got {kind}")
        self._history = tuple(options.get("history", ()))
        if self.session is not None and self._history:
            raise ValueError("history: expected none beside a session")
        if self.session is not None and options.get("steps") is not None:
            raise ValueError("steps: expected none beside a session, which would be changed again")
        self._prompt = _read_prompt(prompt)
        self._resume: AskApproval | str | None = options.get("resume")
        self._options = options
        self._given = 0
        self._is_typed = declared.run["answer_schema"] is not None
        self.notice: str | None = None
        self._is_over = False
        self._begun: AgentRun | None = None
        self._early: list[Message] = []  # What it is told before it begins.
        self._saying = Lock()

    def steer(self, message: object) -> None:
        """Say something to the run, also before it begins.

        Raises:
            MessageError: If it is no text or user message, or says nothing.
            SnapshotError: If it is to be recorded, and JSON cannot express it.
            LocalProtocolError: If the run has ended, or waits for a person's decision.
        """
        read = read_user_message(message)
        if self._options.get("steps") is not None:
            dump_messages([read])
        with self._saying:
            run = self._begun
            if run is None:
                self._early.append(read)
            # What is broken off has not come to an end of its own, which the run would know.
            elif self._is_over and run.state not in {"approval", "finished"}:
                told = "steer: the run has ended"
                raise LocalProtocolError(told, state=run.state, received="steer")
            else:
                run.steer(read)

    def end(self) -> None:
        """Take nothing more, since nobody plays the run any more."""
        with self._saying:
            self._is_over = True

    def begin(self, conversation: "Conversation | None") -> None:
        """Make the run, with the conversation of its session.

        Raises:
            ValueError: If there is nothing to run or to resume, calls wait in the session and there are no decisions,
                or there are decisions and nothing waits.
        """
        resume = self._resume
        self._conversation = conversation
        if conversation is not None:
            self._history, self.notice = conversation.messages, conversation.notice
            resume = resume or conversation.waiting
            self._refuse_silence(conversation)
        told = "" if self.notice is None else f". {self.notice}"
        if resume is None and self._options.get("decisions") is not None:
            place = "nothing is resumed" if conversation is None else "nothing waits in the session"
            raise ValueError(f"decisions: expected none where {place}{told}")
        if resume is None and not self._prompt:
            expected = "prompt: expected a text or messages where nothing is resumed"
            raise ValueError(f"{expected}{told}")
        if resume is not None and self._prompt:
            raise ValueError("prompt: expected none where a run is resumed")
        messages = [*self._history, *self._prompt]
        self._given = len(messages)
        self.run: AgentRun = self.declared.build_run(messages)
        options = {name: self._options[name] for name in _OF_DRIVE if name in self._options}
        self.settings: dict[str, Any] = {**self.declared.drive, **options, "resume": resume}
        self._resume = resume
        with self._saying:
            self._begun = self.run
            for message in self._early:
                self.run.steer(message)

    @property
    def shown_notice(self) -> str | None:
        """The notice, where what the run shows is for people and not the JSON of a typed answer."""
        return None if self._is_typed else self.notice

    def claim(self) -> "Conversation | None":
        """Return the conversation with the calls that wait in it given out, which has to be saved before they are made; None where none wait.

        It holds all that is known by then: if the process dies, the next turn begins with that.
        """
        conversation = self._conversation
        if conversation is None or conversation.waiting is None:
            return None
        asked = self._resume if isinstance(self._resume, AskApproval) else conversation.waiting
        decisions = read_decisions(self._options["decisions"], asked)
        pairs = [*zip(asked.calls, decisions, strict=True)]
        given_out = tuple(call for call, decision in pairs if decision.is_approved)
        denied = {
            call.call_id: decision.refusal or denied_call_text(decision.reason)
            for call, decision in pairs
            if not (decision.is_approved or call.path)
        }

        def answer(call: ToolCall) -> ToolResult:
            text = denied.get(call.call_id) or _tell_unknown(call, given_out)
            return ToolResult(call_id=call.call_id, error=text)

        self._given = len(self._without_system(self.run.messages))
        messages = self._without_system(self.run.messages_if(answer))
        return replace(conversation, messages=messages, waiting=None, given_out=given_out)

    def take_up(self, conversation: "Conversation") -> None:
        """Continue from a conversation as it was saved."""
        # What the claim says is true only as long as nothing else is saved.
        self._conversation = replace(conversation, messages=self._history)

    def read(self, ending: Event | None, cause: BaseException | None) -> Result[Any]:
        """Return the result of the run.

        Raises:
            TypeError: If the model has to be awaited and nobody can: the caller's mistake.
        """
        if isinstance(cause, ModelIsAsyncError):
            raise cause
        if cause is not None:
            _log.warning("the run has failed", exc_info=cause)
        result: Result[Any] = read_ending(
            ending,
            is_typed=self._is_typed,
            messages=self._without_system(getattr(ending, "messages", None) or self.run.messages),
            usage=self.run.usage,
            cause=cause,
        )
        self.end()
        # What a run that waits was told before stands in its snapshot.
        is_waiting = self.run.state == "approval"
        unread = self.run.read_steered() if is_waiting else self.run.unread
        if unread or self.run.steered:
            result = replace(result, unread=unread, steered=self.run.steered)
        if left_out := self.run.left_out_tools:
            _log.warning("the fallback model has no %s: left out", ", ".join(left_out))
            result = replace(result, left_out_tools=left_out)
        if self.notice is None:
            return result
        return add_notice(result, self.notice, is_typed=self._is_typed)

    def to_conversation(self, result: Result[Any]) -> "Conversation | None":
        """Return the conversation to save; None where there is no session, or the run has added nothing to it."""
        conversation = self._conversation
        if conversation is None:
            return None
        if result.waiting is not None:
            # What has been said since stands in the snapshot.
            return replace(conversation, waiting=result.waiting, given_out=())
        if len(result.messages) <= self._given and not result.answered:
            return None
        messages = tuple(result.messages)
        return replace(conversation, messages=messages, waiting=None, given_out=())

    def unsaved(self, result: Result[Any], error: Exception) -> Result[Any]:
        """Return a result whose turn could not be saved."""
        _log.warning("the turn was not saved in its session", exc_info=error)
        return replace(result, unsaved=f"The turn was not saved in its session: {error}")

    def _refuse_silence(self, conversation: "Conversation") -> None:
        waiting = conversation.waiting
        if waiting is not None and "decisions" not in self._options:
            names = ", ".join(f"{call.name} ({call.call_id})" for call in waiting.calls)
            raise ValueError(
                f"decisions: expected one for each call that waits in the session: {names}"
            )

    def _without_system(self, messages: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return a conversation without the agent's instruction, which each run puts in front again."""
        system = tuple(self.declared.system)
        return tuple(messages[len(system) :] if messages[: len(system)] == system else messages)


def _tell_unknown(call: ToolCall, given_out: Iterable[AskedCall]) -> str:
    """Return what the model reads of a call whose run came to no end that was saved."""
    of_agent = [asked for asked in given_out if asked.path[:1] == (call.call_id,)]
    return f"{_UNKNOWN} It was to make {describe_calls(of_agent)}." if of_agent else _UNKNOWN


def _read_prompt(prompt: Any) -> tuple[object, ...]:
    if prompt is None:
        return ()
    if isinstance(prompt, str):
        return ({"role": "user", "content": prompt},)
    if is_object(prompt) or not hasattr(prompt, "__iter__"):
        found = type(prompt).__name__
        raise TypeError(f"prompt: expected a text or a list of messages, got {found}")
    return tuple(prompt)
