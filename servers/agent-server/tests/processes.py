"""Servers in processes of their own, forked from one that has loaded everything: a server that starts from nothing loads for a second."""

import multiprocessing
import os
import runpy
import sys
from pathlib import Path


_FOLDER = Path(__file__).parent
_context = multiprocessing.get_context("forkserver")
# `__main__` is pytest, which each process would load again.
_context.set_forkserver_preload(["__main__", "agent_server.command", "agent_server.engine"])


class ServerProcess:
    """A script of this folder as a process, of which the output is read line by line."""

    def __init__(self, script, *arguments):
        receiver, sender = _context.Pipe(duplex=False)
        command = [str(_FOLDER / script), *map(str, arguments)]
        self._process = _context.Process(target=_run, args=(command, sender), daemon=True)
        self._process.start()
        sender.close()
        self._output = os.fdopen(os.dup(receiver.fileno()), encoding="utf-8")
        receiver.close()

    def read_line(self):
        return self._output.readline().rstrip("\n")

    def kill(self):
        self._process.kill()
        return self.wait()

    def stop(self):
        self._process.terminate()
        return self.wait()

    def wait(self):
        """Return the exit code."""
        self._output.close()
        self._process.join(timeout=600)
        return self._process.exitcode


def _run(command, output):
    os.dup2(output.fileno(), sys.stdout.fileno())
    sys.argv = command
    sys.path.insert(0, str(_FOLDER))
    runpy.run_path(command[0], run_name="__main__")
