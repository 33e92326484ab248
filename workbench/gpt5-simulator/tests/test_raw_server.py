"""A server that sends whatever a test wants."""

import contextlib
import http.client
import socket
import threading

import pytest

from gpt5_simulator import RawServer


GREETING = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nHi"


def connect(server: RawServer) -> http.client.HTTPConnection:
    host = server.base_url.removeprefix("http://").removesuffix("/v1")
    return http.client.HTTPConnection(host, timeout=120)


def test_each_request_of_a_connection_is_read_and_answered() -> None:
    with RawServer(lambda peer: peer.sendall(GREETING)) as server:
        client = connect(server)
        for body in (b"first", b"second"):
            client.request("POST", "/v1/responses", body)
            assert client.getresponse().read() == b"Hi"
        client.close()

    assert server.connections == 1
    assert [request[-6:] for request in server.requests] == [b"\nfirst", b"second"]
    assert server.requests[0].startswith(b"POST /v1/responses HTTP/1.1\r\n")


def test_what_is_sent_need_not_be_http() -> None:
    def hang_up(peer: socket.socket) -> None:
        peer.sendall(b"Hi\r\n")
        peer.shutdown(socket.SHUT_RDWR)

    with RawServer(hang_up) as server, contextlib.closing(connect(server)) as client:
        client.request("GET", "/")
        with pytest.raises(http.client.BadStatusLine):
            client.getresponse()


def wait_for_the_end(peer: socket.socket) -> None:
    with contextlib.suppress(ConnectionError):  # who had not been taken on yet is reset
        peer.recv(1)


def test_the_end_frees_the_port_and_lets_go_of_everybody(free_port: int) -> None:
    with RawServer(lambda peer: peer.sendall(GREETING), port=free_port):
        idle = socket.create_connection(("127.0.0.1", free_port), timeout=120)
        waiting = threading.Thread(target=wait_for_the_end, args=[idle], daemon=True)
        waiting.start()
    waiting.join(120)
    idle.close()

    assert not waiting.is_alive()
    with RawServer(lambda peer: peer.sendall(GREETING), port=free_port) as again:
        assert again.base_url == f"http://127.0.0.1:{free_port}/v1"
