# Generated from _async_client.py by tools/repository/blocking.py (nox -s blocking).
"""A small client for conversations with GPT-5 models, from a declared model."""

from collections.abc import Sequence
from typing import Literal, Unpack, overload

from gpt5_messages import Completion

from ._background.following import FollowOptions, attached_request, in_background
from ._background.jobs import CompletionWindow, Job, read_job, submit_call
from ._background.stream import BackgroundStream
from ._calls.calls import (
    CompactedWindow,
    InputItems,
    Order,
    cancel_call,
    compact_call,
    delete_call,
    input_items_call,
    input_tokens_call,
    retrieve_call,
    start_call,
)
from ._client_sides import BlockingSide
from ._scheme import Request
from ._streams.answer import Answer, read_wanted
from ._streams.stream import ResponseStream


class ResponsesClient(BlockingSide):
    """A blocking client for one model.

    Args:
        config: The model and where it is.
        scheme: What is decided about the wire.
        defaults: What `answer` asks for besides messages, tools and tool choice.
        transport: Who sends; the process's own by default.

    Raises:
        SettingsError: If the configuration is not usable.
    """

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
    def stream(
        self,
        request: Request,
        *,
        background: bool | None = None,
        **options: Unpack[FollowOptions],
    ) -> ResponseStream:
        """Send a request and return its response as a stream of events.

        Args:
            request: What is wanted.
            background: Whether the response is made in the background, which stores it at the server: see `BackgroundStream`, which is returned then. None for what the
                request says.
            options: For the background: `seconds`, `detached` and `poll_seconds` of `BackgroundStream`.

        Raises:
            ResponsesError: If the server cannot be reached, refuses the request, or answers with something else.
            SettingsError: If an option is out of its range, or for the background alone.
            PayloadError: If something of the request cannot be sent.
            MessageError: If a message cannot be read.
        """
        stream = self._open(in_background(request, background, options), **options)
        return self._begin(stream)

    def attach(
        self,
        response_id: str,
        *,
        starting_after: int | None = None,
        include: Sequence[str] = (),
        **options: Unpack[FollowOptions],
    ) -> BackgroundStream:
        """Return the events of a background response that was begun before, in this process or another; see `attach_stream`.

        Args:
            response_id: Its id.
            starting_after: The number of the last event that the caller has had.
            include: What else to tell of it.
            options: `seconds`, `detached` and `poll_seconds` of `BackgroundStream`.

        Raises:
            InvalidRequestError: If that is no id.
            SettingsError: If a number is out of its range.
        """
        return self._background(
            attached_request(include),
            response_id=response_id,
            starting_after=starting_after,
            **options,
        )

    def complete(
        self,
        request: Request,
        *,
        background: bool | None = None,
        **options: Unpack[FollowOptions],
    ) -> Completion:
        """Send a request and return the whole answer.

        Args:
            request: What is wanted.
            background: As for `stream`.
            options: As for `stream`.

        Raises:
            ResponsesError: If the server cannot be reached, refuses the request, or fails underway.
            PayloadError: If something of the request cannot be sent.
            MessageError: If a message cannot be read.
        """
        with self.stream(request, background=background, **options) as stream:
            for _ in stream:
                pass
            return stream.completion

    def answer(self, call: object) -> Answer:
        """Return the answer to an agent run's model call, such as a `CallModel` of `agent_loop`, in pieces that the run accepts as they are.

        Args:
            call: Anything with `messages`, `tools`, `tool_choice` and, where they are wanted, `allowed_tools` (names of the only ones that may be called) and `answer_schema` (a JSON schema) as
                attributes or keys.

        Raises:
            PayloadError: If something of the request cannot be sent.
            MessageError: If a message cannot be read.
        """
        return Answer(self._open(read_wanted(call, self._defaults)))

    def input_tokens(self, request: Request) -> int:
        """Return how many input tokens a request has, as the server counts them; no response is made.

        Raises:
            ResponsesError: If the server cannot be reached, or does not count it.
            PayloadError: If something of the request cannot be sent.
            MessageError: If a message cannot be read.
        """
        return self._make(input_tokens_call(self._body(request)))

    def compact(self, request: Request) -> CompactedWindow:
        """Have the server shorten a request's conversation, and return the shortened one.

        The returned window is the next input: `Conversation.replace` takes it; `Request(items=(*window.items, question))` sends it; and an agent's messages
        go on as `[system, {"role": "assistant", "content": "", "opaque_body": window.opaque_body}, *newer]`. Nothing may be taken out of it, system messages stand
        before it again, and the conversation must still fit the model's context to be made shorter. Other models, users and keys cannot use it.

        Raises:
            ResponsesError: If the server cannot be reached, or does not do it.
            PayloadError: If something of the request cannot be sent.
            MessageError: If a message cannot be read.
        """
        return self._make(compact_call(self._body(request)))

    def start(self, request: Request) -> Completion:
        """Start a background response and return its `response_id` and `status` at once.

        The server keeps it, whatever the scheme says; ask for it by `retrieve` until it is neither `queued` nor `in_progress`.

        Raises:
            ResponsesError: If the server cannot be reached, or refuses the request.
            PayloadError: If something of the request cannot be sent.
            MessageError: If a message cannot be read.
        """
        return self._make(start_call(self._body(request)))

    def submit(
        self,
        request: Request,
        *,
        completion_window: CompletionWindow,
        continuation_id: str | None = None,
    ) -> Job:
        """Submit a job: a response made within some hours, at a lower price (`Job.price_factor`). Return it as it is now.

        The server stores it, as `Job` says. It is not streamed; the request is sent once. Whoever has the key collects it by its `response_id`, also after this process has ended.

        Args:
            request: What is wanted.
            completion_window: `2h` or `8h`.
            continuation_id: Groups jobs that belong together; it adds nothing to the conversation.

        Raises:
            InvalidRequestError: If the window is none, or the scheme asks for another service tier.
            ResponsesError: If the server cannot be reached, or refuses the request.
            PayloadError: If something of the request cannot be sent.
            MessageError: If a message cannot be read.
        """
        call = submit_call(self._body(request), completion_window, continuation_id)
        return read_job(self._make(call))

    def collect(self, response_id: str, *, include: Sequence[str] = ()) -> Job:
        """Return a job in its current state. Any process that has the key may ask.

        Args:
            response_id: The job's.
            include: What else to tell of it, such as `web_search_call.action.sources`.

        Raises:
            NotFoundError: If the server has none of this id, or not any more.
            ResponsesError: If the server cannot be reached, or refuses to tell it.
        """
        return read_job(self._make(retrieve_call(response_id, include)), response_id)

    def retrieve(self, response_id: str, *, include: Sequence[str] = ()) -> Completion:
        """Return a stored response in its current state; a failed one too, with its `error`.

        Args:
            response_id: Its id.
            include: What else to tell of it, such as `web_search_call.action.sources`.

        Raises:
            NotFoundError: If the server has none of this id.
            ResponsesError: If the server cannot be reached, or refuses to tell it.
        """
        return self._make(retrieve_call(response_id, include))

    def cancel(self, response_id: str) -> Completion:
        """Cancel a background response and return its final state.

        Raises:
            NotFoundError: If the server has none of this id.
            ResponsesError: If the server cannot be reached, or it is none of the background.
        """
        return self._make(cancel_call(response_id))

    def delete(self, response_id: str) -> None:
        """Delete a stored response.

        Raises:
            NotFoundError: If the server has none of this id.
            ResponsesError: If the server cannot be reached, or does not do it.
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
            after: The item after which the page begins: `last_id` of the page before.
            limit: The most items of a page, from 1 to 100.
            order: `asc` for the oldest first; the newest come first where nothing is said.
            include: What else to tell of the items.

        Raises:
            NotFoundError: If the server has none of this id.
            ResponsesError: If the server cannot be reached, or refuses to tell them.
        """
        call = input_items_call(response_id, after=after, limit=limit, order=order, include=include)
        return self._make(call)

    def _open(self, request: Request, **options: Unpack[FollowOptions]) -> ResponseStream:
        """Return a stream whose request has not been sent yet."""
        body = self._body(request)
        return self._background(body, **options) if request.background else self._response(body)
