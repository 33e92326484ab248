"""Sending requests: one HTTP client for each connection, kept between calls, and what its server has refused before."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import openai

from ._connection import Connection
from ._failures import from_client_error
from ._fallbacks import Fallback, find_fallback, relax


# Refusals that belong to the organisation and will meet every later call; stale reasoning items belong to one call.
_LASTING: tuple[Fallback, ...] = ("without_summary", "without_streaming")


@dataclass(frozen=True, slots=True)
class SentRequest:
    """Hold a response whose body has not been read yet.

    Attributes:
        response: The official client's response.
        close: Closes the connection, at any time.
        left_out: What the server refused and was left out of the request.
    """

    response: openai.APIResponse[Any]
    close: Callable[[], None]
    left_out: tuple[Fallback, ...]


class _Client:
    """One official client, and what its server is known to refuse."""

    def __init__(self, connection: Connection) -> None:
        self.openai = openai.OpenAI(
            api_key=connection.api_key,
            organization=connection.organization,
            base_url=connection.base_url,
            timeout=connection.timeout_seconds,
            max_retries=connection.max_retries,
        )
        self.refused: tuple[Fallback, ...] = ()


class Transport:
    """Send requests over as few clients as there are connections.

    Building a client costs more than a short answer. A client that falls out of the pool is not closed, because calls may still be
    reading from it; its sockets close when the last of them is done.

    Args:
        max_clients: How many clients are kept, from 1.
    """

    def __init__(self, *, max_clients: int = 32) -> None:
        self._max_clients = max_clients
        self._clients: OrderedDict[Connection, _Client] = OrderedDict()
        self._lock = threading.Lock()

    def send(self, connection: Connection, request: Mapping[str, Any]) -> SentRequest:
        """Send a request until a server takes it on, asking for less where that is known to help.

        Raises:
            ResponsesError: The server could not be reached, or refused the request.
        """
        client = self._client(connection)
        left_out: tuple[Fallback, ...] = tuple(
            name for name in client.refused if _applies(name, request)
        )
        body = dict(request)
        for known in left_out:
            body = relax(body, known)
        while True:
            try:
                return _post(client.openai, body, left_out)
            except openai.OpenAIError as error:
                name: Fallback | None = (
                    find_fallback(error, body) if isinstance(error, openai.APIStatusError) else None
                )
                if name is None or name in left_out:
                    raise from_client_error(error, model=str(request.get("model"))) from None
                body, left_out = relax(body, name), (*left_out, name)
                if name in _LASTING and name not in client.refused:
                    client.refused = (*client.refused, name)

    def official_client(self, connection: Connection) -> openai.OpenAI:
        """Return the official client of a connection, for calls that are not responses."""
        return self._client(connection).openai

    def _client(self, connection: Connection) -> _Client:
        with self._lock:
            client = self._clients.pop(connection, None) or _Client(connection)
            self._clients[connection] = client
            while len(self._clients) > self._max_clients:
                self._clients.popitem(last=False)
            return client


def _applies(name: Fallback, request: Mapping[str, Any]) -> bool:
    if name == "without_streaming":
        return bool(request.get("stream"))
    return "summary" in (request.get("reasoning") or {})


def _post(
    client: openai.OpenAI, body: dict[str, Any], left_out: tuple[Fallback, ...]
) -> SentRequest:
    # As `extra_body` the request goes out as it is: the typed arguments would be walked through and rewritten on every call.
    opening = client.responses.with_streaming_response.create(extra_body=body)
    response = opening.__enter__()
    return SentRequest(response, lambda: opening.__exit__(None, None, None), left_out)


TRANSPORT = Transport()
"""The transport of this process, shared by all calls."""
