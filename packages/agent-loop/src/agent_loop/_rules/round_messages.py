"""The contents of a round: the model's answer as it comes in, the results of its tool calls, and the messages that the next request adds for it."""

import json
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from agent_loop._values.events import ClosingReason, StopReason
from agent_loop._values.inputs import ModelDelta, ToolResult
from agent_loop._values.messages import Message, ToolCall
from agent_loop._values.usage import Usage
from agent_tooling import parse_tool_arguments
from stream_text import ThinkFilter, ThinkReader, ToolCallMerger


# Of an answer whose calls nobody makes; never random, for runs that are played again.
_unseeded = partial(ToolCallMerger, seed="none")
_no_thoughts = partial(ThinkFilter, show=False)


@dataclass(slots=True, kw_only=True)
class ModelAnswer:
    """The answer to one model call, as far as it has come.

    Attributes:
        text: The pieces of the answer as they came.
        words: The answer without thoughts, in pieces.
        final: The same without commentary.
        calls: The valid tool calls, once the answer is complete.
        usage: The usage of the model call.
        finish_reason: Why the model stopped, as its client says.
        opaque_body: What the model's client wants back with the answer.
        has_files: Whether the model has made a file.
        is_whole: Whether the answer is complete.
        read: How many pieces of the text are in `words` already.
        fragments: The tool calls as they come in.
        shown: The filter that separates thoughts from words for the reader.
        spoken: The filter that does so for `words`.
        thoughts: What reads the thoughts for the reader; None where nobody wants them.
        in_commentary: Whether the last piece was commentary.
        hosted_calls: How many calls of tools the model's server has made, which are counted when the answer ends.
    """

    text: list[str] = field(default_factory=list[str])
    words: list[str] = field(default_factory=list[str])
    final: list[str] = field(default_factory=list[str])
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    finish_reason: str | None = None
    opaque_body: Any = None
    has_files: bool = False
    is_whole: bool = False
    read: int = 0
    # No run waits for a person while an answer comes in, so its readers are in no snapshot.
    fragments: ToolCallMerger = field(init=False, default_factory=_unseeded)
    shown: ThinkFilter = field(init=False, default_factory=_no_thoughts)
    spoken: ThinkFilter = field(init=False, default_factory=_no_thoughts)
    thoughts: ThinkReader | None = field(init=False, default=None)
    in_commentary: bool = field(init=False, default=False)
    hosted_calls: int = field(init=False, default=0)

    @property
    def said(self) -> str:
        """The answer without thoughts."""
        self._read_text()
        return "".join(self.words)

    @property
    def finally_said(self) -> str:
        """The answer without thoughts, and without commentary unless that is all there is."""
        said = self.said
        return "".join(self.final).strip() or said

    @property
    def has_answer(self) -> bool:
        """Whether the model has said something by now, or made a file."""
        return self.has_files or bool(self.said.strip())

    @property
    def has_tool_calls(self) -> bool:
        """Whether the answer holds a valid tool call by now."""
        return self.fragments.has_calls

    @property
    def is_filtered(self) -> bool:
        """Whether a content filter has removed the whole answer."""
        is_empty = not (self.has_answer or self.has_tool_calls)
        return self.finish_reason == "content_filter" and is_empty

    @property
    def fault(self) -> str:
        """Why an answer that holds nothing but broken tool calls is of no use, as a clause; empty for any other answer."""
        if self.has_tool_calls or self.has_answer or not self.fragments.broken_calls:
            return ""
        return "its tool call has no name"

    def take_text(self, text: str, *, is_commentary: bool) -> str:
        """Take a piece of the text and return the part of it that can be shown."""
        # What has come so far belongs to the phase that ends here.
        if is_commentary != self.in_commentary:
            self._read_text()
            self.in_commentary = is_commentary
        self.text.append(text)
        return self.shown.feed(text)

    def take_rest(self, delta: ModelDelta) -> None:
        """Take what a delta holds besides its text."""
        for fragment in delta.tool_calls:
            self.fragments.add(
                call_id=fragment.call_id,
                index=fragment.index,
                name=fragment.name,
                arguments=fragment.arguments,
            )
        if delta.opaque_body is not None:
            self.opaque_body = delta.opaque_body
        self.usage = delta.usage.counted() if delta.usage else self.usage
        self.finish_reason = delta.finish_reason or self.finish_reason
        self.has_files = self.has_files or bool(delta.files)
        self.hosted_calls += delta.hosted_calls

    def complete(self) -> str:
        """Settle the tool calls of a complete answer, and return the text that is still to be shown."""
        self.calls = tuple(
            ToolCall(call_id=call.call_id, name=call.name, arguments=call.arguments)
            for call in self.fragments.calls
        )
        self.is_whole = True
        return self.break_off(goes_on=bool(self.calls))

    def replace(self, text: str) -> None:
        """Put another text in place of the answer; what the model's client wants back with it belongs to the old one."""
        self.text, self.words, self.final, self.read = [text], [text], [text], 1
        self.opaque_body = None

    def break_off(self, *, goes_on: bool = True) -> str:
        """End an answer of which no more will come, and return the text that is still to be shown.

        Args:
            goes_on: Whether something will be shown behind it.
        """
        self._read_text()
        rest = self.spoken.close()
        self.words.append(rest)
        self.final.append(rest)
        # What is shown behind the answer would stand in a thought that it has left open.
        return self.shown.close(goes_on=goes_on)

    def _read_text(self) -> None:
        """Separate thoughts and words in the text since the last time; doing it at once costs far less than piece by piece."""
        if self.read < len(self.text):
            spoken = self.spoken.feed("".join(self.text[self.read :]))
            self.read = len(self.text)
            self.words.append(spoken)
            if not self.in_commentary:
                self.final.append(spoken)


