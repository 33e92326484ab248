"""Files and what may be uploaded, each under a secret that ends by itself."""

import secrets
import time
import uuid
from dataclasses import dataclass

from dify_plugin_packager.json_access import JsonObject

from .local_file import LocalFile


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFile:
    """A file behind a link.

    Attributes:
        id: Its id; a tool file's is what `tool_file_id` names.
        file: The file.
        url: Where it is, for as long as the link lives.
    """

    id: str
    file: LocalFile
    url: str

    def to_dict(self) -> JsonObject:
        """Return what a strategy or a tool gets of it."""
        return self.file.to_dict(self.url)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A file that may be uploaded: this name and this MIME type, as Dify signs them."""

    name: str
    mime_type: str


class FileStore:
    """What is behind the links of one host.

    Args:
        lifetime_seconds: How long a link lives.
    """

    def __init__(self, *, lifetime_seconds: float) -> None:
        self.base_url = ""
        self._lifetime = lifetime_seconds
        self._entries: dict[str, tuple[SharedFile | Upload, float]] = {}

    def add(self, file: LocalFile, *, is_tool_file: bool) -> SharedFile:
        """Put a file behind a link of its own."""
        file_id, sign = str(uuid.uuid4()), secrets.token_urlsafe()
        path = f"tools/{file_id}{file.extension}" if is_tool_file else f"{file_id}/file-preview"
        shared = SharedFile(id=file_id, file=file, url=f"{self.base_url}/files/{path}?sign={sign}")
        self._keep(sign, shared)
        return shared

    def add_upload(self, upload: Upload) -> str:
        """Return a link to which a file can be uploaded."""
        sign = secrets.token_urlsafe()
        self._keep(sign, upload)
        return f"{self.base_url}/files/upload/for-plugin?sign={sign}"

    def find(self, url: str) -> SharedFile | None:
        """Return the file behind a link, whole or from its path on; None if there is none, or its link has ended."""
        match self._entry(url):
            case SharedFile() as shared if url and shared.url.endswith(url):
                return shared
            case _:
                return None

    def find_upload(self, url: str) -> Upload | None:
        """Return what may be uploaded to a link; None if nothing may."""
        entry = self._entry(url)
        return entry if isinstance(entry, Upload) else None

    def clear(self) -> None:
        """End all links."""
        self._entries.clear()

    def _entry(self, url: str) -> SharedFile | Upload | None:
        entry, ends_at = self._entries.get(url.rpartition("?sign=")[2], (None, 0))
        return entry if ends_at > time.monotonic() else None

    def _keep(self, sign: str, entry: SharedFile | Upload) -> None:
        now = time.monotonic()
        self._entries = {key: kept for key, kept in self._entries.items() if kept[1] > now}
        self._entries[sign] = entry, now + self._lifetime
