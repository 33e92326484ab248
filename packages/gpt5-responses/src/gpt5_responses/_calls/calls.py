"""The calls other than `POST /responses`: how each is sent and its answer read, for both clients.

Source: `resources/responses/` of openai 3.54.0 and the pages of OpenAI's API reference about responses, read 2026-11-22.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import urlencode

from gpt5_messages import Completion, Item, MessageError, Usage, read_response
from gpt5_responses._errors import NotFoundError, ResponsesError, UnexpectedResponseError
from gpt5_responses._http.bodies import MOST_WHOLE_BYTES
from gpt5_responses._http.client import Steps
from gpt5_responses._http.error_answer import ErrorAnswer
from gpt5_responses._http.error_messages import build_error, instead
from gpt5_responses._http.request_body import unsendable
from stream_text import InvalidJsonError, is_list, is_object, parse_json

from .fallback_requests import FallbackClient


_RESPONSES = "/responses"
# A single step of a path: no slash, and no dot at its beginning.
_ID = re.compile(r"[A-Za-z0-9_~=:+-][A-Za-z0-9_.~=:+-]{0,255}", re.ASCII)
_MISSING = (404, 410)
# As FastAPI, Go and nginx answer where there is no such path.
_NO_ROUTE = re.compile(r"(404:? )?(Not Found|page not found)")
_RESPONSE_FIELDS = ("output", "status")  # every response has one of them
_MOST_ITEMS = 100  # of one page
# The fields of a response's request that each call accepts.
_COUNTED = (
    *("model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls"),
    *("reasoning", "text", "truncation", "conversation", "previous_response_id"),
)
_COMPACTED = (
    *("model", "input", "instructions", "previous_response_id"),
    *("prompt_cache_key", "service_tier"),
)
_NOT_STORED = "The server has no response {!r}. It has been deleted, was never stored (store), belongs to another project, or is no longer kept: projects with zero retention keep one for about 10 minutes."

type Order = Literal["asc", "desc"]
"""The input item that comes first: the oldest or the newest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactedWindow:
    """A conversation that the server has shortened.

    It replaces everything that the request held: use `Request(items=(*window.items, next_question))`,
    `Conversation.replace(window)`, or, among messages, an assistant message with its `opaque_body` and no text, after
    the system message.

    Attributes:
        items: The whole new conversation, as on the wire, to be sent in the next request unchanged.
        usage: The tokens that shortening it took.
        response_id: The server's id of it.
    """

    items: tuple[Item, ...]
    usage: Usage | None
    response_id: str | None

    @property
    def opaque_body(self) -> dict[str, Any]:
        """The `opaque_body` of a message that stands for it, for `build_input` and everything that carries messages."""
        return {"responses_output": list(self.items)}


@dataclass(frozen=True, slots=True, kw_only=True)
class InputItems:
    """A page of a stored response's input items.

    Attributes:
        items: The items, as on the wire.
        has_more: Whether there is a page after this one.
        last_id: The last item's id, for `after` of the next page; None on an empty page.
    """

    items: tuple[Item, ...]
    has_more: bool
    last_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call[T]:
    """A call: its request, and the reader of its answer.

    Attributes:
        method: The HTTP method.
        path: The path below the base URL, with the query.
        read: Reads the answer's object.
        body: The request's body, if any.
        model: The model that it is about, if any.
        response_id: The stored response that it is about, if any.
        only_once: Whether not to send it again if the server may have received it.
    """

    method: bytes
    path: str
    read: Callable[[Mapping[str, Any]], T]
    body: Mapping[str, Any] | None = None
    model: str = ""
    response_id: str = ""
    only_once: bool = False


def input_tokens_call(body: Mapping[str, Any]) -> Call[int]:
    """Return the call that counts a request's input tokens."""
    return _posted(f"{_RESPONSES}/input_tokens", body, _COUNTED, _read_input_tokens)


def compact_call(body: Mapping[str, Any]) -> Call[Completion]:
    """Return the call that shortens a request's conversation."""
    return _posted(f"{_RESPONSES}/compact", body, _COMPACTED, _read_compacted)


