import json
import math
from enum import Enum
from types import MappingProxyType, SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tooling import STRATEGY_OBSERVATIONS, TOOL_LAYER_OBSERVATIONS, observation_text
from counting import is_linear


POLICIES = [STRATEGY_OBSERVATIONS, TOOL_LAYER_OBSERVATIONS]
policies = pytest.mark.parametrize("policy", POLICIES, ids=["strategy", "tool layer"])


class Type(Enum):
    TEXT = "text"


def message(kind, meta=None, **payload):
    return {"type": kind, "message": payload, "meta": meta}


def text(value):
    return message("text", text=value)


def json_message(value, **fields):
    return message("json", json_object=value, **fields)


def strategy(*messages):
    return observation_text(messages, policy=STRATEGY_OBSERVATIONS)


def tool_layer(*messages):
    return observation_text(messages, policy=TOOL_LAYER_OBSERVATIONS)


@policies
def test_texts_follow_each_other_without_a_separator(policy):
    assert observation_text([text("one "), text("two")], policy=policy) == "one two"


@policies
def test_no_messages_give_an_empty_text(policy):
    assert observation_text([], policy=policy) == ""


@policies
@pytest.mark.parametrize("kind", ["link", "binary_link"])
def test_a_link_becomes_a_sentence(policy, kind):
    messages = [message(kind, text="https://a.test")]

    assert observation_text(messages, policy=policy) == (
        "result link: https://a.test. please tell user to check it."
    )


@pytest.mark.parametrize("kind", ["image", "image_link"])
def test_an_image_becomes_the_policys_sentence(kind):
    image = message(kind, text="/files/a.png")

    assert strategy(image) == "image generated and sent to user. Tell user to review it now."
    assert tool_layer(image) == (
        "image has been created and sent to user already, you do not need to create it, "
        "just tell the user to check it now."
    )


def test_a_strategy_says_json_in_its_place():
    messages = [text("a"), json_message({"é": [1]}, suppress_output=True), text("b")]

    assert strategy(*messages) == 'atool response: {"é": [1]}.b'


def test_the_tool_layer_says_json_last():
    assert tool_layer(json_message({"é": [1]}), text("after ")) == 'after {"é": [1]}'


def test_the_tool_layer_leaves_out_json_that_is_suppressed_or_was_said_as_text():
    said, other = json_message({"a": 1}), json_message({"b": 2})

    assert tool_layer(said, text('{"a": 1}'), other, other) == '{"a": 1}{"b": 2}{"b": 2}'
    assert tool_layer(json_message([1], suppress_output=True)) == ""


@policies
@pytest.mark.parametrize("said", ['{"b": [1.0], "a": "é"}', ' {"a":"\\u00e9","b":[1]}\n'])
def test_json_that_was_said_as_text_is_left_out_however_it_was_written(policy, said):
    same, other = json_message({"a": "é", "b": [1]}), json_message({"c": 1})

    told = observation_text([text(said), same, other], policy=policy)
    assert told == said + policy.json.format('{"c": 1}')
    assert observation_text([same, text(said)], policy=policy) == said


@policies
def test_only_what_a_tool_says_as_text_counts_as_said(policy):
    image = message("image", text='{"a": 1}')
    told = observation_text([image, json_message({"a": 1})], policy=policy)
    assert told == policy.image + policy.json.format('{"a": 1}')


@policies
@pytest.mark.parametrize("said", ["{not JSON", "[]", "7", '"a"'])
def test_json_that_no_text_says_stays(policy, said):
    told = observation_text([text(said), json_message({"a": 1})], policy=policy)
    assert told == said + policy.json.format('{"a": 1}')


def test_braces_in_json_are_no_template():
    assert strategy(json_message({"{}": "{0}"})) == 'tool response: {"{}": "{0}"}.'


