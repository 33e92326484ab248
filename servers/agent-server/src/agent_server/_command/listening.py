"""Listening for clients, before there is anybody to answer them."""

import errno
import socket
from collections.abc import Generator
from contextlib import closing, contextmanager
from typing import Final, NoReturn

import typer

from agent_server.settings import ServerSettings


BAD_USAGE: Final = 2

_BACKLOG: Final = 2048


@contextmanager
def listen(settings: ServerSettings) -> Generator[socket.socket]:
    """Listen at the address of the settings. Clients that connect wait until `serve` answers them, however long imports and the database take.

    Raises:
        Exit: If the address cannot be used: code 2, after one sentence.
    """
    with closing(_bind(settings.host, settings.port)) as listener:
        yield listener


def refuse(*problems: str) -> NoReturn:
    """Print each problem on a line, and end the command with exit code 2.

    Raises:
        Exit: If it is called.
    """
    for problem in problems:
        typer.echo(problem, err=True)
    raise typer.Exit(BAD_USAGE) from None


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Only of a socket that says so does asyncio know that it is TCP, and sends at once what it is given.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        expected = (
            "a port that no other program listens on"
            if error.errno == errno.EADDRINUSE
            else "an address of this machine and a port that may be listened on"
        )
        refuse(f"{host}:{port}: expected {expected}")
    return listener
