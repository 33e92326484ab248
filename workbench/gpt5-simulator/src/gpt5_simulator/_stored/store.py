"""The store of responses: all those without `store: false`, and background responses for some minutes."""

from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass

from gpt5_simulator._errors import ApiError
from gpt5_simulator._json import Json, objects_in
from gpt5_simulator._request import item_text
from gpt5_simulator._stored.background import BackgroundRun


_MAX_RESPONSES = 512
_MAX_WINDOWS = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredResponse:
    """A stored response with the conversation that led to it.

    Attributes:
        response: The final response, with all fields that a request may include.
        items: The conversation that it answers, oldest first.
        is_streamed: Whether it was requested as a stream.
        run: Its run in the background; None if it was made at once.
    """

    response: Json
    items: tuple[Json, ...]
    is_streamed: bool
    run: BackgroundRun | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundCounts:
    """The numbers of background responses, by their state.

    Attributes:
        begun: All that were requested.
        running: Those that are still being made.
        done: Those that were finished, and are billed; failed ones too.
        cancelled: Those that were cancelled before.
    """

    begun: int
    running: int
    done: int
    cancelled: int


@dataclass(slots=True)
class Lane:
    """What a WebSocket remembers: its newest response and the conversation up to that, stored or not.

    Source: https://developers.openai.com/api/docs/guides/websocket-mode, read in November 2026.

    Attributes:
        asked: The conversation of the request under way.
        response_id: The newest response; None if there is none.
        items: The conversation up to and including it.
    """

    asked: tuple[Json, ...] = ()
    response_id: str | None = None
    items: tuple[Json, ...] = ()

    def keep(self, response: Json) -> None:
        """Remember the response to the request under way.

        An incomplete one takes the place of the one before, and nothing can continue from it.
        """
        is_complete = response.get("status") == "completed"
        self.response_id = str(response.get("id")) if is_complete else None
        self.items = _since_compaction((*self.asked, *objects_in(response.get("output"))))

    def forget(self, response_id: object) -> None:
        """Forget the newest response if it is the one that a refused request continued from."""
        if response_id == self.response_id:
            self.response_id, self.items = None, ()


class ResponseStore:
    """The newest responses of all customers; nobody sees another's."""

    def __init__(self) -> None:
        self._responses: OrderedDict[tuple[str, str], StoredResponse] = OrderedDict()
        self._runs: list[BackgroundRun] = []
        self._windows: deque[tuple[str, list[str]]] = deque(maxlen=_MAX_WINDOWS)

    def count_background(self, now: float) -> BackgroundCounts:
        """Return the numbers of background responses up to a time, including deleted ones."""
        runs = list(self._runs)  # A copy, since requests add to it in other threads.
        cancelled = sum(run.cancelled is not None for run in runs)
        over = sum(run.is_over(now) for run in runs)
        return BackgroundCounts(
            begun=len(runs), running=len(runs) - over, done=over - cancelled, cancelled=cancelled
        )

    def keep(self, stored: StoredResponse, *, owner: str) -> None:
        """Store a response."""
        if stored.run is not None:
            self._runs.append(stored.run)
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
        """Return the conversation up to and including a response, since the last compaction.

        Raises:
            ApiError: If there is no such response.
        """
        kept = self._responses.get((owner, response_id))
        if kept is None or not kept.response["store"]:
            text = f"Previous response with id '{response_id}' not found."
            code = "previous_response_not_found"
            raise ApiError(text, param="previous_response_id", code=code)
        return _since_compaction((*kept.items, *objects_in(kept.response["output"])))

    def keep_window(self, compaction_id: str, said: Sequence[Json]) -> None:
        """Remember the messages that a window of the compact call has before its compaction item."""
        self._windows.append((compaction_id, list(map(item_text, said))))

    def validate_windows(self, items: Sequence[Json]) -> None:
        """Refuse a window of the compact call that is not whole, which a model would answer without the missing messages.

        It is not known what a real server does then; its guide says not to do it.

        Raises:
            ApiError: If the messages before such a compaction item are not those that it came with.
        """
        windows = dict(self._windows)
        for index, item in enumerate(items):
            said = windows.get(str(item.get("id")))
            if said and list(map(item_text, items[max(0, index - len(said)) : index])) != said:
                text = f"The compacted window of item '{item.get('id')}' is not whole: pass it on as it came, with the {len(said)} messages before the item."
                raise ApiError(text, param="input", code="invalid_value")

    def find_item(self, item_id: str, *, owner: str) -> Json | None:
        """Return a stored item, of an input or an output; None if there is none."""
        # The newest first: the item that a client refers to is most often in the last response.
        for (kept_for, _), kept in reversed(self._responses.items()):
            if kept_for == owner and kept.response["store"]:
                for item in (*objects_in(kept.response["output"]), *kept.items):
                    if item.get("id") == item_id:
                        return item
        return None


def _since_compaction(items: tuple[Json, ...]) -> tuple[Json, ...]:
    compacted = [index for index, item in enumerate(items) if item.get("type") == "compaction"]
    return items[compacted[-1] :] if compacted else items
