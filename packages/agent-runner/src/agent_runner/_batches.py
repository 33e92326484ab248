"""Many small values, taken together by a consumer that is slower than their producer."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing


_WAITING = 256  # values read ahead; beyond that the producer waits, too


async def batched[Value](values: AsyncGenerator[Value]) -> AsyncGenerator[list[Value]]:
    """Yield what has come since the last time, at least one value, in order.

    A value is not held back: it waits only as long as the consumer is busy with those before it. Closing the generator closes `values`.
    """
    queue = asyncio.Queue[Value | _End](maxsize=_WAITING)
    pump = asyncio.create_task(_pump(values, queue))
    try:
        while batch := await _next_batch(queue):
            yield batch
        await pump
    finally:
        pump.cancel()
        await asyncio.wait({pump})


class _End:
    """What stands behind the last value."""


async def _pump[Value](values: AsyncGenerator[Value], queue: asyncio.Queue[Value | _End]) -> None:
    try:
        async with aclosing(values):
            async for value in values:
                await queue.put(value)
    except Exception:
        await queue.put(_End())
        raise
    await queue.put(_End())


async def _next_batch[Value](queue: asyncio.Queue[Value | _End]) -> list[Value]:
    """Return all that waits, and nothing once the end has come."""
    batch: list[Value] = []
    value = await queue.get()
    while not isinstance(value, _End):
        batch.append(value)
        if queue.empty():
            break
        value = queue.get_nowait()
    else:
        if batch:
            queue.put_nowait(value)  # for the next call to find
    return batch