@dataclass(slots=True, kw_only=True)
class Round:
    """One model call and the tool calls that follow from it.

    Attributes:
        number: Its number, counted from 1; 0 before the first.
        closing: Why the model was told to answer without tools; None if it was not.
        is_beyond_budget: Whether a budget was used up before it began.
        answer: The model's answer.
        commentary: Text that is hidden because the model says it on the way to something else.
        open_calls: The calls that have no result yet, by their ids.
        results: The results so far, by the ids of their calls.
        made_calls: What is called in place of a call, by the ids of the calls, where an own function has put it there.
        told: What was shown in it besides what streams from the model: sentences, results of tools, JSON by a schema.
    """

    number: int = 0
    closing: ClosingReason | None = None
    is_beyond_budget: bool = False
    answer: ModelAnswer = field(default_factory=ModelAnswer)
    commentary: list[str] = field(default_factory=list[str])
    open_calls: dict[str, ToolCall] = field(default_factory=dict[str, ToolCall])
    results: dict[str, ToolResult] = field(default_factory=dict[str, ToolResult])
    made_calls: dict[str, ToolCall] = field(default_factory=dict[str, ToolCall])
    # Nothing is told in a round before its calls are approved.
    told: list[str] = field(init=False, default_factory=list[str])

    @property
    def ending(self) -> StopReason:
        """Why the run ends with this answer."""
        if self.answer.finish_reason == "length":
            return "output_limit"
        return (self.closing or "answered") if self.answer.has_answer else "empty_answer"

    @property
    def ordered_results(self) -> tuple[ToolResult, ...]:
        """The results so far, in the order of the calls."""
        ids = (call.call_id for call in self.answer.calls)
        return tuple(self.results[call_id] for call_id in ids if call_id in self.results)

    @property
    def pinned_ids(self) -> frozenset[str]:
        """The ids of the calls whose results stay when the run is compacted."""
        return frozenset(call_id for call_id, result in self.results.items() if result.is_pinned)

    def name_of(self, call: ToolCall) -> str:
        """Return the name of the tool that a call really makes, which an own function may have put in its own place."""
        return self.made_calls.get(call.call_id, call).name

    def find_made(self, call_id: str) -> ToolCall:
        """Return an open call as it is made."""
        call = self.open_calls[call_id]
        return self.made_calls.get(call_id, call)

    def take_result(self, result: ToolResult) -> ToolCall:
        """Take the result of one of the open calls and return the call."""
        # A snapshot could hold neither, and a file for a person would stay in memory with the run.
        self.results[result.call_id] = replace(result, artifact=None, cause=None)
        return self.open_calls.pop(result.call_id)

    def to_messages(self) -> tuple[Message, ...]:
        """Return the messages that the next request adds for this round: the answer, and the results in the order of the calls.

        For an answer that was broken off, this is only its text, or nothing if there is none.
        """
        answer = self.answer
        if not answer.is_whole:
            said = answer.said
            return (Message(role="assistant", content=said),) if said.strip() else ()
        assistant = Message(
            role="assistant",
            # Thoughts included: some clients rebuild the model's own reasoning from them.
            content="".join(answer.text),
            tool_calls=tuple(map(to_replayed, answer.calls)),
            opaque_body=answer.opaque_body,
        )
        names = {call.call_id: call.name for call in answer.calls}
        tools = (
            Message(
                role="tool",
                content=result.content,
                tool_call_id=result.call_id,
                name=names[result.call_id],
            )
            for result in self.ordered_results
        )
        return (assistant, *tools)


def to_replayed(call: ToolCall) -> ToolCall:
    """Return `call` as it goes back to the model: with arguments that are a JSON object.

    Model clients parse replayed arguments and fail on broken ones; the model still sees what it wrote.
    """
    if not call.arguments:
        return replace(call, arguments="{}")
    if parse_tool_arguments(call.arguments).ok:
        return call
    wrapped = json.dumps({"invalid_arguments": call.arguments}, ensure_ascii=False)
    return replace(call, arguments=wrapped)
