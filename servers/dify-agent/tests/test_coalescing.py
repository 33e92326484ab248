"""Pieces of a text that become fewer events."""

import asyncio

import pytest

from dify_agent.server._coalescing import TextCoalescer  # noqa: PLC2701 - its pauses, without a model


@pytest.fixture
def told():
    return []


@pytest.fixture
def text(told):
    async def tell(piece):
        told.append(piece)

    return TextCoalescer(tell)


async def test_the_first_piece_is_told_at_once_and_what_follows_soon_together(text, told):
    for piece in ("He", "l", "lo"):
        await text.add(piece)
    at_once = [*told]
    await asyncio.sleep(0.15)
    await text.add("!")
    await text.end()

    assert at_once == ["He"]
    assert told == ["He", "llo", "!"]


async def test_much_text_does_not_wait(text, told):
    await text.add("x")
    await text.add("y" * 5000)
    assert told == ["x", "y" * 5000]


async def test_each_text_has_a_first_piece(text, told):
    for word in ("a", "b"):
        await text.add(word)
        await text.end()
    await text.end()
    assert told == ["a", "b"]


async def test_pieces_stay_in_order_however_long_telling_takes():
    told, gate = [], asyncio.Event()

    async def tell(piece):
        if piece == "b":
            await gate.wait()
        told.append(piece)

    text = TextCoalescer(tell)
    await text.add("a")
    await text.add("b")
    await asyncio.sleep(0.15)
    await text.add("c")
    ending = asyncio.create_task(text.end())
    gate.set()
    await ending
    assert told == ["a", "b", "c"]


async def test_what_could_not_be_told_later_is_raised_with_the_next_piece():
    async def tell(piece):
        if piece == "b":
            raise ValueError("full")

    text = TextCoalescer(tell)
    await text.add("a")
    await text.add("b")
    await asyncio.sleep(0.15)
    with pytest.raises(ValueError, match="full"):
        await text.end()
