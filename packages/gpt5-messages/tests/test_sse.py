import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt5_messages import SSEDecoder, parse_object


def decode(*pieces: bytes, **settings: int) -> list[dict[str, object]]:
    decoder = SSEDecoder(**settings)
    events = [event for piece in pieces for event in decoder.feed(piece)]
    return events + decoder.close()


@pytest.mark.parametrize(
    "stream",
    [
        b'event: a\ndata: {"type":"a"}\n\n',
        b'event: a\r\ndata: {"type":"a"}\r\n\r\n',
        b'event: a\rdata: {"type":"a"}\r\r',
        b'data: {"type":"a"}\nevent: a\n\n',
        b'data:{"type":"a"}\n\n',
        b': a comment\n\ndata: {"type":"a"}\n\ndata: [DONE]\n\n',
        b'\xef\xbb\xbfdata: {"type":"a"}\n\n',
        b'id: 1\nretry: 10\ndata: {"type":"a"}\n\n',
        b'data: {"type":\ndata: "a"}\n\n',
        b'data: {"type":"a"}\n',
        b'data: {"type":"a"}',
    ],
)
def test_every_framing_gives_the_same_event(stream: bytes) -> None:
    assert decode(stream) == [{"type": "a"}]


def test_the_event_name_stands_in_where_the_json_has_no_type() -> None:
    assert decode(b"event: ping\ndata: {}\n\n") == [{"type": "ping"}]


@pytest.mark.parametrize(
    ("line", "event"),
    [
        (b'error: {"code":500,"message":"m"}', {"type": "error", "code": 500, "message": "m"}),
        (b"error: m", {"type": "error", "message": "m"}),
    ],
)
def test_an_error_may_stand_in_the_place_of_the_data(line: bytes, event: dict[str, object]) -> None:
    assert decode(line + b"\n\n") == [event]


@pytest.mark.parametrize(
    "frame",
    [
        b"data: {oops\n\n",
        b"data: [1]\n\n",
        b"event: response.output_text.delta\ndata: not json\n\n",
        b"event: response.completed\ndata: null\n\n",
        b'data: {"a": "\xff"}\n\n',
        b"data: " + b"[" * 100_000 + b"\n\n",
    ],
)
def test_garbage_is_an_error_event_and_loses_nothing_around_it(frame: bytes) -> None:
    before, error, after = decode(b'data: {"type":"a"}\n\n' + frame + b'data: {"type":"b"}\n\n')

    assert (before, error["type"], error["code"], after) == (
        {"type": "a"},
        "error",
        "parse_error",
        {"type": "b"},
    )


def test_a_frame_beyond_the_limit_is_given_up_and_the_next_one_read() -> None:
    huge = b'data: {"type":"' + b"x" * 200 + b'"}\nevent: still the same frame\n\n'

    error, after = decode(huge, b'data: {"type":"b"}\n\n', max_frame_bytes=100)

    assert (error["code"], after) == ("parse_error", {"type": "b"})


def test_a_frame_beyond_the_limit_at_the_end_of_the_stream_is_reported() -> None:
    (error,) = decode(b"data: " + b"x" * 200, max_frame_bytes=100)

    assert error["code"] == "parse_error"


def test_a_frame_within_the_limit_is_read_whatever_came_before_it() -> None:
    frame = b'data: {"type":"b"}\n\n'

    assert len(decode(frame * 50, max_frame_bytes=len(frame))) == 50


def test_a_line_end_that_comes_in_two_pieces_is_one() -> None:
    assert decode(b'data: {"type":"a"}\r', b"\n", b"\r", b'\ndata: {"type":"b"}\r\n\r\n') == [
        {"type": "a"},
        {"type": "b"},
    ]


def test_an_object_of_json_is_parsed_and_nothing_else() -> None:
    assert parse_object('{"status": "completed"}') == {"status": "completed"}
    assert parse_object("[1]") is parse_object("{oops") is None


def test_an_object_that_nests_too_deep_is_an_error_that_names_where() -> None:
    error = parse_object('{"output": ' + "[" * 100_000)

    assert error is not None
    assert (error["type"], error["param"]) == ("error", "output")


EVENTS = st.lists(
    st.dictionaries(st.text(max_size=5), st.text(max_size=20) | st.integers()).map(
        lambda fields: {**fields, "type": "a"}
    ),
    max_size=5,
)


@given(
    events=EVENTS,
    line_end=st.sampled_from(["\n", "\r\n", "\r"]),
    cuts=st.lists(st.integers(min_value=0, max_value=400)),
)
def test_any_cut_of_the_bytes_gives_the_same_events(
    events: list[dict[str, object]], line_end: str, cuts: list[int]
) -> None:
    stream = "".join(
        f"event: a{line_end}data: {json.dumps(event, ensure_ascii=False)}{line_end}{line_end}"
        for event in events
    ).encode()
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    pieces = [stream[start:end] for start, end in pairwise(edges)]

    assert decode(*pieces) == events