@policies
def test_values_that_json_does_not_know_are_stood_in_for(policy):
    value = {"when": SimpleNamespace(), "map": MappingProxyType({"a": 1}), "raw": b"\x00secret"}

    told = observation_text([json_message(value)], policy=policy)

    assert "secret" not in told
    assert '"raw": "<7 bytes>"' in told
    assert '"map": {"a": 1}' in told


@pytest.mark.parametrize("kind", ["blob", "file"])
def test_a_strategy_only_says_that_there_is_a_file(kind):
    assert strategy(message(kind, blob=b"hello world")) == "Generated file ... "


def test_the_tool_layer_shows_a_small_text_file():
    assert tool_layer(message("blob", blob=b"hello\tworld\n")) == "hello\tworld\n"


@pytest.mark.parametrize("data", [b"\xff\xfe", b"a\x00b", b"x" * 4097, bytes(30 * 1024 * 1024)])
def test_the_tool_layer_describes_any_other_file(data):
    meta = {"mime_type": "application/x", "filename": "a.bin"}

    told = tool_layer(message("blob", meta=meta, blob=data))

    assert told == f"file created: a.bin, application/x, {len(data)} bytes."


@pytest.mark.parametrize(
    ("meta", "told"),
    [
        (None, "file created: no details."),
        ({"mime_type": 5}, "file created: no details."),
        ({"filename": "a.pdf"}, "file created: a.pdf."),
    ],
)
def test_the_tool_layer_describes_a_file_as_far_as_it_is_known(meta, told):
    assert tool_layer(message("file", meta=meta, file_marker="file_marker")) == told


@policies
@pytest.mark.parametrize(
    "silent",
    [
        message("log", id="1", label="x", data={"token": "secret"}),
        message("blob_chunk", id="1", blob=b"secret", end=False),
        message("text", blob=b"secret"),
        message("text", text=5),
        message("link"),
        message("json"),
        {"type": "text", "message": None},
        message("retriever_resources"),
    ],
)
def test_logs_chunks_and_messages_without_their_field_say_nothing(policy, silent):
    assert observation_text([text("a"), silent], policy=policy) == "a"


@policies
def test_retrieved_resources_say_their_context_or_their_contents(policy):
    resources = [{"content": "one"}, SimpleNamespace(content="two"), {"content": None}]
    without = message("retriever_resources", retriever_resources=resources, context=" ")
    with_context = message("retriever_resources", retriever_resources=resources, context="all")

    assert observation_text([without], policy=policy) == "one\n\ntwo"
    assert observation_text([with_context], policy=policy) == "all"


def variable(name, value, *, stream=False):
    return message("variable", variable_name=name, variable_value=value, stream=stream)


def test_a_strategy_shows_variables_when_there_is_nothing_else():
    pieces = [variable("b", "x", stream=True), variable("a", [1]), variable("b", "y", stream=True)]

    assert strategy(message("log"), *pieces) == 'tool response: {"b": "xy", "a": [1]}.'
    assert strategy(*pieces, text("said")) == "said"


def test_a_variable_that_is_no_stream_is_replaced():
    assert strategy(variable("a", "x"), variable("a", "y")) == 'tool response: {"a": "y"}.'


def test_the_tool_layer_ignores_variables():
    assert tool_layer(variable("a", 1)) == ""


@policies
def test_an_unknown_message_says_its_text(policy):
    assert observation_text([message("hologram", text="shown")], policy=policy) == "shown"


def test_a_strategy_names_the_type_of_an_unknown_message():
    assert strategy(message("hologram", depth=3)) == "tool response of type hologram is not shown."


def test_the_tool_layer_shows_what_an_unknown_message_holds():
    assert tool_layer(message("hologram", depth=3, data=b"123")) == (
        '{"depth": 3, "data": "<3 bytes>"}'
    )


@policies
def test_what_json_does_not_have_is_told_as_text(policy):
    said = {"json_object": {"most": math.inf, "least": -math.inf, "sum": [math.nan, 1.5]}}
    told = observation_text([{"type": "json", "message": said}], policy=policy)
    found = told[told.index("{") : told.rindex("}") + 1]
    strict = json.loads(found, parse_constant=pytest.fail)
    assert strict == {"most": "Infinity", "least": "-Infinity", "sum": ["NaN", 1.5]}


