"""What the model is asked with: the messages by now, the tools and their choice, the schema, and which model it is."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar, cast

from agent_tooling import AnswerSchema

from ._compaction import (
    SUMMARY_REQUEST,
    Cut,
    Marks,
    build_gap,
    build_summary,
    count_reasoning,
    find_cut,
    rebuild,
)
from ._compaction_events import CompactionKind, RunCompacted
from ._events import CallModel
from ._messages import Message
from ._models import FallbackModel, without_reasoning
from ._reading import read_messages
from ._request_size import bound_requests
from ._sentences import build_schema_request
from ._usage import Usage
from ._window import Window, WindowUse, estimate_message


_SUMMARY_SHARE = 0.1  # of the window; our choice


class Requests:
    """The requests of a run, each of which begins with the one before but for what does not fit.

    Args:
        messages: What the first one says.
        tools: The tools to offer.
        tool_choice: The choice of the first one.
        has_tool_choice: Whether the model knows a tool choice at all.
        answer_schema: What the last answer has to be.
        has_answer_format: Whether the model takes the schema as its format; if not, a message asks for it in words.
        model: What the events call the model.
        max_bytes: How many bytes the messages may have; None for any number.
        window: How much the model reads; None where nobody knows, and nothing is made shorter.

    Attributes:
        messages: All messages by now.
        tools: The tools to offer.
        allowed_tools: The names of the only tools that may be called; None for all.
        max_bytes: As given.
        model: What the events call the model that is asked now.
        models: The model of each request by now, where they have names.
        window: As given; that of a fallback model once it has taken over.
        tool_choice: The choice of the next one that is not the closing one.

    Raises:
        MessageError: If the messages are no list of messages.
    """

    SAVED: ClassVar = (
        "messages",
        "model",
        "models",
        "tool_choice",
        "_has_tool_choice",
        "window",
        "_marks",
    )

    def __init__(  # noqa: PLR0913 - the keyword-only settings of one run
        self,
        messages: Iterable[object],
        *,
        tools: Iterable[Any],
        tool_choice: str | None,
        has_tool_choice: bool,
        answer_schema: AnswerSchema | None,
        has_answer_format: bool,
        model: str | None,
        max_bytes: int | None,
        window: Window | None,
    ) -> None:
        self.messages = read_messages(messages)
        self.window = window
        self.tools = tuple(tools)
        self.allowed_tools: tuple[str, ...] | None = None
        self.max_bytes = max_bytes
        self.model = model
        self.models: list[str] = []
        self._size = None if max_bytes is None else bound_requests(max_bytes)
        self.tool_choice = tool_choice
        self._has_tool_choice = has_tool_choice
        self._schema = None if answer_schema is None else answer_schema.schema
        self._has_answer_format = has_answer_format
        self._marks = Marks.of(self.messages)
        self._use: WindowUse | None = None
        self._is_rewritten = False
        if not has_answer_format:
            self._ask_for_schema()

    @property
    def is_full(self) -> bool:
        """Whether the next request would take so much of the window that the run is to be made shorter first."""
        if self.window is None:
            return False
        return self.count_tokens() >= self.window.tokens * self.window.compact_at

    @property
    def cut(self) -> Cut | None:
        """Where the messages would be cut to be fewer; None where none could be left out."""
        if self.window is None:
            return None
        sizes = self._measure().measure(self.messages)
        # Where the model tells of more than is estimated, such as reasoning, the last rounds have their part in that.
        share = min(sum(sizes) / self.count_tokens(), 1.0)
        room = int(self.window.tokens * self.window.keep * share)
        return find_cut(self.messages, sizes, self._marks, room)

    def count_tokens(self) -> int:
        """Return about how many tokens the next request has."""
        return self._measure().estimate(self.messages)

    def take_usage(self, usage: Usage) -> None:
        """Take note of what the model tells of the last request; before its answer is added."""
        if self.window is not None:
            self._measure().take(usage, len(self.messages))

    def add(self, *messages: Message, pinned: frozenset[str] = frozenset()) -> None:
        """Add what the next request says beyond the one before.

        Args:
            messages: The messages.
            pinned: The ids of the calls whose results stay when the run is made shorter.
        """
        for index, message in enumerate(messages, len(self.messages)):
            if message.tool_call_id in pinned:
                self._marks.pinned += (index,)
        self.messages += messages

    def add_user_text(self, text: str) -> None:
        """Add what the run itself has to say to the model."""
        self.add(Message(role="user", content=text))

    def relax_tool_choice(self) -> None:
        """Let the model choose once tools have run: one that is forced to call them could never answer."""
        if self.tool_choice not in {None, "auto", "none"}:
            self.tool_choice = "auto"

    def take_over(self, fallback: FallbackModel) -> None:
        """Ask another model from now on, without the reasoning of the one before."""
        self.model = fallback.name
        self._has_tool_choice = fallback.has_tool_choice
        self.messages = tuple(map(without_reasoning, self.messages))
        self._size = self._size and bound_requests(cast("int", self.max_bytes))  # They are smaller.
        self.window = fallback.window or self.window
        if self._use is not None:
            self._use.forget()
        if self._has_answer_format and not fallback.has_answer_format:
            self._ask_for_schema()

    def build(self, round_number: int, *, is_closing: bool, wait_seconds: float) -> CallModel:
        """Return the request of a round, within the bound."""
        left_out = self._fit()
        tools = self.tools if self._has_tool_choice or not is_closing else ()
        choice = "none" if is_closing else self.tool_choice
        if self.model is not None:
            self.models.append(self.model)
        return CallModel(
            round=round_number,
            messages=self.messages,
            tools=tools,
            tool_choice=choice if tools and self._has_tool_choice else None,
            is_closing=is_closing,
            wait_seconds=wait_seconds,
            allowed_tools=self.allowed_tools,
            answer_schema=self._schema,
            model=self.model,
            left_out=left_out,
            is_rewritten=self._take_rewritten(),
        )

    def build_compaction(
        self, round_number: int, cut: Cut, *, wait_seconds: float = 0.0
    ) -> CallModel | None:
        """Return the request for a summary of what will be left out; None where the model could not read that.

        It begins with the request before, where that leaves room for the last round too.
        """
        window = cast("Window", self.window)
        asked = Message(role="user", content=SUMMARY_REQUEST)
        messages, tokens = self.messages, self.count_tokens()
        sizes = self._measure().measure(messages)
        reserve = estimate_message(asked) + self._max_summary_tokens
        if tokens + reserve > window.tokens:
            tokens -= sum(sizes[cut.index :])
            messages = messages[: cut.index]
        if tokens + reserve > window.tokens:
            return None
        self._is_rewritten = True  # The request behind this one begins with neither.
        return CallModel(
            round=round_number,
            messages=(*messages, asked),
            tools=self.tools if self._has_tool_choice else (),
            tool_choice="none" if self.tools and self._has_tool_choice else None,
            wait_seconds=wait_seconds,
            allowed_tools=self.allowed_tools,
            model=self.model,
            is_compaction=True,
            is_rewritten=len(messages) < len(self.messages),
        )

    def find_problem(self, summary: str) -> str | None:
        """Return why a summary cannot be used, as a clause; None where it can."""
        if not summary:
            return "the model wrote no summary"
        if estimate_message(build_summary(summary)) > self._max_summary_tokens:
            return "the summary was too long"
        return None

    def compact(  # noqa: PLR0913 - the fields of what is told
        self,
        kind: CompactionKind,
        cut: Cut,
        *,
        summary: str = "",
        window: Iterable[Any] = (),
        usage: Usage | None = None,
        error: str | None = None,
    ) -> RunCompacted:
        """Make the run shorter and return what is told of it.

        Args:
            kind: By what.
            cut: Where.
            summary: The summary, of a kind that has one.
            window: The messages by which the model's API has replaced the others.
            usage: What it has cost.
            error: Why there is no better one.
        """
        earlier, before = self.messages, self.count_tokens()
        place = tuple(window)
        if kind == "summary":
            place = (build_summary(summary),)
        elif kind == "dropped":
            known = None if self._marks.summary is None else earlier[self._marks.summary]
            place = (build_gap(len(cut.replaced), known),)
        self.messages, self._marks = rebuild(
            earlier, cut, self._marks, place, has_task=kind == "api"
        )
        self._measure().forget()
        if self.max_bytes is not None:
            self._size = bound_requests(self.max_bytes)
        self._is_rewritten = True
        return RunCompacted(
            kind=kind,
            replaced=len(cut.replaced),
            reasoning_dropped=count_reasoning(earlier[index] for index in cut.replaced),
            tokens_before=before,
            tokens_after=self.count_tokens(),
            usage=usage or Usage(),
            error=error,
            messages=self.messages,
        )

    def shrink_window(self) -> None:
        """Take the window for smaller than the request that was just refused for its length."""
        window = cast("Window", self.window)
        tokens = max(int(self.count_tokens() * 0.9), 1_000)
        self.window = replace(window, tokens=min(window.tokens, tokens))

    @property
    def _max_summary_tokens(self) -> int:
        return int(cast("Window", self.window).tokens * _SUMMARY_SHARE)

    def _measure(self) -> WindowUse:
        if self._use is None:  # The tools are known by now.
            self._use = WindowUse(self.tools)
        return self._use

    def _take_rewritten(self) -> bool:
        is_rewritten, self._is_rewritten = self._is_rewritten, False
        return is_rewritten

    def _ask_for_schema(self) -> None:
        if self._schema is not None:
            self._marks.fixed += (len(self.messages),)
            self.add_user_text(build_schema_request(self._schema))

    def _fit(self) -> int:
        """Keep the messages within their bound; return how many images and files have become a sentence by this."""
        if self._size is None:
            return 0
        fitted, left_out = self._size.fit(self.messages)
        self.messages = tuple(fitted)
        return left_out
