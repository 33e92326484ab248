import json
import sys
import threading
from itertools import pairwise
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dify_plugin_kit.stdout import (
    MAX_LINE_BYTES,
    LineStream,
    LineTooLongError,
    bound_stdout,
    bound_writer,
    shorten_line,
    split_text,
)


def shorten(line, _):
    return line[:7]


def stream(shorten=shorten):
    written = []
    return LineStream(written.append, shorten), written


@given(st.text(st.sampled_from("aä\u2028\r\n")), st.lists(st.integers(0, 50)))
def test_lines_are_the_same_however_they_are_cut(text, cuts):
    output, written = stream()
    edges = [0, *sorted(cuts), len(text) + 50]
    for start, end in pairwise(edges):
        assert output.write(text[start:end]) == len(text[start:end])

    *lines, _ = text.split("\n")
    assert written == [f"{line}\n".encode() for line in lines if line]


@pytest.mark.parametrize("beyond", [0, 1])
def test_only_a_line_that_is_too_long_is_shortened(beyond):
    output, written = stream()
    for _ in range(2):
        output.write("x" * ((MAX_LINE_BYTES + beyond) // 2))
    output.write("y" * ((MAX_LINE_BYTES + beyond) % 2) + "\n")

    assert list(map(len, written)) == [8 if beyond else MAX_LINE_BYTES + 1]


def test_what_the_rule_raises_reaches_the_writer_and_the_next_line_leaves():
    def refuse(line, limit):
        raise ValueError(len(line) - limit)

    output, written = stream(refuse)
    with pytest.raises(ValueError, match=r"^2$"):
        output.write("x" * (MAX_LINE_BYTES + 2) + "\n")
    output.write("next\n")

    assert written == [b"next\n"]


def test_a_rule_that_does_not_shorten_lets_nothing_leave():
    output, written = stream(lambda line, _: line)
    with pytest.raises(LineTooLongError):
        output.write("x" * (MAX_LINE_BYTES + 1) + "\n")

    assert written == []


def test_unfinished_lines_of_threads_are_kept_apart():
    output, written = stream()
    halves = threading.Barrier(8)

    def write(number):
        output.write(f"{number}:")
        halves.wait()
        output.write(f"{number}\n\n")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(written) == [f"{number}:{number}\n".encode() for number in range(8)]


def test_half_a_character_does_no_harm():
    output, written = stream()
    output.write("a\ud83d\n")

    assert written == [b"a?\n"]
    assert output.writable()


def test_the_sdk_s_words_about_an_unreadable_line_do_not_quote_it():
    output, written = stream()
    output.write(json.dumps({"event": "error", "data": {"error": "Bad.\nsecret"}}).replace(" ", ""))
    output.write("\n\n")

    assert written == [b'{"event": "error", "data": {"error": "Bad."}}\n']


def test_a_writer_that_connects_again_may_write_meanwhile():
    sent = []

    def send(text):
        if not sent:
            sent.append("connecting")
            writer.write("hello\n\n")
        sent.append(text)

    writer = SimpleNamespace(write=send)
    bound_writer(writer, shorten)
    writer.write("one")
    writer.write("\n\n")
    writer.write("x" * (MAX_LINE_BYTES + 1) + "\n")

    assert sent == ["connecting", "hello\n", "one\n", "xxxxxxx\n"]


def test_whatever_a_process_prints_is_bounded(tmp_path, monkeypatch):
    with (tmp_path / "out").open("w") as out:
        monkeypatch.setattr(sys, "stdout", out)
        bound_stdout(lambda *_: b"shortened")
        for text in ("x" * (MAX_LINE_BYTES + 1), "\n", "ä", "1\n", "unfinished"):
            sys.stdout.write(text)
            sys.stdout.flush()

    assert (tmp_path / "out").read_text(encoding="utf-8") == "shortened\nä1\n"


class RefusedError(Exception):
    pass


def refuse(size, limit):
    return RefusedError(size, limit)


LIMIT = 60_000
LONG = "x" * LIMIT


def session(kind, data):
    return {"event": "session", "session_id": "s", "data": {"type": kind, "data": data}}


def shortened(message):
    line = shorten_line(json.dumps(message).encode(), LIMIT, refuse)
    assert len(line) < 10_000
    return json.loads(line)


def test_an_error_leaves_its_trace_and_the_end_of_its_message():
    error = {"error_type": "E", "message": LONG, "args": {"traceback": LONG}}

    assert shortened(session("error", error)) == session(
        "error", {"error_type": "E", "message": "x" * 2_000, "args": {}}
    )


def test_a_record_of_the_log_leaves_its_end():
    record = {"level": "INFO", "message": LONG, "timestamp": 1}

    assert shortened({"event": "log", "data": record}) == {
        "event": "log",
        "data": {"level": "INFO", "message": "x" * 2_000, "timestamp": 1},
    }


def test_an_answer_leaves_its_opaque_body():
    message = {"content": "ä", "opaque_body": {"items": LONG}}

    assert shortened(session("stream", {"delta": {"message": message}})) == session(
        "stream", {"delta": {"message": {"content": "ä", "opaque_body": None}}}
    )


@pytest.mark.parametrize("kind", ["text", "image", "blob"])
def test_a_sentence_takes_the_place_of_what_an_agent_shows(kind):
    shown = {"type": kind, "message": {"text": LONG}, "meta": None}
    size = len(json.dumps(session("stream", shown))) + 1

    assert shortened(session("stream", shown))["data"]["data"] == {
        "type": "text",
        "message": {
            "text": f"A message of {size:,} bytes is left out here: Dify's plugin daemon takes 60,001 at most."
        },
        "meta": None,
    }


def test_a_log_of_an_agent_keeps_its_frame():
    log = {"id": "1", "label": LONG, "parent_id": "0", "error": LONG, "status": "success"}
    shown = {"type": "log", "message": log | {"data": LONG, "metadata": {"a": 1, "b": LONG}}}

    message = shortened(session("stream", shown))["data"]["data"]["message"]

    assert message.pop("data")["left_out"].startswith("A message of ")
    assert message == {
        "id": "1",
        "label": "x" * 2_000,
        "parent_id": "0",
        "error": "x" * 2_000,
        "status": "success",
        "metadata": {"a": 1},
    }


def test_a_message_of_a_kind_that_is_not_known_becomes_a_log():
    message = shortened(session("stream", {"type": "variable", "message": LONG}))["data"]["data"]

    assert message["type"] == "log"
    assert (message["message"]["label"], message["message"]["error"]) == ("variable", None)


@pytest.mark.parametrize(
    "message",
    [
        session("invoke", {"prompt": LONG}),
        session("stream", {"delta": {"message": {"content": LONG, "opaque_body": None}}}),
        session("stream", LONG),
    ],
)
def test_what_its_reader_cannot_do_without_is_refused_with_its_size(message):
    line = json.dumps(message).encode()

    with pytest.raises(RefusedError) as refused:
        shorten_line(line, LIMIT, refuse)
    assert refused.value.args == (len(line) + 1, LIMIT + 1)


@pytest.mark.parametrize("line", [LONG.encode(), b"[" * LIMIT, b'{"event": "heartbeat"}'])
def test_a_notice_takes_the_place_of_any_other_line(line):
    notice = json.loads(shorten_line(line, LIMIT, refuse))

    assert notice["event"] == "log"
    assert notice["data"]["message"].startswith("A message of ")


@pytest.mark.parametrize("text", ["", "a", "😀" * 600_000])
def test_a_long_text_leaves_in_pieces_that_each_fit_into_a_line(text):
    pieces = split_text(text)

    assert "".join(pieces) == text
    assert all(len(json.dumps(piece)) < MAX_LINE_BYTES for piece in pieces)
