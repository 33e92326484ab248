"""What the model is asked with: the messages by now, the tools and their choice, the schema, and which model it is."""

from collections.abc import Iterable
from typing import Any, ClassVar, cast

from agent_tooling import AnswerSchema

from ._events import CallModel
from ._messages import Message
from ._models import FallbackModel, without_reasoning
from ._reading import read_messages
from ._request_size import bound_requests
from ._sentences import build_schema_request


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

    Attributes:
        messages: All messages by now.
        tools: The tools to offer.
        allowed_tools: The names of the only tools that may be called; None for all.
        max_bytes: As given.
        model: What the events call the model that is asked now.
        models: The model of each request by now, where they have names.

    Raises:
        InvalidSettingError: If `max_bytes` is under 1.
        MessageError: If the messages are no list of messages.
    """

    SAVED: ClassVar = ("messages", "model", "models", "_tool_choice", "_has_tool_choice")

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
    ) -> None:
        self.messages = read_messages(messages)
        self.tools = tuple(tools)
        self.allowed_tools: tuple[str, ...] | None = None
        self.max_bytes = max_bytes
        self.model = model
        self.models: list[str] = []
        self._size = None if max_bytes is None else bound_requests(max_bytes)
        self._tool_choice = tool_choice
        self._has_tool_choice = has_tool_choice
        self._schema = None if answer_schema is None else answer_schema.schema
        self._has_answer_format = has_answer_format
        if not has_answer_format:
            self._ask_for_schema()

    def add(self, *messages: Message) -> None:
        """Add what the next request says beyond the one before."""
        self.messages += messages

    def add_user_text(self, text: str) -> None:
        """Add what the run itself has to say to the model."""
        self.add(Message(role="user", content=text))

    def relax_tool_choice(self) -> None:
        """Let the model choose once tools have run: one that is forced to call them could never answer."""
        if self._tool_choice not in {None, "auto", "none"}:
            self._tool_choice = "auto"

    def take_over(self, fallback: FallbackModel) -> None:
        """Ask another model from now on, without the reasoning of the one before."""
        self.model = fallback.name
        self._has_tool_choice = fallback.has_tool_choice
        self.messages = tuple(map(without_reasoning, self.messages))
        self._size = self._size and bound_requests(cast("int", self.max_bytes))  # They are smaller.
        if self._has_answer_format and not fallback.has_answer_format:
            self._ask_for_schema()

    def build(self, round_number: int, *, is_closing: bool, wait_seconds: float) -> CallModel:
        """Return the request of a round, within the bound."""
        left_out = self._fit()
        tools = self.tools if self._has_tool_choice or not is_closing else ()
        choice = "none" if is_closing else self._tool_choice
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
        )

    def _ask_for_schema(self) -> None:
        if self._schema is not None:
            self.add_user_text(build_schema_request(self._schema))

    def _fit(self) -> int:
        """Keep the messages within their bound; return how many images and files have become a sentence by this."""
        if self._size is None:
            return 0
        fitted, left_out = self._size.fit(self.messages)
        self.messages = tuple(fitted)
        return left_out
