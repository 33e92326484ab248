import asyncio
import contextlib
import socket
import struct
import sys
import time
from pathlib import Path

import pytest

from dify_plugin_host import (
    Debugger,
    DebuggerMissingError,
    HostSettings,
    PluginProcess,
    PluginStartError,
)


# Shorter than the start of the debugger alone.
LIMITS = HostSettings(
    start_timeout_seconds=0.1, heartbeat_timeout_seconds=0.1, call_timeout_seconds=0.1
)
PATIENT = """
wire.ready()
for request in wire.requests():
    text = os.environ["MAX_INVOCATION_TIMEOUT"]
    wire.stream(request, {"type": "text", "message": {"text": text}, "meta": None})
    wire.end(request)
"""


class Debugged:
    """A plugin that runs with a debugger."""

    def __init__(self, caller, port, editor):
        self.caller, self.port, self.editor = caller, port, editor

    def shout(self, text, *, plugin="tests/scripted"):
        data = {"provider": "p", "tool": "shout", "credentials": {}}
        data |= {"credential_type": "unauthorized", "tool_parameters": {"text": text}}
        (item,) = self.caller.items("tool/invoke", data, plugin=plugin)
        return item["message"]["text"]


@pytest.fixture(scope="module")
def debugged(make_shared_plugin, shout, run_shared_daemon, desk, meanwhile):
    """Run a plugin with a debugger, in which an editor has set a breakpoint, and another plugin beside it."""

    def attach():
        port = desk.find_port()
        return port, desk.attach(port, (shout / "main.py", "said"))

    attaching = meanwhile(attach)
    folders = shout, make_shared_plugin(PATIENT, name="beside")
    caller = run_shared_daemon(*folders, debugger=Debugger(), settings=LIMITS, on_notice=desk.read)
    return Debugged(caller, *attaching.result())


def test_a_plugin_stops_where_the_editor_says_for_longer_than_any_limit(debugged, meanwhile):
    answer = meanwhile(debugged.shout, "hello")
    reason, line, values = debugged.editor.stopped()
    assert (reason, line, values["text"]) == ("breakpoint", "said = text.upper()", "'hello'")
    time.sleep(0.3)
    debugged.editor.go("next")
    reason, line, values = debugged.editor.stopped()
    assert (reason, line, values["said"]) == ("step", 'if text.startswith("wait"):', "'HELLO'")
    debugged.editor.go()
    assert answer.result() == "HELLO"


def test_an_editor_may_leave_and_breakpoint_stops_in_the_next_one(debugged, meanwhile, desk):
    answer = meanwhile(debugged.shout, "hello")
    debugged.editor.stopped()
    debugged.editor.leave()
    assert answer.result() == "HELLO"
    assert debugged.shout("wait") == "WAIT"
    debugged.editor = desk.attach(debugged.port)
    answer = meanwhile(debugged.shout, "wait")
    reason, line, _ = debugged.editor.stopped()
    assert reason == "breakpoint"
    assert line.startswith("wire.stream")
    debugged.editor.go()
    assert answer.result() == "WAIT"


@pytest.mark.skipif(sys.platform != "linux", reason="reads the system's table of sockets")
def test_editors_reach_it_on_the_loopback_interface_only(debugged):
    table = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening = [row[1].split(":") for row in table if row[3] == "0A"]
    (address,) = (place for place, port in listening if int(port, 16) == debugged.port)
    assert socket.inet_ntoa(struct.pack("=I", int(address, 16))) == "127.0.0.1"


def test_a_plugin_beside_it_waits_for_no_editor_and_for_its_calls_back_for_years(debugged):
    assert int(debugged.shout("hello", plugin="tests/beside")) > 10**8


async def test_nothing_is_left_of_it_although_an_editor_is_attached(shout, desk, meanwhile):
    attaching = meanwhile(lambda: desk.attach(desk.find_port(), (shout / "main.py", "wire.ready")))
    settings = HostSettings(stop_timeout_seconds=0.2)
    plugin = PluginProcess(shout, debugger=Debugger(), settings=settings, on_notice=desk.read)
    starting = asyncio.create_task(plugin.start())
    editor = await asyncio.wrap_future(attaching)
    await asyncio.to_thread(editor.stopped)
    group = plugin.pid
    assert len(members(group)) == 2
    starting.cancel()
    await asyncio.wait({starting})
    while members(group):  # noqa: ASYNC110 - a process that was killed needs a moment to be gone
        await asyncio.sleep(0.01)


def members(group):
    """Return the ids of the processes of a group."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            state, _, number, *_ = stat.read_text().rpartition(")")[2].split()
            found += [int(stat.parent.name)] if int(number) == group and state != "Z" else []
    return found


async def test_a_port_that_is_taken_is_named(shout):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        expected = f"no debugger can attach to port {port}: .*in use"
        with pytest.raises(PluginStartError, match=expected):
            await PluginProcess(shout, debugger=Debugger(port)).start()


def test_a_debugger_that_is_not_installed_is_explained(monkeypatch):
    monkeypatch.setitem(sys.modules, "debugpy", None)
    with pytest.raises(DebuggerMissingError, match=r"expected dify-plugin-host\[debug\]"):
        Debugger()
