"""The calls about a stored response: to get it, stream it, cancel it, and list its input.

Source: recorded answers of these calls; https://platform.openai.com/docs/api-reference/responses, read in November 2026.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from starlette.datastructures import QueryParams

from gpt5_simulator._checks.schema import SCHEMAS, bad_value, validate
from gpt5_simulator._errors import ApiError
from gpt5_simulator._json import Json, objects_in
from gpt5_simulator._reply import Reply
from gpt5_simulator._responses.item_kinds import without_unasked
from gpt5_simulator._responses.output import IdSource
from gpt5_simulator._stored.store import StoredResponse


# From OpenAI's guide "Background mode", read in November 2026: a stream can be resumed for 5 minutes, and
# without `store` a response is kept for about 10, to be polled.
_STREAM_SECONDS = 300.0
_KEPT_SECONDS = 600.0
_DEFAULT_LIMIT = 20
_MAX_LIMIT = 100


@dataclass(frozen=True, slots=True)
class StoredCalls:
    """The calls about one stored response.

    Attributes:
        stored: The response.
        clock: Returns the time in seconds since 1970.
        is_paced: Whether a stream comes as it is made; otherwise all of it comes at once.
    """

    stored: StoredResponse
    clock: Callable[[], float]
    is_paced: bool = True

    def show(self, query: QueryParams) -> Reply:
        """Return the reply to `GET /v1/responses/{id}`.

        Raises:
            ApiError: If it cannot be streamed, or a field cannot be included.
        """
        response = self._shown(_included(query))
        if _is_true(query, "stream"):
            return self._stream(response, query)
        return Reply.of_json(self._now(response))

    def cancel(self) -> Reply:
        """Return the reply to `POST /v1/responses/{id}/cancel`.

        Raises:
            ApiError: If it is not a background response.
        """
        if self.stored.run is None:
            raise ApiError("Cannot cancel a synchronous response.")
        self.stored.run.cancel(self.clock())
        return Reply.of_json(self._now(self._shown(frozenset())))

    def list_input(self, query: QueryParams) -> Reply:
        """Return the reply to `GET /v1/responses/{id}/input_items`, newest first unless asked otherwise.

        Raises:
            ApiError: If the query cannot be read, or there is no item with the id in `after`.
        """
        _included(query)
        limit = _number(query, "limit", default=_DEFAULT_LIMIT, least=1, most=_MAX_LIMIT)
        order = query.get("order") or "desc"
        if order not in ("asc", "desc"):
            raise bad_value("order", order, accepted=("asc", "desc"))
        items = listed_items(self.stored.items, material=str(self.stored.response["id"]))
        items = items if order == "asc" else items[::-1]
        after = query.get("after")
        if after is not None:
            ids = [item["id"] for item in items]
            if after not in ids:
                text = f"Item with id '{after}' not found."
                raise ApiError(text, status=404, param="after")
            items = items[ids.index(after) + 1 :]
        page = items[:limit]
        ends: Json = {
            "first_id": page[0]["id"] if page else None,
            "last_id": page[-1]["id"] if page else None,
            "has_more": len(items) > limit,
        }
        return Reply.of_json({"object": "list", "data": page} | ends)

    def _shown(self, include: frozenset[str]) -> Json:
        """Return the final response with the fields in `include`; encrypted reasoning comes only with the call that makes it."""
        items = [
            without_unasked(
                {key: value for key, value in item.items() if key != "encrypted_content"}
                if item["type"] == "reasoning"
                else item,
                include,
            )
            for item in objects_in(self.stored.response["output"])
        ]
        return self.stored.response | {"output": items}

    def _now(self, response: Json) -> Json:
        run = self.stored.run
        if run is None:
            return response
        now = self.clock()
        if not response["store"] and now > run.started + run.seconds + _KEPT_SECONDS:
            raise ApiError(f"Response with id '{response['id']}' not found.", status=404)
        return run.at(now, response)

    def _stream(self, response: Json, query: QueryParams) -> Reply:
        run = self.stored.run
        if run is None or not self.stored.is_streamed:
            text = "This response can not be streamed because it was not created with 'background' and 'stream'."
            raise ApiError(text, param="stream")
        if self.clock() > run.started + _STREAM_SECONDS:
            text = "This response can no longer be streamed because it is more than 5 minutes old."
            raise ApiError(text, param="stream")
        steps = run.iter_steps(
            response,
            after=_number(query, "starting_after", default=-1, least=0),
            clock=self.clock if self.is_paced else lambda: math.inf,  # at which every event is due
            obfuscate=_is_true(query, "include_obfuscation", default=True),
        )
        return Reply.of_events(steps)


def listed_items(items: Sequence[Json], *, material: str) -> list[Json]:
    """Return input items as the server lists them: with ids, and messages with their parts.

    Args:
        items: The items.
        material: The text that ids are made from.
    """
    ids = IdSource(f"input:{material}")
    return [_listed(item, ids) for item in items]


def _listed(item: Json, ids: IdSource) -> Json:
    is_message = item.get("type", "message") == "message"
    made = ids.make("msg" if is_message else "item")
    listed: Json = {"id": item.get("id") or made} | item
    if not is_message:
        return listed
    content: object = item.get("content")
    if isinstance(content, str):
        kind = "output_text" if item.get("role") == "assistant" else "input_text"
        content = [{"type": kind, "text": content}]
    return listed | {"type": "message", "status": "completed", "content": content}


def _is_true(query: QueryParams, name: str, *, default: bool = False) -> bool:
    value = query.get(name)
    if value is None:
        return default
    if value.lower() not in {"true", "false"}:
        raise bad_value(name, value, accepted=("true", "false"))
    return value.lower() == "true"


def _number(
    query: QueryParams, name: str, *, default: int, least: int, most: float = math.inf
) -> int:
    value = query.get(name)
    if value is None:
        return default
    try:
        number = int(value)
    except ValueError:
        text = f"Invalid type for '{name}': expected an integer, but got {value!r} instead."
        raise ApiError(text, param=name, code="invalid_type") from None
    validate(number, {"minimum": least, "maximum": most}, name)
    return number


def _included(query: QueryParams) -> frozenset[str]:
    """Return the fields to include; no stored response has encrypted reasoning."""
    pairs = query.multi_items()
    wanted = [value for name, value in pairs if value and name.partition("[")[0] == "include"]
    validate(wanted, SCHEMAS["parameters"]["include"], "include")
    if "reasoning.encrypted_content" in wanted:
        text = "Encrypted content cannot be requested for persisted responses."
        raise ApiError(text, param="include")
    return frozenset(wanted)
