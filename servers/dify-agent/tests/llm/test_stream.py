import base64
from decimal import Decimal

import pytest
from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.messages import (
    BinaryImage,
    FilePart,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    ToolCallPart,
)


async def test_text_streams_delta_by_delta(daemon):
    daemon.reply(daemon.chunk("Hel"), daemon.chunk(""), daemon.chunk("lo"))

    events, answer = await daemon.stream()

    assert [event.part.content for event in events if isinstance(event, PartStartEvent)] == ["Hel"]
    assert [e.delta.content_delta for e in events if isinstance(e, PartDeltaEvent)] == ["lo"]
    assert answer.parts == [TextPart("Hello")]
    assert answer.state == "complete"


async def test_a_whole_request_gives_what_a_streamed_one_gives(daemon):
    chunks = [
        daemon.chunk("<think>\nplan\n</think>It "),
        daemon.chunk(
            "is.",
            tool_calls=[daemon.call("c1", "add", "{}")],
            usage=daemon.usage(prompt_tokens=3),
            finish_reason="tool_calls",
            opaque_body={"responses_output": []},
        ),
    ]
    daemon.reply(*chunks).reply(*chunks)

    whole = await daemon.ask()
    _, streamed = await daemon.stream()

    assert whole.parts == streamed.parts
    assert (whole.usage, whole.finish_reason) == (streamed.usage, streamed.finish_reason)
    assert (whole.provider_details, whole.state) == (streamed.provider_details, streamed.state)
    assert [body["data"]["stream"] for body in daemon.bodies] == [False, True]


async def test_an_answer_says_who_gave_it(daemon):
    daemon.reply(daemon.chunk("Hi"))

    answer = await daemon.ask()

    assert answer.model_name == "gpt-5"
    assert answer.provider_name == "DifyPlugin/langgenius/openai"


async def test_an_answer_does_not_say_where_the_daemon_is(daemon):
    daemon.reply(daemon.chunk("Hi"))

    answer = await daemon.ask()

    assert answer.provider_url is None
    assert "daemon:5002" not in repr(answer)


@pytest.mark.parametrize(("named", "expected"), [("gpt-5-2026", "gpt-5-2026"), ("", "gpt-5")])
async def test_the_model_is_named_as_the_plugin_names_it(daemon, named, expected):
    daemon.reply({**daemon.chunk("Hi"), "model": named})

    assert (await daemon.ask()).model_name == expected


@pytest.mark.parametrize("content", [None, "", []])
async def test_a_chunk_may_say_nothing(daemon, content):
    daemon.reply(daemon.chunk(content), daemon.chunk("Hi"))

    assert (await daemon.ask()).parts == [TextPart("Hi")]


async def test_content_may_come_in_parts(daemon):
    image = base64.b64encode(b"png").decode()
    daemon.reply(
        daemon.chunk([{"type": "text", "data": "A "}, {"type": "text", "data": "drawing"}]),
        daemon.chunk([{"type": "image", "base64_data": image, "mime_type": "image/png"}]),
        daemon.chunk([{"type": "document", "base64_data": image, "format": "", "url": None}]),
        daemon.chunk([{"type": "video", "url": "https://example.com/a.mp4"}]),
    )

    answer = await daemon.ask()

    text, picture, document, link = answer.parts
    assert text == TextPart("A drawing")
    assert picture == FilePart(content=BinaryImage(data=b"png", media_type="image/png"))
    assert document.content.media_type == "application/octet-stream"
    assert link == TextPart("https://example.com/a.mp4")


@pytest.mark.parametrize(
    "pieces",
    [
        [("c1", "add", '{"a": 1}')],
        [("c1", "add", ""), ("c1", None, '{"a"'), ("c1", "", ": 1}")],
        [("c1", "add", '{"a"'), ("c1", "add", ": 1}")],
        [("c1", "add", None), ("", None, '{"a"'), (None, None, ": 1}")],
        [("c1", "add", '{"a"'), ("none", "", ": 1}"), ("NULL", "", "")],
        [("c1", "add", '{"a": 1}'), ("c1", "add", '{"a": 1}')],
        [("c1", "", ""), ("c1", "add", '{"a": 1}')],
    ],
)
async def test_a_tool_call_is_put_together(daemon, pieces):
    daemon.reply(*(daemon.chunk("", tool_calls=[daemon.call(*piece)]) for piece in pieces))

    answer = await daemon.ask()

    assert answer.parts == [ToolCallPart("add", '{"a": 1}', tool_call_id="c1")]


async def test_arguments_that_repeat_in_the_middle_are_kept(daemon):
    pieces = [("c1", "add", "11"), ("c1", None, "x"), ("c1", None, "x")]
    daemon.reply(*(daemon.chunk("", tool_calls=[daemon.call(*piece)]) for piece in pieces))

    (call,) = (await daemon.ask()).parts

    assert call.args == "11xx"


