"""Responses that the server keeps: unless the client said `store: false`, and for some minutes if they are made in the background."""

from collections import OrderedDict
from dataclasses import dataclass

from gpt5_simulator._background import BackgroundRun
from gpt5_simulator._errors import ApiError
from gpt5_simulator._json import Json, objects_in


_MAX_RESPONSES = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredResponse:
    """A stored response with the conversation that led to it.

    Attributes:
        response: The final response, with everything that a request may include.
        items: What it answers, oldest first.
        is_streamed: Whether it was asked for as a stream.
        run: How it is made in the background; None where it was made at once.
    """

    response: Json
    items: tuple[Json, ...]
    is_streamed: bool
    run: BackgroundRun | None


class ResponseStore:
    """The newest responses of all customers; nobody sees another's."""

    def __init__(self) -> None:
        self._responses: OrderedDict[tuple[str, str], StoredResponse] = OrderedDict()

    def keep(self, stored: StoredResponse, *, owner: str) -> None:
        """Store a response."""
        self._responses[owner, stored.response["id"]] = stored
        while len(self._responses) > _MAX_RESPONSES:
            self._responses.popitem(last=False)

    def find(self, response_id: str, *, owner: str) -> StoredResponse:
        """Return a stored response.

        Raises:
            ApiError: If there is none (status 404).
        """
        found = self._responses.get((owner, response_id))
        if found is None:
            raise ApiError(f"Response with id '{response_id}' not found.", status=404)
        return found

    def delete(self, response_id: str, *, owner: str) -> None:
        """Forget a response.

        Raises:
            ApiError: If there is none (status 404).
        """
        self.find(response_id, owner=owner)
        del self._responses[owner, response_id]

    def conversation(self, response_id: str, *, owner: str) -> tuple[Json, ...]:
        """Return everything that was said up to and in a response, since the last compaction.

        Raises:
            ApiError: If there is no such response.
        """
        kept = self._responses.get((owner, response_id))
        if kept is None or not kept.response["store"]:
            text = f"Previous response with id '{response_id}' not found."
            code = "previous_response_not_found"
            raise ApiError(text, param="previous_response_id", code=code)
        items = (*kept.items, *objects_in(kept.response["output"]))
        compacted = [index for index, item in enumerate(items) if item.get("type") == "compaction"]
        return items[compacted[-1] :] if compacted else items

    def find_item(self, item_id: str, *, owner: str) -> Json | None:
        """Return a stored item, said or answered; None if there is none."""
        for (kept_for, _), kept in reversed(self._responses.items()):
            if kept_for == owner and kept.response["store"]:
                for item in (*objects_in(kept.response["output"]), *kept.items):
                    if item.get("id") == item_id:
                        return item
        return None
