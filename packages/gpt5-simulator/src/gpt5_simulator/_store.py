"""Responses that the server keeps because the client did not say `store: false`."""

from collections import OrderedDict
from dataclasses import dataclass

from gpt5_simulator._errors import ApiError
from gpt5_simulator._json import Json, objects_in


_MAX_RESPONSES = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredResponse:
    """A stored response with the conversation that led to it."""

    response: Json
    items: tuple[Json, ...]


class ResponseStore:
    """The newest responses of all customers; nobody sees another's."""

    def __init__(self) -> None:
        self._responses: OrderedDict[tuple[str, str], StoredResponse] = OrderedDict()

    def keep(self, response: Json, *, items: tuple[Json, ...], owner: str) -> None:
        """Store a response and the items that it answered."""
        self._responses[owner, response["id"]] = StoredResponse(response=response, items=items)
        while len(self._responses) > _MAX_RESPONSES:
            self._responses.popitem(last=False)

    def find(self, response_id: str, *, owner: str) -> Json | None:
        """Return a stored response; None if there is none."""
        kept = self._responses.get((owner, response_id))
        return None if kept is None else kept.response

    def conversation(self, response_id: str, *, owner: str) -> tuple[Json, ...]:
        """Return everything that was said up to and in a response.

        Raises:
            ApiError: If there is no such response.
        """
        kept = self._responses.get((owner, response_id))
        if kept is None:
            text = f"Previous response with id '{response_id}' not found."
            code = "previous_response_not_found"
            raise ApiError(text, param="previous_response_id", code=code)
        return (*kept.items, *objects_in(kept.response["output"]))

    def item(self, item_id: str, *, owner: str) -> Json | None:
        """Return a stored output item; None if there is none."""
        for (kept_for, _), kept in reversed(self._responses.items()):
            for item in objects_in(kept.response["output"]) if kept_for == owner else ():
                if item["id"] == item_id:
                    return item
        return None
