import asyncio

import pytest

from dify_agent.protocol import RunCancelledEvent, RunStartedEvent, TextDeltaEvent
from dify_agent.runtime.event_sink import InMemoryRunEventSink


async def emit_texts(sink: InMemoryRunEventSink, run_id: str, *texts: str) -> None:
    for text in texts:
        await sink.emit(TextDeltaEvent(run_id=run_id, text=text))


async def read(sink: InMemoryRunEventSink, run_id: str, *, after: int = 0) -> list[int]:
    return [event.sequence async for event in sink.iter_events(run_id, after=after)]


async def test_events_are_numbered_from_one_within_their_run():
    sink = InMemoryRunEventSink()
    await emit_texts(sink, "a", "1", "2")
    await emit_texts(sink, "b", "1")
    assert [event.sequence for event in sink.events("a")] == [1, 2]
    assert [event.sequence for event in sink.events("b")] == [1]


async def test_the_event_that_was_handed_over_stays_as_it_was():
    sink = InMemoryRunEventSink()
    event = RunStartedEvent(run_id="a")
    await sink.emit(event)
    assert event.sequence == 0


async def test_events_can_be_read_from_any_number_on():
    sink = InMemoryRunEventSink()
    await emit_texts(sink, "a", "1", "2", "3")
    assert [event.sequence for event in sink.events("a", after=1)] == [2, 3]
    assert sink.events("a", after=3) == []
    assert sink.events("unknown") == []


async def test_a_reader_hears_what_was_and_what_comes_up_to_the_end():
    sink = InMemoryRunEventSink()
    await emit_texts(sink, "a", "1", "2")
    async with asyncio.TaskGroup() as tasks:
        early = tasks.create_task(read(sink, "a"))
        late = tasks.create_task(read(sink, "a", after=2))
        await asyncio.sleep(0)
        await emit_texts(sink, "a", "3")
        await sink.emit(RunCancelledEvent(run_id="a"))
    assert early.result() == [1, 2, 3, 4]
    assert late.result() == [3, 4]


async def test_a_reader_may_come_before_the_run():
    sink = InMemoryRunEventSink()
    async with asyncio.TaskGroup() as tasks:
        reader = tasks.create_task(read(sink, "a"))
        await asyncio.sleep(0)
        await sink.emit(RunCancelledEvent(run_id="a"))
    assert reader.result() == [1]


@pytest.mark.parametrize("after", [1, 7])
async def test_a_reader_that_has_heard_the_end_hears_nothing_more(after):
    sink = InMemoryRunEventSink()
    await sink.emit(RunCancelledEvent(run_id="a"))
    assert await read(sink, "a", after=after) == []


async def test_one_reader_that_leaves_does_not_disturb_another():
    sink = InMemoryRunEventSink()
    await emit_texts(sink, "a", "1")
    events = sink.iter_events("a")
    assert (await anext(events)).sequence == 1
    await events.aclose()
    await sink.emit(RunCancelledEvent(run_id="a"))
    assert await read(sink, "a") == [1, 2]
