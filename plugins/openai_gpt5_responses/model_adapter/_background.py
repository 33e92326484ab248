"""Answers that are made in the background: left before Dify's time for a call is over, and taken up in the next turn.

Source: docs/decisions/0027-long-answers-in-dify.md.
"""

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from threading import Timer
from typing import Any, TypeGuard

from gpt5_messages import (
    ResumePoint,
    ResumeTokens,
    VisibleText,
    find_resume_token,
    render_addendum,
)
from gpt5_responses import (
    BackgroundStream,
    Connection,
    ConnectionTimeoutError,
    ResponsesError,
    ResponseStream,
    StillRunningError,
    attach_stream,
)

from ._model_call import ModelCall
from ._operator_settings import background_seconds
from ._request import is_answer_only, is_on, owner_of, whole_input


RUNNING = ("queued", "in_progress")
"""The states of a response that is being made."""

REFUSED = (
    "The token in the last answer was given for another conversation, or with other credentials, another model or another user, so the answer behind it is not shown here. "
    "Ask your question again."
)
GONE = "The answer that was still being made is no longer at the server: it has expired, or it was deleted. Ask your question again."
_UNFINISHED = "**This answer is not finished.** The model goes on with it at the server. Send any message, such as “continue”, to see the rest. Where it is: `{}`"
_NO_TURN = (
    "The answer was not there before Dify's time for a call was over, and JSON cannot go on in a later turn, so it was stopped. Use the polling variant of this plugin in an "
    "LLM node, lower reasoning_effort, or have the operator raise PLUGIN_MAX_EXECUTION_TIMEOUT."
)
_NOT_TAKEN = (
    "The server did not take the request before Dify's time for a call was over. Try again."
)
_GOES_ON = "This goes on with the answer above, after “{}”:"
_BEGINS = "This is the answer to the question before:"
_NOTHING_LEFT = "The answer above was complete. Nothing of it is left."
_QUOTED_WORDS = 8


def begin_response(call: ModelCall, connection: Connection, request: Mapping[str, Any]) -> str:
    """Have an answer made, and return the response's id without waiting for the answer.

    Raises:
        ResponsesError: If the server cannot be reached, or refuses the request.
    """
    flex_fallback = is_on(call, "flex_fallback")
    with BackgroundStream(connection, request, flex_fallback=flex_fallback) as stream:
        return stream.detach()


def open_stream(
    call: ModelCall, connection: Connection, request: Mapping[str, Any]
) -> ResponseStream:
    """Return the events of the answer to a request, made in the background where the call wants it so.

    Raises:
        PayloadError: If a switch is neither on nor off.
    """
    flex_fallback = is_on(call, "flex_fallback")
    if not is_on(call, "background"):
        whole = whole_input(call, connection, request)
        return ResponseStream(connection, request, flex_fallback=flex_fallback, whole=whole)
    # JSON is shown whole or not at all: it is stopped where it cannot be waited for.
    seconds = _seconds(call, connection) if is_answer_only(request) else None
    return BackgroundStream(connection, request, flex_fallback=flex_fallback, seconds=seconds)


def find_unfinished(call: ModelCall, connection: Connection) -> ResumePoint | str | None:
    """Return where the answer before goes on that the user has replied to, why it cannot, or None where it was finished.

    Raises:
        MessageError: If a message is not usable.
    """
    found = find_resume_token(call.messages)
    if found is None:
        return None
    return tokens_of(call, connection).read(found) or REFUSED


def take_up(connection: Connection, point: ResumePoint) -> BackgroundStream:
    """Return the events of an answer that is made already, from its beginning; it goes on whatever becomes of this stream."""
    return attach_stream(connection, point.response_id, detached=True)


@contextmanager
def in_time(
    call: ModelCall, connection: Connection, stream: ResponseStream, *, answer_only: bool
) -> Generator[None]:
    """Leave an answer that is made in the background when Dify's time for a call is nearly over.

    Args:
        call: The call.
        connection: The way to the server.
        stream: The answer's stream; nothing is done about one that is not made in the background.
        answer_only: Whether it is JSON, of which there are no parts.

    Raises:
        ConnectionTimeoutError: If the answer cannot go on in a later turn, and its time is over.
    """
    if not isinstance(stream, BackgroundStream):
        yield
        return
    timer = Timer(_seconds(call, connection), _leave, [stream])
    timer.daemon = True
    if not answer_only:
        timer.start()
    try:
        yield
    except StillRunningError:
        raise ConnectionTimeoutError(_NO_TURN) from None
    finally:
        timer.cancel()


def is_left(stream: ResponseStream) -> TypeGuard[BackgroundStream]:
    """Return whether an answer was left while it was being made."""
    is_detached = isinstance(stream, BackgroundStream) and stream.is_detached
    return is_detached and stream.completion.status in RUNNING


def unfinished_note(
    call: ModelCall, connection: Connection, stream: BackgroundStream, visible: VisibleText
) -> str:
    """Return what is said below an answer that was left, with the token by which the next turn takes it up.

    Raises:
        ConnectionTimeoutError: If the server has not said by then what it makes.
    """
    response_id = stream.response_id
    if response_id is None:
        raise ConnectionTimeoutError(_NOT_TAKEN)
    point = ResumePoint(response_id=response_id, shown_characters=visible.characters)
    token = tokens_of(call, connection).write(point, call.messages)
    return render_addendum(_UNFINISHED.format(token))


def rest_note(visible: VisibleText) -> str:
    """Return what is said before the rest of an answer: where it goes on."""
    words = visible.skipped_end.replace("<think>", " ").replace("</think>", " ").split()
    said = " ".join(words[-_QUOTED_WORDS:])
    return render_addendum(_GOES_ON.format(said) if said else _BEGINS).lstrip() + "\n\n"


def nothing_left_note() -> str:
    """Return what is said where all of an answer was shown before."""
    return render_addendum(_NOTHING_LEFT).lstrip()


def tokens_of(call: ModelCall, connection: Connection) -> ResumeTokens:
    """Return the tokens that only this caller can use: the same user, of the same model with the same credentials."""
    return ResumeTokens(owner_of(call, connection))


def _seconds(call: ModelCall, connection: Connection) -> float:
    return background_seconds(os.environ, connection.total_seconds, has_tools=bool(call.tools))


def _leave(stream: BackgroundStream) -> None:
    with suppress(ResponsesError):
        stream.detach()
