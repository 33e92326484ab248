"""Streams that contradict themselves, or OpenAI's book: what was streamed whole is kept, once, as what it is.

The streams are shortened from those of the servers that they are named after.
"""

import itertools
import json

import pytest

from gpt5_messages import (
    BlockStart,
    ResponseEnded,
    ResponseFailure,
    SSEDecoder,
    StreamDecoder,
    StreamEvent,
    UsageReported,
    VisibleText,
    read_response,
)


type Event = dict[str, object]

ARGUMENTS = '{"a":1}'


def event(name: str, **fields: object) -> Event:
    return {"type": f"response.{name}", **fields}


def message(text: str, item_id: str | None = "m1", **fields: object) -> Event:
    parts = [{"type": "output_text", "text": text, "annotations": []}] if text else []
    item = {"type": "message", "id": item_id, "role": "assistant", "status": "completed"}
    return {**item, "content": parts, **fields}


def reasoning(item_id: str | None = "r1", **fields: object) -> Event:
    return {"type": "reasoning", "id": item_id, "summary": [], **fields}


def call(
    call_id: str | None, *, name: str = "f", arguments: str = ARGUMENTS, **fields: object
) -> Event:
    item = {"type": "function_call", "id": f"fc_{call_id}", "status": "completed"}
    return {**item, "call_id": call_id, "name": name, "arguments": arguments, **fields}


def added(item: Event, index: object = None) -> Event:
    return event("output_item.added", item=item, output_index=index)


def begun(item: Event, index: object = None) -> Event:
    return added({**item, "status": "in_progress", "arguments": ""}, index)


def done(item: Event, index: object = None) -> Event:
    return event("output_item.done", item=item, output_index=index)


def text(delta: str, item_id: str | None = None, index: object = None) -> Event:
    return event("output_text.delta", delta=delta, item_id=item_id, output_index=index)


def whole_text(full: str, item_id: str | None = None, index: object = None) -> Event:
    return event("output_text.done", text=full, item_id=item_id, output_index=index)


def part(name: str, full: str, item_id: str | None = None, index: object = None) -> Event:
    held = {"type": "output_text", "text": full}
    return event(f"content_part.{name}", part=held, item_id=item_id, output_index=index)


def arguments(item_id: str | None, index: object = None, delta: str = ARGUMENTS) -> list[Event]:
    where: Event = {"item_id": item_id, "output_index": index}
    name = "function_call_arguments"
    return [
        event(f"{name}.delta", delta=delta[:3], **where),
        event(f"{name}.delta", delta=delta[3:], **where),
        event(f"{name}.done", arguments=delta, **where),
    ]


def completed(*output: Event, **fields: object) -> Event:
    response = {"id": "resp_1", "status": "completed", "output": list(output), **fields}
    return event("completed", response=response)


def numbered(numbers: list[object], events: list[Event]) -> list[Event]:
    return [{**one, "sequence_number": number} for number, one in zip(numbers, events, strict=True)]


