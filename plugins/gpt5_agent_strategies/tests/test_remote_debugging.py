"""Remote debugging, where the plugin connects to the daemon by TCP: its lines follow the same rule, and its calls back go the same way."""

import json
import os
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from scripted_dify import build_parameters, call, chunk, parameter, text_message, tool


PLUGIN = Path(__file__).parent.parent
MOST_BYTES = 5 * 1024 * 1024
LONG = "あ" * 2_000_000  # 6 MB


@contextmanager
def debugged():
    """Start the plugin against a daemon of our own; give out the connection and its lines once the plugin has told what it has."""
    with socket.create_server(("127.0.0.1", 0)) as daemon:
        told = {
            "INSTALL_METHOD": "remote",
            "REMOTE_INSTALL_URL": f"127.0.0.1:{daemon.getsockname()[1]}",
            "REMOTE_INSTALL_KEY": "key",
        }
        with subprocess.Popen(
            [sys.executable, "-m", "main"],
            cwd=PLUGIN,
            env=os.environ | told,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            daemon.settimeout(600)
            peer, _ = daemon.accept()
            peer.settimeout(600)
            with peer, peer.makefile("rb") as lines:
                try:
                    for line in lines:
                        if line.strip() and json.loads(line)["type"] == "end":
                            break
                    yield peer, lines
                finally:
                    process.kill()


def send(peer, event, data):
    peer.sendall(json.dumps({"session_id": "s", "event": event, "data": data}).encode() + b"\n")


def start_run(peer, **parameters):
    data = {
        "type": "agent_strategy",
        "action": "invoke_agent_strategy",
        "user_id": "someone",
        "agent_strategy_provider": "gpt5_agent_strategies",
        "agent_strategy": "gpt5_function_calling",
        "agent_strategy_params": build_parameters(**parameters),
    }
    send(peer, "request", data)


def answer(peer, request_id, *items):
    """Answer a call that the plugin makes, as the daemon does."""
    replies = [{"event": "response", "message": "stream", "data": item} for item in items]
    for reply in [*replies, {"event": "end", "message": "", "data": None}]:
        send(peer, "backwards_response", {"backwards_request_id": request_id, **reply})


def play(peer, lines, model, result):
    """Answer the run's calls to its end; return what it told, and what it asked."""
    told, asked = [], []
    for line in lines:
        assert len(line) <= MOST_BYTES
        message = json.loads(line) if line.strip() else {"event": "blank"}
        if message["event"] != "session":
            continue
        kind, data = message["data"]["type"], message["data"]["data"]
        if kind == "invoke":
            asked.append(data)
            items = model.pop(0) if data["type"] == "llm" else result
            answer(peer, data["backwards_request_id"], *items)
            continue
        told.append((kind, data))
        if kind in ("end", "error"):
            break
    return told, asked


def text_of(told):
    texts = (data for kind, data in told if kind == "stream" and data["type"] == "text")
    return "".join(data["message"]["text"] for data in texts)


def test_lines_are_whole_and_bounded_in_remote_debugging_too():
    calls = [chunk(calls=[call("echo", '{"text": "a"}')])]
    with debugged() as (peer, lines):
        start_run(peer, tools=[tool("echo", parameter("text"))])
        told, asked = play(peer, lines, [calls, [chunk("Done.")]], [text_message("Heard.")])
        start_run(peer, tools=[tool("echo", parameter("text"))])
        longest, _ = play(peer, lines, [calls, [chunk("Done.")]], [text_message(LONG)])
        start_run(peer, query=LONG)
        refused, nothing = play(peer, lines, [], [])

    assert [one["type"] for one in asked] == ["llm", "tool", "llm"]
    assert "Heard." in json.dumps(asked[-1])
    assert text_of(told).endswith("Done.")
    assert text_of(longest).endswith("Done.")
    assert [told[-1][0], longest[-1][0], refused[-1][0]] == ["end", "end", "error"]
    assert nothing == []
    assert "bytes" in json.dumps(refused[-1])
