"""`dify-host chat --view` as somebody uses it who sits before a terminal."""

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest


# Ctrl-C reaches whoever has the terminal as its own.
_IN_TERMINAL = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


class Terminal:
    """A terminal with a command in it."""

    def __init__(self, *command, **options):
        self._ours, theirs = os.openpty()
        start = [sys.executable, "-c", _IN_TERMINAL, *command]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
        self.process = subprocess.Popen(start, **pipes, **options)
        os.close(theirs)
        self.shown = ""

    def read_until(self, text):
        """Read what is shown until it has a text; None is the end."""
        while text is None or text not in self.shown:
            try:
                data = os.read(self._ours, 4096)
            except OSError:  # Nobody has the terminal any more.
                data = b""
            if not data:
                assert text is None, self.shown
                return
            self.shown += data.decode()

    def press(self, keys):
        os.write(self._ours, keys)

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        os.close(self._ours)


@pytest.fixture
def terminal(plugins, tmp_path):
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > "{tmp_path}/opened"\n')
    browser.chmod(0o755)
    command = Path(sys.executable).with_name("dify-host")
    arguments = ["chat", "hello", "--view", "--run-log", tmp_path / "runs"]
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "BROWSER": f"{shlex.quote(str(browser))} %s",
    }
    environment |= {"OPENAI_API_KEY": "sk-unused", "COLUMNS": "400"}
    opened = Terminal(command, *arguments, cwd=plugins.parent, env=environment)
    yield opened
    opened.close()


def test_the_page_of_a_chat_stays_until_ctrl_c_and_then_all_is_ended(terminal, tmp_path):
    terminal.read_until("the page stays until Ctrl-C")
    [address] = re.findall(r"http://127\.0\.0\.1:\d+/[\w-]+/", terminal.shown)
    assert (tmp_path / "opened").read_text().startswith(address)
    assert httpx.get(address, timeout=120).status_code == 200
    assert terminal.process.poll() is None
    terminal.press(b"\x03")
    terminal.read_until(None)
    assert terminal.process.wait(120) == 130
    assert "Traceback" not in terminal.shown
    with pytest.raises(httpx.ConnectError):
        httpx.get(address, timeout=120)
