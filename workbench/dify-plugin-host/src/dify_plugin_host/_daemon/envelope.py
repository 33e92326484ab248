"""The envelopes in which the daemon answers: `code`, `message`, `data`; errors nest JSON texts in `message`.

Source: `internal/types/exception`, `internal/core/io_tunnel/generic.go` and `internal/service/base_sse.go` of
langgenius/dify-plugin-daemon at bdb5642a, read 2026-11.
"""

from collections.abc import Mapping
from typing import Any

from dify_plugin_host._errors import (
    InvokeTimeoutError,
    PluginHostError,
    PluginInvokeError,
    StreamRejectedError,
)
from dify_plugin_packager.declarations import dump_json
from dify_plugin_packager.json_access import JsonObject


_CODES: Mapping[str, int] = {
    "PluginDaemonBadRequestError": -400,
    "PluginDaemonInternalServerError": -500,
    "PluginDaemonNotFoundError": -404,
    "PluginDaemonUnauthorizedError": -401,
    "PluginInvokeError": -500,
    "PluginNotFoundError": -404,
}


class RefusalError(PluginHostError):
    """A refusal of a request, with the daemon's reason and the status of its answer."""

    def __init__(self, error_type: str, message: str, *, status: int = 200) -> None:
        super().__init__(message)
        self.error_type = error_type
        self.status = status


def success(data: Any) -> JsonObject:
    """Build the envelope of a success."""
    return {"code": 0, "message": "success", "data": data}


def failure(error_type: str, message: str) -> JsonObject:
    """Build the envelope of a failure, with the JSON text of the error in `message`."""
    error = {"message": message, "error_type": error_type, "args": None}
    return {"code": _CODES[error_type], "message": dump_json(error), "data": None}


def failure_of(error: PluginHostError) -> JsonObject:
    """Build the envelope of a failed call of a plugin.

    The plugin's own error is nested once more. A plugin that is gone is an internal error, of which the daemon's callers
    learn nothing until the time of the call is over.
    """
    match error:
        case PluginInvokeError():
            body = {"args": error.details, "error_type": error.error_type, "message": error.message}
            return failure("PluginInvokeError", dump_json(body))
        case StreamRejectedError(error_type="blob_error"):
            return failure("PluginInvokeError", error.message)
        case StreamRejectedError():
            found = {"error_type": error.error_type, "message": error.message}
            return failure("PluginInvokeError", dump_json(found))
        case InvokeTimeoutError():
            return failure("PluginDaemonInternalServerError", "killed by timeout")
        case _:
            return failure("PluginDaemonInternalServerError", str(error))


def frame(envelope: JsonObject) -> bytes:
    """Return an envelope as one event of a stream."""
    return f"data: {dump_json(envelope)}\n\n".encode()