THOUGHT = reasoning(status="completed", content=[{"type": "output_text", "text": "Hm."}])
LOCALAI = [
    begun(message(""), 0),
    part("added", "", "m1", 0),
    begun({"type": "reasoning", "id": "r1"}, 1),
    part("added", "", "r1", 1),
    text("H", "r1", 1),
    text("m.", "r1", 1),
    text("H", "m1", 1),
    text("i", "m1", 1),
    whole_text("Hm.", "r1", 1),
    part("done", "Hm.", "r1", 1),
    done(THOUGHT, 1),
    whole_text("Hi", "m1", 1),
    part("done", "Hi", "m1", 1),
    done(message("Hi"), 1),
]
LLAMACPP = [
    begun(reasoning("rs", content=[], encrypted_content="")),
    event("reasoning_text.delta", item_id="rs", delta="Hm."),
    begun(message("")),
    part("added", "", "m1"),
    text("Hi", "m1"),
    begun(call("c1")),
    *arguments("fc_c1")[:2],
    done(reasoning("rs", content=[{"type": "reasoning_text", "text": "Hm."}])),
    whole_text("Hi", "m1"),
    done(message("Hi")),
    done(call("c1")),
]
OGX_ITEM = reasoning("rs", content=[{"type": "reasoning_text", "text": "Hm."}])
OGX_PART = {"item_id": "m1", "output_index": 0, "content_index": 1}
OGX_THOUGHT = [
    event("content_part.added", part={"type": "reasoning_text", "text": ""}, **OGX_PART),
    event("reasoning_text.delta", delta="Hm.", **OGX_PART),
]
OGX_END = [
    event("reasoning_text.done", text="Hm.", **OGX_PART),
    event("content_part.done", part={"type": "reasoning_text", "text": "Hm."}, **OGX_PART),
]
OGX = [
    *OGX_THOUGHT,
    begun(message(""), 0),
    part("added", "", "m1", 0),
    text("H", "m1", 0),
    text("i", "m1", 0),
    part("done", "Hi", "m1", 0),
    *OGX_END,
    done(message("Hi"), 0),
    begun(OGX_ITEM, 0),
    done(OGX_ITEM, 0),
]
OGX_CALL = [
    *OGX_THOUGHT,
    begun(call("c1"), 0),
    *arguments("fc_c1", 0),
    *OGX_END,
    begun(OGX_ITEM, 0),
    done(OGX_ITEM, 0),
    done(call("c1"), 1),
]
RESPONSES_JS = [
    begun(reasoning(), 0),
    event("reasoning_text.delta", item_id="r1", output_index=0, delta="Hm."),
    begun(message(""), 0),
    text("Hi", "m1", 0),
    begun(call("c1"), 0),
    *arguments("fc_c1", 0),
    done(call("c1"), 0),
]
LITELLM = [
    begun(reasoning("rs_1"), 0),
    event("reasoning_summary_text.delta", item_id="rs_1", output_index=0, delta="Hm."),
    begun(message(""), 1),
    text("Hi", "m1", 1),
    begun(call("c1"), 2),
    *arguments("fc_c1", 2),
    done(call("c1"), 2),
    whole_text("Hi", "m1", 1),
    done(message("Hi"), 1),
    completed({**THOUGHT, "id": "rs_2", "role": "assistant"}, message("Hi", "m9"), call("c1")),
]
TWO_BEGUN = [begun(call("c1"), 0), begun(call("c2"), 0)]

ANY_TEXT = ("reasoning_text", "output_text")

