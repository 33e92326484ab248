import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_text import InvalidLineError, LineSplitter, LineTooLongError, LineWriter


CHUNKS = st.lists(
    st.binary(max_size=8) | st.sampled_from([b"\n", b"a\nb", b"\r\n", b"\xe2\x80\xa8"])
)


def split_lines(chunks, max_line_bytes):
    splitter = LineSplitter(max_line_bytes=max_line_bytes)
    lines = [line for chunk in chunks for line in splitter.feed(chunk)]
    return [*lines, *splitter.close()], splitter.overflowed


@given(CHUNKS)
def test_any_chunks_of_a_stream_give_the_lines_of_the_stream(chunks):
    whole = b"".join(chunks)
    expected = whole.split(b"\n")
    assert split_lines(chunks, 1000) == (expected if expected[-1] else expected[:-1], False)


@given(CHUNKS, st.integers(min_value=0, max_value=6))
def test_what_comes_before_a_line_that_is_too_long_is_kept_and_nothing_after_it(chunks, limit):
    everything, _ = split_lines(chunks, 1000)
    too_long = [index for index, line in enumerate(everything) if len(line) > limit]
    expected = everything[: too_long[0]] if too_long else everything
    assert split_lines(chunks, limit) == (expected, bool(too_long))


@pytest.mark.parametrize("separator", ["\u2028", "\x85", "\x0b", "\x0c", "\x1c", "\r"])
def test_nothing_but_a_newline_ends_a_line(separator):
    line = f'"a{separator}b"'.encode()
    assert split_lines([line + b"\n"], 100) == ([line], False)


def test_a_line_is_too_long_as_soon_as_it_is_although_it_goes_on():
    splitter = LineSplitter(max_line_bytes=4)
    assert splitter.feed(b"12") == []
    assert splitter.feed(b"34") == []
    assert not splitter.overflowed
    assert splitter.feed(b"5") == []
    assert splitter.overflowed


def test_nothing_is_kept_of_a_line_that_is_too_long():
    splitter = LineSplitter(max_line_bytes=4)
    splitter.feed(b"12345")
    splitter.feed(b"6" * 1000)
    assert splitter._pieces == []


@pytest.mark.parametrize("chunk", [b"x", b"", b"x\n", b"\n"])
def test_twice_the_chunks_are_twice_the_work(assert_linear, chunk):
    def act(count):
        split_lines([chunk] * count, 10_000)

    assert_linear(act)


def write_lines(lines, max_line_bytes, shorten=None):
    written = []
    writer = LineWriter(written.append, max_line_bytes=max_line_bytes, shorten=shorten)
    for line in lines:
        writer.write(line)
    return written


LINES = st.lists(st.binary(max_size=8).map(lambda line: line.replace(b"\n", b"")))


@given(LINES, st.integers(0, 8))
def test_every_line_that_leaves_is_read_back_with_the_same_limit(lines, limit):
    shorten = lambda line, limit: line[:limit]  # noqa: E731
    written = write_lines(lines, limit, shorten)
    assert split_lines(written, limit) == ([line[:limit] for line in lines], False)


def test_a_line_over_the_limit_is_refused_before_it_leaves():
    written = []
    writer = LineWriter(written.append, max_line_bytes=4)
    writer.write(b"1234")
    with pytest.raises(LineTooLongError) as refused:
        writer.write(b"12345")
    assert (refused.value.size_bytes, refused.value.max_line_bytes) == (5, 4)
    assert written == [b"1234\n"]


def test_a_rule_that_does_not_shorten_enough_lets_nothing_leave():
    with pytest.raises(LineTooLongError):
        write_lines([b"12345"], 2, shorten=lambda line, _: line[:3])


def test_a_line_within_the_limit_is_not_shortened():
    assert write_lines([b"1234"], 4, shorten=lambda *_: b"never") == [b"1234\n"]


@pytest.mark.parametrize("shorten", [None, lambda *_: b"1\n2"])
def test_a_line_feed_would_make_two_lines_and_is_refused(shorten):
    with pytest.raises(InvalidLineError):
        write_lines([b"1\n2" if shorten is None else b"12345"], 4, shorten)
