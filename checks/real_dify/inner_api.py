"""A stand-in for Dify's inner API: models are answered by the daemon's own plugins, and there is one tool.

Dify reads a model's answer into its runtime's classes before it hands it to the strategy; what those drop is dropped here.

Source: `pkg/utils/parser/chunking.go` of langgenius/dify-plugin-daemon at bdb5642a for the frames, and
`api/controllers/inner_api/plugin` of langgenius/dify at 02b5705b.
"""

import contextlib
import json
import struct
import threading
from collections.abc import Callable, Generator, Iterator
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

from servers import INNER_KEY, free_port, wait_until


type Json = dict[str, Any]
type AnswerModel = Callable[[Json], Iterator[Json]]

_MAGIC, _HEADER_BYTES = 0x0F, 0x0A


class InnerApi:
    """The answers to the daemon's calls.

    Attributes:
        answer_model: Answers `invoke/llm`: from a request to the chunks of its answer.
        tool: Answers `invoke/tool`: from a tool's parameters to its text.
    """

    answer_model: AnswerModel
    tool: Callable[[Json], str]

    def __init__(self) -> None:
        self.port = free_port()
        self.failures: list[int] = []
        """Statuses with which the next model calls are refused."""
        self.upload_requests: list[Json] = []
        """What the daemon asked for plugins that want to upload a file."""
        self.uploads: list[tuple[str | None, str | None, bytes]] = []
        """The files that plugins uploaded: name, MIME type, bytes."""

    @property
    def base_url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    @contextlib.contextmanager
    def serve(self) -> Generator[None]:
        """Answer while the block runs."""
        routes = [
            Route("/inner/api/invoke/llm", self._invoke_llm, methods=["POST"]),
            Route("/inner/api/invoke/tool", self._invoke_tool, methods=["POST"]),
            Route("/inner/api/upload/file/request", self._upload_request, methods=["POST"]),
            Route("/files/upload/for-plugin", self._upload, methods=["POST"]),
        ]
        config = uvicorn.Config(Starlette(routes=routes), port=self.port, log_level="critical")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run)
        thread.start()
        wait_until(lambda: server.started, "the inner API")
        try:
            yield
        finally:
            server.should_exit = server.force_exit = True
            thread.join()

    async def _invoke_llm(self, request: Request) -> StreamingResponse | JSONResponse:
        body = await _body(request)
        if self.failures:
            page = "<!doctype html><title>500</title><h1>Internal Server Error</h1>"
            return StreamingResponse(iter([page]), self.failures.pop(0), media_type="text/html")
        return StreamingResponse(_frames(self.answer_model(body)))

    async def _invoke_tool(self, request: Request) -> StreamingResponse:
        parameters = (await _body(request))["tool_parameters"]
        text = await run_in_threadpool(self.tool, parameters)
        return StreamingResponse(_frames(iter([{"type": "text", "message": {"text": text}}])))

    async def _upload_request(self, request: Request) -> JSONResponse:
        self.upload_requests.append(await _body(request))
        url = f"{self.base_url}/files/upload/for-plugin?sign=s"
        return JSONResponse({"data": {"url": url}, "error": ""})

    async def _upload(self, request: Request) -> JSONResponse:
        async with request.form(max_files=1) as form:
            file = form["file"]
            assert isinstance(file, UploadFile)
            self.uploads.append((file.filename, file.content_type, await file.read()))
        return JSONResponse({"id": "file-1", "preview_url": "/files/tools/file-1.png"}, 201)


async def _body(request: Request) -> Json:
    if request.headers.get("x-inner-api-key") != INNER_KEY:
        raise PermissionError("the daemon did not send the inner API's key")
    return await request.json()


def _frames(objects: Iterator[Json]) -> Iterator[bytes]:
    """Write each object as a frame; a failure is a frame with its text and no data, as Dify writes it."""
    try:
        for data in objects:
            yield _frame({"data": data, "error": ""})
    except RuntimeError as error:
        yield _frame({"data": None, "error": str(error)})


def _frame(value: Json) -> bytes:
    payload = json.dumps(value).encode()
    return struct.pack("<BBHI6x", _MAGIC, 0, _HEADER_BYTES, len(payload)) + payload
