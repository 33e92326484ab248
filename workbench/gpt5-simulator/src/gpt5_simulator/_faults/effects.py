"""The effects of faults on a good reply."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpt5_simulator._errors import ApiError
from gpt5_simulator._faults.faults import (
    BrokenFrame,
    CloseSocket,
    CutStream,
    DuplicateEvents,
    Fault,
    HtmlPage,
    LateError,
    LateFailure,
    RefuseUpgrade,
    Silence,
    UnknownEvent,
)
from gpt5_simulator._json import Json, encode, object_at, object_in
from gpt5_simulator._reply import Drop, Pause, Reply, Step
from gpt5_simulator._responses.events import encode_event


_HTML = "text/html; charset=utf-8"
_LEAST_ERROR = 400
_PAGE = b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body><h1>Please sign in</h1></body></html>\n"
_BROKEN = b'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"oops\n\n'


def damage(reply: Reply, fault: Fault) -> Reply:
    """Return a reply damaged by a fault; faults that refuse a request beforehand do not change it."""
    if isinstance(fault, HtmlPage):
        return Reply(status=fault.status, content_type=_HTML, steps=(_PAGE,))
    damaged = _damaged_stream if reply.is_stream else _damaged_body
    return replace(reply, steps=tuple(damaged(tuple(reply.steps), fault)))


def refuse_upgrade(fault: RefuseUpgrade) -> Reply:
    """Return the reply to a request for a WebSocket that is refused."""
    status = fault.status
    if status is None:
        return Reply(content_type=_HTML, steps=(Pause(seconds=None),))
    if status < _LEAST_ERROR:
        return Reply(status=status, content_type=_HTML, steps=(_PAGE,))
    error = ApiError("There is no WebSocket here.", status=status)
    return Reply.of_json(error.envelope(), status=status)


def _damaged_stream(steps: tuple[Step, ...], fault: Fault) -> Iterator[Step]:
    match fault:
        case CutStream(after_bytes=int(size)):
            # Before the terminal event at the latest, or it would be no cut.
            yield from (_joined(steps)[: min(size, len(_joined(steps[:-1])))], Drop())
        case CutStream(after_events=number):
            yield from (*_unfinished(steps, number), Drop())
        case CloseSocket(code=code, reason=reason):
            number = len(steps) if fault.after_events is None else fault.after_events
            yield from (*steps[:number], Drop(code=code, reason=reason), *steps[number:])
        case Silence(after_events=number, seconds=seconds):
            yield from (*steps[:number], Pause(seconds=seconds), *steps[number:])
        case BrokenFrame(after_events=number, replaces=replaces):
            yield from (*steps[:number], _BROKEN, *steps[number + replaces :])
        case UnknownEvent(after_events=number, event_type=kind):
            extra = encode_event({"type": kind, "sequence_number": number})
            yield from (*steps[:number], extra, *steps[number:])
        case DuplicateEvents(every=every):
            for number, step in enumerate(steps, start=1):
                yield from (step,) if number % max(every, 1) else (step, step)
        case LateError() | LateFailure():
            sent = _unfinished(steps, fault.after_events)
            yield from (*sent, *_failing_events(_begun(steps), fault, number=len(sent)))
        case _:
            yield from steps


def _damaged_body(steps: tuple[Step, ...], fault: Fault) -> Iterator[Step]:
    body = _joined(steps)
    match fault:
        case CutStream(after_bytes=size):
            yield from (body[: len(body) // 2 if size is None else size], Drop())
        case Silence(seconds=seconds):
            yield from (Pause(seconds=seconds), body)
        case BrokenFrame():
            yield body[:-2]  # without what closes the object
        case LateError() | LateFailure():
            yield encode(_failed(object_in(body), fault))
        case _:
            yield from steps


def _unfinished(steps: tuple[Step, ...], number: int) -> tuple[Step, ...]:
    """Return the first steps, but never the last one, which would be the terminal event."""
    return steps[: min(number, len(steps) - 1)]


def _joined(steps: Sequence[Step]) -> bytes:
    return b"".join(step for step in steps if isinstance(step, bytes))


def _failing_events(
    response: Json, fault: LateError | LateFailure, *, number: int
) -> Iterator[bytes]:
    details = {"code": fault.code, "message": fault.message, "param": None}
    events: list[Json] = [{"type": "response.failed", "response": _failed(response, fault)}]
    if isinstance(fault, LateError):
        nested = {"error": {"type": "server_error"} | details}
        events.insert(0, {"type": "error"} | (details if fault.flat else nested))
    for position, event in enumerate(events, start=number):
        yield encode_event(event | {"sequence_number": position})


def _failed(response: Json, fault: LateError | LateFailure) -> Json:
    error = {"code": fault.code, "message": fault.message}
    return response | {"status": "failed", "error": error, "output": [], "usage": None}


def _begun(steps: Sequence[Step]) -> Json:
    """Return the response object that a stream began with."""
    for line in _joined(steps).splitlines():
        if line.startswith(b"data:"):
            return object_at(object_in(line.removeprefix(b"data:")), "response")
    return {}
