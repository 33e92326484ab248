"""The files of pages, and the headers of what they load: a page may load, and be loaded by, nothing but itself."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from starlette.responses import Response


HEADERS: Final[Mapping[str, str]] = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
    # A browser would look up the hosts of links that nobody follows.
    "x-dns-prefetch-control": "off",
}
"""The headers of every answer to a page."""

_SHARED: Final = Path(__file__).with_name("shared")
_KINDS: Final = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}


def answer_file(name: str, folder: Path) -> Response | None:
    """Return a file of a page, with its headers; None if there is none of this name.

    Args:
        name: Its name, which comes out of an address. It is only compared, so that no path can be made of it.
        folder: The folder of the page's own files, beside those that pages share.
    """
    paths = {path.name: path for each in (_SHARED, folder) for path in each.iterdir()}
    path = paths.get(name)
    if path is None:
        return None
    return Response(path.read_bytes(), headers=HEADERS, media_type=_KINDS[path.suffix])
