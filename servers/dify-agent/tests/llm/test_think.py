from collections.abc import Sequence
from typing import Any

import pytest
from pydantic_ai.messages import PartDeltaEvent, TextPart, ThinkingPart


TEXTS = [
    ("Hello", [TextPart("Hello")]),
    ("<think>\nplan\n</think>\n\nHello", [ThinkingPart("plan"), TextPart("Hello")]),
    ("Let me see. <think>plan</think> So", [
        TextPart("Let me see. "),
        ThinkingPart("plan"),
        TextPart("So"),
    ]),
    ("<think>a</think><think>b</think>c", [ThinkingPart("a"), ThinkingPart("b"), TextPart("c")]),
    ("<think>a<think>b</think>c</think>d", [ThinkingPart("abc"), TextPart("d")]),
    ("<think>never closed", [ThinkingPart("never closed")]),
    ("stray</think>tag", [TextPart("straytag")]),
    (" \n", []),
]  # fmt: skip


async def parts_of(daemon: Any, deltas: Sequence[str]) -> list[object]:
    daemon.reply(daemon.chunk(""), *map(daemon.chunk, deltas))
    return list((await daemon.ask()).parts)


@pytest.mark.parametrize(("text", "expected"), TEXTS)
async def test_thoughts_and_answer_are_told_apart(daemon, text, expected):
    assert await parts_of(daemon, [text]) == expected


@pytest.mark.parametrize(("text", "expected"), TEXTS)
async def test_a_text_in_single_characters_gives_the_same_parts(daemon, text, expected):
    assert await parts_of(daemon, list(text)) == expected


async def test_a_thought_streams_while_it_comes(daemon):
    daemon.reply(*map(daemon.chunk, ["<th", "ink>\nAdd", " them", ".\n</think>", "4"]))

    events, answer = await daemon.stream()

    deltas = [event.delta.content_delta for event in events if isinstance(event, PartDeltaEvent)]
    assert deltas == [" them", "."]
    assert answer.parts == [ThinkingPart("Add them."), TextPart("4")]


async def test_a_thought_goes_on_after_a_tool_call(daemon):
    daemon.reply(
        daemon.chunk("<think>first\n", tool_calls=[daemon.call("c1", "add", "{}")]),
        daemon.chunk("\nsecond</think>done"),
    )

    answer = await daemon.ask()

    assert [part.part_kind for part in answer.parts] == [
        "thinking",
        "tool-call",
        "thinking",
        "text",
    ]
    assert [part.content for part in answer.parts if part.part_kind == "thinking"] == [
        "first\n",
        "\nsecond",
    ]


async def test_white_space_before_a_tool_call_is_no_answer(daemon):
    daemon.reply(
        daemon.chunk("<think>x</think>\n\n"),
        daemon.chunk("\n", tool_calls=[daemon.call("c1", "add", "{}")]),
    )

    answer = await daemon.ask()

    assert [part.part_kind for part in answer.parts] == ["thinking", "tool-call"]


async def test_text_after_a_tool_call_is_a_part_of_its_own(daemon):
    daemon.reply(
        daemon.chunk("One <"),
        daemon.chunk("", tool_calls=[daemon.call("c1", "add", "{}")]),
        daemon.chunk("two"),
    )

    answer = await daemon.ask()

    assert [getattr(part, "content", None) for part in answer.parts] == ["One <", None, "two"]
