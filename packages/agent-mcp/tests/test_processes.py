"""Processes of servers: what they are told, that they are ended, and what happens when they end or take too long."""

import asyncio
import os
import signal
import sys
import threading
import time
import traceback
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from operator import le
from typing import Any

import anyio
import psutil
import pytest

from agent_mcp import McpError, McpServers, StdioServer
from conftest import call, find, hostile, until


_OWN = {"LC_CTYPE"}  # which Python sets itself where the locale is C


def variables(env: object) -> set[str]:
    with McpServers(hostile("environment", env=env)) as servers:
        told = call(servers, "bad_t").content.splitlines()
    return {line.partition("=")[0] for line in told} - _OWN


def test_a_server_gets_the_variables_that_are_named_and_no_others(monkeypatch):
    monkeypatch.setenv("NAMED", "1")
    monkeypatch.setenv("OTHER", "1")

    assert variables(["NAMED"]) == {"NAMED"}
    assert variables({"GIVEN": "2"}) == {"GIVEN"}
    assert variables(None) <= {"HOME", "PATH"}


def test_a_server_runs_in_its_folder(tmp_path):
    python, program, how = hostile("fine").command
    command = [python, os.path.relpath(program, tmp_path), how]
    with McpServers(StdioServer("bad", command, folder=tmp_path)) as servers:
        assert call(servers, "bad_t").content == "done"


def count() -> tuple[int, int, int]:
    me = psutil.Process()
    return me.num_threads(), me.num_fds(), len(me.children(recursive=True))


def nothing_runs() -> bool:
    return not psutil.Process().children(recursive=True)


def test_nothing_of_a_server_is_left():
    with McpServers(hostile("fine")):  # So that all is imported.
        pass
    before = count()
    for _ in range(3):
        with McpServers(hostile("fine"), StdioServer("other", hostile("kinds").command)) as servers:
            call(servers, "bad_t")
    until(lambda: all(map(le, count(), before)))  # A thread that has ended is counted for a moment.


def test_a_server_that_does_not_want_to_end_is_killed_with_what_it_has_started(tmp_path):
    with McpServers(hostile("stubborn", tmp_path / "ids")):
        ids = [int(each) for each in (tmp_path / "ids").read_text().split()]
        assert all(map(psutil.pid_exists, ids))
        began = time.monotonic()
    assert time.monotonic() - began < 60
    until(lambda: not any(map(is_alive, ids)))  # What is killed ends when the system comes to it.


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_server_that_does_not_start_is_told_with_its_own_last_words():
    with pytest.raises(McpError, match=r"'bad': .*; it has written: cannot start without None"):
        McpServers(hostile("no-start")).__enter__()


def test_a_program_that_is_not_there_is_told():
    with pytest.raises(McpError, match="'s': it cannot be started: No such file") as told:
        McpServers(StdioServer("s", ["/no/such/program"])).__enter__()
    assert told.value.server == "s"


def test_a_server_has_only_so_much_time_to_start():
    with pytest.raises(McpError, match=r"'bad': no list of its tools within 0.2 s"):
        McpServers(hostile("silent", start_timeout=0.2)).__enter__()


def test_a_start_that_is_given_up_while_the_process_begins_leaves_nothing(monkeypatch):
    open_process = anyio.open_process

    async def open_slowly(*args: Any, **settings: Any) -> anyio.abc.Process:
        process = await open_process(*args, **settings)
        await anyio.sleep(0.2)  # As on a busy machine.
        return process

    monkeypatch.setattr(anyio, "open_process", open_slowly)
    with pytest.raises(McpError, match=r"no list of its tools within 0.1 s"):
        McpServers(hostile("fine", start_timeout=0.1)).__enter__()
    until(nothing_runs)


def test_a_server_that_fails_ends_the_start_of_the_others():
    began = time.monotonic()
    with pytest.raises(McpError, match="cannot be started"):
        McpServers(
            StdioServer("s", ["/no/such/program"]), hostile("silent", start_timeout=600)
        ).__enter__()
    assert time.monotonic() - began < 60


@pytest.mark.parametrize("how", ["no-mcp", "no-list"])
def test_what_is_no_mcp_is_told(how):
    with pytest.raises(McpError, match="'bad': its answer is not MCP"):
        McpServers(hostile(how)).__enter__()