# The events, the text that is shown and kept, and the calls.
STREAMS: dict[str, tuple[list[Event], str, list[str]]] = {
    "ogx: a thought under the id of the answer, and its item after it": (
        [*OGX, completed(OGX_ITEM, message("Hi"))],
        "Hi",
        [],
    ),
    "ogx: a thought under the id of no answer, and its item after a call": (
        [*OGX_CALL, completed(OGX_ITEM, call("c1"))],
        "",
        [ARGUMENTS],
    ),
    "LocalAI: thoughts as text, at one index with the answer": (
        [*LOCALAI, completed(THOUGHT, message("Hi"))],
        "Hi",
        [],
    ),
    "LocalAI, and an empty output": ([*LOCALAI, completed()], "Hi", []),
    "thoughts as text, without ids": (
        [
            begun(reasoning(None), 0),
            text("Hm.", index=0),
            done(THOUGHT, 0),
            begun(message("", None), 1),
            text("Hi", index=1),
            completed(),
        ],
        "Hi",
        [],
    ),
    "thoughts as text, without ids and indexes": (
        [begun(reasoning(None)), text("Hm."), begun(message("", None)), text("Hi"), completed()],
        "Hi",
        [],
    ),
    "an answer under the id of the thoughts before it": (
        [
            begun(reasoning(), 0),
            event("reasoning_text.delta", item_id="r1", output_index=0, delta="Hm."),
            text("H", "r1", 0),
            text("i", "r1", 0),
            completed(),
        ],
        "Hi",
        [],
    ),
    "LocalAI: another id for the call in the end": (
        [begun(call("c1"), 1), *arguments("fc_c1", 1), done(call("c1"), 1), completed(call("c9"))],
        "",
        [ARGUMENTS],
    ),
    "another id for the call when its item ends": (
        [
            begun(call("c1"), 0),
            *arguments("fc_c1", 0)[:2],
            done(call("c9", id="fc_c1"), 0),
            completed(),
        ],
        "",
        [ARGUMENTS],
    ),
    "llama.cpp: no index and no number anywhere": ([*LLAMACPP, completed()], "Hi", [ARGUMENTS]),
    "llama.cpp, with an output": (
        [*LLAMACPP, completed(reasoning("rs"), message("Hi"), call("c1"))],
        "Hi",
        [ARGUMENTS],
    ),
    "Ollama: one item id for two calls": (
        [
            one
            for index, call_id in enumerate(("c1", "c2"))
            for one in (
                begun(call(call_id, id="fc_7"), index),
                *arguments("fc_7", index),
                done(call(call_id, id="fc_7"), index),
            )
        ]
        + [completed(call("c1", id="fc_7"), call("c2", id="fc_7"))],
        "",
        [ARGUMENTS, ARGUMENTS],
    ),
    "llama.cpp: one id for two calls and for their items": (
        [
            one
            for given in (ARGUMENTS, '{"b":2}', ARGUMENTS)
            for one in (
                begun(call("c1")),
                *arguments("fc_c1", delta=given)[:2],
                done(call("c1", arguments=given)),
            )
        ]
        + [completed()],
        "",
        [ARGUMENTS, '{"b":2}'],
    ),
    "mistral.rs: a call's own id for its item's": (
        [*TWO_BEGUN, *arguments("c1", 0), *arguments("c2", 0, '{"b":2}'), completed()],
        "",
        [ARGUMENTS, '{"b":2}'],
    ),
    "mistral.rs: a call that is added completed": (
        [added(call("c1"), 0), *arguments("c1", 0), completed(call("c1", id="other"))],
        "",
        [ARGUMENTS],
    ),
    "a call that is only added": ([added(call("c1"), 0), completed()], "", [ARGUMENTS]),
    "a message that is only added": ([added(message("Hi"), 0), completed()], "Hi", []),
    "a part that is only added": (
        [begun(message(""), 0), part("added", "Hi", "m1", 0), completed()],
        "Hi",
        [],
    ),
    "a part that is added whole and then streamed": (
        [added(message("Hi"), 0), part("added", "Hi", "m1", 0), text("Hi", "m1", 0), completed()],
        "Hi",
        [],
    ),
    "responses.js: ends for the last item alone": (
        [*RESPONSES_JS, completed(reasoning(), message("Hi"), call("c1"))],
        "Hi",
        [ARGUMENTS],
    ),
    "responses.js, and an empty output": ([*RESPONSES_JS, completed()], "Hi", [ARGUMENTS]),
    "LiteLLM: the message ends last, the thoughts end as an answer": (LITELLM, "Hi", [ARGUMENTS]),
    "one index for two messages, whose ends come last": (
        [
            begun(message("", "a"), 0),
            text("He", "a", 0),
            begun(message("", "b"), 0),
            text("y", "b", 0),
            done(message("He", "a"), 0),
            done(message("y", "b"), 0),
            completed(message("He", "a"), message("y", "b")),
        ],
        "Hey",
        [],
    ),
    "the output leaves out a call": (
        [done(message("Hi"), 0), done(call("c1"), 1), completed(message("Hi"))],
        "Hi",
        [ARGUMENTS],
    ),
    "the output leaves out a call that never ends": (
        [
            text("Hi", "m1", 0),
            begun(call("c1"), 1),
            *arguments("fc_c1", 1)[:2],
            completed(message("Hi")),
        ],
        "Hi",
        [ARGUMENTS],
    ),
    "the output leaves out a text in the middle": (
        [
            done(message("A", "m1"), 0),
            done(message("B", "m2"), 1),
            done(call("c1"), 2),
            completed(message("A", "m1"), call("c1")),
        ],
        "AB",
        [ARGUMENTS],
    ),
    "the output joins two texts": (
        [done(message("He", "a"), 0), done(message("y", "b"), 1), completed(message("Hey", "c"))],
        "Hey",
        [],
    ),
    "the output has a call more": (
        [text("Hi", "m1", 0), completed(call("c1"), message("Hi"))],
        "Hi",
        [ARGUMENTS],
    ),
    "vLLM: the output has the last piece of the text": (
        [
            begun(message(""), 0),
            text("Hi ", "m1", 0),
            text("you.", "m1", 0),
            completed(message("you.")),
        ],
        "Hi you.",
        [],
    ),
    "the output has the text without its end": (
        [text("Hi", "m1", 0), text(" \n", "m1", 0), completed(message("Hi"))],
        "Hi \n",
        [],
    ),
    "numbers that begin anew with each item": (
        numbered(
            [0, 1, 2, 3, 0, 1, 2, 3],
            [
                begun(message(""), 0),
                text("A", "m1", 0),
                text("B", "m1", 0),
                done(message("AB"), 0),
                begun(message("", "m2"), 1),
                text("C", "m2", 1),
                done(message("C", "m2"), 1),
                completed(),
            ],
        ),
        "ABC",
        [],
    ),
    "one number on two events": (
        numbered(
            [0, 1, 1, 2, 2],
            [begun(message(""), 0), text("A"), text("B"), done(message("AB")), completed()],
        ),
        "AB",
        [],
    ),
    "every event twice, under one number": (
        numbered(
            [number for number in range(5) for _ in "12"],
            [
                one
                for one in (
                    begun(message(""), 0),
                    text("A", "m1", 0),
                    text("A", "m1", 0),
                    done(message("AA"), 0),
                    completed(message("AA")),
                )
                for _ in "12"
            ],
        ),
        "AA",
        [],
    ),
    "an earlier event again": (
        numbered(
            [0, 1, 2, 3, 1, 2, 4],
            [
                *(first := [begun(message(""), 0), text("A", "m1", 0), part("done", "A", "m1", 0)]),
                text("B", "m1", 0),
                *first[1:],
                completed(message("AB")),
            ],
        ),
        "AB",
        [],
    ),
    "numbers as texts": (
        numbered(
            list("0123456789")[:9],
            [
                begun(call("c1"), "0"),
                begun(call("c2"), "1"),
                *arguments(None, "0"),
                *arguments(None, "1", '{"b":2}'),
                completed(),
            ],
        ),
        "",
        [ARGUMENTS, '{"b":2}'],
    ),
    "calls first, and the text at the same index": (
        [begun(call("c1"), 0), *arguments("fc_c1", 0), text("Hi", "m1", 0), completed()],
        "Hi",
        [ARGUMENTS],
    ),
    "an end of no type": (
        [text("Hi", "m1", 0), {**completed(message("Hi")), "type": ""}],
        "Hi",
        [],
    ),
    "a bare response for a stream": (
        [{"type": "", "object": "response", "status": "completed", "output": [message("Hi")]}],
        "Hi",
        [],
    ),
    "an end without its response around it": (
        [text("Hi", "m1", 0), event("completed", output=[message("Hi"), call("c1")])],
        "Hi",
        [ARGUMENTS],
    ),
    "an end called done": (
        [text("Hi", "m1", 0), event("done", response={"status": "completed", "output": []})],
        "Hi",
        [],
    ),
    "the text beside an empty output": ([completed(output_text="Hi")], "Hi", []),
    "a call whose arguments never end, beside a text": (
        [text("Hi", "m1", 0), begun(call("c1"), 1), *arguments("fc_c1", 1)[:2], completed()],
        "Hi",
        [ARGUMENTS],
    ),
    "a call without arguments that never ends": (
        [text("Hi", "m1", 0), begun(call("c1"), 1), completed()],
        "Hi",
        [""],
    ),
    "a custom tool's call whose input never ends": (
        [
            begun({"type": "custom_tool_call", "id": "ct", "call_id": "c1", "name": "f"}, 0),
            event("custom_tool_call_input.delta", delta="a b", item_id="ct", output_index=0),
            completed(),
        ],
        "",
        ["a b"],
    ),
    "arguments that are an empty object in the end": (
        [
            begun(call("c1"), 0),
            *arguments("fc_c1", 0)[:2],
            done(call("c1", arguments="{}"), 0),
            completed(call("c1", arguments="{}")),
        ],
        "",
        [ARGUMENTS],
    ),
    "a message of no type, with a part called text": (
        [completed({"role": "assistant", "content": [{"type": "text", "text": "Hi"}]})],
        "Hi",
        [],
    ),
    "the output has the message twice": (
        [text("Hi", "m1", 0), completed(message("Hi"), message("Hi", "m2"))],
        "Hi",
        [],
    ),
    "the output has twice what was never streamed": (
        [completed(message("Hi"), message("Hi", "m2"))],
        "HiHi",
        [],
    ),
    "an item that is in progress in a completed response": (
        [completed(message("Hi"), call("c1", status="in_progress"))],
        "Hi",
        [ARGUMENTS],
    ),
}


