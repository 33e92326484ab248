"""The errors that Dify gets when a request to a plugin fails.

The plugin SDK sends a traceback along with every error, and Dify shows all of it to the user of an app: 4.6 kB with
paths of the server. The SDK's own errors about a request quote the request, including its secrets.

Source: dify-plugin 0.10.2, `core/server/io_server.py`; docs/evidence/dify-platform.md, P28.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from pydantic import ValidationError


__all__ = [
    "MAX_CHARACTERS",
    "MAX_DESCRIPTION_CHARACTERS",
    "hide_request",
    "send_errors",
    "shorten_error",
]

MAX_CHARACTERS = 260
"""How long a sentence may be: with the words that Dify puts around it, a person sees fewer than 400 characters; our choice."""

MAX_DESCRIPTION_CHARACTERS = 2_000
"""How long the description of a model call's error may be, which Dify shows alone; our choice."""


@contextmanager
def send_errors(writer: Any, session_id: str) -> Generator[None]:
    """Send the name and the sentence of any error in the block to the daemon, without a traceback; the SDK does not see the error.

    Args:
        writer: The SDK's writer of the request's answer.
        session_id: The request.
    """
    try:
        yield
    except Exception as error:  # noqa: BLE001 - whatever it is, the daemon is told
        # Of the SDK's five errors of model calls Dify shows this alone; their message is the same text.
        description = getattr(error, "description", None)
        most = MAX_DESCRIPTION_CHARACTERS if description else MAX_CHARACTERS
        text = shorten_error(str(description or error), most)
        args = {"description": text} if description else {}
        message = {"error_type": type(error).__name__, "message": text, "args": args}
        writer.session_message(session_id=session_id, data=writer.stream_error_object(data=message))


def shorten_error(text: str, most: int = MAX_CHARACTERS) -> str:
    """Return the beginning of an error's text, in so many characters at most."""
    return text if len(text) <= most else f"{text[: most - 4]} ..."


@contextmanager
def hide_request(
    own: tuple[type[Exception], ...],
    *,
    redact: Callable[[str], str],
    explain: Callable[[Exception], str],
) -> Generator[None]:
    """Raise the SDK's errors about a request under their names, with a sentence that quotes nothing of it.

    Args:
        own: The plugin's own errors, which are raised as they are.
        redact: Takes the request's secrets out of a sentence.
        explain: Returns the sentence for an error that is not about the shape of the request, and logs it for the operator.
    """
    try:
        yield
    except own:
        raise
    except Exception as error:  # noqa: BLE001  whatever it is, its text does not reach Dify
        if isinstance(error, ValidationError):
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            field = ".".join(map(str, first["loc"]))
            text = f"Dify's request cannot be read: {field}: {first['msg']}"
        else:
            text = explain(error)
        # A new class of the same name, since Dify is told the name; `from None`, since the original
        # quotes the request.
        raise type(type(error).__name__, (Exception,), {})(redact(text)) from None
