"""Background responses: detached from before Dify's time limit for a call, and resumed in the next turn.

Source: docs/decisions/0027-long-answers-in-dify.md.
"""

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from threading import Timer
from typing import Any, TypeGuard

from dify_plugin_kit.settings import read_float
from gpt5_messages import (
    ResumePoint,
    ResumeTokens,
    VisibleText,
    find_resume_token,
    render_addendum,
)
from gpt5_responses import (
    BackgroundStream,
    ConnectionTimeoutError,
    ResponsesError,
    ResponseStream,
    StillRunningError,
)

from ._model_call import ModelCall
from ._plugin_log import note_unheard
from ._request import is_answer_only, is_on, whole_input


RUNNING = ("queued", "in_progress")
"""The states of a response that is still running."""

REFUSED = (
    "The token in the last answer belongs to another conversation, other credentials, another model or another user, so its answer is not shown here. "
    "Ask your question again."
)
GONE = "The unfinished answer is no longer at the server: it has expired or was deleted. Ask your question again."
_UNFINISHED = "**This answer is not finished.** The model is still working on it at the server. Send any message, such as “continue”, to see the rest. It resumes at `{}`"
_NO_TURN = (
    "The answer was not ready within Dify's time limit for a call, and JSON cannot go on in a later turn, so it was stopped. Use the polling variant of this plugin in an "
    "LLM node, lower reasoning_effort, or have the operator raise PLUGIN_MAX_EXECUTION_TIMEOUT."
)
_NOT_TAKEN = "The server did not accept the request within Dify's time limit for a call. Try again."
_RESUMED = "This continues the answer above, after “{}”:"
_ANSWERED_LATE = "This is the answer to the previous question:"
_NOTHING_LEFT = "The answer above was already complete. There is no more of it."
_QUOTED_WORDS = 8
_USUAL_SECONDS = 590.0  # Dify ends calls after 600.
_HANDING_OVER_SECONDS = 2.0  # For the note below the shown part, and the way to Dify.


def begin_response(call: ModelCall, request: Mapping[str, Any]) -> str:
    """Start a background response and return its id without waiting for the answer.

    Raises:
        ResponsesError: If the server cannot be reached, or refuses the request.
    """
    flex_fallback = is_on(call, "flex_fallback")
    with BackgroundStream(call.connection, request, flex_fallback=flex_fallback) as stream:
        response_id = stream.detach()
        note_unheard(call, stream.left_out)
        return response_id


def open_stream(call: ModelCall, request: Mapping[str, Any]) -> ResponseStream:
    """Return the stream of the answer to a request, which runs in the background if the call asks for that.

    Raises:
        PayloadError: If a switch is neither on nor off.
    """
    flex_fallback = is_on(call, "flex_fallback")
    if not is_on(call, "background"):
        whole = whole_input(call, request)
        return ResponseStream(call.connection, request, flex_fallback=flex_fallback, whole=whole)
    # JSON is shown whole or not at all, so the stream itself stops it at the limit.
    seconds = _seconds(call) if is_answer_only(request) else None
    return BackgroundStream(call.connection, request, flex_fallback=flex_fallback, seconds=seconds)


def find_unfinished(call: ModelCall) -> ResumePoint | str | None:
    """Return where the last answer of the conversation resumes, a sentence if it cannot, or None if it was finished.

    Raises:
        MessageError: If a message is not usable.
    """
    found = find_resume_token(call.messages)
    if found is None:
        return None
    return tokens_of(call).read(found) or REFUSED


@contextmanager
def in_time(call: ModelCall, stream: ResponseStream, *, answer_only: bool) -> Generator[None]:
    """Detach from a background response shortly before Dify's time limit for a call.

    Args:
        call: The call.
        stream: The answer's stream; nothing happens if it is not made in the background.
        answer_only: Whether the answer is JSON, which cannot be shown in parts.

    Raises:
        ConnectionTimeoutError: If the time is up, and the answer cannot continue in a later turn.
    """
    if not isinstance(stream, BackgroundStream):
        yield
        return
    timer = Timer(_seconds(call), _detach, [stream])
    # It must not keep a process alive that is stopped meanwhile.
    timer.daemon = True
    # `open_stream` has set the limit of JSON.
    if not answer_only:
        timer.start()
    try:
        yield
    except StillRunningError:
        raise ConnectionTimeoutError(_NO_TURN) from None
    finally:
        timer.cancel()


def is_unfinished(stream: ResponseStream) -> TypeGuard[BackgroundStream]:
    """Return whether the stream was detached from a response that was still running."""
    is_detached = isinstance(stream, BackgroundStream) and stream.is_detached
    return is_detached and stream.completion.status in RUNNING


def unfinished_note(call: ModelCall, stream: BackgroundStream, visible: VisibleText) -> str:
    """Return the note below an unfinished answer, with the token by which the next turn resumes it.

    Raises:
        ConnectionTimeoutError: If the server has not named the response by then.
    """
    response_id = stream.response_id
    if response_id is None:
        raise ConnectionTimeoutError(_NOT_TAKEN)
    point = ResumePoint(response_id=response_id, shown_characters=visible.characters)
    token = tokens_of(call).write(point, call.messages)
    return render_addendum(_UNFINISHED.format(token))


def rest_note(visible: VisibleText) -> str:
    """Return the note before the rest of an answer, which says where it resumes."""
    words = visible.skipped_end.replace("<think>", " ").replace("</think>", " ").split()
    quoted = " ".join(words[-_QUOTED_WORDS:])
    return render_addendum(_RESUMED.format(quoted) if quoted else _ANSWERED_LATE).lstrip() + "\n\n"


def nothing_left_note() -> str:
    """Return the note that says that all of the answer was shown before."""
    return render_addendum(_NOTHING_LEFT).lstrip()


def tokens_of(call: ModelCall) -> ResumeTokens:
    """Return the reader and writer of this caller's resume tokens, which only the same user with the same model and credentials can use."""
    return ResumeTokens(call.owner)


def _seconds(call: ModelCall) -> float:
    total_seconds = call.connection.total_seconds
    return background_seconds(os.environ, total_seconds, has_tools=bool(call.tools))


def background_seconds(
    environ: Mapping[str, str], total_seconds: float | None, *, has_tools: bool
) -> float:
    """Return after how many seconds a background response is left to the next turn, shortly before the call's time limit.

    Args:
        environ: The environment variables; `OPENAI_GPT5_BACKGROUND_SECONDS` can make it shorter.
        total_seconds: How long a call may take in total; None if that is not known, which means 590.
        has_tools: Whether the call has tools, like the calls of agent strategies, which Dify ends after
            `DIFY_BACKWARDS_INVOCATION_READ_TIMEOUT` (milliseconds, 240000 by default).
    """
    name = "OPENAI_GPT5_BACKGROUND_SECONDS"
    limits = [
        _USUAL_SECONDS if total_seconds is None else total_seconds,
        read_float(environ, name, default=_USUAL_SECONDS, minimum=1, maximum=3600),
    ]
    if has_tools:
        name = "DIFY_BACKWARDS_INVOCATION_READ_TIMEOUT"
        read = read_float(environ, name, default=240_000.0, minimum=1_000, maximum=3.6e6)
        # Ten seconds before the daemon cuts the call off.
        limits.append(read / 1000 - 10)
    shortest = max(min(limits), 1)
    # A tenth of a short limit at most, so that there is time for an answer.
    return shortest - min(_HANDING_OVER_SECONDS, shortest / 10)


def _detach(stream: BackgroundStream) -> None:
    with suppress(ResponsesError):
        stream.detach()
