"""What becomes of a line that is longer than the daemon reads.

Source: docs/contracts/openai-gpt5-responses.md, A47.
"""

import json
from typing import Any, cast

from dify_plugin.errors.model import InvokeServerUnavailableError


_KEPT_CHARACTERS = 2_000  # of a message that is far too long to be read
_TOO_LARGE = "The answer is larger than Dify takes in one piece. Ask for less at once."


def shorten_line(line: bytes, limit: int) -> bytes:
    """Leave out of a line what nobody needs: an answer leaves its items to the plugin's own memory, an error its trace, a log line its end.

    Raises:
        InvokeServerUnavailableError: If the rest is still too long, and must not be shortened.
    """
    try:
        told: object = json.loads(line)
    except (ValueError, RecursionError):
        return line[:_KEPT_CHARACTERS]
    match told:
        case {"event": "log", "data": {"message": str(text)} as data} as whole:
            data["message"] = text[:_KEPT_CHARACTERS]
        case {"data": {"type": "error", "data": {"message": str(text)} as error}} as whole:
            cast("dict[str, Any]", error).update(message=text[:_KEPT_CHARACTERS], args={})
        case {"data": {"data": {"delta": {"message": {"opaque_body": _} as message}}}} as whole:
            message["opaque_body"] = None
        case whole:
            pass
    short = json.dumps(whole, ensure_ascii=False).encode(errors="replace")
    if len(short) > limit:
        raise InvokeServerUnavailableError(_TOO_LARGE)
    return short
