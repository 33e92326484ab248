import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stream_text import LineSplitter


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


@example(chunks=[b"a\n1234567\nb\n"], limit=6)
@given(chunks=CHUNKS, limit=st.integers(min_value=0, max_value=6))
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
