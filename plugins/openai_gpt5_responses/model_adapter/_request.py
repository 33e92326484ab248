"""The request of a call, and the memory of the items of its response.

OpenAI gets digests of the user and of calls that belong together, never the ids themselves.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, cast

from dify_plugin import get_current_session

from gpt5_messages import History, ItemStore, build_input, drop_orphan_outputs
from gpt5_payloads import RequestParameters, build_request, coerce_bool, sendable_tools

from ._model_call import ModelCall
from ._parameters import validate_uncut
from ._plugin_log import note_tools_left_out
from ._tool_names import own_name, with_sent_names


# For platforms that drop `opaque_body`; only in this process. See docs/decisions/0007-item-store.md.
ITEMS = ItemStore()
_INSTRUCTION_ROLES = ("system", "developer")


def request_body(
    call: ModelCall, *, compacted: bool = True, history: History | None = None
) -> dict[str, Any]:
    """Return the body of the request for a call.

    Args:
        call: The call.
        compacted: Whether the server's compaction items replace the conversation before them.
        history: Records the conversation, under which the answer's items are remembered.

    Raises:
        PayloadError: If a parameter cannot be used.
        MessageError: If a message cannot be used.
    """
    call, given = with_sent_names(call), call
    built = build_input(
        call.messages,
        recall=partial(ITEMS.recall, call.owner),
        lenient=True,
        # A background request is not repeated if the server refuses a compaction.
        compacted=compacted and not is_on(call, "background"),
        made_for=call.made_for,
        made_by=call.connection.reasoning_mark(call.model),
        history=history,
    )
    items = drop_orphan_outputs(built)
    parameters = call.parameters
    validate_uncut(parameters)
    if not call.shows_thoughts:
        parameters = {**parameters, "reasoning_summary": "off"}
    tools, left_out = sendable_tools(call.tools)
    note_tools_left_out(call, {own_name(given, name): why for name, why in left_out.items()})
    return build_request(
        model=call.model,
        # The parameters are those of the model behind the name, but the server knows it by this name.
        base_model=call.base_model,
        input=items,
        parameters=cast("RequestParameters", parameters),  # of a form
        tools=tools,
        stream=call.stream,
        stop=call.stop,
        safety_identifier=call.safety_identifier,
        prompt_cache_key=prompt_cache_key(items, [tool.name for tool in tools]),
        mcp_tokens=call.connection.mcp_tokens,
    )


def whole_input(
    call: ModelCall, request: Mapping[str, Any]
) -> Callable[[], Sequence[Mapping[str, Any]]] | None:
    """Return a function that builds the input without compaction items, in case the server refuses them; None if the request contains none."""
    if not any(item.get("type") == "compaction" for item in request["input"]):
        return None
    return lambda: request_body(call, compacted=False)["input"]


def earlier_body(call: ModelCall) -> dict[str, Any]:
    """Return the part of an earlier call's request that is still known: the model."""
    # Only a text can be resumed; JSON is stopped at the time limit.
    return {"model": call.model, "input": [], "text": {"format": {"type": "text"}}}


def is_answer_only(request: Mapping[str, Any]) -> bool:
    """Return whether the answer must be only JSON, because Dify parses the whole text if JSON was requested."""
    return request["text"]["format"]["type"] != "text"


def is_on(call: ModelCall, name: str) -> bool:
    """Return whether a parameter is switched on; a blank one counts as off.

    Raises:
        PayloadError: If it is neither on nor off.
    """
    wanted = call.parameters.get(name)
    is_blank = wanted is None or (isinstance(wanted, str) and not wanted.strip())
    return not is_blank and coerce_bool(wanted, field=name)


def prompt_cache_key(items: Iterable[Mapping[str, Any]], tool_names: Iterable[str]) -> str:
    """Return one key, of 32 hexadecimal digits, for all calls that begin alike: same app, same instruction, same tools.

    A key per user would send the users of an app to different caches, although their requests share a long beginning.
    """
    session = get_current_session()
    parts = [(session.app_id if session else None) or ""]
    for item in items:
        if item.get("role") not in _INSTRUCTION_ROLES:
            break
        parts.append(str(item.get("content")))
    return hashlib.sha256("\0".join([*parts, *tool_names]).encode()).hexdigest()[:32]
