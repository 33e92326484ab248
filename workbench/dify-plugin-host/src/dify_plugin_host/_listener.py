"""A port on the loopback interface."""

import socket

from ._errors import DaemonServerError


LOOPBACK = "127.0.0.1"
"""The address on which servers of this package listen."""


def listen(port: int) -> socket.socket:
    """Return a socket that listens on a port of the loopback interface; 0 takes a free one.

    Raises:
        DaemonServerError: If the port is not free.
    """
    # asyncio turns Nagle's algorithm off only if the protocol is named; with it on, frames wait for
    # an ACK.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
        # Already here, so that nobody else takes the port, and callers wait while plugins start.
        listener.listen()
    except (OSError, OverflowError) as error:
        listener.close()
        reason = error.strerror if isinstance(error, OSError) else "expected 0 to 65535"
        raise DaemonServerError(f"port {port}: {reason}") from None
    return listener
