"""Links to files on this machine's loopback interface, made and answered as Dify does.

Source: `api/controllers/files` and `api/core/tools/tool_file_manager.py` of langgenius/dify at 02b5705b, read 2026-11.
"""

import asyncio
from typing import TYPE_CHECKING, Any

from dify_plugin_host._listener import LOOPBACK, listen
from stream_text import is_list

from .local_file import LocalFile
from .store import FileStore, SharedFile, Upload


if TYPE_CHECKING:
    from dify_plugin_host._http_server import HttpServer


class FileLinks:
    """The files of one host, each behind a link that nobody can guess and that expires.

    The server listens from the first link on, until `stop`.

    Args:
        lifetime_seconds: How long a link lives.
    """

    def __init__(self, *, lifetime_seconds: float) -> None:
        self._store = FileStore(lifetime_seconds=lifetime_seconds)
        self._server: HttpServer | None = None
        # Two first links at the same time must not start two servers.
        self._starting = asyncio.Lock()

    async def share(self, file: LocalFile, *, is_tool_file: bool = False) -> SharedFile:
        """Put a file behind a link; the links of tools' files have a form of their own."""
        await self._start()
        return self._store.add(file, is_tool_file=is_tool_file)

    async def share_all(self, value: Any) -> Any:
        """Return a parameter's value with the object by which a plugin gets a file in place of each file."""
        if isinstance(value, LocalFile):
            return (await self.share(value)).to_dict()
        if is_list(value):
            return [await self.share_all(item) for item in value]
        return value

    async def upload_url(self, name: str, mime_type: str) -> str:
        """Return a link to which a file of this name and MIME type can be uploaded."""
        await self._start()
        return self._store.add_upload(Upload(name=name, mime_type=mime_type))

    def find(self, url: str) -> LocalFile | None:
        """Return the file behind a link; None if the link is unknown or has expired."""
        shared = self._store.find(url)
        return shared.file if shared else None

    async def stop(self) -> None:
        """End all links."""
        self._store.clear()
        server, self._server = self._server, None
        if server:
            await server.stop()

    async def _start(self) -> None:
        async with self._starting:
            if self._server:
                return
            # The HTTP framework takes long to import, and most runs have no files.
            from dify_plugin_host._http_server import HttpServer  # noqa: PLC0415

            from .app import build_app  # noqa: PLC0415

            server = HttpServer(build_app(self._store), listen(0))
            await server.wait_ready()
            self._store.base_url = f"http://{LOOPBACK}:{server.port}"
            self._server = server
