"""One run of an agent: what it begins with, and what it comes to."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from agent_loop import AgentRun, AskApproval, Event

from ._answers import ModelIsAsyncError
from ._declaration import Declaration, RunOptions, refuse_unknown
from ._result import Result, read_ending


if TYPE_CHECKING:
    from .sessions import Conversation, Session

_log = logging.getLogger("agent_driver")
_OPTIONS: Final = frozenset(RunOptions.__annotations__)
_OF_DRIVE: Final = ("deps", "cancelled", "decisions", "steps")


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
    """

    def __init__(
        self,
        declared: Declaration,
        prompt: str | Iterable[object] | None,
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

    def begin(self, conversation: "Conversation | None") -> "Conversation | None":
        """Make the run, with the conversation of its session.

        Returns:
            The conversation without the calls that wait in it, which has to be saved before the run goes on; None where none wait.

        Raises:
            ValueError: If there is nothing to run or to resume, or calls wait in the session and there are no decisions.
        """
        resume, history = self._resume, self._history
        self._conversation = conversation
        if conversation is not None:
            history = conversation.messages
            resume = resume or conversation.waiting
            self._refuse_silence(conversation)
        if resume is None and not self._prompt:
            raise ValueError("prompt: expected a text or messages where nothing is resumed")
        if resume is not None and self._prompt:
            raise ValueError("prompt: expected none where a run is resumed")
        messages = [*history, *self._prompt]
        self._given = len(messages)
        self.run: AgentRun = self.declared.build_run(messages)
        options = {name: self._options[name] for name in _OF_DRIVE if name in self._options}
        self.settings: dict[str, Any] = {**self.declared.drive, **options, "resume": resume}
        if conversation is None or conversation.waiting is None:
            return None
        return replace(conversation, waiting=None)

    def take_up(self, conversation: "Conversation") -> None:
        """Go on from a conversation as it was saved."""
        self._conversation = conversation

    def read(self, ending: Event | None, cause: BaseException | None) -> Result[Any]:
        """Return the result of the run.

        Raises:
            TypeError: If the model has to be awaited and nobody can: the caller's mistake.
        """
        if isinstance(cause, ModelIsAsyncError):
            raise cause
        if cause is not None:
            _log.warning("the run has failed", exc_info=cause)
        return read_ending(
            ending,
            is_typed=self.declared.run["answer_schema"] is not None,
            messages=self._find_messages(ending),
            usage=self.run.usage,
            cause=cause,
        )

    def to_conversation(self, result: Result[Any]) -> "Conversation | None":
        """Return the conversation to save; None where the run has added nothing to it."""
        if result.waiting is not None:
            # What has been said since stands in the snapshot.
            return replace(cast("Conversation", self._conversation), waiting=result.waiting)
        if len(result.messages) <= self._given and not result.answered:
            return None
        conversation = cast("Conversation", self._conversation)
        return replace(conversation, messages=tuple(result.messages), waiting=None)

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

    def _find_messages(self, ending: Event | None) -> tuple[Any, ...]:
        """Return the conversation without the agent's instruction, which each run puts in front again."""
        messages = getattr(ending, "messages", None) or self.run.messages
        system = tuple(self.declared.system)
        return tuple(messages[len(system) :] if messages[: len(system)] == system else messages)


def _read_prompt(prompt: object) -> tuple[object, ...]:
    if prompt is None:
        return ()
    if isinstance(prompt, str):
        return ({"role": "user", "content": prompt},)
    if isinstance(prompt, Mapping) or not isinstance(prompt, Iterable):
        found = type(cast("object", prompt)).__name__
        raise TypeError(f"prompt: expected a text or a list of messages, got {found}")
    return tuple(cast("Iterable[object]", prompt))
