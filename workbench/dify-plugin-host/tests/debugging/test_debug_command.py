import json
import os
import pty
import signal
import sys
import threading

import httpx
import pytest


@pytest.fixture
def debug(dify_host, shout, free_port, meanwhile, desk):
    """Run the command with something in the place of stdin, and an editor until the plugin ends; return exit code, stdout and stderr."""
    kept = os.dup(0)

    def watch():
        editor = desk.attach(free_port)
        editor.event("terminated")
        editor.close()

    def run(*arguments, stdin):
        os.dup2(stdin, 0)
        os.close(stdin)
        watching = meanwhile(watch)
        told = dify_host("debug", shout, *arguments, "--port", free_port)
        watching.result()
        return told

    yield run
    os.dup2(kept, 0)
    os.close(kept)


def test_a_call_is_made_once_an_editor_has_attached(debug, free_port):
    code, out, err = debug("shout", "text=hello", stdin=os.open(os.devnull, os.O_RDONLY))
    assert (code, out) == (0, "HELLO\n")
    assert f"waiting for a debugger on 127.0.0.1:{free_port}\n" in err


def test_in_a_terminal_enter_makes_it_again_even_after_a_failure(debug):
    terminal, stdin = pty.openpty()
    os.write(terminal, b"\n\x04")
    code, out, err = debug("shout", "text=fail", stdin=stdin)
    os.close(terminal)
    assert (code, out) == (0, "FAIL\nFAIL\n")
    assert err.count("dify-host: error: ValueError: out of breath") == 2
    assert err.count("Enter calls again, Ctrl-D ends:") == 2


def test_without_a_name_it_is_served(monkeypatch, console_scripts, shout, meanwhile, desk):
    arguments = ["dify-host", "debug", str(shout), "--json", "--port", "0"]
    monkeypatch.setattr(sys, "argv", arguments)
    reading, writing = os.pipe()
    has_ended = threading.Event()

    def talk():
        try:
            with os.fdopen(reading) as lines:
                waits = json.loads(lines.readline())
                editor = desk.attach(int(waits["text"].rpartition(":")[2]))
                ready = json.loads(lines.readline())
                health = httpx.get(f"{ready['base_url']}/health/check", timeout=120, verify=False)
                editor.leave()
                return waits, health
        finally:
            if not has_ended.is_set():
                os.kill(os.getpid(), signal.SIGTERM)

    talking = meanwhile(talk)
    with os.fdopen(writing, "w") as out, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        with pytest.raises(SystemExit) as ended:
            console_scripts["dify-host"].load()()
        has_ended.set()
    waits, health = talking.result()
    assert (waits["event"], waits["plugin"], waits["level"]) == ("notice", "scripted", "WARNING")
    assert (ended.value.code, health.status_code) == (143, 200)


def test_without_debugpy_the_command_tells_what_to_install(monkeypatch, dify_host, shout):
    monkeypatch.setitem(sys.modules, "debugpy", None)
    code, out, err = dify_host("debug", shout)
    assert (code, out) == (2, "")
    assert "expected dify-plugin-host[debug]" in err