def decode(*events: Event, **settings: object) -> tuple[list[StreamEvent], StreamDecoder]:
    decoder = StreamDecoder(**settings)
    found = [one for sent in events for one in decoder.feed(sent)]
    return [*found, *decoder.close()], decoder


def shown(events: list[StreamEvent]) -> str:
    visible = VisibleText()
    pieces = "".join(visible.feed(one) for one in events) + visible.close()
    return pieces.removeprefix("<think>\nHm.\n</think>")


def started(events: list[StreamEvent]) -> list[str | None]:
    return [one.call_id for one in events if isinstance(one, BlockStart) and one.kind == "tool_use"]


def failures(events: list[StreamEvent]) -> list[ResponseFailure]:
    return [one for one in events if isinstance(one, ResponseFailure)]


@pytest.mark.parametrize(("sent", "said", "made"), STREAMS.values(), ids=STREAMS)
def test_nothing_is_lost_made_twice_or_shown_as_what_it_is_not(
    sent: list[Event], said: str, made: list[str]
) -> None:
    events, decoder = decode(*sent)

    completion = decoder.completion
    assert failures(events) == []
    assert (shown(events), completion.text) == (said, said)
    assert [one.arguments for one in completion.tool_calls] == made
    assert started(events) == [one.call_id for one in completion.tool_calls]
    assert events[-1] == ResponseEnded(status="completed")
    kept = [item.get("call_id") for item in completion.items if "name" in item]
    assert kept == [one.call_id for one in completion.tool_calls]


