import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from dify_agent.layers.dify_plugin.tool_client import DifyPluginToolInvokeMessage


Message = DifyPluginToolInvokeMessage


def read(kind, message, **fields):
    return Message.model_validate({"type": kind, "message": message, **fields})


@pytest.mark.parametrize(
    ("kind", "content", "read_as"),
    [
        ("text", {"text": "t"}, Message.TextMessage(text="t")),
        ("link", {"text": "l"}, Message.TextMessage(text="l")),
        ("image", {"text": "i"}, Message.TextMessage(text="i")),
        ("image_link", {"text": "i"}, Message.TextMessage(text="i")),
        ("binary_link", {"text": "b"}, Message.TextMessage(text="b")),
        ("json", {"json_object": {"a": 1}}, Message.JsonMessage(json_object={"a": 1})),
        (
            "json",
            {"json_object": [1], "suppress_output": True},
            Message.JsonMessage(json_object=[1], suppress_output=True),
        ),
        ("file", {}, Message.FileMessage(file_marker="file_marker")),
        ("blob", {"blob": "aGk="}, Message.BlobMessage(blob=b"hi")),
        (
            "blob_chunk",
            {"id": "1", "sequence": 0, "total_length": 2, "blob": "aGk=", "end": False},
            Message.BlobChunkMessage(id="1", sequence=0, total_length=2, blob=b"hi", end=False),
        ),
        (
            "variable",
            {"variable_name": "v", "variable_value": [1], "stream": False},
            Message.VariableMessage(variable_name="v", variable_value=[1], stream=False),
        ),
        (
            "retriever_resources",
            {"retriever_resources": [{"content": "c"}], "context": "all"},
            Message.RetrieverResourceMessage(retriever_resources=[{"content": "c"}], context="all"),
        ),
    ],
)
def test_a_message_is_read_by_its_type(kind, content, read_as):
    message = read(kind, content)

    assert message.message == read_as
    assert message.type is Message.MessageType(kind)
    assert message.meta is None


@pytest.mark.parametrize("value", [{"a": 1}, [1, 2], {}])
def test_json_without_its_key_is_itself_the_json(value):
    assert read("json", value).message == Message.JsonMessage(json_object=value)


@pytest.mark.parametrize("fields", [{"metadata": None, "data": None}, {}])
def test_null_and_missing_facts_of_a_log_are_empty(fields):
    log = read("log", {"id": "1", "label": "l", "status": "start", **fields}).message

    assert isinstance(log, Message.LogMessage)
    assert log.metadata == {}
    assert log.data == {}


@pytest.mark.parametrize("content", [{"anything": 1}, None, "words", [1]])
def test_a_message_of_an_unknown_type_keeps_its_content(content):
    message = read("hologram", content)

    assert message.type == "hologram"
    assert message.message == content


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("text", None),
        ("text", {"json_object": {}}),
        ("text", {"text": 1}),
        ("blob", {}),
        ("blob_chunk", {"id": "1", "blob": ""}),
        ("variable", {}),
        (7, {"text": "t"}),
        (None, None),
    ],
)
def test_a_content_of_another_shape_is_refused(kind, content):
    with pytest.raises(ValidationError):
        read(kind, content)


def test_a_missing_content_is_no_content():
    assert Message.model_validate({"type": "hologram"}).message is None
    with pytest.raises(ValidationError):
        Message.model_validate({"type": "text"})


def test_what_a_tool_says_about_the_content_is_kept():
    assert read("blob", {"blob": ""}, meta={"mime_type": "a/b"}).meta == {"mime_type": "a/b"}


@pytest.mark.parametrize("text", ["no base64!", "abc", "é"])
def test_a_blob_that_is_no_base64_is_left_alone(text):
    assert read("blob", {"blob": text}).message.blob == text.encode()


@given(st.binary())
def test_a_blob_survives_being_written_and_read(data):
    message = read("blob", {"blob": base64.b64encode(data).decode()})

    assert message.message.blob == data
    assert Message.model_validate(json.loads(message.model_dump_json())) == message


def test_the_bytes_of_a_file_do_not_show():
    message = read("blob", {"blob": base64.b64encode(b"secret bytes").decode()})

    assert "secret" not in repr(message)
