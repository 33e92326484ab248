import asyncio
from contextlib import aclosing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_runner._batches import batched  # noqa: PLC2701 - a law that no public name shows


async def _values(numbers, closed):
    try:
        for number in numbers:
            yield number
            if number % 3 == 0:
                await asyncio.sleep(0)
    finally:
        closed.append(True)


@given(st.lists(st.integers(min_value=1), max_size=1000), st.integers(min_value=0, max_value=5))
def test_every_value_comes_once_and_in_order_however_slow_the_consumer(numbers, slowness):
    async def collect():
        batches, closed = [], []
        async for batch in batched(_values(numbers, closed)):
            batches.append(batch)
            for _ in range(slowness):
                await asyncio.sleep(0)
        return batches, closed

    batches, closed = asyncio.run(collect())
    assert [number for batch in batches for number in batch] == numbers
    assert all(batches)
    assert closed == [True]


def test_an_error_comes_after_the_values_before_it():
    async def fail():
        yield 1
        raise LookupError

    async def collect(seen):
        async for batch in batched(fail()):
            seen.extend(batch)

    seen = []
    with pytest.raises(LookupError):
        asyncio.run(collect(seen))
    assert seen == [1]


def test_leaving_closes_the_values_even_while_they_wait_for_the_consumer():
    closed = []

    async def leave():
        async with aclosing(batched(_values(range(1, 100_000), closed))) as batches:
            await anext(batches)
            await asyncio.sleep(0)

    asyncio.run(leave())
    assert closed == [True]
