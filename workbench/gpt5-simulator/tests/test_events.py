from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai import OpenAI
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from gpt5_simulator import (
    CustomToolCall,
    FunctionCall,
    Reasoning,
    Refusal,
    ResponsesSimulator,
    ScriptedModel,
    Text,
)


EVERYTHING = [
    Reasoning(summary=("**First**\n\nOne part.", "**Second**\n\nAnother part.")),
    Text(text="Let me look: “now”.\n\n日本語のとても長い文です。", phase="commentary"),
    FunctionCall(name="look", arguments={"at": "this", "deep": [1, 2]}),
    FunctionCall(name="nothing", arguments={}),
    CustomToolCall(name="note", input="free text"),
    Refusal(text="No more than that."),
]
ASKED = {
    "model": "gpt-5.4",
    "input": "Go",
    "reasoning": {"effort": "medium", "summary": "detailed"},
    "include": ["reasoning.encrypted_content"],
    "store": False,
}


@pytest.fixture(scope="module")
def talker():
    with ResponsesSimulator(model=ScriptedModel([EVERYTHING], repeat=True)) as simulator:
        yield simulator


def test_a_stream_begins_and_ends_as_recorded_ones_do(talker, ask, events_of):
    response = ask(talker, ASKED, stream=True)
    events = events_of(response)
    assert response.headers["content-type"].startswith("text/event-stream")
    assert [event["type"] for event in events[:3]] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
    ]
    assert events[-1]["type"] == "response.completed"
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert events[0]["response"]["status"] == "in_progress"
    assert events[0]["response"]["output"] == []
    assert events[0]["response"]["usage"] is None


def test_every_frame_names_its_event_twice(talker, ask):
    frames = ask(talker, ASKED, stream=True).text.strip().split("\n\n")
    for frame in frames:
        event, data = frame.split("\n")
        assert data.startswith(f'data: {{"type":"{event.removeprefix("event: ")}"')


def test_deltas_add_up_to_what_their_done_event_says(talker, ask, events_of):
    deltas = defaultdict(str)
    done = {}
    for event in events_of(ask(talker, ASKED, stream=True)):
        path = tuple(event.get(key) for key in ("item_id", "content_index", "summary_index"))
        if "delta" in event:
            assert event["delta"]
            deltas[path] += event["delta"]
        for key in ("text", "arguments", "input", "refusal"):
            if key in event:
                done[path] = event[key]
    assert deltas == done
    assert len(done) == 7


def test_done_items_are_those_of_the_final_response(talker, ask, events_of):
    events = events_of(ask(talker, ASKED, stream=True))
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert done == events[-1]["response"]["output"]
    assert [item["type"] for item in done] == [
        "reasoning",
        "message",
        "function_call",
        "function_call",
        "custom_tool_call",
        "message",
    ]


def test_added_items_are_still_empty(talker, ask, events_of):
    events = events_of(ask(talker, ASKED, stream=True))
    added = [event["item"] for event in events if event["type"] == "response.output_item.added"]
    assert added[0]["summary"] == []
    assert added[1]["content"] == []
    assert added[2]["arguments"] == ""
    assert added[4]["input"] == ""
    assert {item.get("status") for item in added[1:]} == {"in_progress"}


def test_encrypted_content_is_not_yet_whole_when_the_item_is_added(talker, ask, events_of):
    events = events_of(ask(talker, ASKED, stream=True))
    added = next(event["item"] for event in events if event["type"].endswith("item.added"))
    done = next(event["item"] for event in events if event["type"].endswith("item.done"))
    assert added["encrypted_content"] != done["encrypted_content"]


def test_a_body_and_a_stream_say_the_same(talker, ask, events_of):
    body = ask(talker, ASKED).json()
    streamed = events_of(ask(talker, ASKED, stream=True))[-1]["response"]
    assert _without_ids(body) == _without_ids(streamed)


def test_deltas_are_padded_unless_the_request_says_no(talker, ask, events_of):
    padded = events_of(ask(talker, ASKED, stream=True))
    options = {"include_obfuscation": False}
    bare = events_of(ask(talker, ASKED, stream=True, stream_options=options))
    lengths = {
        len(event["delta"]) + len(event["obfuscation"]) for event in padded if "delta" in event
    }
    assert {length % 16 for length in lengths} == {0}
    assert not any("obfuscation" in event for event in bare)


def test_the_official_types_accept_every_event_and_the_body(talker, ask, events_of):
    adapter = TypeAdapter(ResponseStreamEvent)
    for event in events_of(ask(talker, ASKED, stream=True)):
        assert adapter.validate_python(event, strict=False).type == event["type"]
    assert Response.model_validate(ask(talker, ASKED).json()).status == "completed"


def test_the_official_client_streams_and_creates(talker):
    with OpenAI(base_url=talker.base_url, api_key="sk-test", max_retries=0) as client:
        with client.responses.stream(**ASKED) as stream:
            streamed = stream.get_final_response()
        created = client.responses.create(**ASKED)
    assert streamed.output_text == created.output_text == EVERYTHING[1].text
    assert streamed.usage == created.usage


@given(text=st.text(max_size=200))
def test_any_text_arrives_whole(ask, events_of, text):
    with ResponsesSimulator(model=ScriptedModel([[Text(text=text)]])) as simulator:
        events = events_of(ask(simulator, ASKED, stream=True))
    deltas = "".join(event["delta"] for event in events if "delta" in event)
    assert deltas == text
    assert events[-1]["response"]["output"][0]["content"][0]["text"] == text


def _without_ids(value):
    if isinstance(value, dict):
        dull = {"id", "call_id", "encrypted_content", "created_at", "completed_at"}
        return {key: _without_ids(inner) for key, inner in value.items() if key not in dull}
    return [_without_ids(inner) for inner in value] if isinstance(value, list) else value
