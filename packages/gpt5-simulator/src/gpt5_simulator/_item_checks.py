"""What a real server would refuse about the items of a conversation.

Source: recorded 400 bodies; docs/evidence/responses-api.md, R4 to R11.
"""

from collections.abc import Callable, Sequence

from gpt5_simulator._checks import bad_value, missing, unknown, unsupported_value, wrong_type
from gpt5_simulator._errors import ApiError
from gpt5_simulator._item_kinds import kind_of
from gpt5_simulator._json import Json, is_array, is_object, object_at, objects_in
from gpt5_simulator._part_checks import validate_amounts, validate_parts
from gpt5_simulator._profiles import ModelProfile
from gpt5_simulator._request import item_type


_ROLES = ("assistant", "system", "developer", "user")
# What each call is called in refusals, and the type of what answers it.
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
_WITH_PARTS = ("function_call_output", "custom_tool_call_output")
_REQUIRED = {
    "function_call": ("call_id", "name", "arguments"),
    "function_call_output": ("call_id", "output"),
    "custom_tool_call": ("call_id", "name", "input"),
    "custom_tool_call_output": ("call_id", "output"),
    "reasoning": ("summary",),
    "item_reference": ("id",),
    "file_search_call": ("id", "queries", "status"),
    "web_search_call": ("id", "action", "status"),
    "image_generation_call": ("id",),
    "code_interpreter_call": ("id", "code", "container_id", "status"),
    "computer_call": ("id", "call_id", "status"),
    "computer_call_output": ("call_id", "output"),
    "local_shell_call": ("id", "call_id", "action", "status"),
    "local_shell_call_output": ("id", "output"),
    "shell_call": ("call_id", "action"),
    "shell_call_output": ("call_id", "output"),
    "apply_patch_call": ("call_id", "operation", "status"),
    "apply_patch_call_output": ("call_id", "status"),
    "mcp_list_tools": ("id", "server_label", "tools"),
    "mcp_approval_request": ("id", "name", "arguments", "server_label"),
    "mcp_approval_response": ("approval_request_id", "approve"),
    "mcp_call": ("id", "name", "arguments", "server_label"),
    "compaction": ("encrypted_content",),
    "compaction_trigger": (),
    "configuration_update": (),
    "additional_tools": ("role", "tools"),
    "tool_search_call": ("arguments",),
    "tool_search_output": ("tools",),
    "program": ("id", "call_id", "code", "fingerprint"),
    "program_output": ("id", "call_id", "result", "status"),
}
_ITEM_TYPES = ("message", *_REQUIRED)
_PREFIXED = frozenset(kind for kind in _REQUIRED if "id" in _REQUIRED[kind]) - {"item_reference"}
# What the server shows of a picture and does not take back. Source: Yeachan-Heo/gajae-code, issue 1688.
_SHOWN_ONLY = ("action", "background", "output_format", "quality", "revised_prompt", "size")
_FOLLOWERS_EXCLUDED = frozenset({"reasoning", *_OUTPUTS})


def validate_items(value: object, *, profile: ModelProfile) -> None:
    """Refuse input items of the wrong shape, one by one.

    Args:
        value: The request's `input`; a string is fine.
        profile: The model's profile, which knows which roles it takes.

    Raises:
        ApiError: If anything is wrong; it says the first thing.
    """
    validate_amounts(objects_in(value))
    for index, item in enumerate(value if is_array(value) else ()):
        where = f"input[{index}]"
        if not is_object(item):
            raise wrong_type(where, wanted="an object", got=item)
        _validate_item(item, where, profile)


def validate_conversation(
    items: Sequence[Json],
    *,
    is_genuine: Callable[[Json], bool],
    is_stored: Callable[[str], bool],
) -> None:
    """Refuse a conversation whose items do not fit together.

    Args:
        items: The whole conversation, oldest first.
        is_genuine: Returns whether a reasoning item's `encrypted_content` can be read.
        is_stored: Returns whether the server still has the item with this id.

    Raises:
        ApiError: If anything is wrong; it says the first thing.
    """
    for item in items:
        if item.get("type") in {"reasoning", "compaction"}:
            _validate_readable(item, is_genuine=is_genuine, is_stored=is_stored)
    _validate_followers(items)
    _validate_pairs(items)


