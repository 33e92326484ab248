"""The visible text of an answer in paced pieces, while it streams in, new or resumed."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from dify_plugin_kit.pacing import Pacer
from dify_plugin_kit.settings import read_float
from dify_plugin_kit.stdout import split_text
from gpt5_messages import (
    BlockDelta,
    BlockStart,
    History,
    ResponseEnded,
    ResumePoint,
    StreamEvent,
    VisibleText,
)
from gpt5_responses import BackgroundStream, ResponsesError, ResponseStream

from ._background import (
    in_time,
    is_unfinished,
    nothing_left_note,
    rest_note,
    unfinished_note,
)
from ._model_call import ModelCall
from ._request import is_answer_only


def make_pacer(environ: Mapping[str, str]) -> Pacer[StreamEvent]:
    """Return the pace at which answers reach Dify.

    Args:
        environ: The environment variables. `OPENAI_GPT5_CHUNK_WINDOW_SECONDS`, 0 to 1: text that arrives within this time is sent as one chunk.
            `OPENAI_GPT5_KEEP_ALIVE_SECONDS`, 0.01 to 200: an empty chunk is sent after a silence of this length.
    """
    window = read_float(
        environ, "OPENAI_GPT5_CHUNK_WINDOW_SECONDS", default=0.05, minimum=0, maximum=1
    )
    keep_alive = read_float(
        environ, "OPENAI_GPT5_KEEP_ALIVE_SECONDS", default=15.0, minimum=0.01, maximum=200
    )
    return Pacer(
        piece=BlockDelta, end=ResponseEnded, window_seconds=window, keep_alive_seconds=keep_alive
    )


# One for the process, because its windows grow with the number of streams.
_PACER = make_pacer(os.environ)


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingAnswer:
    """An answer that streams in.

    Attributes:
        call: The call.
        request: The body of the request.
        stream: The answer's events.
        point: Where it resumes, if a part of it was shown in an earlier turn.
        history: The conversation in the request.
    """

    call: ModelCall
    request: Mapping[str, Any]
    stream: ResponseStream
    point: ResumePoint | None
    history: History

    @property
    def answer_only(self) -> bool:
        """Whether its text is JSON and nothing else."""
        return self.point is None and is_answer_only(self.request)

    @property
    def is_stored(self) -> bool:
        """Whether the server stores it."""
        return isinstance(self.stream, BackgroundStream)


def iter_texts(answer: IncomingAnswer, visible: VisibleText) -> Iterator[tuple[str, str | None]]:
    """Yield the visible text in paced pieces, each with the phase of its message; an empty one is a keep-alive during a silence.

    Raises:
        ResponsesError: If the call fails; the text received before has been yielded.
    """
    pieces = _iter_pieces(answer, visible)
    # Only the rest of an answer begins with a note, and only if there is a rest.
    is_begun = answer.point is None
    for text, phase in pieces:
        if text and not is_begun:
            is_begun = True
            yield rest_note(visible), None
        yield text, phase
    if is_unfinished(answer.stream):
        yield unfinished_note(answer.call, answer.stream, visible), None
    elif not (is_begun or answer.stream.completion.tool_calls):
        yield nothing_left_note(), None


def _iter_pieces(answer: IncomingAnswer, visible: VisibleText) -> Iterator[tuple[str, str | None]]:
    stream, phase = answer.stream, None
    try:
        with (
            in_time(answer.call, stream, answer_only=answer.answer_only),
            closing(_PACER.pace(stream.batches, close=stream.close)) as batches,
        ):
            for batch in batches:
                if not batch:
                    yield "", phase
                for text, new_phase in _split_by_phase(batch, visible, phase):
                    phase = new_phase
                    yield from ((piece, phase) for piece in split_text(text))
                if visible.is_stopped:
                    return
    except ResponsesError:
        if rest := visible.close():
            yield rest, phase  # A thinking block is closed even before an error.
        raise
    # Held-back text of an unfinished answer is shown by the turn that resumes it.
    if rest := visible.break_off() if is_unfinished(stream) else visible.close():
        yield rest, phase


def _split_by_phase(
    batch: Iterable[StreamEvent], visible: VisibleText, phase: str | None
) -> Iterator[tuple[str, str | None]]:
    """Yield the text of a batch with its phase: one piece unless the phase changes, which is rare."""
    texts: list[str] = []
    for event in batch:
        if isinstance(event, BlockStart) and event.phase != phase:
            yield "".join(texts), phase
            texts, phase = [], event.phase
        texts.append(visible.feed(event))
    yield "".join(texts), phase
