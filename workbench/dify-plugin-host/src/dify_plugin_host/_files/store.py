"""Files and permitted uploads, each under a secret that expires."""

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
        id: Its id; for a tool file the one in `tool_file_id`.
        file: The file.
        url: The link, which expires.
    """

    id: str
    file: LocalFile
    url: str

    def to_dict(self) -> JsonObject:
        """Return the object that a strategy or a tool gets for it."""
        return self.file.to_dict(self.url)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A permitted upload, of exactly this name and MIME type, which Dify signs as well."""

    name: str
    mime_type: str


class FileStore:
    """The files and permitted uploads behind the links of one host.

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
        """Return the file behind a link, given whole or from its path on; None if there is none, or the link has expired."""
        match self._entry(url):
            # The secret alone is not enough: it belongs to one path.
            case SharedFile() as shared if url and shared.url.endswith(url):
                return shared
            case _:
                return None

    def find_upload(self, url: str) -> Upload | None:
        """Return the upload that a link permits; None if it permits none."""
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
        # Expired entries go here, because no timer removes them.
        self._entries = {key: kept for key, kept in self._entries.items() if kept[1] > now}
        self._entries[sign] = entry, now + self._lifetime
