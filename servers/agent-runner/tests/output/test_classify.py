import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_runner import (
    AudioOutput,
    ErrorOutput,
    ImageOutput,
    JsonOutput,
    Output,
    ResourceOutput,
    TextOutput,
    classify_line,
)


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.binary())
def test_no_bytes_are_refused_and_every_output_can_be_written_as_json(line):
    output = classify_line(line)
    assert isinstance(output, get_args(Output.__value__))
    assert json.loads(json.dumps(output.to_dict(), allow_nan=False)) == output.to_dict()


@given(JSON_VALUES)
def test_json_without_a_known_type_is_a_json_output_of_the_same_value(value):
    assert classify_line(json.dumps(value)) == JsonOutput(value=value)


@given(
    st.text(alphabet=st.characters(exclude_categories=["Cs"])).filter(lambda text: "\n" not in text)
)
def test_bytes_and_text_of_a_line_are_the_same_output(text):
    assert classify_line(text.encode()) == classify_line(text)


@given(st.text(alphabet=st.characters(exclude_characters="\r\n\ufeff")).map("note: {}".format))
def test_text_is_kept_as_it_is(text):
    assert classify_line(text) == TextOutput(text=text)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("image_output", ImageOutput),
        ("audio_output", AudioOutput),
        ("resource_output", ResourceOutput),
    ],
)
def test_the_type_alone_decides_for_media(name, kind):
    value = {"type": name, "_llm_usage": 1}
    assert classify_line(json.dumps(value)) == kind(value=value)
    assert classify_line(json.dumps(value)).to_dict() == value
    assert kind.type == name


def test_media_show_the_fields_of_the_contract():
    image = classify_line('{"type": "image_output", "data": "aGk=", "mimeType": "image/png"}')
    audio = classify_line('{"type": "audio_output", "data": 5}')
    resource = classify_line('{"type": "resource_output", "uri": "file:///a.csv", "text": "a"}')
    assert (image.data, image.mime_type) == ("aGk=", "image/png")
    assert (audio.data, audio.mime_type) == (None, None)
    assert (resource.uri, resource.text, resource.mime_type) == ("file:///a.csv", "a", None)


@pytest.mark.parametrize(
    "line",
    [
        *(
            '{"type": "error"}',
            '{"type": "text_output"}',
            '{"type": 1}',
            '{"type": ["image_output"]}',
        ),
        *(
            '{"type": "IMAGE_OUTPUT"}',
            "null",
            "true",
            "123",
            '"text"',
            "[1]",
            "{}",
            " 1 ",
            "1e-999",
        ),
        "[" * 200 + "]" * 200,
        "[" + "[]," * 500 + "1]",
        "9" * 4300,
    ],
)
def test_any_other_json_is_a_json_output(line):
    assert classify_line(line) == JsonOutput(value=json.loads(line))


@pytest.mark.parametrize(
    "line",
    [
        *(
            "",
            " ",
            "{",
            "{'a': 1}",
            "NaN",
            "-Infinity",
            '{"a": NaN}',
            "1e999",
            "1_000",
            '"\x01"',
            "[1] [2]",
        ),
        "[" * 201 + "]" * 201,
        '{"a":' * 201 + "1" + "}" * 201,
        "[" * 1_000_000,
        "9" * 4301,
    ],
)
def test_what_is_not_json_or_cannot_be_handed_on_as_json_is_text(line):
    assert classify_line(line) == TextOutput(text=line)


def test_metadata_fields_of_an_object_are_taken_out():
    line = '{"a": {"_llm_usage": 1}, "_llm_usage": null, "_profile_data": [], "_trace_data": "t", "_other": 0}'
    output = classify_line(line)
    assert output == JsonOutput(
        value={"a": {"_llm_usage": 1}, "_other": 0},
        metadata={"_llm_usage": None, "_profile_data": [], "_trace_data": "t"},
    )
    assert output.to_dict() == {"type": "json_output", "value": output.value}


def test_of_a_doubled_key_the_later_value_counts():
    assert classify_line('{"type": "image_output", "type": "x"}') == JsonOutput(value={"type": "x"})


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_a_byte_order_mark_are_dropped(mark, end):
    assert classify_line(mark + b"text" + end) == TextOutput(text="text")
    assert classify_line(mark + b"[1]" + end) == JsonOutput(value=[1])


def test_only_one_line_end_is_dropped():
    assert classify_line(b"a\r\r\n") == TextOutput(text="a\r")


def test_wrong_utf8_is_replaced_and_flagged():
    assert classify_line(b"caf\xe9") == TextOutput(text="caf\ufffd", invalid_utf8=True)
    assert classify_line(b'{"a": "\xff"}') == JsonOutput(value={"a": "\ufffd"}, invalid_utf8=True)


def test_an_error_says_where_it_comes_from():
    error = ErrorOutput(message="oh")
    assert error.to_dict() == {"type": "error", "message": "oh", "source": "stderr"}
