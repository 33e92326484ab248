# Generated from _async_client.py by tools/repository/blocking.py (nox -s blocking).
"""A small client for conversations with GPT-5 models, from a declared model."""

from collections.abc import Sequence
from typing import Literal, Unpack, overload

from gpt5_messages import Completion

from ._background.following import FollowOptions, attached_request, in_background, shows_options
from ._background.jobs import CompletionWindow, Job, read_job, submit_call
from ._background.stream import BackgroundStream
from ._calls.calls import (
    Call,
    CompactedWindow,
    InputItems,
    Order,
    cancel_call,
    compact_call,
    delete_call,
    input_items_call,
    input_tokens_call,
    read_window,
    retrieve_call,
    start_call,
)
from ._client_sides import BlockingSide
from ._scheme import Request
from ._streams.answer import Answer
from ._streams.stream import ResponseStream


class ResponsesCalls(BlockingSide):
    """What a client and its sessions can ask a server for."""

    @overload
    def stream(
        self, request: Request, *, background: Literal[True], **options: Unpack[FollowOptions]
    ) -> BackgroundStream: ...
    @overload
    def stream(
        self,
        request: Request,
        *,
        background: bool | None = None,
        **options: Unpack[FollowOptions],
    ) -> ResponseStream: ...
    @shows_options
    def stream(
        self,
        request: Request,
        *,
        background: bool | None = None,
        **options: Unpack[FollowOptions],
    ) -> ResponseStream:
        """Send a request and return its response as a stream of events.

        Args:
            request: The request.
            background: Whether to make the response in the background, which stores it at the server, and return an
                `BackgroundStream`. None leaves it to the request.
            options: `seconds`, `detached` and `poll_seconds` of `BackgroundStream`, for a response in the background.

        Raises:
            ResponsesError: If the server cannot be reached, refuses the request, or answers with something else.
            SettingsError: If an option is out of range, or applies to the background only.
            PayloadError: If part of the request cannot be sent.
            MessageError: If a message cannot be read.
        """
        stream = self._open(in_background(request, background, options), **options)
        return self._begin(stream)

    @shows_options
    def attach(
        self,
        response_id: str,
        *,
        starting_after: int | None = None,
        include: Sequence[str] = (),
        **options: Unpack[FollowOptions],
    ) -> BackgroundStream:
        """Return the events of a background response that was started earlier, in this process or another; see `attach_stream`.

        Args:
            response_id: Its id.
            starting_after: The number of the last event that the caller has received.
            include: Further fields to include.
            options: `seconds`, `detached` and `poll_seconds` of `BackgroundStream`.

        Raises:
            InvalidRequestError: If `response_id` is not an id.
            SettingsError: If a number is out of range.
        """
        stream = self._background(
            attached_request(include),
            response_id=response_id,
            starting_after=starting_after,
            **options,
        )
        return stream.priced_by(self._find_price)

    @shows_options
    def complete(
        self,
        request: Request,
        *,
        background: bool | None = None,
        **options: Unpack[FollowOptions],
    ) -> Completion:
        """Send a request and return the whole answer.

        Args:
            request: The request.
            background: As for `stream`.
            options: As for `stream`.

        Raises:
            ResponsesError: If the server cannot be reached, refuses the request, or fails underway.
            PayloadError: If part of the request cannot be sent.
            MessageError: If a message cannot be read.
        """
        with self.stream(request, background=background, **options) as stream:
            for _ in stream:
                pass
            return stream.completion

    def answer(self, call: object) -> Answer:
        """Return the answer to an agent run's model call, such as a `CallModel` of `agent_loop`, in pieces that the run accepts as they are.

        Args:
            call: Anything with the attributes or keys `messages`, `tools`, `tool_choice` and, if wanted,
                `allowed_tools` (the names of the only tools that may be called), `answer_schema` (a JSON schema),
                `hosted_tools` (the names of those tools in the client's `defaults` that are offered),
                `max_hosted_calls` (how often the server may call them in this answer), and `is_closing` or
                `is_compaction` (no tool may be called).

        Raises:
            PayloadError: If part of the request cannot be sent.
            MessageError: If a message cannot be read.
        """
        return Answer(self._open(self._wanted(call)))

    def input_tokens(self, request: Request) -> int:
        """Return the number of input tokens in a request, as the server counts them; no response is made.

        Raises:
            ResponsesError: If the server cannot be reached, or does not count them.
            PayloadError: If part of the request cannot be sent.
            MessageError: If a message cannot be read.
        """
        return self._make(input_tokens_call(self._body(request)))

    def compact(self, request: Request) -> CompactedWindow:
        """Have the server shorten a request's conversation, and return the shortened one.

        The returned window is the next input: `Conversation.replace` takes it;
        `Request(items=(*window.items, question))` sends it; and an agent's messages continue as
        `[system, {"role": "assistant", "content": "", "opaque_body": window.opaque_body}, *newer]`. Send the whole
        window, after the system messages. To be shortened, the conversation must still fit the model's context. Other
        models, users and keys cannot use the window.

        Raises:
            ResponsesError: If the server cannot be reached, or refuses the request.
            PayloadError: If part of the request cannot be sent.
            MessageError: If a message cannot be read.
        """
        return read_window(self._fetch(compact_call(self._body(request))))

    def start(self, request: Request) -> Completion:
        """Start a background response and return its `response_id` and `status` at once.

        The server stores it, whatever the scheme says; call `retrieve` until it is neither `queued` nor `in_progress`.

        Raises:
            ResponsesError: If the server cannot be reached, or refuses the request.
            PayloadError: If part of the request cannot be sent.
            MessageError: If a message cannot be read.
        """
        return self._fetch(start_call(self._body(request)))

    def submit(
        self,
        request: Request,
        *,
        completion_window: CompletionWindow,
        continuation_id: str | None = None,
    ) -> Job:
        """Submit a job, a response that is made within hours at a lower price (`Job.price_factor`), and return its current state.

        The server stores it, see `Job`. It is not streamed, and the request is sent once. Any process with the key can
        collect it by its `response_id`, even after this one has ended.

        Args:
            request: The request.
            completion_window: `2h` or `8h`.
            continuation_id: Groups jobs that belong together; it adds nothing to the conversation.

        Raises:
            InvalidRequestError: If there is no such window, or the scheme asks for another service tier.
            ResponsesError: If the server cannot be reached, or refuses the request.
            PayloadError: If part of the request cannot be sent.
            MessageError: If a message cannot be read.
        """
        call = submit_call(self._body(request), completion_window, continuation_id)
        return read_job(self._fetch(call))

    def collect(self, response_id: str, *, include: Sequence[str] = ()) -> Job:
        """Return a job in its current state, in any process that has the key.

        Args:
            response_id: The job's id.
            include: Further fields to include, such as `web_search_call.action.sources`.

        Raises:
            NotFoundError: If the server has no response with this id, or no longer has it.
            ResponsesError: If the server cannot be reached, or refuses the request.
        """
        return read_job(self._fetch(retrieve_call(response_id, include)), response_id)

    def retrieve(self, response_id: str, *, include: Sequence[str] = ()) -> Completion:
        """Return a stored response in its current state; a failed one too, with its `error`.

        Args:
            response_id: Its id.
            include: Further fields to include, such as `web_search_call.action.sources`.

        Raises:
            NotFoundError: If the server has no response with this id.
            ResponsesError: If the server cannot be reached, or refuses the request.
        """
        return self._fetch(retrieve_call(response_id, include))

    def cancel(self, response_id: str) -> Completion:
        """Cancel a background response and return its final state.

        Raises:
            NotFoundError: If the server has no response with this id.
            ResponsesError: If the server cannot be reached, or it is not a background response.
        """
        return self._fetch(cancel_call(response_id))

    def delete(self, response_id: str) -> None:
        """Delete a stored response.

        Raises:
            NotFoundError: If the server has no response with this id.
            ResponsesError: If the server cannot be reached, or refuses the request.
        """
        self._make(delete_call(response_id))

    def input_items(
        self,
        response_id: str,
        *,
        after: str | None = None,
        limit: int | None = None,
        order: Order | None = None,
        include: Sequence[str] = (),
    ) -> InputItems:
        """Return a page of a stored response's input items.

        Args:
            response_id: Its id.
            after: The id of the item after which the page begins: `last_id` of the previous page.
            limit: The most items on a page, from 1 to 100.
            order: `asc` for the oldest first; by default the newest come first.
            include: Further fields of the items to include.

        Raises:
            NotFoundError: If the server has no response with this id.
            ResponsesError: If the server cannot be reached, or refuses the request.
        """
        call = input_items_call(response_id, after=after, limit=limit, order=order, include=include)
        return self._make(call)

    def _open(self, request: Request, **options: Unpack[FollowOptions]) -> ResponseStream:
        """Return a stream whose request has not been sent yet."""
        body = self._body(request)
        stream = self._background(body, **options) if request.background else self._response(body)
        return stream.priced_by(self._find_price)

    def _fetch(self, call: Call[Completion]) -> Completion:
        """Make a call and return the response that is its answer, with its cost."""
        return self._finished(self._make(call))


