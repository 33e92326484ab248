"""A process that has loaded all of `agent-runner`, and forks for each request: a fork is ready at once.

A request is a line of JSON on the socket whose number is the only argument, and so is the answer:

- `{"arguments": [...], "environment": {...}}`, with files for stdin, stdout and stderr, runs `agent-runner`; answered
  with the process's id;
- `{"wait": pid}` waits for its end; answered with its exit code.
"""

import atexit
import gc
import json
import os
import socket
import sys
import threading

import anyio._backends._asyncio  # noqa: F401 - what takes so long to load
import PIL.PngImagePlugin  # noqa: F401 - likewise
import rich.console  # noqa: F401 - likewise
import typer.rich_utils  # noqa: F401 - likewise, once it refuses something

import agent_runner.server.command  # noqa: F401 - likewise
import agent_server._command.serving  # noqa: F401 - likewise, once it listens
from agent_runner._command.cli import main  # noqa: PLC2701 - the command


def _arguments_of_a_fork(channel):
    """Answer requests for ever; return in each forked process, with what it is to run."""
    while True:
        text, files, *_ = socket.recv_fds(channel, 65536, 3)
        if not text:
            sys.exit()
        request = json.loads(text)
        if "wait" in request:
            _, status = os.waitpid(request["wait"], 0)
            answer = os.waitstatus_to_exitcode(status)
        else:
            answer = os.fork()
            if answer == 0:
                channel.close()
                for number, file in enumerate(files):
                    os.dup2(file, number)
            for file in files:
                os.close(file)
            if answer == 0:
                os.environ.update(request["environment"])
                return request["arguments"]
        channel.sendall(json.dumps(answer).encode())


def _run(arguments):
    """Run the command and end the process as Python would, but for taking all modules apart: that takes a tenth of a second."""
    sys.argv = ["agent-runner", *arguments]
    try:
        main()
    except SystemExit as error:
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(error.code or 0)


if __name__ == "__main__":
    gc.freeze()  # or each fork would copy all memory when it looks for garbage
    _run(_arguments_of_a_fork(socket.socket(fileno=int(sys.argv[1]))))
