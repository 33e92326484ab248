"""A small client for conversations with GPT-5 models, asynchronous, from a declared model: the twin of `_client`."""

from collections.abc import Sequence
from typing import Any, Literal, Self, Unpack, overload

from gpt5_messages import Completion

from ._answer import AsyncAnswer, read_wanted
from ._async_background import AsyncBackgroundStream
from ._async_stream import AsyncResponseStream
from ._attempts import Refusals
from ._calls import (
    Call,
    CompactedWindow,
    InputItems,
    Order,
    cancel_call,
    compact_call,
    delete_call,
    input_items_call,
    input_tokens_call,
    make,
    retrieve_call,
    start_call,
)
from ._following import FollowOptions, attached_request, in_background
from ._http import HttpClient, aplay
from ._jobs import CompletionWindow, Job, read_job, submit_call
from ._model_config import ModelConfig
from ._network import Asynchronous
from ._scheme import Request, ResponsesScheme


class AsyncResponsesClient:
    """An asynchronous client for one model. Use it as an asynchronous context manager, or call `aclose`.

    Args:
        config: The model and where it is.
        scheme: What is decided about the wire.
        defaults: What `answer` asks for besides messages, tools and tool choice.

    Raises:
        SettingsError: If the configuration is not usable.
    """

    def __init__(
        self,
        config: ModelConfig,
        *,
        scheme: ResponsesScheme | None = None,
        defaults: Request | None = None,
    ) -> None:
        connection = config.connect()
        self._model = config.model_id
        self._scheme = scheme or ResponsesScheme()
        self._defaults = defaults or Request()
        self._refusals = Refusals()
        self._http = HttpClient(connection, Asynchronous)
        self._connection = connection

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the client's connections."""
        await aplay(self._http.close())

    @overload
    def stream(
        self, request: Request, *, background: Literal[True], **options: Unpack[FollowOptions]
    ) -> AsyncBackgroundStream: ...
    @overload
    def stream(
        self,
        request: Request,
        *,
        background: bool | None = None,
        **options: Unpack[FollowOptions],
    ) -> AsyncResponseStream: ...
    def stream(
        self,
        request: Request,
        *,
        background: bool | None = None,
        **options: Unpack[FollowOptions],
    ) -> AsyncResponseStream:
        """Return the response to a request as a stream of events, sent when it is entered.

        Args:
            request: What is wanted.
            background: Whether the response is made in the background, which stores it at the server: see `BackgroundStream`, whose twin is returned then. None for
                what the request says.
            options: For the background: `seconds`, `detached` and `poll_seconds` of `BackgroundStream`.

        Raises:
            SettingsError: If an option is out of its range, or for the background alone.
            PayloadError: If something of the request cannot be sent.
            MessageError: If a message cannot be read.
        """
        request = in_background(request, background, options)
        body = self._body(request)
        if request.background:
            return AsyncBackgroundStream(
                self._http,
                self._connection,
                body,
                self._refusals,
                flex_fallback=self._scheme.flex_fallback,
                **options,
            )
        return AsyncResponseStream(
            self._http,
            self._connection,
            body,
            self._refusals,
            flex_fallback=self._scheme.flex_fallback,
        )

    def attach(
        self,
        response_id: str,
        *,
        starting_after: int | None = None,
        include: Sequence[str] = (),
        **options: Unpack[FollowOptions],
    ) -> AsyncBackgroundStream:
        """Return the events of a background response that was begun before, in this process or another: the twin of `attach_stream`.

        Args:
            response_id: Its id.
            starting_after: The number of the last event that the caller has had.
            include: What else to tell of it.
            options: `seconds`, `detached` and `poll_seconds` of `BackgroundStream`.

        Raises:
            InvalidRequestError: If that is no id.
            SettingsError: If a number is out of its range.
        """
        return AsyncBackgroundStream(
            self._http,
            self._connection,
            attached_request(include),
            self._refusals,
            response_id=response_id,
            starting_after=starting_after,
            **options,
        )

    async def complete(
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
        async with self.stream(request, background=background, **options) as stream:
            async for _ in stream:
                pass
            return stream.completion

    def answer(self, call: object) -> AsyncAnswer:
        """Answer what an agent run asks for, such as a `CallModel` of `agent_loop`, in pieces that it takes as they are.

        Args:
            call: Anything with `messages`, `tools`, `tool_choice` and, where they are wanted, `allowed_tools` (names of the only ones that may be called) and `answer_schema` (a JSON schema) as
                attributes or keys.

        Raises:
            PayloadError: If something of the request cannot be sent.
            MessageError: If a message cannot be read.
        """
        return AsyncAnswer(self.stream(read_wanted(call, self._defaults)))

    async def input_tokens(self, request: Request) -> int:
        """Return how many tokens of input a request would have, as the server counts them; it makes no response.

        Raises:
            ResponsesError: If the server cannot be reached, or does not count it.
            PayloadError: If something of the request cannot be sent.
            MessageError: If a message cannot be read.
        """
        body = self._body(request)
        return await self._make(input_tokens_call(body))

    async def compact(self, request: Request) -> CompactedWindow:
        """Have a request's conversation made shorter by the server.

        The window that comes back is the next input: `Conversation.replace` takes it; `Request(items=(*window.items, question))` sends it; and an agent's messages
        go on as `[system, {"role": "assistant", "content": "", "opaque_body": window.opaque_body}, *newer]`. Nothing may be taken out of it, system messages stand
        before it again, and the conversation must still fit the model's context to be made shorter. Other models, users and keys cannot use it.

        Raises:
            ResponsesError: If the server cannot be reached, or does not do it.
            PayloadError: If something of the request cannot be sent.
            MessageError: If a message cannot be read.
        """
        body = self._body(request)
        return await self._make(compact_call(body))

    async def start(self, request: Request) -> Completion:
        """Have a response made in the background, and return what is known of it at once: its `response_id` and `status`.

        The server keeps it, whatever the scheme says; ask for it by `retrieve` until it is neither `queued` nor `in_progress`.

        Raises:
            ResponsesError: If the server cannot be reached, or refuses the request.
            PayloadError: If something of the request cannot be sent.
            MessageError: If a message cannot be read.
        """
        body = self._body(request)
        return await self._make(start_call(body))

    async def submit(
        self,
        request: Request,
        *,
        completion_window: CompletionWindow,
        continuation_id: str | None = None,
    ) -> Job:
        """Have a response made within some hours, for less (`Job.price_factor`), and return what is known of it at once.

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
        return read_job(await self._make(call))

    async def collect(self, response_id: str, *, include: Sequence[str] = ()) -> Job:
        """Look at a job once and return it as it is now, in any process that has the key.

        Args:
            response_id: The job's.
            include: What else to tell of it, such as `web_search_call.action.sources`.

        Raises:
            NotFoundError: If the server has none of this id, or not any more.
            ResponsesError: If the server cannot be reached, or refuses to tell it.
        """
        return read_job(await self._make(retrieve_call(response_id, include)), response_id)

    async def retrieve(self, response_id: str, *, include: Sequence[str] = ()) -> Completion:
        """Return a stored response as it is now; one that has failed is returned too, with its `error`.

        Args:
            response_id: Its id.
            include: What else to tell of it, such as `web_search_call.action.sources`.

        Raises:
            NotFoundError: If the server has none of this id.
            ResponsesError: If the server cannot be reached, or refuses to tell it.
        """
        return await self._make(retrieve_call(response_id, include))

    async def cancel(self, response_id: str) -> Completion:
        """Stop a response that is made in the background, and return it as it is then.

        Raises:
            NotFoundError: If the server has none of this id.
            ResponsesError: If the server cannot be reached, or it is none of the background.
        """
        return await self._make(cancel_call(response_id))

    async def delete(self, response_id: str) -> None:
        """Delete a stored response.

        Raises:
            NotFoundError: If the server has none of this id.
            ResponsesError: If the server cannot be reached, or does not do it.
        """
        await self._make(delete_call(response_id))

    async def input_items(
        self,
        response_id: str,
        *,
        after: str | None = None,
        limit: int | None = None,
        order: Order | None = None,
        include: Sequence[str] = (),
    ) -> InputItems:
        """Return a page of what a stored response was asked with.

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
        return await self._make(call)

    def _body(self, request: Request) -> dict[str, Any]:
        tokens = self._connection.mcp_tokens
        return self._scheme.build_body(request, model=self._model, mcp_tokens=tokens)

    async def _make[T](self, call: Call[T]) -> T:
        return await aplay(make(self._http, call, self._connection.secrets))