class ResponsesClient(ResponsesCalls):
    """A blocking client for one model. It may be used as a context manager; connections that nobody uses are closed after a while anyway.

    Args:
        config: The model and where it is.
        scheme: The decisions about the wire.
        defaults: What to ask for in `answer` besides messages, tools and tool choice. Tools in it go out beside the
            call's: those that the server runs by itself.
        transport: Who sends; the process's own by default.

    Raises:
        SettingsError: If the configuration is not usable.
        PayloadError: If something among the tools in `defaults` is no tool.
    """

    def session(self) -> "ResponsesSession":
        """Return a session for one run; use it as a context manager, or call `close`.

        With `ModelConfig(transport="websocket")` its responses come by one WebSocket, which gets only what is new of
        each request; else by HTTP, as those of the client.
        """
        return ResponsesSession(self)


class ResponsesSession(ResponsesCalls):
    """The calls of one run, as those of the client that it is a session of.

    With a WebSocket, a request that continues from the newest response sends only what is new. One that does not is
    whole, as over HTTP, and what a socket cannot carry goes by HTTP: jobs, responses in the background, other calls
    than for a response, and a request while another one is answered. So does everything if the server speaks no
    WebSocket, which is remembered for the connection for 10 minutes.

    Args:
        client: The client.
    """

    def __init__(self, client: ResponsesClient) -> None:
        self._begin_session(client)

    @property
    def transport(self) -> Literal["http", "websocket"]:
        """What its next response will come by, as far as is known."""
        return self._transport_name

    def close(self) -> None:
        """Close the socket. The client stays open, and a later request opens another socket."""
        self._end_session()
