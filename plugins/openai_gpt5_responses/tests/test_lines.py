"""Dify's lines, in whatever pieces a pipe gives them."""

import json
from collections.abc import Callable
from typing import Any

import pytest


# The reader of the plugin SDK takes its end of a pipe for stdin, and what it writes to stdout is the piece's own output.
READ = """
import io, json, os, sys, threading, time
from dify_plugin.core.server.stdio.request_reader import StdioRequestReader
from model_adapter import widen_pipe

end, start = os.pipe()
os.dup2(end, 0)
reader = StdioRequestReader()
widen_pipe(reader)

def write():
    for piece in PIECES:
        os.write(start, piece)
        time.sleep(0.01)

threading.Thread(target=write).start()
stdout, sys.stdout = sys.stdout, io.StringIO()
requests = []
for request in reader._read_stream():
    requests.append([request.session_id, request.event.value, request.data, request.app_id])
    if request.session_id == "last":
        break
told, sys.stdout = sys.stdout.getvalue(), stdout
print(json.dumps([requests, [json.loads(line) for line in told.splitlines() if line]]))
"""


def line(session: str, **rest: Any) -> bytes:
    told = {"session_id": session, "event": "request", "data": {"key": "ä\n"}, **rest}
    return json.dumps(told, ensure_ascii=False).encode()


@pytest.fixture
def read(run_inside: Callable[..., Any]) -> Callable[..., tuple[list[Any], list[Any]]]:
    def read(*pieces: bytes) -> tuple[list[Any], list[Any]]:
        requests, told = run_inside(f"PIECES = {pieces!r}\n{READ}")
        return requests, told

    return read


def sessions(requests: list[Any]) -> list[str]:
    return [session for session, *_ in requests]


@pytest.mark.parametrize(
    "pieces",
    [
        [line("a") + b"\n" + line("last") + b"\n"],
        [line("a") + b"\n" + line("last")[:9], line("last")[9:] + b"\n"],
        [line("a"), b"\n", line("last"), b"\n"],
        [b"\n\n  \r\n" + line("a") + b"\r\n \n", line("last") + b"\r\n"],
        [line("a")[:20], line("a")[20:40], line("a")[40:] + b"\n" + line("last") + b"\n" + b"{"],
    ],
)
def test_lines_are_read_in_whatever_pieces_they_come(read: Any, pieces: list[bytes]) -> None:
    requests, told = read(*pieces)

    assert requests == [
        ["a", "request", {"key": "ä\n"}, None],
        ["last", "request", {"key": "ä\n"}, None],
    ]
    assert told == []


def test_a_character_may_come_in_two_pieces(read: Any) -> None:
    cut = line("last").index("ä".encode()) + 1
    [request], _ = read(line("last")[:cut], line("last")[cut:] + b"\n")

    assert request[2] == {"key": "ä\n"}


@pytest.mark.parametrize(
    "broken", [b"no JSON", b"[]", b"{}", b'{"session_id": 1}', line("a", event="strange"), b"\xff"]
)
def test_a_line_that_cannot_be_read_is_told_and_the_next_one_is_read(
    read: Any, broken: bytes
) -> None:
    requests, told = read(broken + b"\n" + line("last") + b"\n")

    assert sessions(requests) == ["last"]
    assert [entry["event"] for entry in told] == ["error"]
