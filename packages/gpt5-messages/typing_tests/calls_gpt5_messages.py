"""What a strict type checker says of code that uses this package; it is checked and never run."""

from collections.abc import Mapping
from functools import partial
from typing import Any, assert_type

from gpt5_messages import (
    Completion,
    ItemStore,
    MessageError,
    StreamDecoder,
    ToolCall,
    Usage,
    build_input,
    read_response,
)


def turn(history: list[object], response: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Go on with a conversation of any shapes."""
    completion = read_response(response)
    assert_type(completion, Completion)
    assert_type(completion.usage, Usage | None)
    for call in completion.tool_calls:
        assert_type(call, ToolCall)
        history += [completion, {"call_id": call.call_id, "content": ["4", {"type": "image"}]}]
    try:
        return build_input([{"role": "user", "content": "?"}, *history])
    except MessageError as error:
        assert_type(error.field, str)
        raise


def recalled(history: list[dict[str, object]], decoder: StreamDecoder) -> list[dict[str, Any]]:
    """Go on with what is remembered of a conversation."""
    store = ItemStore()
    store.remember("alice", history, decoder.completion.items)
    return build_input(history, recall=partial(store.recall, "alice"), lenient=True)