async def test_calls_that_grow_side_by_side_are_kept_apart(daemon):
    daemon.reply(
        daemon.chunk("", tool_calls=[daemon.call("c1", "add", "{"), daemon.call("c2", "say", "[")]),
        daemon.chunk("", tool_calls=[daemon.call("c2", None, "]"), daemon.call("c1", None, "}")]),
    )

    answer = await daemon.ask()

    assert [(call.tool_call_id, call.tool_name, call.args) for call in answer.parts] == [
        ("c1", "add", "{}"),
        ("c2", "say", "[]"),
    ]


async def test_a_second_name_without_an_id_is_another_call(daemon):
    daemon.reply(
        daemon.chunk("", tool_calls=[daemon.call("", "add", "{}"), daemon.call("", "add", "{}")]),
        daemon.chunk("", tool_calls=[daemon.call("", "", "")]),
    )

    first, second = (await daemon.ask()).parts

    assert (first.args, second.args) == ("{}", "{}")
    assert first.tool_call_id
    assert first.tool_call_id != second.tool_call_id


async def test_different_calls_under_one_id_are_calls_of_their_own(daemon):
    made = [("add", '{"a":1}'), ("add", '{"a":2}'), ("add", '{"a": 1}'), ("say", "")]
    daemon.reply(*(daemon.chunk("", tool_calls=[daemon.call("c1", *one)]) for one in made))

    answer = await daemon.ask()

    assert [(call.tool_name, call.args) for call in answer.parts] == [made[0], made[1], made[3]]
    ids = [call.tool_call_id for call in answer.parts]
    assert ids[0] == "c1"
    assert len(set(ids)) == 3


async def test_a_call_streams_while_it_comes(daemon):
    pieces = [("c1", "add", '{"a"'), ("c1", None, ": 1}")]
    daemon.reply(*(daemon.chunk("", tool_calls=[daemon.call(*piece)]) for piece in pieces))

    events, _ = await daemon.stream()

    assert [e.part.args for e in events if isinstance(e, PartStartEvent)] == ['{"a"']
    assert [e.delta.args_delta for e in events if isinstance(e, PartDeltaEvent)] == [": 1}"]


async def test_a_call_that_nobody_can_run_is_an_error(daemon):
    daemon.reply(daemon.chunk("", tool_calls=[daemon.call("c1", None, "{}")]))

    with pytest.raises(
        ModelAPIError, match=r"PluginDaemonProtocolError: .* tool call without a name"
    ):
        await daemon.ask()


async def test_the_latest_usage_counts(daemon):
    daemon.reply(
        daemon.chunk("a", usage=daemon.usage(prompt_tokens=5, completion_tokens=1)),
        daemon.chunk(
            "b", usage=daemon.usage(prompt_tokens=5, completion_tokens=9, total_price="0.0012")
        ),
        daemon.chunk("c"),
    )

    usage = (await daemon.ask()).usage

    assert (usage.input_tokens, usage.output_tokens) == (5, 9)
    assert usage.cost == Decimal("0.0012")


@pytest.mark.parametrize(
    "figures", [{"total_price": "0"}, {"total_price": "1", "currency": "CNY"}, {"currency": None}]
)
async def test_a_price_that_is_none_in_dollars_is_no_cost(daemon, figures):
    daemon.reply(daemon.chunk("a", usage=daemon.usage(prompt_tokens=5, **figures)))

    assert (await daemon.ask()).usage.cost is None


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        ({}, 0),
        ({"cached_tokens": 4}, 4),
        ({"prompt_tokens_details": {"cached_tokens": 3}}, 3),
        ({"prompt_tokens_details": None, "cached_tokens": None}, 0),
    ],
)
async def test_cached_tokens_are_told_where_a_plugin_tells_them(daemon, figures, expected):
    daemon.reply(daemon.chunk("a", usage=daemon.usage(prompt_tokens=5, **figures)))

    assert (await daemon.ask()).usage.cache_read_tokens == expected


async def test_an_answer_without_usage_counts_as_not_measured(daemon):
    daemon.reply(daemon.chunk("a"))

    assert (await daemon.ask()).usage.unmeasured_requests == 1


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("stop", "stop"),
        ("STOP", "stop"),
        ("length", "length"),
        ("max_tokens", "length"),
        ("content_filter", "content_filter"),
        ("tool_calls", "tool_call"),
        ("function_call", "tool_call"),
        ("function_calls", "tool_call"),
        ("tool_use", "tool_call"),
        ("something_new", "error"),
    ],
)
async def test_a_finish_reason_is_translated_and_kept(daemon, raw, expected):
    daemon.reply(daemon.chunk("a"), daemon.chunk("", finish_reason=raw), daemon.chunk(""))

    answer = await daemon.ask()

    assert answer.finish_reason == expected
    assert answer.provider_details == {"model_provider": "openai", "finish_reason": raw}


async def test_an_answer_may_end_without_a_reason(daemon):
    daemon.reply(daemon.chunk("a"))

    answer = await daemon.ask()

    assert (answer.finish_reason, answer.provider_details) == (None, {"model_provider": "openai"})
