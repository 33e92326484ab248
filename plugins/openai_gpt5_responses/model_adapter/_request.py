"""What is asked of the server for one call, and who alone gets back what comes of it."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from gpt5_messages import History, ItemStore, build_input, drop_orphan_outputs
from gpt5_payloads import build_request, coerce_bool
from gpt5_responses import Connection

from ._base_model import base_model
from ._identity import prompt_cache_key, safety_identifier
from ._model_call import ModelCall


# Remembered in this process only, for platforms that drop `opaque_body` on the way: docs/decisions/0007-item-store.md.
ITEMS = ItemStore()


def request_body(
    call: ModelCall,
    connection: Connection,
    *,
    compacted: bool = True,
    history: History | None = None,
) -> dict[str, Any]:
    """Return the body of the request for a call.

    Args:
        call: The call.
        connection: Where it goes.
        compacted: Whether what the server has made shorter of the conversation stands for it.
        history: Takes in the conversation, by which the answer's items are remembered.

    Raises:
        PayloadError: If a parameter is not usable.
        MessageError: If a message is not usable.
    """
    recall = partial(ITEMS.recall, owner_of(call, connection))
    built = build_input(
        call.messages,
        recall=recall,
        lenient=True,
        # One that is made in the background cannot be asked for once more, should the server refuse a compaction.
        compacted=compacted and not is_on(call, "background"),
        made_for=made_for(call, connection),
        history=history,
    )
    items = drop_orphan_outputs(built)
    request = build_request(
        model=base_model(call.model, call.credentials),
        input=items,
        parameters=call.parameters,
        tools=call.tools,
        stream=call.stream,
        stop=call.stop,
        safety_identifier=safety_identifier(call.user),
        prompt_cache_key=prompt_cache_key(items, [tool.name for tool in call.tools]),
        mcp_tokens=connection.mcp_tokens,
    )
    return {**request, "model": call.model}


def whole_input(
    call: ModelCall, connection: Connection, request: Mapping[str, Any]
) -> Callable[[], Sequence[Mapping[str, Any]]] | None:
    """Return what makes the input without compactions, should the server refuse those; None where there is none in the request."""
    if not any(item.get("type") == "compaction" for item in request["input"]):
        return None
    return lambda: request_body(call, connection, compacted=False)["input"]


def made_for(call: ModelCall, connection: Connection) -> str:
    """Return a digest that stands for who alone may use a compaction item of this call's response: 32 hexadecimal digits."""
    return hashlib.sha256(owner_of(call, connection).encode()).hexdigest()[:32]


def earlier_body(call: ModelCall) -> dict[str, Any]:
    """Return what is known of a request that was sent in an earlier call: the model."""
    return {"model": call.model, "input": [], "text": {"format": {"type": "text"}}}


def owner_of(call: ModelCall, connection: Connection) -> str:
    """Return who alone gets back what comes of this call: the same model, for the same user with the same credentials."""
    return f"{connection.fingerprint} {call.model} {safety_identifier(call.user)}"


def is_answer_only(request: Mapping[str, Any]) -> bool:
    """Return whether the text of an answer is JSON and nothing else, since Dify parses all of it where it has asked for JSON."""
    return request["text"]["format"]["type"] != "text"


def is_on(call: ModelCall, name: str) -> bool:
    """Return whether a parameter is switched on; a blank one is not.

    Raises:
        PayloadError: If it is neither on nor off.
    """
    wanted = call.parameters.get(name)
    is_blank = wanted is None or (isinstance(wanted, str) and not wanted.strip())
    return not is_blank and coerce_bool(wanted, field=name)