def test_reasoning_that_the_output_leaves_out_is_kept_before_its_answer() -> None:
    """Some gateways make the output anew from the text alone, with new ids."""
    thought = reasoning(encrypted_content="e")
    sent = [done(thought, 0), text("Hi", "m", 1), done(message("Hi", "m"), 1)]

    _, decoder = decode(*sent, completed(message("Hi", "new")))

    assert [item["id"] for item in decoder.completion.items] == ["r1", "new"]
    assert decoder.completion.items[0] == thought


def test_a_call_that_was_cut_in_its_arguments_is_not_made() -> None:
    _, decoder = decode(
        text("Hi", "m1", 0), begun(call("c1"), 1), arguments("fc_c1", 1)[0], completed()
    )

    assert (decoder.completion.text, decoder.completion.tool_calls) == ("Hi", ())


SPOKEN: dict[str, list[Event]] = {
    "in pieces alone": [event("reasoning_text.delta", item_id="r1", output_index=0, delta="Hm.")],
    "and then the item without it": [
        event("reasoning_text.delta", item_id="r1", output_index=0, delta="Hm."),
        done(reasoning(), 0),
    ],
    "and then the item with its beginning": [
        event("reasoning_text.delta", item_id="r1", output_index=0, delta="Hm."),
        done(reasoning(content=[{"type": "reasoning_text", "text": "H"}]), 0),
    ],
    "as text": [begun({"type": "reasoning", "id": "r1"}, 0), text("Hm.", "r1", 0)],
    "under another type": [
        event("reasoning_text.delta", item_id="r1", output_index=0, delta="Hm."),
        done(THOUGHT, 0),
    ],
    "and then the item of no type": [
        event("reasoning_text.delta", item_id="r1", output_index=0, delta="Hm."),
        done({"id": "r1", "content": [{"type": "reasoning_text", "text": "Hm."}]}, 0),
    ],
    "as a bare text": [
        event("reasoning_text.delta", item_id="r1", output_index=0, delta="Hm."),
        done(reasoning(content="Hm."), 0),
    ],
    "and plain where it should be encrypted": [
        event("reasoning_text.delta", item_id="r1", output_index=0, delta="Hm."),
        done(reasoning(encrypted_content="Hm."), 0),
    ],
}


