"""A conversation: questions, answers and tool results."""

from collections.abc import Iterable
from itertools import takewhile
from typing import Any, Unpack

from gpt5_messages import (
    Completion,
    ConversationItem,
    MessageItem,
    ToolCall,
    ToolOutputItem,
    read_item,
    without_compacted,
)

from ._calls.calls import CompactedWindow
from ._errors import InvalidRequestError
from ._scheme import Request, RequestSettings


_INSTRUCTIONS = ("system", "developer")


class Conversation:
    """The items of a conversation. Each request sends all of them, unless the server stores the conversation (`follow`).

    Example:
        >>> from gpt5_messages import read_response
        >>> conversation = Conversation()
        >>> conversation.ask("Hello")
        >>> conversation.add(read_response({"output": [{"type": "new_kind", "id": "x"}]}))
        >>> [item.to_wire().get("type") for item in conversation.request().items]
        ['message', 'new_kind']
    """

    def __init__(self, items: Iterable[ConversationItem] = ()) -> None:
        self._items = list(items)
        self._previous_response_id: str | None = None
        self._kept: dict[str, Any] = {}

    @property
    def items(self) -> tuple[ConversationItem, ...]:
        """Everything said so far, or since the response that `follow` was given, oldest first."""
        return tuple(self._items)

    def ask(self, text: str) -> None:
        """Add a message of the user."""
        self._items.append(MessageItem.of_text("user", text))

    def add(self, completion: Completion) -> None:
        """Add every item of a response, reasoning included, to be sent back verbatim.

        If the server has shortened the conversation (`compact_threshold`), the items that its compaction item replaces
        are dropped; not after `follow`, since the server has them.
        """
        self._items += [read_item(item) for item in completion.items]
        is_compacted = any(item.get("type") == "compaction" for item in completion.items)
        if is_compacted and self._previous_response_id is None:
            held = without_compacted(item.to_wire() for item in self._items)
            self._items = [read_item(item) for item in held]

    def follow(self, completion: Completion) -> None:
        """Continue from a response that the server stores, such as a background response; it replaces everything before it.

        Its reasoning comes back without `encrypted_content`, so it can't be carried in any other way. What follows is
        sent with its id (`previous_response_id`), for as long as the server keeps it; everything before it is still
        billed as input.

        Raises:
            InvalidRequestError: If the response has no id.
        """
        if not completion.response_id:
            message = "The conversation cannot continue from a response without an id."
            raise InvalidRequestError(message, param="previous_response_id")
        self._items = []
        self._previous_response_id = completion.response_id

    def answer(self, call: ToolCall, output: str) -> None:
        """Add a tool's result for one of the model's calls."""
        kind = "custom_tool_call_output" if call.type == "custom" else "function_call_output"
        self._items.append(ToolOutputItem(type=kind, call_id=call.call_id, output=output))

    def replace(self, window: CompactedWindow) -> None:
        """Continue from a shortened conversation, as a client's `compact` returns it.

        The operator's messages at the beginning stay in front of it: what a window keeps of them fades when it is shortened again.
        """
        lead = takewhile(lambda item: item.to_wire().get("role") in _INSTRUCTIONS, self._items)
        self._items = [*lead, *(read_item(item) for item in window.items)]
        self._previous_response_id = None

    def request(self, **settings: Unpack[RequestSettings]) -> Request:
        """Return the request that carries the conversation so far.

        Args:
            settings: Further fields of `Request`.
        """
        previous = self._previous_response_id
        return Request(items=self.items, previous_response_id=previous, kept=self._kept, **settings)