@pytest.mark.parametrize("payload", [None, {"data": "x" * 4096}])
def test_the_tool_layer_shows_no_long_or_empty_unknown_message(payload):
    assert tool_layer({"type": "hologram", "message": payload}) == (
        "tool response of type hologram is not shown."
    )


def test_messages_may_be_objects():
    given_message = SimpleNamespace(type=Type.TEXT, message=SimpleNamespace(text="hello"))

    assert observation_text(iter([given_message])) == "hello"


KINDS = st.sampled_from(
    ["text", "json", "link", "image", "blob", "file", "log", "blob_chunk", "variable", "new"]
)
MARK = b"\x00\x01mark\xfe"
PAYLOADS = st.fixed_dictionaries(
    {},
    optional={
        "text": st.text("xyz ") | st.just(MARK),
        "json_object": st.dictionaries(st.text("xyz"), st.just(MARK) | st.integers())
        | st.just(MARK),
        "blob": st.just(MARK),
        "data": st.just(MARK),
        "variable_name": st.text("xyz"),
        "variable_value": st.just(MARK) | st.text("xyz"),
    },
)
MESSAGES = st.lists(
    st.builds(lambda kind, fields: message(kind, **fields), KINDS, PAYLOADS), max_size=6
)


@pytest.mark.untraced
@given(MESSAGES, st.sampled_from(POLICIES))
def test_no_text_holds_the_bytes_of_a_message(messages, policy):
    told = observation_text(messages, policy=policy)

    assert "mark" not in told
    assert "b'" not in told


class Rude:
    """A value that cannot even be printed."""

    def __str__(self):
        raise RuntimeError("no")


def circle():
    value = []
    value.append(value)
    return value


def deep(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


odd_values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.text(),
    st.binary(),
    st.sampled_from(
        [object(), Rude(), circle(), deep(5_000), {(1, 2): 3}, 10**5_000, float("nan"), "\ud83d"]
    ),
)
odd_payloads = st.one_of(
    odd_values,
    st.dictionaries(
        st.sampled_from(
            [
                "text",
                "json_object",
                "blob",
                "context",
                "retriever_resources",
                "variable_name",
                "variable_value",
                "stream",
                "suppress_output",
            ]
        ),
        odd_values | st.lists(odd_values, max_size=2),
    ),
)
odd_messages = st.one_of(
    odd_values,
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(
                ["text", "json", "link", "blob", "variable", "retriever_resources", "image", "new"]
            )
            | odd_values,
            "message": odd_payloads,
            "meta": odd_payloads,
        }
    ),
)


@policies
@given(messages=st.lists(odd_messages, max_size=3) | odd_messages)
def test_any_shape_gives_a_text_that_can_be_sent(policy, messages):
    told = observation_text(messages, policy=policy)
    assert told.encode().decode() == told
    assert " object at 0x" not in told


@policies
def test_a_message_alone_and_a_text_alone_are_taken_as_what_they_are(policy):
    assert observation_text(text("one"), policy=policy) == "one"
    assert observation_text("one", policy=policy) == "one"
    assert observation_text(["one", None, text(" two")], policy=policy) == "one two"
    assert observation_text(None, policy=policy) == ""


def test_what_json_cannot_carry_is_said_to_be_so():
    assert strategy(json_message({(1, 2): 3})) == "tool response: a value that JSON cannot carry."


def streamed(value):
    return message("variable", variable_name="v", variable_value=value, stream=True)


@policies
@pytest.mark.parametrize("build", [streamed, json_message, text])
def test_twice_the_messages_take_twice_the_steps(policy, build):
    messages = [build(f"{number:100}") for number in range(200)]

    assert is_linear(lambda count: observation_text(messages[:count], policy=policy), 100)
