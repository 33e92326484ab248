"""Runner of a package for one client on stdin and stdout, with a JSON object a line, as the SDK's own `PluginRunner` expects it.

Source: `cmd/commandline/run` of langgenius/dify-plugin-daemon at bdb5642a and `integration` of dify-plugin 0.10.2, read 2026-11.
"""

import asyncio
import functools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from dify_plugin_host._errors import PluginHostError, PluginInvokeError
from dify_plugin_host._platform.plugin_host import PluginHost
from dify_plugin_host._platform.scripted_peer import answer_scripted
from dify_plugin_host._process.plugin_process import PluginProcess
from dify_plugin_host.installation import installed
from dify_plugin_packager.json_access import JsonObject, is_object, object_at
from dify_plugin_packager.plugin import PluginFolder
from stream_text import parse_json
from stream_text.signals import cancelled_by_signals


type ResponseType = Literal["info", "error", "plugin_ready", "plugin_response", "plugin_invoke_end"]
type Write = Callable[[JsonObject], None]

_LINE_LIMIT_BYTES = 15 * 1024 * 1024


class RequestError(PluginHostError):
    """A line of the client that is not a request."""


def run_package(package: Path, write: Write) -> None:
    """Install a package, start it, and answer the requests on stdin until it ends or a signal comes.

    Calls back are answered by a scripted model and scripted tools, and those for storage and uploads as everywhere. Requests run at the same time.

    Args:
        package: The package.
        write: Takes each object for the client.

    Raises:
        PluginHostError: If the package cannot be installed or started.
    """
    write(_response("", "info", {"info": "loading plugin"}))
    plugin = PluginFolder.read(installed(package))
    asyncio.run(_serve(plugin, write))


async def _serve(plugin: PluginFolder, write: Write) -> None:
    with cancelled_by_signals():
        async with PluginHost(plugin, answers=answer_scripted) as host:
            write(_response("", "plugin_ready", {"info": "plugin loaded"}))
            lines = await _open_stdin()
            async with asyncio.TaskGroup() as requests:
                while line := await lines.readline():
                    write(_response("", "info", {"info": "received request"}))
                    requests.create_task(_answer(host.plugins[0], line, write))


async def _open_stdin() -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=_LINE_LIMIT_BYTES)
    protocol = functools.partial(asyncio.StreamReaderProtocol, reader)
    await asyncio.get_running_loop().connect_read_pipe(protocol, sys.stdin)
    return reader


async def _answer(process: PluginProcess, line: bytes, write: Write) -> None:
    # Stays empty for a line that is not a request.
    invoke_id = ""
    try:
        invoke_id, kind, action, request = _parse_request(line)
        user_id = str(request.get("user_id") or "host")
        async for item in process.invoke(kind, action, request, user_id=user_id):
            write(_response(invoke_id, "plugin_response", item))
    except PluginInvokeError as error:
        text = {"args": error.details, "error_type": error.error_type, "message": error.message}
        write(_response(invoke_id, "error", {"error": json.dumps(text)}))
    except PluginHostError as error:
        write(_response(invoke_id, "error", {"error": str(error)}))
    write(_response(invoke_id, "plugin_invoke_end", {"info": "plugin invoke end"}))


def _parse_request(line: bytes) -> tuple[str, str, str, JsonObject]:
    """Return invoke id, type, action and fields of a request.

    Raises:
        RequestError: If the line is not a request.
    """
    try:
        request = parse_json(line.decode())
    except ValueError as error:
        raise RequestError(f"expected a JSON object: {error}") from None
    match request:
        case {"invoke_id": str(invoke_id), "type": str(kind), "action": str(action)} if is_object(
            request
        ):
            return invoke_id, kind, action, object_at(request, "request")
        case _:
            raise RequestError("expected an object with 'invoke_id', 'type' and 'action'")


def _response(invoke_id: str, kind: ResponseType, response: JsonObject) -> JsonObject:
    return {"invoke_id": invoke_id, "type": kind, "response": response}
