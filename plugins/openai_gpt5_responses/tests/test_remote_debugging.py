"""Remote debugging, where the plugin connects to the daemon by TCP: its lines follow the same rule."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, BinaryIO

from gpt5_simulator import RawServer
from model_plugin import NO_CERTIFICATES, PLUGIN, PROVIDER
from raw_answers import completed, delta, streams


MOST_BYTES = 5 * 1024 * 1024
LARGE = "x" * (6 * 1024 * 1024)


@contextmanager
def debugged() -> Iterator[tuple[socket.socket, BinaryIO]]:
    with socket.create_server(("127.0.0.1", 0)) as daemon:
        address = f"127.0.0.1:{daemon.getsockname()[1]}"
        told = {
            "INSTALL_METHOD": "remote",
            "REMOTE_INSTALL_URL": address,
            "REMOTE_INSTALL_KEY": "key",
        }
        command = [sys.executable, "-m", "main"]
        with subprocess.Popen(
            command,
            cwd=PLUGIN,
            env=os.environ | NO_CERTIFICATES | told,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            daemon.settimeout(600)
            peer, _ = daemon.accept()
            with peer, peer.makefile("rb") as lines:
                try:
                    yield peer, lines
                finally:
                    process.kill()


def call(session: str, base_url: str) -> bytes:
    data = {
        "type": "model",
        "action": "invoke_llm",
        "user_id": "someone",
        "provider": PROVIDER,
        "model_type": "llm",
        "model": "gpt-5.2",
        "credentials": {"openai_api_key": "key", "openai_api_base": base_url, "max_retries": "0"},
        "prompt_messages": [{"role": "user", "content": "Hello"}],
        "model_parameters": {},
        "tools": [],
        "stop": None,
        "stream": True,
    }
    return json.dumps({"session_id": session, "event": "request", "data": data}).encode() + b"\n"


def test_lines_are_whole_and_bounded_in_remote_debugging_too() -> None:
    call_item = {"type": "function_call", "call_id": "c", "name": "f", "arguments": LARGE}
    servers = {
        "text": delta("Hi") + completed(),
        "items": delta("Hi")
        + completed(output=[{"type": "reasoning", "encrypted_content": LARGE}]),
        "call": completed(output=[call_item]),
    }
    outcomes: dict[str, list[Any]] = {name: [] for name in servers}
    ended: set[str] = set()
    with debugged() as (peer, lines):
        for line in lines:
            if line.strip() and json.loads(line)["type"] == "end":
                break
        with ExitStack() as stack:
            for name, body in servers.items():
                server = stack.enter_context(RawServer(streams(body)))
                peer.sendall(call(name, server.base_url))
            while ended < set(servers):
                line = lines.readline()
                assert len(line) <= MOST_BYTES
                message = json.loads(line) if line.strip() else {"event": "blank"}
                if message["event"] == "session":
                    kind, data = message["data"]["type"], message["data"]["data"]
                    outcomes[message["session_id"]].append((kind, data))
                    ended |= {message["session_id"]} if kind == "end" else set()

    for name in ("text", "items"):
        assert [kind for kind, _ in outcomes[name]] == ["stream", "stream", "end"]
    assert outcomes["items"][1][1]["delta"]["message"]["opaque_body"] is None
    kind, error = outcomes["call"][0]
    assert (kind, error["error_type"]) == ("error", "InvokeServerUnavailableError")