@pytest.mark.parametrize("sent", SPOKEN.values(), ids=SPOKEN)
@pytest.mark.parametrize("output", [[], [call("c1")]], ids=["no output", "an output without it"])
def test_a_thought_that_was_streamed_is_kept_once(sent: list[Event], output: list[Event]) -> None:
    """DeepSeek's thinking mode refuses the next round without it."""
    _, decoder = decode(*sent, done(call("c1"), 1), completed(*output))

    thought, made = decoder.completion.items
    assert (thought["type"], made) == ("reasoning", call("c1"))
    held = thought.get("content") or thought["encrypted_content"]
    assert held in ("Hm.", *([{"type": kind, "text": "Hm."}] for kind in ANY_TEXT))


def test_a_text_that_the_server_streams_twice_is_kept_once() -> None:
    _, decoder = decode(text("Hi", "m1", 0), text("Hi", "m1", 0), completed(message("Hi")))

    assert decoder.completion.text == "Hi"


CALLS = {
    "without an id": ([call(None), call(""), call(" ")], 3, 0),
    "two of one id": ([call("c1"), call("c1", arguments='{"a":2}')], 2, 1),
    "one, three times": ([call("c1"), call("c1", arguments='{"a": 1}'), call("c1")], 1, 1),
    "two tools of one id": ([call("c1", arguments=""), call("c1", name="g", arguments="")], 2, 1),
    "one of three again": (
        [call("c1"), call("c1", arguments='{"a":2}'), call("c1", arguments='{"a":2}')],
        2,
        1,
    ),
}


