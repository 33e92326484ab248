import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_runner._process.lines import LineSplitter  # noqa: PLC2701 - through a pipe nobody chooses the chunks


CHUNKS = st.lists(
    st.binary(max_size=8) | st.sampled_from([b"\n", b"a\nb", b"\r\n", b"\xe2\x80\xa8"])
)


def _split(chunks, max_line_bytes):
    splitter = LineSplitter(max_line_bytes=max_line_bytes)
    lines = [line for chunk in chunks for line in splitter.feed(chunk)]
    return [*lines, *splitter.close()], splitter.overflowed


@given(CHUNKS)
def test_any_chunks_of_a_stream_give_the_lines_of_the_stream(chunks):
    whole = b"".join(chunks)
    expected = whole.split(b"\n")
    assert _split(chunks, 1000) == (expected if expected[-1] else expected[:-1], False)


@given(CHUNKS, st.integers(min_value=0, max_value=6))
def test_what_comes_before_a_line_that_is_too_long_is_kept_and_nothing_after_it(chunks, limit):
    everything, _ = _split(chunks, 1000)
    too_long = [index for index, line in enumerate(everything) if len(line) > limit]
    expected = everything[: too_long[0]] if too_long else everything
    assert _split(chunks, limit) == (expected, bool(too_long))


@pytest.mark.parametrize("separator", ["\u2028", "\x85", "\x0b", "\x0c", "\x1c", "\r"])
def test_nothing_but_a_newline_ends_a_line(separator):
    line = f'"a{separator}b"'.encode()
    assert _split([line + b"\n"], 100) == ([line], False)
