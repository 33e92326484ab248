"""Joining chunks changes nothing of what an answer says: the HTTP library reads the same with and without it."""

import random
from itertools import pairwise

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt5_responses._http.chunks import ChunkJoiner  # noqa: PLC2701 - a law that no public name shows


HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding:  chunked\r\na: b\r\n\r\n"

heads = st.tuples(
    st.sampled_from([b"", b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n"]),
    st.sampled_from(
        [
            HEAD,
            HEAD.replace(b"\r\n", b"\n"),
            HEAD.replace(b"chunked", b"gzip, chunked"),
            HEAD.replace(b"Transfer-Encoding", b"content-length: 7\r\ntransfer-encoding"),
            b"HTTP/1.1 200 OK\r\ncontent-length: 30\r\n\r\n",
            b"HTTP/1.1 404 No\r\nx-transfer-encoding: chunked\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 20_000,
        ]
    ),
).map(b"".join)
sizes = st.sampled_from([b"%x", b"%X", b"0%x", b"%x;extension=1", b"%x "])
chunks = st.tuples(
    sizes, st.binary(min_size=1, max_size=40), st.sampled_from([b"\r\n"] * 9 + [b"\n", b"x\r\n"])
).map(lambda parts: parts[0] % len(parts[1]) + b"\r\n" + parts[1] + parts[2])
ends = st.sampled_from(
    [b"0\r\n\r\n", b"000\r\nx: y\r\n\r\n", b"", b"zz\r\n", b"0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"]
)
answers = st.tuples(heads, st.lists(chunks, max_size=12).map(b"".join), ends).map(b"".join)


def read(pieces: list[bytes]) -> tuple[list[object], bytes]:
    """Return what the HTTP library makes of an answer, and its body."""
    connection = h11.Connection(our_role=h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/", headers=[("Host", "x")]))
    connection.send(h11.EndOfMessage())
    told: list[object] = []
    body = b""
    try:
        for piece in [*pieces, b""]:
            connection.receive_data(piece)
            while (event := connection.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
                if isinstance(event, h11.Data):
                    body += bytes(event.data)
                else:
                    told.append(event)
                    if isinstance(event, h11.EndOfMessage):
                        return [*told, bytes(connection.trailing_data[0])], body
    except h11.RemoteProtocolError:
        told.append("broken")
    return told, body


@given(answers, st.integers(), st.sampled_from([0, 1, 3, 10, 10_000]))
def test_an_answer_is_read_the_same_however_it_is_cut(answer: bytes, seed: int, cuts: int) -> None:
    places = range(1, min(len(answer), 1_000))
    at = sorted(random.Random(seed).sample(places, min(cuts, len(places))))
    pieces = [answer[start:end] for start, end in pairwise([0, *at, len(answer)])]
    joiner = ChunkJoiner()
    joined = [joiner.feed(piece) for piece in pieces]

    plainly, told = read(pieces), read(joined)

    assert all(joined)
    assert told[0] == plainly[0]
    # Of a broken body more may come out at once before it turns out to be broken.
    assert told[1] == plainly[1] or (told[0][-1] == "broken" and told[1].startswith(plainly[1]))


@pytest.mark.parametrize("size", [1, 300, 70_000])
def test_chunks_that_arrive_together_become_one(size: int) -> None:
    joiner = ChunkJoiner()
    chunk = b"%x\r\n%b\r\n" % (size, b"x" * size)
    joiner.feed(HEAD)

    assert joiner.feed(chunk * 9 + chunk[:2]) == (
        b"%x\r\n%b\r\n" % (9 * size, b"x" * 9 * size) + chunk[:2]
    )
    assert joiner.feed(chunk[2:] + chunk * 2 + b"0\r\n\r\n") == chunk[2:] + (
        b"%x\r\n%b\r\n0\r\n\r\n" % (2 * size, b"x" * 2 * size)
    )


def test_a_head_without_an_end_passes_as_it_is() -> None:
    joiner = ChunkJoiner()
    for _ in range(3):
        assert joiner.feed(b"a: b\r\n" * 10_000) == b"a: b\r\n" * 10_000


def test_each_answer_of_a_connection_has_a_head_of_its_own() -> None:
    joiner = ChunkJoiner()
    for _ in range(2):
        joiner.begin()
        joiner.feed(HEAD[:9])
        assert joiner.feed(HEAD[9:] + b"1\r\na\r\n" * 2 + b"0\r\n\r\n").endswith(
            b"\r\n\r\n2\r\naa\r\n0\r\n\r\n"
        )


@pytest.mark.parametrize(
    "rest", [b"2\r\nab\r\n", b"2\r\nab\r\n0\r\n\r\n", b"02z\r\n", b"2;x=y\r\nab\r\n"]
)
def test_a_size_may_come_byte_by_byte(rest: bytes) -> None:
    joiner = ChunkJoiner()
    joiner.feed(HEAD)

    for place in range(len(rest)):
        assert joiner.feed(rest[place : place + 1]) == rest[place : place + 1]