def read_window(completion: Completion) -> CompactedWindow:
    """Return the shortened conversation that a response is."""
    return CompactedWindow(
        items=completion.items, usage=completion.usage, response_id=completion.response_id
    )


def background_body(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request body for a background response, streamed if the request is.

    The server keeps the response's reasoning. Encrypted reasoning is not asked for, since that would be refused when the response is fetched.
    """
    wanted = {**body, "background": True, "store": True}
    include = kept_include(body)
    return {**wanted, "include": include} if include else _without(wanted, "include")


def kept_include(body: Mapping[str, Any]) -> list[str]:
    """Return the `include` of a request whose response the server stores."""
    return [name for name in body.get("include") or () if name != "reasoning.encrypted_content"]


def start_call(
    body: Mapping[str, Any], *, options: Mapping[str, str] | None = None
) -> Call[Completion]:
    """Return the call that starts a background response without a stream.

    Args:
        body: The request.
        options: Its `background_options`, if any.
    """
    # `stream_options` would be refused without a stream.
    wanted = {**_without(background_body(body), "stream_options"), "stream": False}
    if options:
        wanted["background_options"] = dict(options)
    # Made twice, the response would be billed twice: it goes on when its connection ends.
    return replace(_posted(_RESPONSES, wanted, tuple(wanted), _read_response), only_once=True)


def poll_call(response_id: str, include: Sequence[str] = ()) -> Call[Mapping[str, Any]]:
    """Return the call that fetches a stored response as raw JSON.

    Raises:
        InvalidRequestError: If `response_id` is not an id.
    """
    return _stored(b"GET", response_id, _query(include=include), _read_body)


def resume_path(response_id: str, *, after: int | None, include: Sequence[str] = ()) -> str:
    """Return the path, below the base URL, that resumes a background response's stream.

    Args:
        response_id: Its id.
        after: The number of the last event that has arrived already; None for none.
        include: Further fields to include.

    Raises:
        InvalidRequestError: If `response_id` is not an id.
    """
    query = _query(stream="true", starting_after=after, include=include)
    return _stored(b"GET", response_id, query, _read_body).path


def retrieve_call(response_id: str, include: Sequence[str] = ()) -> Call[Completion]:
    """Return the call that fetches a stored response.

    Raises:
        InvalidRequestError: If `response_id` is not an id.
    """
    return _stored(b"GET", response_id, _query(include=include), _read_response)


def cancel_call(response_id: str) -> Call[Completion]:
    """Return the call that cancels a background response.

    Raises:
        InvalidRequestError: If `response_id` is not an id.
    """
    return _stored(b"POST", response_id, "/cancel", _read_response)


def delete_call(response_id: str) -> Call[None]:
    """Return the call that deletes a stored response.

    Raises:
        InvalidRequestError: If `response_id` is not an id.
    """
    return _stored(b"DELETE", response_id, "", _read_deleted)


def input_items_call(
    response_id: str,
    *,
    after: str | None = None,
    limit: int | None = None,
    order: Order | None = None,
    include: Sequence[str] = (),
) -> Call[InputItems]:
    """Return the call that fetches a page of a stored response's input items.

    Raises:
        InvalidRequestError: If `response_id` is not an id, or `limit` is not within 1 to 100.
    """
    if limit is not None and not 1 <= limit <= _MOST_ITEMS:
        raise unsendable("limit", f"must be from 1 to {_MOST_ITEMS}, got {limit}")
    query = _query(after=after, limit=limit, order=order, include=include)
    return _stored(b"GET", response_id, f"/input_items{query}", _read_items)


def make[T](client: FallbackClient, call: Call[T]) -> Steps[T]:
    """Make a call and return the result that its answer holds.

    Raises:
        ResponsesError: If the server cannot be reached, refuses the call, or answers with something else.
    """
    try:
        if call.body is None:
            answer = yield from client.call(call.method, call.path, only_once=call.only_once)
        else:
            answer = yield from client.call_with(call.path, call.body, only_once=call.only_once)
    except Exception as error:  # noqa: BLE001  the client lets some errors of its library through
        raise _error(error, call, client) from None
    try:
        return call.read(_object(answer))
    except MessageError:
        raise UnexpectedResponseError(instead("a response that cannot be read")) from None


def _posted[T](
    path: str,
    body: Mapping[str, Any],
    names: tuple[str, ...],
    read: Callable[[Mapping[str, Any]], T],
) -> Call[T]:
    sent = {name: body[name] for name in names if name in body}
    return Call(method=b"POST", path=path, read=read, body=sent, model=str(body.get("model")))


def _stored[T](
    method: bytes, response_id: object, rest: str, read: Callable[[Mapping[str, Any]], T]
) -> Call[T]:
    """Return a call about a stored response; its id is validated to be a single step of the path."""
    if not isinstance(response_id, str) or not _ID.fullmatch(response_id):
        raise unsendable("response_id", "must be the id of a response, such as resp_0123")
    path = f"{_RESPONSES}/{response_id}{rest}"
    return Call(method=method, path=path, read=read, response_id=response_id)


def _query(*, include: Sequence[str], **single: str | int | None) -> str:
    pairs = [(name, str(value)) for name, value in single.items() if value is not None]
    query = urlencode([*pairs, *(("include[]", name) for name in include)])
    return f"?{query}" if query else ""


def _error(error: Exception, call: Call[Any], client: FallbackClient) -> ResponsesError:
    if not (isinstance(error, ErrorAnswer) and _is_about_response(error, call.response_id)):
        return client.explain(error, model=call.model)
    return build_error(
        NotFoundError,
        _NOT_STORED.format(call.response_id),
        secrets=client.secrets,
        said=error.message,
        **error.facts,
    )


def _is_about_response(error: ErrorAnswer, response_id: str) -> bool:
    """Return whether a response is missing, and not the whole route, of which a server says no word, no more than the status does, or the path."""
    says_no_more = not error.message or _NO_ROUTE.fullmatch(error.message) is not None
    is_path = f"/{response_id}" in error.message
    return bool(response_id) and error.status_code in _MISSING and not (says_no_more or is_path)


def _without(body: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key != name}


def _object(content: bytes) -> Mapping[str, Any]:
    if len(content) >= MOST_WHOLE_BYTES:  # the client reads no further, so it may be cut off
        most = MOST_WHOLE_BYTES // 1024 // 1024
        raise UnexpectedResponseError(
            f"Stopped reading the server's answer: it exceeds {most} MiB."
        )
    try:
        parsed = parse_json(content.decode(errors="replace"))
    except InvalidJsonError:
        raise UnexpectedResponseError(instead("something other than JSON")) from None
    if not is_object(parsed):
        raise UnexpectedResponseError(instead("JSON that is not an object"))
    return parsed


def _read_body(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    if answer.keys().isdisjoint(_RESPONSE_FIELDS):
        raise UnexpectedResponseError(instead("something other than a response"))
    return answer


def _read_response(answer: Mapping[str, Any]) -> Completion:
    return read_response(_read_body(answer))


def _read_input_tokens(answer: Mapping[str, Any]) -> int:
    count = answer.get("input_tokens")
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise UnexpectedResponseError(instead("no number of input tokens"))
    return count


def _read_compacted(answer: Mapping[str, Any]) -> Completion:
    completion = _read_response(answer)
    if not completion.items:
        raise UnexpectedResponseError(instead("no items"))
    return completion


def _read_items(answer: Mapping[str, Any]) -> InputItems:
    data = answer.get("data")
    if not is_list(data):
        raise UnexpectedResponseError(instead("no list of items"))
    last = answer.get("last_id")
    return InputItems(
        items=tuple(filter(is_object, data)),
        has_more=answer.get("has_more") is True,
        last_id=last if isinstance(last, str) else None,
    )


def _read_deleted(answer: Mapping[str, Any]) -> None:
    if answer.get("deleted") is not True:
        raise UnexpectedResponseError(instead("no statement of what was deleted"))
