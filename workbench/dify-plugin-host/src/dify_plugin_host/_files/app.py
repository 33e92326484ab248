"""The application behind the links, which answers with the bytes of a file, or with 201 to an upload."""

from starlette.applications import Starlette
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dify_plugin_packager.json_access import JsonObject

from .local_file import LocalFile
from .store import FileStore, SharedFile


_MOST_BYTES = 100 * 1024 * 1024


def build_app(store: FileStore) -> Starlette:
    """Build the application behind the links of a store."""

    async def show(request: Request) -> Response:
        shared = store.find(_path(request))
        if shared is None:
            return _refusal(403, "forbidden", "Invalid request.")
        return Response(shared.file.content, media_type=shared.file.mime_type)

    async def take(request: Request) -> Response:
        expected = store.find_upload(_path(request))
        if expected is None:
            return _refusal(403, "forbidden", "Invalid request.")
        async with request.form(max_files=1, max_fields=0) as form:
            part = form.get("file")
            if not isinstance(part, UploadFile):
                return _refusal(400, "no_file_uploaded", "Please upload your file.")
            if (part.filename, part.content_type) != (expected.name, expected.mime_type):
                return _refusal(403, "forbidden", "Invalid request.")
            # One byte more than the limit is enough to see that it is exceeded.
            content = await part.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            return _refusal(413, "file_too_large", "File size exceeded.")
        file = LocalFile(name=expected.name, content=content, mime_type=expected.mime_type)
        shared = store.add(file, is_tool_file=True)
        return JSONResponse(_tool_file(shared), status_code=201)

    return Starlette(
        routes=[
            Route("/files/upload/for-plugin", take, methods=["POST"]),
            Route("/files/{path:path}", show),
        ]
    )


def _path(request: Request) -> str:
    return f"{request.url.path}?{request.url.query}"


def _tool_file(shared: SharedFile) -> JsonObject:
    """Return Dify's answer to the upload of a file."""
    file = shared.file
    return {
        "id": shared.id,
        "name": file.name,
        "size": len(file.content),
        "extension": file.extension,
        "mime_type": file.mime_type,
        "mimetype": file.mime_type,
        "preview_url": shared.url,
    }


def _refusal(status: int, code: str, message: str) -> JSONResponse:
    return JSONResponse({"code": code, "message": message, "status": status}, status_code=status)
