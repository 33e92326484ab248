"""One model call: Dify's messages in, Dify's chunks out."""

import gc
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial

from dify_plugin.entities.model.llm import LLMResultChunk

from gpt5_messages import History, MessageError, Usage, VisibleText, render_addendum
from gpt5_payloads import PayloadError
from gpt5_responses import (
    InvalidRequestError,
    NotFoundError,
    ResponsesError,
    attach_stream,
    find_secrets,
    prepare_transport,
)

from ._answer import IncomingAnswer, iter_texts
from ._background import GONE, find_unfinished, is_unfinished, open_stream
from ._chunks import chunk, text_message
from ._ending import BUDGET_USED_UP, FinishedAnswer, iter_ending
from ._model_call import ModelCall
from ._parameters import with_least_effort
from ._plugin_log import audit_without, log_cache, note_model, note_unheard
from ._pricing import price_usage
from ._request import ITEMS, earlier_body, request_body


def iter_chunks(call: ModelCall) -> Generator[LLMResultChunk]:
    """Make the call and yield its chunks: the text as it arrives, then a terminal chunk with everything else.

    Raises:
        ResponsesError: If the call fails, or the answer has no text because reasoning used up the budget.
        PayloadError: If a parameter cannot be used.
        MessageError: If a message cannot be used.
    """
    audit_id, stream = "", None
    if not call.stream:
        parameters = with_least_effort(call.parameters, model=call.base_model)
        call = replace(call, parameters=parameters)
    started = time.perf_counter()
    audit = audit_without(find_secrets(call.credentials))
    try:
        note_model(call)
        point = find_unfinished(call)
        if isinstance(point, str):
            yield from _iter_notice(call, point)
            return
        history = History()
        request = earlier_body(call) if point else request_body(call, history=history)
        audit_id = audit.request(
            request,
            base_url=call.connection.base_url,
            enable_stream=call.parameters.get("enable_stream"),
        )
        if point is None:
            stream = open_stream(call, request)
        else:  # From its beginning. Closing this stream does not stop the response.
            stream = attach_stream(call.connection, point.response_id, detached=True)
        answer = IncomingAnswer(
            call=call, request=request, stream=stream, point=point, history=history
        )
        try:
            yield from _iter_answer(answer, partial(audit.success, audit_id))
        except NotFoundError:
            if point is None:
                raise
            yield from _iter_notice(call, GONE)
    except (ResponsesError, PayloadError, MessageError) as error:
        audit.error(
            error,
            audit_id=audit_id,
            model=call.model,
            stream=call.stream or None,
            stream_event_type=stream.last_event_type if stream else None,
            duration_seconds=time.perf_counter() - started,
        )
        raise


def _assign_phases(
    texts: Iterator[tuple[str, str | None]], answer: IncomingAnswer
) -> Iterator[tuple[str, str | None]]:
    """Yield pieces of text with their phases.

    In an unstreamed answer of a model without phases, text next to tool calls is commentary: by then the calls are
    known.
    """
    held: list[tuple[str, str | None]] = []
    for text, phase in texts:
        if text and answer.request.get("stream") is False:
            held.append((text, phase))
        else:
            yield text, phase
    has_phases = any(phase for _, phase in held)
    is_beside = bool(answer.stream.completion.tool_calls) and not has_phases
    yield from ((text, "commentary" if is_beside else phase) for text, phase in held)


def _iter_answer(
    answer: IncomingAnswer, succeed: Callable[..., object]
) -> Iterator[LLMResultChunk]:
    call, stream = answer.call, answer.stream
    started = time.perf_counter()
    index, whole_text = 0, ""
    skip = answer.point.shown_characters if answer.point else 0
    visible = VisibleText(
        call.stop,
        answer_only=answer.answer_only,
        thoughts=call.shows_thoughts,
        skip=skip,
        streamed=call.stream,
    )
    texts = iter_texts(answer, visible)
    if call.stream:
        for text, phase in _assign_phases(texts, answer):
            index += 1
            yield chunk(call.model, index, text_message(text, phase))
    else:
        # Dify reads only one chunk of an unstreamed call.
        whole_text = "".join(text for text, _ in texts)
    completion = stream.completion
    latency = time.perf_counter() - started
    if is_unfinished(stream):
        # The turn that sees the end of the answer reports the price of all of it.
        usage = price_usage(call.model, Usage(), latency_seconds=latency)
        last = text_message(whole_text)
        yield chunk(call.model, index + 1, last, usage=usage, finish_reason="stop")
        return
    note_unheard(call, stream.left_out, stream.ignored)
    succeed(
        model=call.model,
        response_model=completion.model,
        request_id=stream.request_id,
        stream_event_count=stream.event_count or None,
        service_tier=completion.service_tier,
        left_out=stream.left_out,
        duration_seconds=latency,
        usage=completion.usage,
    )
    cache: Mapping[str, int | str] = {}
    if answer.point is None:
        # The request of a resumed answer is not known any more, so it cannot be compared.
        cache = log_cache(call, answer.request, completion)
    ending = FinishedAnswer(
        call=call,
        completion=completion,
        is_stopped=visible.is_stopped,
        answer_only=answer.answer_only,
        latency_seconds=latency,
        is_stored=answer.is_stored,
        cache=cache,
    )
    # A truncated answer has no complete items, and a stored one no reasoning.
    if ending.is_whole and not ending.is_stored:
        items = completion.items
        ITEMS.remember(call.owner, answer.history, items, answer_only=answer.answer_only)
    yield from iter_ending(ending, answer.request, index=index, text=whole_text)
    if completion.finish_reason == "length" and not completion.text:
        raise InvalidRequestError(BUDGET_USED_UP, code=completion.incomplete_reason)


def _iter_notice(call: ModelCall, sentence: str) -> Iterator[LLMResultChunk]:
    """Yield a sentence of the plugin as the answer. An error would leave the conversation stuck with the same token in its last answer."""
    text = render_addendum(sentence).lstrip()
    if call.stream:
        yield chunk(call.model, 1, text_message(text))
    last = text_message("" if call.stream else text)
    usage = price_usage(call.model, Usage(), latency_seconds=0)
    yield chunk(call.model, 2, last, usage=usage, finish_reason="stop")


def prepare() -> None:
    """Prepare everything that calls share, so that the first one need not wait.

    Certificates, prices, and Dify's classes, which pydantic completes on first use.

    A failure is ignored here; the first call runs into it and reports it.
    """
    # As in `main`: these objects stay, so it is of no use to look for garbage among them.
    gc.disable()
    try:
        with suppress(ResponsesError):
            prepare_transport()
        usage = price_usage("", Usage(), latency_seconds=0)
        chunk("", 0, text_message(""), usage=usage).model_dump()
        gc.freeze()
    finally:
        gc.enable()
