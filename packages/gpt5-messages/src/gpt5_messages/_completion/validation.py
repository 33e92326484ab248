"""Validation of the fields that would do harm later, with errors that name them.

Nothing else is validated: most real traffic lacks fields that the official types demand.
"""

from collections.abc import Mapping
from itertools import chain
from typing import Any

from gpt5_messages._json import iter_mappings, mapping, type_of
from gpt5_messages._kinds import CALL_ARGUMENTS
from gpt5_messages._members import wrong_kind
from gpt5_messages._text import is_too_deep
from stream_text import MOST_COUNTED, MessageError, read_count

from .values import Completion, Item


USAGE_NAMES = (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens"))
"""The names of the tokens of a response's input and output, here and in Chat Completions."""

_USAGE = {
    "": ("total_tokens", *chain(*USAGE_NAMES)),
    **dict.fromkeys(
        (f"{name}_details" for name in chain(*USAGE_NAMES)),
        ("cached_tokens", "cache_write_tokens", "reasoning_tokens"),
    ),
}


def validate_response(response: Mapping[str, Any]) -> None:
    """Validate the state, the output items and the usage of a whole response.

    Raises:
        MessageError: If the state is not a text or the output not a list, a call's id or name is not a text, an item
            nests too deep, or a number of tokens is absurd.
    """
    for name, kind, expected in (("status", str, "a text"), ("output", list, "a list")):
        if not isinstance(value := response.get(name), kind | None):
            raise wrong_kind(name, expected, value)
    for index, item in enumerate(iter_mappings(response.get("output"))):
        validate_item(item, index)
    for group, names in _USAGE.items():
        usage = mapping(response.get("usage"))
        counts = mapping(usage.get(group)) if group else usage
        for name in names:
            if (read_count(counts.get(name)) or 0) > MOST_COUNTED:
                path = ".".join(filter(None, ("usage", group, name)))
                raise MessageError(
                    f"{path}: expected a number of tokens, at most 10**15", field=path
                )


def check_calls(completion: Completion) -> MessageError | None:
    """Return an error for a complete response with nothing but calls that cannot be made, which would pass for an empty answer; else None."""
    has_said = (completion.text + completion.refusal).strip() or completion.tool_calls
    if has_said or completion.status != "completed":
        return None
    for index, item in enumerate(completion.items):
        if type_of(item) in CALL_ARGUMENTS:
            missing = "status" if item.get("name") else "name"
            path = f"output[{index}].{missing}"
            expected = "a whole tool call" if missing == "status" else "a text"
            message = f"{path}: expected {expected}, got {item.get(missing) or 'nothing'}"
            return MessageError(message, field=path)
    return None


def validate_item(item: Item, index: int) -> None:
    """Validate one output item.

    Raises:
        MessageError: If a call's id or name is not a text, or the item nests too deep.
    """
    if type_of(item) in CALL_ARGUMENTS:
        for name in ("call_id", "name"):
            if not isinstance(value := item.get(name), str | None):
                raise wrong_kind(f"output[{index}].{name}", "a text", value)
    for name, value in item.items():
        if is_too_deep(value):
            path = f"output[{index}].{name}"
            raise MessageError(f"{path}: nests deeper than can be read", field=path)