def _validate_item(item: Json, where: str, profile: ModelProfile) -> None:
    kind = item_type(item)
    if kind not in _ITEM_TYPES:
        raise bad_value(where, kind, accepted=_ITEM_TYPES)
    if kind == "message":
        _validate_message(item, where, profile)
    for name in _REQUIRED.get(str(kind), ()):
        if item.get(name) is None:
            raise missing(f"{where}.{name}")
    if kind == "image_generation_call":
        _validate_picture(item, where)
    if kind == "configuration_update":
        _validate_update(item, where, profile)
    _validate_id(item, where)
    if kind in _WITH_PARTS:
        validate_parts(item["output"], f"{where}.output", role=None, profile=profile)
    _validate_texts(item, where)


def _validate_texts(item: Json, where: str) -> None:
    for name in ("call_id", "name", "arguments"):
        value: object = item.get(name)
        is_open = item.get("type") == "tool_search_call" and name == "arguments"  # an object there
        if value is not None and not isinstance(value, str) and not is_open:
            raise wrong_type(f"{where}.{name}", wanted="a string", got=value)


def _validate_update(item: Json, where: str, profile: ModelProfile) -> None:
    effort: object = object_at(item, "reasoning").get("effort")
    if effort is not None and effort not in profile.efforts:
        param = f"{where}.reasoning.effort"
        raise unsupported_value(param, effort, profile=profile, accepted=profile.efforts)


def _validate_picture(item: Json, where: str) -> None:
    """Refuse a picture with fields that only answers have, and one that was not finished."""
    for name in item:
        if name in _SHOWN_ONLY:
            raise unknown(f"{where}.{name}")
    if "result" in item and not isinstance(item["result"], str):
        raise wrong_type(f"{where}.result", wanted="a string", got=item["result"])


def _validate_id(item: Json, where: str) -> None:
    """Refuse an id of another type of item, as other servers make them."""
    item_id: object = item.get("id")
    prefix = kind_of(item).prefix if item.get("type") in _PREFIXED else None
    if isinstance(item_id, str) and prefix is not None and not item_id.startswith(prefix):
        text = f"Invalid '{where}.id': '{item_id}'. Expected an ID that begins with '{prefix}'."
        raise ApiError(text, param=f"{where}.id", code="invalid_value")


def _validate_message(item: Json, where: str, profile: ModelProfile) -> None:
    role: object = item.get("role")
    if role is None:
        raise missing(f"{where}.role")
    if role not in _ROLES:
        raise bad_value(f"{where}.role", role, accepted=_ROLES)
    if role == "system" and not profile.takes_system:
        raise ApiError("System messages are not allowed.", param=f"{where}.role")
    content: object = item.get("content")
    if content is None:
        raise missing(f"{where}.content")
    validate_parts(content, f"{where}.content", role=str(role), profile=profile)


def _validate_readable(
    item: Json, *, is_genuine: Callable[[Json], bool], is_stored: Callable[[str], bool]
) -> None:
    token: object = item.get("encrypted_content")
    item_id = str(item.get("id"))
    if token is not None:
        if not (isinstance(token, str) and is_genuine(item)):
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
    """Refuse reasoning that nothing of its own response follows."""
    for index, item in enumerate(items):
        if item.get("type") == "reasoning" and not _has_follower(items, index):
            text = (
                f"Item '{item.get('id')}' of type 'reasoning' was provided "
                "without its required following item."
            )
            raise ApiError(text, param="input")


def _has_follower(items: Sequence[Json], index: int) -> bool:
    for item in items[index + 1 :]:
        if item.get("type") == "reasoning":
            continue
        is_input = item.get("role") in {"user", "system", "developer"}
        return not is_input and item.get("type") not in _FOLLOWERS_EXCLUDED
    return False


def _validate_pairs(items: Sequence[Json]) -> None:
    calls = {
        (item["type"], item.get("call_id")): None
        for item in items
        if item.get("type") in _CALLS and item.get("call_id") is not None
    }
    answers = {
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
    """Return whether the server has found tools itself, which no call asked the client for."""
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
