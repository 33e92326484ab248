"""Single calls about background responses: start, attach, poll, cancel."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpt5_messages import Completion
from gpt5_responses._calls.calls import cancel_call, retrieve_call, start_call
from gpt5_responses._calls.transport import TRANSPORT, Transport
from gpt5_responses._settings.connection import Connection

from .following import POLL_SECONDS, attached_request
from .stream import BackgroundStream


def attach_stream(  # noqa: PLR0913  each is a decision of the caller's
    connection: Connection,
    response_id: str,
    *,
    starting_after: int | None = None,
    include: Sequence[str] = (),
    transport: Transport = TRANSPORT,
    seconds: float | None = None,
    detached: bool = False,
    poll_seconds: float = POLL_SECONDS,
) -> BackgroundStream:
    """Return the events of a background response that was begun before, in this process or another.

    Nothing is sent before the first of them is asked for. Leaving has the server cancel the response here, too, unless the stream is detached.

    Args:
        connection: Where it is; with a key of the project that it belongs to.
        response_id: Its id.
        starting_after: The number of the last event that the caller has had, from 0: those up to it are not told again. Where the server does not stream the response
            any more, which is after 5 minutes, it has no numbers, and all of it is told.
        include: What else to tell of it, such as `web_search_call.action.sources`.
        transport: As for `BackgroundStream`.
        seconds: As for `BackgroundStream`.
        detached: As for `BackgroundStream`.
        poll_seconds: As for `BackgroundStream`.

    Raises:
        InvalidRequestError: If that is no id.
        SettingsError: If a number is out of its range.
    """
    return BackgroundStream(
        connection,
        attached_request(include),
        transport=transport,
        seconds=seconds,
        detached=detached,
        poll_seconds=poll_seconds,
        response_id=response_id,
        starting_after=starting_after,
    )


def start_background(
    connection: Connection, request: Mapping[str, Any], *, transport: Transport = TRANSPORT
) -> Completion:
    """Start a background response and return its `response_id` and `status` at once.

    The server stores it, as `BackgroundStream` says, and makes it whether or not anybody asks for it. The request is sent once.

    Args:
        connection: Where to send the request.
        request: The request body, as `gpt5_payloads.build_request` makes it. `background` and `store` are set, and no stream is asked for.
        transport: Who sends it; the process's own by default.

    Raises:
        ResponsesError: If the server cannot be reached, or refuses the request.
    """
    return transport.ask(connection, start_call(request))


def poll_background(
    connection: Connection,
    response_id: str,
    *,
    include: Sequence[str] = (),
    transport: Transport = TRANSPORT,
) -> Completion:
    """Poll a background response once and return its current state; a failed one too, with its `error`.

    Args:
        connection: Where it is.
        response_id: Its id.
        include: What else to tell of it.
        transport: Who asks; the process's own by default.

    Raises:
        NotFoundError: If the server has none of this id, or not any more.
        ResponsesError: If the server cannot be reached, or refuses to tell it.
    """
    return transport.ask(connection, retrieve_call(response_id, include))


def cancel_background(
    connection: Connection, response_id: str, *, transport: Transport = TRANSPORT
) -> Completion:
    """Cancel a background response and return its final state; one that has ended stays as it is.

    Args:
        connection: Where it is.
        response_id: Its id.
        transport: Who asks; the process's own by default.

    Raises:
        NotFoundError: If the server has none of this id.
        ResponsesError: If the server cannot be reached, or it is none of the background.
    """
    return transport.ask(connection, cancel_call(response_id))
