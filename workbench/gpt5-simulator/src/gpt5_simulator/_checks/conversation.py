"""Checks for conversations whose items do not fit together, as a real server makes them.

Source: recorded 400 bodies; docs/evidence/responses-api.md, R4 to R11 and R41.
"""

from collections import Counter
from collections.abc import Callable, Sequence

from gpt5_simulator._errors import ApiError
from gpt5_simulator._json import Json
from gpt5_simulator._responses.encrypted import is_genuine_token


# The name of each call in refusals; the type of its output follows from its own.
_CALLS = {
    "function_call": "function",
    "custom_tool_call": "custom tool",
    "shell_call": "shell",
    "local_shell_call": "local shell",
    "apply_patch_call": "apply_patch",
    "computer_call": "computer",
    "tool_search_call": "tool search",
}
_OUTPUTS = {f"{kind}_output": kind for kind in _CALLS} | {"tool_search_output": "tool_search_call"}
_FOLLOWERS_EXCLUDED = frozenset({"reasoning", *_OUTPUTS})


def validate_conversation(
    items: Sequence[Json], *, key: bytes, is_stored: Callable[[str], bool]
) -> None:
    """Refuse a conversation whose items do not fit together.

    Args:
        items: The whole conversation, oldest first.
        key: The key that signs the customer's `encrypted_content`.
        is_stored: Returns whether the server still has the item with this id.

    Raises:
        ApiError: If anything is wrong; it names the first fault.
    """
    for item in items:
        if item.get("type") in {"reasoning", "compaction"}:
            _validate_readable(item, key, is_stored)
    _validate_ids(items)
    _validate_followers(items)
    _validate_pairs(items)


def _validate_ids(items: Sequence[Json]) -> None:
    counts = Counter(item["id"] for item in items if isinstance(item.get("id"), str))
    for item_id, count in counts.items():
        if count > 1:
            text = f"Duplicate item found with id {item_id}. Remove duplicate items from your input and try again."
            raise ApiError(text, param="input")


def _validate_readable(item: Json, key: bytes, is_stored: Callable[[str], bool]) -> None:
    token: object = item.get("encrypted_content")
    item_id = str(item.get("id"))
    if token is not None:
        is_text = isinstance(token, str)
        if not (is_text and is_genuine_token(token, item_id=item.get("id"), key=key)):
            text = (
                f"The encrypted content for item {item_id} could not be verified. "
                "Reason: Encrypted content could not be decrypted or parsed."
            )
            raise ApiError(text, code="invalid_encrypted_content")
    elif item.get("type") == "compaction" or not is_stored(item_id):
        raise lost_item(item_id)


def lost_item(item_id: str) -> ApiError:
    """Return the error for an item that the server does not have."""
    text = (
        f"Item with id '{item_id}' not found. Items are not persisted when `store` is set to false. "
        "Try again with `store` set to true, or remove this item from your input."
    )
    return ApiError(text, status=404, param="input")


def _validate_followers(items: Sequence[Json]) -> None:
    """Refuse reasoning without a following item of its own response."""
    for index, item in enumerate(items):
        if item.get("type") == "reasoning" and not _has_follower(items, index):
            text = (
                f"Item '{item.get('id')}' of type 'reasoning' was provided "
                "without its required following item."
            )
            raise ApiError(text, param="input")


def _has_follower(items: Sequence[Json], index: int) -> bool:
    for item in items[index + 1 :]:
        # Several in a row may lead to one item.
        if item.get("type") == "reasoning":
            continue
        is_input = item.get("role") in {"user", "system", "developer"}
        return not is_input and item.get("type") not in _FOLLOWERS_EXCLUDED
    return False


def _validate_pairs(items: Sequence[Json]) -> None:
    # Dictionaries and not sets: a refusal names the first call of the conversation.
    calls = {
        (item["type"], item.get("call_id")): None
        for item in items
        if item.get("type") in _CALLS and item.get("call_id") is not None
    }
    answers = {
        # The output of a local shell names its call by `id`.
        (_OUTPUTS[item["type"]], item.get("call_id", item.get("id"))): None
        for item in items
        if item.get("type") in _OUTPUTS and not _is_servers(item)
    }
    for kind, call_id in answers:
        if (kind, call_id) not in calls:
            text = f"No tool call found for {_CALLS[kind]} call output with call_id {call_id}."
            raise ApiError(text, param="input")
    for kind, call_id in calls:
        if (kind, call_id) not in answers:
            text = f"No tool output found for {_CALLS[kind]} call {call_id}."
            raise ApiError(text, param="input")
    _validate_approvals(items)


def _is_servers(item: Json) -> bool:
    """Return whether an item is the output of the server's own search for tools, which answers no call of the client's."""
    return item.get("type") == "tool_search_output" and item.get("call_id") is None


def _validate_approvals(items: Sequence[Json]) -> None:
    asked = {item.get("id") for item in items if item.get("type") == "mcp_approval_request"}
    for item in items:
        if item.get("type") == "mcp_approval_response" and item["approval_request_id"] not in asked:
            name = item["approval_request_id"]
            text = (
                f"No approval request found for approval response with approval_request_id {name}."
            )
            raise ApiError(text, param="input")