def test_a_server_that_does_not_listen_is_told():
    with McpServers(hostile("deaf")) as servers:
        assert "ended" in str(call(servers, "bad_t").cause)


def test_a_server_that_ends_in_a_call_is_started_anew_by_the_next(tmp_path):
    with McpServers(hostile("end-once", tmp_path / "ended", env={"GIVEN": "2"})) as servers:
        first = call(servers, "bad_t")
        second = call(servers, "bad_t")

    assert isinstance(first.cause, McpError)
    assert str(first.cause) == "MCP server 'bad': it has ended during the call"
    assert "GIVEN=2" in second.content


def test_a_server_may_take_longer_to_start_anew_than_a_call(tmp_path):
    quick = hostile("end-once", tmp_path / "ended", env={"GIVEN": "2"})
    command = ["sh", "-c", 'sleep 1; exec "$0" "$@"', *quick.command]
    with McpServers(replace(quick, command=command)) as servers:
        tool = find(servers, "bad_t")
        call(servers, "bad_t")

        async def call_again() -> str:
            for _ in range(1_000):
                with suppress(TimeoutError):
                    return (await asyncio.wait_for(tool.ainvoke({}), 0.5)).content
            return "never"

        assert "GIVEN=2" in asyncio.run(call_again())


def test_a_server_that_cannot_be_started_anew_is_told(tmp_path):
    python, program, *how = hostile("end-once", tmp_path / "ended").command
    server = tmp_path / "server.py"
    server.symlink_to(program)
    with McpServers(StdioServer("bad", [python, str(server), *how])) as servers:
        server.unlink()
        call(servers, "bad_t")
        cause = call(servers, "bad_t").cause

    assert "No such file or directory" in str(cause)


def test_a_call_after_the_end_is_told():
    with McpServers(hostile("fine")) as servers:
        tool = find(servers, "bad_t")

    output = asyncio.run(tool.ainvoke({}))
    assert str(output.cause) == "MCP server 'bad': it is not in use any more"


def test_a_call_that_goes_on_at_the_end_fails(tmp_path):
    note = tmp_path / "note"
    with McpServers(hostile("hang", note)) as servers:
        tool, outputs = find(servers, "bad_t"), []
        thread = threading.Thread(target=lambda: outputs.append(asyncio.run(tool.ainvoke({}))))
        thread.start()
        until(note.exists)
    thread.join()
    assert "ended" in str(outputs[0].cause)


def find_callers(thread: int) -> list[str]:
    """Return the last three functions that a thread has called."""
    frames = traceback.walk_stack(sys._current_frames()[thread])
    return [frame.f_code.co_name for frame, _ in islice(frames, 3)]


def test_whoever_is_interrupted_while_servers_start_leaves_nothing():
    main = threading.main_thread().ident

    def interrupt() -> None:
        until(lambda: not nothing_runs() and find_callers(main) == ["wait", "result", "__enter__"])
        # Any other thread would not wake the one that waits.
        signal.pthread_kill(main, signal.SIGINT)

    def enter() -> None:
        threading.Thread(target=interrupt).start()
        McpServers(hostile("silent", start_timeout=600)).__enter__()

    with pytest.raises(KeyboardInterrupt):
        enter()
    until(nothing_runs)


def test_whoever_is_cancelled_while_servers_start_leaves_nothing():
    async def use(seconds: float) -> None:
        async with asyncio.timeout(seconds):
            await McpServers(hostile("silent", start_timeout=600)).__aenter__()

    for seconds in (*[0, 0.001] * 10, 0.5):
        with pytest.raises(TimeoutError):
            asyncio.run(use(seconds))
    until(nothing_runs)


def test_of_threads_that_enter_at_once_one_does_and_nothing_is_left():
    servers, entered = McpServers(hostile("fine")), []

    def enter() -> None:
        with suppress(McpError):
            entered.append(servers.__enter__())

    threads = [threading.Thread(target=enter) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert entered == [servers]
    servers.__exit__()
    until(nothing_runs)
    until(lambda: "agent-mcp" not in {thread.name for thread in threading.enumerate()})
