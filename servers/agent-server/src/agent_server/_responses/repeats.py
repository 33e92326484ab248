"""Turns that a client sends again, though the conversation that it continues with has them.

Source: strands-agents 1.62.0, `OpenAIResponsesModel(stateful=True)`, and @ai-sdk/openai 3.0.141 with
`previousResponseId`: both send all that was said since the user's last message, with `previous_response_id`.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from agent_server.executor import JsonObject

from .ids import ResponseId
from .projection import Projection


_ID_IN: Final = {
    "function_call": "call_id",
    "function_call_output": "call_id",
    "mcp_approval_request": "id",
}


def drop_last_turn(
    items: list[JsonObject], given: Sequence[JsonObject], before: ResponseId, told: Projection
) -> list[JsonObject]:
    """Return what is new in an input that begins with the last turn, with all calls that wait in it.

    Only the ids of its calls show that: the same words may be said again.

    Args:
        items: The input.
        given: What the turn's run was begun with.
        before: The response that is continued from.
        told: What has come of it.

    Returns:
        The items behind the turn, with answers to what is waited for; all items if such a call is missing, or something in the turn was not said.
    """
    own = {n for n, item in enumerate(items) if _is_of(item, before)}
    asked = told.waiting or {"results": ()}
    is_answer = [ResponseId.of_answer(item) == before for item in items]
    answers = {n for n, is_one in enumerate(is_answer) if is_one and told.waiting}
    calls = {items[n].get("call_id") for n in own - answers}
    if not calls or not {id_ for _, id_ in before.calls(asked, "results")} <= calls:
        return items
    end = max(own - answers) + 1
    last_words = _list_words(told.response["output"][-1:])
    if told.waiting is None and last_words == _list_words(items[end : end + 1]):
        end += 1
    turn = [n for n in range(end) if n not in answers]
    is_foreign = any(items[n]["type"] in _ID_IN for n in turn if n not in own)
    # Of the agent's own words nothing is lost: the conversation has those that were said.
    said = Counter(one for one in _list_words(items[n] for n in turn) if one[0] != "assistant")
    # Some clients send the turn without the words that it began with.
    if is_foreign or not said <= Counter(_list_words(given)):
        return items
    return [item for n, item in enumerate(items) if n >= end or n in answers]


def _is_of(item: JsonObject, before: ResponseId) -> bool:
    """Return whether an item is a call or a question of a run up to a response, or answers one."""
    owner = ResponseId.of_item(item.get(_ID_IN.get(item["type"], "")) or "")
    return owner is not None and owner.run_id == before.run_id and owner.part <= before.part


def _list_words(items: Iterable[JsonObject]) -> list[tuple[str, str]]:
    """Return what messages say, each with its role; a text is as good as a part of text."""
    return [
        (item["role"], _read_words(item["content"])) for item in items if item["type"] == "message"
    ]


def _read_words(content: Any) -> str:
    parts = [content] if isinstance(content, str) else [one.get("text", one) for one in content]
    return json.dumps(parts)