@pytest.mark.parametrize(("items", "count", "named"), CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("ids", [True, False])
@pytest.mark.parametrize("is_in_output", [True, False])
def test_each_call_has_an_id_of_its_own(
    items: list[Event], count: int, named: int, *, ids: bool, is_in_output: bool
) -> None:
    made = [{**one, "id": f"fc_{number}" if ids else None} for number, one in enumerate(items)]
    streamed = [
        sent
        for number, one in enumerate(made)
        for sent in (
            begun(one, number),
            *arguments(str(one["id"]) if ids else None, number, str(one["arguments"]))[:2],
            done(one, number),
        )
    ]
    events, decoder = decode(
        event("created", response={"id": "resp_1"}),
        *streamed,
        completed(*(made if is_in_output else [])),
    )
    whole = read_response({"id": "resp_1", "status": "completed", "output": made})

    found = [one.call_id for one in decoder.completion.tool_calls]
    assert len(found) == len(set(found)) == count
    assert started(events) == found == [one.call_id for one in whole.tool_calls]
    assert found == [item["call_id"] for item in decoder.completion.items]
    assert [one for one in found if one == "c1"] == ["c1"] * named
    assert all(one == "c1" or (one.startswith("call_") and len(one) == 29) for one in found)


def test_calls_of_one_id_that_stream_side_by_side_are_told_apart() -> None:
    first, second = call("c1", id="a"), call("c1", id="b", arguments='{"a":2}')
    pieces = itertools.chain.from_iterable(
        zip(arguments("a", 0), arguments("b", 1, '{"a":2}'), strict=True)
    )
    for ends in ([done(second, 1), done(first, 0)], []):
        events, decoder = decode(begun(first, 0), begun(second, 1), *pieces, *ends, completed())

        assert [one.arguments for one in decoder.completion.tool_calls] == [ARGUMENTS, '{"a":2}']
        assert sorted(map(str, started(events))) == sorted(
            one.call_id for one in decoder.completion.tool_calls
        )
        pieces = itertools.chain([*arguments("a", 0), *arguments("b", 1, '{"a":2}')])


def test_responses_without_an_id_give_their_calls_other_ids() -> None:
    body = {"status": "completed", "output": [call(None)]}

    assert read_response(body).tool_calls != read_response(body).tool_calls


ENDS = {
    "completed, but with a reason": (
        completed(message("Hi"), incomplete_details={"reason": "max_output_tokens"}),
        ("incomplete", "length"),
    ),
    "completed, with an incomplete response": (
        completed(message("Hi"), status="incomplete"),
        ("incomplete", "length"),
    ),
    "incomplete, with a completed response": (
        event("incomplete", response={"status": "completed", "output": [message("Hi")]}),
        ("incomplete", "length"),
    ),
    "failed, with a completed response": (
        event("failed", response={"status": "completed", "output": [message("Hi")]}),
        ("failed", "error"),
    ),
    "failed, with one in progress": (
        event("failed", response={"status": "in_progress"}),
        ("failed", "error"),
    ),
    "completed, with a failed response": (
        completed(message("Hi"), status="failed"),
        ("failed", "error"),
    ),
}


@pytest.mark.parametrize(("end", "state"), ENDS.values(), ids=ENDS)
def test_of_two_states_the_worse_one_counts(end: Event, state: tuple[str, str]) -> None:
    events, decoder = decode(text("Hi", "m1", 0), end)

    assert (decoder.completion.status, decoder.completion.finish_reason) == state
    assert bool(failures(events)) == (state[0] == "failed")


@pytest.mark.parametrize("usage", [{"output_tokens": 3}, None])
def test_a_completed_response_with_nothing_in_it_has_failed(usage: object) -> None:
    for end in (completed(usage=usage), event("completed", response={"usage": usage})):
        events, decoder = decode(event("created", response={"id": "resp_1"}), end)

        [failure] = failures(events)
        assert failure.code == "empty_response"
        assert (decoder.completion.status, decoder.completion.finish_reason) == ("failed", "error")
        assert any(isinstance(one, UsageReported) for one in events) == bool(usage)
        assert not failures(decode(end, may_be_empty=True)[0])


@pytest.mark.parametrize(
    "end",
    [completed(reasoning()), completed(status="incomplete"), completed(message(""))],
    ids=["reasoning", "incomplete", "a message without a text"],
)
def test_a_response_with_anything_in_it_is_not_empty(end: Event) -> None:
    assert failures(decode(end)[0]) == []


@pytest.mark.parametrize(
    ("limit", "used", "status"),
    [
        (16, 16, "incomplete"),
        (16, 17, "incomplete"),
        (16, 15, "completed"),
        (None, 16, "completed"),
    ],
)
def test_an_answer_that_used_up_the_limit_was_cut(
    limit: int | None, used: int, status: str
) -> None:
    end = completed(message("Hi"), call("c1"), usage={"output_tokens": used})
    events, decoder = decode(end, max_output_tokens=limit)

    completion = decoder.completion
    assert completion.status == status
    assert bool(completion.tool_calls) == (status == "completed")
    reason = None if status == "completed" else "max_output_tokens"
    assert (completion.incomplete_reason, completion.text) == (reason, "Hi")
    assert events[-1] == ResponseEnded(status=completion.status, reason=reason)


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("is_first", [True, False])
def test_the_name_of_an_event_may_stand_before_or_behind_its_data(
    line_end: str, *, is_first: bool
) -> None:
    """Bedrock sends the data first, and Copilot no type inside the last event."""
    frames = ["\ufeff: a comment"]
    for sent in (text("Hi", "m1", 0), completed(message("Hi"))):
        name = f"event: {sent.pop('type')}"
        data = f"data: {json.dumps(sent)}"
        frames.append(line_end.join([name, data] if is_first else [data, name]))
        frames.append("data: [DONE]")
    wire = (2 * line_end).join([*frames, ""]).encode()
    reader = SSEDecoder()

    events, decoder = decode(*reader.feed(wire), *reader.close())

    assert (shown(events), decoder.completion.status) == ("Hi", "completed")
