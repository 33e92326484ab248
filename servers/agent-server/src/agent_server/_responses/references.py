"""References of a request to items of responses, in whose place those items are put.

Source: `types/responses/response_input_item_param.py` of openai 3.51.0, `ItemReference`; @ai-sdk/openai 3.0.141, which
sends them by default, and a call of the agent's own twice.
"""

from collections.abc import Mapping
from typing import Final

from starlette.requests import Request

from agent_server._http.problems import ProblemError, dump_json, refuse
from agent_server._http.unread import building
from agent_server.executor import JsonObject, RequestRefusedError

from .ids import ResponseId
from .input_items import read_item
from .reading import Found, find_stored, read_response


_MESSAGE: Final = (
    "expected the id of an item of a response that is stored: send the item itself, as clients do with"
    " `store: false`, or continue with `previous_response_id`"
)


async def resolve_references(
    request: Request, items: list[JsonObject], previous: Found | None
) -> None:
    """Put the items that are referred to in place of their references.

    What is referred to again, or is of the run that is continued from, is there already: such a reference goes.

    Args:
        request: The request.
        items: Its items, which are changed.
        previous: The response that it continues from; None for none.

    Raises:
        RequestRefusedError: If the tenant has no such item of a stored response, or what is referred to is together larger than a request may be.
    """
    wanted: dict[ResponseId, dict[str, int]] = {}
    gone: set[int] = set()
    for n, item in enumerate(items):
        if item["type"] == "item_reference":
            owner = ResponseId.of_item(item["id"])
            if owner is None:
                raise _refuse(n)
            is_known = previous is not None and owner.run_id == previous.run.run_id
            if is_known or wanted.setdefault(owner, {}).setdefault(item["id"], n) != n:
                gone.add(n)
    most = left = request.app.state.settings.max_request_bytes
    for owner, places in wanted.items():
        found = await _read_items(request, owner)
        for item_id, n in places.items():
            if item_id not in found:
                raise _refuse(n)
            items[n] = read_item(found[item_id], f"input[{n}]")
            left -= len(dump_json(items[n]))
            if left < 0:
                raise refuse(f"input[{n}].id", f"expected items of at most {most} bytes together")
    if gone:
        items[:] = [item for n, item in enumerate(items) if n not in gone]


async def _read_items(request: Request, response_id: ResponseId) -> Mapping[str, JsonObject]:
    """Return the items of a response, what it was asked with among them, by their ids; none if the tenant has none that is stored."""
    try:
        found = await find_stored(request, str(response_id))
    except ProblemError:
        return {}
    async with building(request):
        told = await read_response(request, found)
    given = told.answers if response_id.part else found.input
    named = {response_id.input_item(n): item for n, item in enumerate(given)}
    return named | {item["id"]: item for item in told.response["output"]}


def _refuse(index: int) -> RequestRefusedError:
    return refuse(f"input[{index}].id", _MESSAGE, code="item_not_found")
