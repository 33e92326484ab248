"""One model call: Dify's messages in, Dify's chunks out."""

import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict
from functools import partial
from typing import Any

from dify_plugin.entities.model.llm import LLMResultChunk

from gpt5_messages import (
    BlockStart,
    ItemStore,
    MessageError,
    StreamEvent,
    VisibleText,
    build_input,
    drop_orphan_outputs,
)
from gpt5_payloads import PayloadError, build_request, coerce_bool
from gpt5_responses import (
    Connection,
    InvalidRequestError,
    ResponsesError,
    ResponseStream,
    find_secrets,
)
from gpt5_responses.pacing import Pacer

from ._audit import audit_without
from ._base_model import base_model
from ._chunks import chunk, iter_pieces, text_message
from ._ending import Ending, iter_ending
from ._identity import prompt_cache_key, safety_identifier
from ._model_call import ModelCall
from ._operator_settings import PaceSettings
from ._shutdown_notice import note_shutdown


# Remembered in this process only, for platforms that drop `opaque_body` on the way: docs/decisions/0007-item-store.md.
_ITEMS = ItemStore()
_PACER = Pacer(**asdict(PaceSettings.from_env(os.environ)))

_ATE_THE_BUDGET = "The model used up max_output_tokens before it could answer. Raise max_output_tokens or lower reasoning_effort."


def iter_chunks(call: ModelCall) -> Generator[LLMResultChunk]:
    """Make the call and yield its chunks: text as it comes, then one terminal chunk with everything else.

    Raises:
        ResponsesError: If the call fails, or its answer has no text because the budget went into reasoning.
        PayloadError: If a parameter is not usable.
        MessageError: If a message is not usable.
    """
    audit_id, stream = "", None
    audit = audit_without(find_secrets(call.credentials))
    try:
        connection = Connection.from_credentials(call.credentials)
        note_shutdown(call.model, connection, call.credentials)
        request = _request(call, connection)
        audit_id = audit.request(
            request,
            base_url=connection.base_url,
            enable_stream=call.parameters.get("enable_stream"),
        )
        stream = ResponseStream(connection, request, flex_fallback=_falls_back(call))
        succeed = partial(audit.success, audit_id)
        yield from _iter_response(call, connection, request, stream, succeed)
    except (ResponsesError, PayloadError, MessageError) as error:
        audit.error(
            error,
            audit_id=audit_id,
            model=call.model,
            stream=call.stream or None,
            stream_event_type=stream.last_event_type if stream else None,
        )
        raise


def _iter_response(
    call: ModelCall,
    connection: Connection,
    request: Mapping[str, Any],
    stream: ResponseStream,
    succeed: Callable[..., object],
) -> Iterator[LLMResultChunk]:
    started = time.perf_counter()
    index, whole_text = 0, ""
    # Dify parses all of the text where it has asked for JSON.
    answer_only = request["text"]["format"]["type"] != "text"
    visible = VisibleText(call.stop, answer_only=answer_only)
    texts = _iter_texts(stream, visible)
    if call.stream:
        for text, phase in texts:
            index += 1
            yield chunk(call.model, index, text_message(text, phase))
    else:
        # Dify reads one chunk of a call that it does not stream, and no more.
        whole_text = "".join(text for text, _ in texts)
    completion = stream.completion
    succeed(
        model=call.model,
        response_model=completion.model,
        request_id=stream.request_id,
        stream_event_count=stream.event_count or None,
        service_tier=completion.service_tier,
        left_out=stream.left_out,
    )
    is_whole = completion.status == "completed" and not visible.is_stopped
    if is_whole:
        scope = _item_scope(call, connection)
        _ITEMS.remember(scope, call.messages, completion.items, answer_only=answer_only)
    yield from iter_ending(
        call,
        Ending(
            completion=completion,
            is_whole=is_whole,
            is_stopped=visible.is_stopped,
            answer_only=answer_only,
            secrets=connection.secrets,
            latency_seconds=time.perf_counter() - started,
        ),
        request,
        index=index,
        text=whole_text,
    )
    if completion.finish_reason == "length" and not completion.text:
        raise InvalidRequestError(_ATE_THE_BUDGET, code=completion.incomplete_reason)


def _request(call: ModelCall, connection: Connection) -> dict[str, Any]:
    recall = partial(_ITEMS.recall, _item_scope(call, connection))
    items = drop_orphan_outputs(build_input(call.messages, recall=recall, lenient=True))
    request = build_request(
        model=base_model(call.model, call.credentials),
        input=items,
        parameters=call.parameters,
        tools=call.tools,
        stream=call.stream,
        stop=call.stop,
        safety_identifier=safety_identifier(call.user),
        prompt_cache_key=prompt_cache_key(items, [tool.name for tool in call.tools]),
        mcp_tokens=connection.mcp_tokens,
    )
    return {**request, "model": call.model}


def _falls_back(call: ModelCall) -> bool:
    """Return whether the default tier may take the place of flex, which costs half as much."""
    wanted = call.parameters.get("flex_fallback")
    is_blank = wanted is None or (isinstance(wanted, str) and not wanted.strip())
    return not is_blank and coerce_bool(wanted, field="flex_fallback")


def _item_scope(call: ModelCall, connection: Connection) -> str:
    """Return who alone gets the items of this call's response back: the same model, for the same user with the same credentials."""
    return f"{connection.fingerprint} {call.model} {safety_identifier(call.user)}"


def _iter_texts(stream: ResponseStream, visible: VisibleText) -> Iterator[tuple[str, str | None]]:
    """Yield the visible text in paced pieces, each with the phase of its message; an empty one is a keep-alive during a silence."""
    phase = None
    try:
        with closing(_PACER.pace(stream.batches, close=stream.close)) as batches:
            for batch in batches:
                if not batch:
                    yield "", phase
                for text, said_in in _split_by_phase(batch, visible, phase):
                    phase = said_in
                    yield from ((piece, phase) for piece in iter_pieces(text))
                if visible.is_stopped:
                    return
    except ResponsesError:
        if rest := visible.close():
            yield rest, phase  # a thinking block is closed also before an error
        raise
    if rest := visible.close():
        yield rest, phase


def _split_by_phase(
    batch: Iterable[StreamEvent], visible: VisibleText, phase: str | None
) -> Iterator[tuple[str, str | None]]:
    """Yield the text of a batch with its phase: one piece where, as nearly always, the phase stays the same."""
    texts: list[str] = []
    for event in batch:
        if isinstance(event, BlockStart) and event.phase != phase:
            yield "".join(texts), phase
            texts, phase = [], event.phase
        texts.append(visible.feed(event))
    yield "".join(texts), phase
