"""The failures that a plugin's process tells Dify's plugin daemon.

The plugin SDK sends a traceback along with whatever is raised, and Dify shows all of it to the user of an app: 4.6 kB with paths of the server. What is
told here is the error's name and sentence alone; whoever raises it has written the rest to the plugin's own log.

Source: dify-plugin 0.10.2, `core/server/io_server.py`; docs/evidence/dify-platform.md, P28.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any


__all__ = ["MAX_CHARACTERS", "MAX_DESCRIPTION_CHARACTERS", "tell_failures"]

MAX_CHARACTERS = 260
"""How long a sentence may be: with what Dify writes around it, under 400 characters stay on a person's screen; our choice."""

MAX_DESCRIPTION_CHARACTERS = 2_000
"""How long the description of a model call's error may be, which Dify shows alone; our choice."""


@contextmanager
def tell_failures(writer: Any, session_id: str) -> Generator[None]:
    """Send whatever is raised in the block to the daemon, so that the SDK hears nothing of it.

    Args:
        writer: The SDK's writer of the request's answer.
        session_id: The request.
    """
    try:
        yield
    except Exception as error:  # noqa: BLE001 - whatever it is, the daemon is told
        # What Dify shows of the SDK's five errors of model calls, alone; their message is the same text.
        description = getattr(error, "description", None)
        most = MAX_DESCRIPTION_CHARACTERS if description else MAX_CHARACTERS
        said = _shorten(str(description or error), most)
        args = {"description": said} if description else {}
        told = {"error_type": type(error).__name__, "message": said, "args": args}
        writer.session_message(session_id=session_id, data=writer.stream_error_object(data=told))


def _shorten(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 4]} ..."
