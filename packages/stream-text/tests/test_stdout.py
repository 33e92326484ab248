import json
import sys
import threading
from itertools import pairwise
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_text import LineTooLongError
from stream_text.stdout import MAX_LINE_BYTES, LineStream, bound_stdout, bound_writer


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
