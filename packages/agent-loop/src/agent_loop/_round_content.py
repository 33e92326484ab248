"""What one round has gathered so far."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from stream_text import ThinkFilter, ToolCallMerger

from ._budgets import BudgetUse
from ._calls import to_replayed
from ._events import ClosingReason, ModelCallEnded, RoundEnded, StopReason
from ._inputs import ModelDelta, ToolResult
from ._messages import Message, ToolCall
from ._plain_values import load_members
from ._usage import Usage


class Round:
    """One model call and the tool calls that follow from it.

    Attributes:
        number: Its number, counted from 1.
        closing: Why the model was told to answer without tools; None if it was not.
        is_beyond_budget: Whether a budget was used up before it began.
        calls: The valid tool calls, once the answer is complete.
        usage: The usage of the model call.
        finish_reason: Why the model stopped, as its client says.
        commentary: Text that is hidden because it is said on the way to something else.
        made_names: The names of the tools that are called, by the ids of the calls.
    """

    SAVED: ClassVar = (
        "number",
        "closing",
        "is_beyond_budget",
        "calls",
        "usage",
        "finish_reason",
        "commentary",
        "made_names",
        "_is_whole",
        "_has_files",
        "_opaque_body",
        "_text",
        "_read",
        "_in_commentary",
        "_answer",
        "_final",
        "_open",
        "_results",
    )

    def __init__(
        self,
        *,
        number: int,
        closing: ClosingReason | None,
        is_beyond_budget: bool,
        show_thoughts: bool,
    ) -> None:
        self.number = number
        self.closing: ClosingReason | None = closing
        self.is_beyond_budget = is_beyond_budget
        self.calls: tuple[ToolCall, ...] = ()
        self.usage = Usage()
        self.finish_reason: str | None = None
        self.commentary: list[str] = []
        self.made_names: dict[str, str] = {}
        self._is_whole = False
        self._has_files = False
        self._opaque_body: Any = None
        self._fragments = ToolCallMerger()
        self._text: list[str] = []
        self._read = 0  # how many of these stand in the answer
        self._in_commentary = False
        self._answer: list[str] = []
        self._final: list[str] = []
        self._open: dict[str, ToolCall] = {}
        self._results: dict[str, ToolResult] = {}
        self._shown = ThinkFilter(show=show_thoughts)
        self._spoken = ThinkFilter(show=False)

    @property
    def text(self) -> str:
        """The answer as it came."""
        return "".join(self._text)

    @property
    def answer(self) -> str:
        """The answer without thoughts."""
        self._read_text()
        return "".join(self._answer)

    @property
    def final_answer(self) -> str:
        """The answer without thoughts, and without commentary where there is anything else."""
        answer = self.answer
        return "".join(self._final).strip() or answer

    @property
    def has_answer(self) -> bool:
        """Whether the model has said something by now, or made a file."""
        return self._has_files or bool(self.answer.strip())

    @property
    def is_filtered(self) -> bool:
        """Whether a content filter has left nothing of the answer."""
        if self.finish_reason != "content_filter":
            return False
        return not (self.has_answer or self.has_tool_calls)

    @property
    def ending(self) -> StopReason:
        """Why the run ends with this answer."""
        if self.finish_reason == "length":
            return "output_limit"
        return (self.closing or "answered") if self.has_answer else "empty_answer"

    @property
    def has_tool_calls(self) -> bool:
        """Whether the answer holds a valid tool call by now."""
        return self._fragments.has_calls

    @property
    def fault(self) -> str:
        """What is wrong with an answer that is nothing but tool calls that cannot be made, as a clause; empty where it is none."""
        if self.has_tool_calls or self.has_answer:
            return ""
        if not (broken := self._fragments.broken_calls):
            return ""
        return f"its tool call has no {'id' if broken[0].name else 'name'}"

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The results by now, in the order of the calls."""
        return tuple(
            self._results[call.call_id] for call in self.calls if call.call_id in self._results
        )

    @property
    def pinned_ids(self) -> frozenset[str]:
        """The ids of the calls whose results stay when the run is made shorter."""
        return frozenset(result.call_id for result in self.results if result.is_pinned)

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The calls that have no result yet."""
        return tuple(self._open.values())

    def name_of(self, call: ToolCall) -> str:
        """Return the name of the tool that a call is about, which may not be the function that the model has called."""
        return self.made_names.get(call.call_id, call.name)

    def is_open(self, call_id: str) -> bool:
        """Return whether this is the id of a call that has no result yet."""
        return call_id in self._open

    def take_text(self, text: str, *, is_commentary: bool) -> str:
        """Take a piece of the answer and return what of it can be shown."""
        if is_commentary != self._in_commentary:
            self._read_text()
            self._in_commentary = is_commentary
        self._text.append(text)
        return self._shown.feed(text)

    def take_rest(self, delta: ModelDelta) -> None:
        """Take what a delta holds besides its text."""
        for fragment in delta.tool_calls:
            self._fragments.add(
                call_id=fragment.call_id,
                index=fragment.index,
                name=fragment.name,
                arguments=fragment.arguments,
            )
        if delta.opaque_body is not None:
            self._opaque_body = delta.opaque_body
        self.usage = delta.usage.counted() if delta.usage else self.usage
        self.finish_reason = delta.finish_reason or self.finish_reason
        self._has_files = self._has_files or bool(delta.files)

    def end_answer(self) -> str:
        """Settle the tool calls and return what is still to be shown."""
        self.calls = tuple(
            ToolCall(call_id=call.call_id, name=call.name, arguments=call.arguments)
            for call in self._fragments.calls
        )
        self._open = {call.call_id: call for call in self.calls}
        self._is_whole = True
        return self.break_answer()

    def break_answer(self) -> str:
        """End an answer that will never be complete and return what is still to be shown."""
        self._read_text()
        rest = self._spoken.close()
        self._answer.append(rest)
        self._final.append(rest)
        return self._shown.close()

    def take_result(self, result: ToolResult) -> ToolCall:
        """Take the result of one of the open calls and return the call."""
        self._results[result.call_id] = replace(result, artifact=None, cause=None)
        return self._open.pop(result.call_id)

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Become the round that was saved, whose model call has ended."""
        load_members(self, self.SAVED, saved)
        for call in self.calls:
            self._fragments.add(call_id=call.call_id, name=call.name, arguments=call.arguments)

    def to_call_ended(self, error: str | None = None) -> ModelCallEnded:
        """Return the end of the model call; one that failed has no tool calls."""
        return ModelCallEnded(
            round=self.number,
            text=self.text,
            tool_calls=self.calls if error is None else (),
            usage=self.usage,
            error=error,
            opaque_body=self._opaque_body,
        )

    def to_ended(
        self, error: str | None = None, *, budgets: tuple[BudgetUse, ...] = ()
    ) -> RoundEnded:
        """Return the end of the round."""
        return RoundEnded(
            round=self.number,
            answer=self.answer,
            results=self.results,
            usage=self.usage,
            error=error,
            budgets=budgets,
        )

    def to_messages(self) -> tuple[Message, ...]:
        """Return what the next request adds for this round: the answer, and the results in the order of the calls.

        Of an answer that was broken off only what was said counts; nothing where nothing was.
        """
        if not self._is_whole:
            said = self.answer
            return (Message(role="assistant", content=said),) if said.strip() else ()
        assistant = Message(
            role="assistant",
            content=self.text,
            tool_calls=tuple(map(to_replayed, self.calls)),
            opaque_body=self._opaque_body,
        )
        names = {call.call_id: call.name for call in self.calls}
        tools = (
            Message(
                role="tool",
                content=result.content,
                tool_call_id=result.call_id,
                name=names[result.call_id],
            )
            for result in self.results
        )
        return (assistant, *tools)

    def _read_text(self) -> None:
        """Tell thoughts and words apart in what has come since the last time; all at once costs far less than piece by piece."""
        if self._read < len(self._text):
            spoken = self._spoken.feed("".join(self._text[self._read :]))
            self._read = len(self._text)
            self._answer.append(spoken)
            if not self._in_commentary:
                self._final.append(spoken)
