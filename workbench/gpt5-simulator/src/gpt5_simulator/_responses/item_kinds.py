"""The properties of each type of output item: its id, its status, its events.

Source: recorded streams of OpenAI and Azure; the types of openai 3.54.0.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpt5_simulator._json import Json, object_at


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemKind:
    """The properties of one type of output item.

    Attributes:
        prefix: The prefix of its ids.
        status: Its status when it is added and when it is done; None if it has none.
        defaults: Fields that every such item has, with their usual values.
        opened: Fields with their values when it is added.
        is_bare: Whether it is added with only its id, type and status.
        steps: Its events between `added` and `done`: `summary`, `content`, `text`, `commands`, `outputs` and `pictures` are several events each.
        text: The name of the events of its text, and the path of that text in the item.
        included: Fields that are only sent to a request that includes them, by their path.
        is_billed: Whether it counts as a call of a built-in tool for `max_tool_calls`.
        is_answered: Whether the client answers it, by its call id.
    """

    prefix: str
    status: tuple[str | None, str | None] = ("in_progress", "completed")
    defaults: Json = field(default_factory=dict[str, object])
    opened: Json = field(default_factory=dict[str, object])
    is_bare: bool = False
    steps: tuple[str, ...] = ()
    text: tuple[str, tuple[str, ...]] | None = None
    included: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    is_billed: bool = False
    is_answered: bool = False


_SEARCHED = ("in_progress", "searching", "completed")
_NO_STATUS = (None, None)
_KINDS = {
    "message": ItemKind(prefix="msg", opened={"content": []}, steps=("content",)),
    "reasoning": ItemKind(
        prefix="rs", status=_NO_STATUS, opened={"summary": []}, steps=("summary", "content")
    ),
    "function_call": ItemKind(
        prefix="fc",
        opened={"arguments": ""},
        steps=("text",),
        text=("function_call_arguments", ("arguments",)),
        is_answered=True,
    ),
    "custom_tool_call": ItemKind(
        prefix="ctc",
        opened={"input": ""},
        steps=("text",),
        text=("custom_tool_call_input", ("input",)),
        is_answered=True,
    ),
    "web_search_call": ItemKind(
        prefix="ws",
        defaults={"action": {"type": "search", "query": "", "queries": []}},
        opened={"action": {"type": "search"}},
        steps=_SEARCHED,
        included={
            "web_search_call.action.sources": ("action", "sources"),
            "web_search_call.results": ("results",),
        },
        is_billed=True,
    ),
    "file_search_call": ItemKind(
        prefix="fs",
        defaults={"queries": [], "results": None},
        opened={"queries": [], "results": None},
        steps=_SEARCHED,
        included={"file_search_call.results": ("results",)},
        is_billed=True,
    ),
    "code_interpreter_call": ItemKind(
        prefix="ci",
        defaults={"code": "", "container_id": "", "outputs": None},
        opened={"code": "", "outputs": None},
        steps=("in_progress", "text", "interpreting", "completed"),
        text=("code_interpreter_call_code", ("code",)),
        included={"code_interpreter_call.outputs": ("outputs",)},
        is_billed=True,
    ),
    "image_generation_call": ItemKind(
        prefix="ig",
        defaults={"result": None},
        is_bare=True,
        steps=("in_progress", "generating", "pictures", "completed"),
        is_billed=True,
    ),
    "mcp_list_tools": ItemKind(
        prefix="mcpl",
        status=_NO_STATUS,
        defaults={"server_label": "", "tools": []},
        opened={"tools": []},
        steps=("in_progress", "completed"),
    ),
    "mcp_call": ItemKind(
        prefix="mcp",
        defaults={
            "approval_request_id": None,
            "arguments": "{}",
            "error": None,
            "name": "",
            "output": None,
            "server_label": "",
        },
        opened={"arguments": "", "error": None, "output": None},
        steps=("in_progress", "text", "completed"),
        text=("mcp_call_arguments", ("arguments",)),
        is_billed=True,
    ),
    "mcp_approval_request": ItemKind(
        prefix="mcpr",
        status=_NO_STATUS,
        defaults={"arguments": "{}", "name": "", "server_label": ""},
    ),
    "shell_call": ItemKind(
        prefix="sh",
        defaults={"action": {"commands": [], "max_output_length": None, "timeout_ms": None}},
        opened={"action": {"commands": [], "max_output_length": None, "timeout_ms": None}},
        steps=("commands",),
        is_billed=True,
        is_answered=True,
    ),
    "shell_call_output": ItemKind(
        prefix="sho",
        status=("completed", "completed"),
        defaults={"max_output_length": None, "output": []},
        opened={"output": []},
        steps=("outputs",),
    ),
    "apply_patch_call": ItemKind(
        prefix="apc",
        defaults={"operation": {}},
        steps=("text",),
        text=("apply_patch_call_operation_diff", ("operation", "diff")),
        is_answered=True,
    ),
    "tool_search_call": ItemKind(
        prefix="tsc",
        defaults={"arguments": {}, "call_id": None, "execution": "server"},
        opened={"arguments": {}},
    ),
    "tool_search_output": ItemKind(
        prefix="tso", defaults={"call_id": None, "execution": "server", "tools": []}
    ),
    "program": ItemKind(
        prefix="cm", status=_NO_STATUS, defaults={"code": ""}, opened={"code": ""}, is_answered=True
    ),
    "program_output": ItemKind(
        prefix="cmo",
        status=("completed", "completed"),
        defaults={"result": ""},
        opened={"result": ""},
    ),
    "compaction": ItemKind(prefix="cmp", status=_NO_STATUS),
    "computer_call": ItemKind(
        prefix="cu",
        defaults={"actions": [], "pending_safety_checks": []},
        is_billed=True,
        is_answered=True,
    ),
    "local_shell_call": ItemKind(prefix="lsh", defaults={"action": {}}, is_answered=True),
}
_UNKNOWN = ItemKind(prefix="item")


def kind_of(item: Mapping[str, object]) -> ItemKind:
    """Return the properties of an item's type; an unknown type has none."""
    return _KINDS.get(str(item.get("type")), _UNKNOWN)


def text_of(item: Json) -> str | None:
    """Return the text that an item's events spell out; None if it has none."""
    named = kind_of(item).text
    if named is None:
        return None
    *folders, key = named[1]
    for folder in folders:
        item = object_at(item, folder)
    found: object = item.get(key)
    return found if isinstance(found, str) else None


def with_text(item: Json, text: str) -> Json:
    """Return an item with another text in place of the one that its events spell out; an item without such a text as it is."""
    named = kind_of(item).text
    return item if named is None or text_of(item) is None else _replaced(item, named[1], text)


def _replaced(value: Json, path: tuple[str, ...], text: str) -> Json:
    key, *rest = path
    inner = _replaced(object_at(value, key), tuple(rest), text) if rest else text
    return value | {key: inner}


def without_unasked(item: Json, include: frozenset[str]) -> Json:
    """Return an item without the fields that the request does not include; a field that every such item has becomes null."""
    kind = kind_of(item)
    for name, path in kind.included.items():
        if name not in include:
            item = _without(item, path, is_kept=path[0] in kind.defaults and len(path) == 1)
    return item


def _without(value: Json, path: tuple[str, ...], *, is_kept: bool) -> Json:
    key, *rest = path
    if key not in value:
        return value
    if rest:
        return value | {key: _without(object_at(value, key), tuple(rest), is_kept=is_kept)}
    return {name: inner for name, inner in value.items() if name != key} | (
        {key: None} if is_kept else {}
    )
