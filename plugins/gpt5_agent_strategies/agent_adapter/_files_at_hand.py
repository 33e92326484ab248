"""The files at hand in a run, which the model may choose for tools by the names that it was given."""

import binascii
import mimetypes
import re
import unicodedata
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import PurePosixPath
from threading import Lock
from typing import Any

from dify_plugin.core.runtime import Session
from dify_plugin.file.constants import DIFY_FILE_IDENTITY

from agent_tooling import ToolError, mime_type_of

from ._fetch import MAX_BYTES, is_alive


# Brackets and quotes delimit the name in a sentence that replaces the file.
_UNFIT = re.compile(r'[\[\]"\x00-\x1f\x7f\ud800-\udfff]+')
_MAX_NAME = 72  # With a number added, it still fits into a sentence that replaces the file.
_MAX_HELD_BYTES = MAX_BYTES  # As much as may be fetched for the question.


@dataclass(slots=True, kw_only=True, eq=False)
class FileAtHand:
    """A file that the model may choose for a tool.

    Attributes:
        name: Its name, which no other file of the run has.
        described: Dify's description of it, or one of the same form, which a tool gets.
        data: Its bytes, perhaps in base64; None if there are none, or no longer.
    """

    name: str
    described: Mapping[str, Any]
    data: bytes | str | None = field(repr=False)

    def to_value(self, session: Session) -> dict[str, Any]:
        """Return the file for a tool, with a working link; if it has none, its bytes are uploaded.

        Raises:
            ToolError: If there is neither a link nor anything to upload.
        """
        url = self.described.get("url")
        if not url or not is_alive(str(url)):
            # Kept, so that the next tool gets the same link.
            self.described = {**self.described, **self._upload(session)}
        return dict(self.described)

    def _upload(self, session: Session) -> dict[str, Any]:
        data = self._read_data()
        if not data:
            raise ToolError(
                f"the file {self.name!r} cannot be handed over: its link has ended, and its bytes are not held"
            )
        declared = str(self.described.get("mime_type") or "").partition(";")[0].strip()
        mime_type = declared or mime_type_of(data, self.name)
        try:
            uploaded = session.file.upload(self.name, data, mime_type)
        except Exception as error:
            raise ToolError(f"the file {self.name!r} could not be uploaded") from error
        if not uploaded.preview_url:
            raise ToolError(f"the file {self.name!r} was uploaded, and Dify gave no link to it")
        return {"url": uploaded.preview_url, "size": len(data)}

    def _read_data(self) -> bytes | None:
        if not isinstance(self.data, str):
            return self.data
        try:
            return b64decode(self.data, validate=True)
        except binascii.Error:
            return None


class FilesAtHand(Mapping[str, Callable[[], Any]]):
    """The files of a run, by the names that the model chooses them by.

    Those of the conversation come first, in order, so that they keep their names from run to run; those of tools follow
    as they come. Only the newest of their bytes are held.

    Attributes:
        are_offered: Whether a tool takes files, so that the model gets their names.
    """

    def __init__(self, session: Session) -> None:
        self.are_offered = False
        self._session = session
        self._files: dict[str, FileAtHand] = {}
        self._numbers: dict[str, int] = {}
        self._held: deque[FileAtHand] = deque()
        self._held_bytes = 0
        self._lock = Lock()  # Tools of a round may end at the same time.

    def __getitem__(self, name: str) -> Callable[[], Any]:
        # Called only for a file that the model chooses, since it may upload the file.
        return partial(self._files[name].to_value, self._session)

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._files))

    def __len__(self) -> int:
        return len(self._files)

    def add(
        self,
        described: Mapping[str, Any],
        data: bytes | str | None,
        *,
        name: str = "",
        is_held: bool = False,
    ) -> str:
        """Add a file and return its name: its own, with a number if another file has it.

        Args:
            described: Its description with Dify's keys: `filename`, `extension`, `mime_type`, `type`, `size` and `url`.
            data: Its bytes, perhaps in base64.
            name: Its own name, if the description has none.
            is_held: Whether only this holds its bytes, so that they are dropped when newer ones need the room.
        """
        with self._lock:
            name = self._find_name(name or str(described.get("filename") or ""), described)
            file = FileAtHand(name=name, described=_complete(described, name), data=data)
            self._files[name] = file
            if is_held and data:
                self._hold(file, len(data))
        return name

    def save(self, *, with_data_of: Container[str]) -> list[dict[str, Any]]:
        """Return the files as plain JSON, for a run that continues in another turn; none if the model does not know them.

        Args:
            with_data_of: The names of the files to save with their bytes.
        """
        if not self.are_offered:
            return []
        return [
            {
                "name": file.name,
                "described": dict(file.described),
                "data": _to_text(file.data) if file.data and file.name in with_data_of else None,
            }
            for file in self._files.values()
        ]

    def load(self, saved: Iterable[Mapping[str, Any]]) -> None:
        """Replace the files with those that `save` has returned."""
        # They fit into the storage, so they are too small to be worth dropping.
        self._held.clear()
        self._held_bytes = 0
        self._files = {one["name"]: FileAtHand(**one) for one in saved}

    def _hold(self, file: FileAtHand, size: int) -> None:
        self._held.append(file)
        self._held_bytes += size
        while self._held_bytes > _MAX_HELD_BYTES:
            oldest = self._held.popleft()
            self._held_bytes -= len(oldest.data or b"")
            oldest.data = None

    def _find_name(self, wanted: str, described: Mapping[str, Any]) -> str:
        """Return an unused name that a model can write."""
        # The end of a long name is kept, because it has the extension.
        plain = _UNFIT.sub("_", unicodedata.normalize("NFC", wanted)).strip()[-_MAX_NAME:]
        own = PurePosixPath(plain).name.strip()
        if not own.strip("."):
            own = _build_name(described)
        name, path = own, PurePosixPath(own)
        while name in self._files:
            self._numbers[own] = self._numbers.get(own, 1) + 1
            name = f"{path.stem}-{self._numbers[own]}{path.suffix}"
        return name


def _to_text(data: bytes | str) -> str:
    return data if isinstance(data, str) else b64encode(data).decode()


def _build_name(described: Mapping[str, Any]) -> str:
    """Return a name for a file without one: its kind and its extension."""
    kind = str(described.get("type") or "custom")
    extension = described.get("extension") or mimetypes.guess_extension(
        str(described.get("mime_type") or "")
    )
    return f"{'file' if kind == 'custom' else kind}{extension or ''}"


def _complete(described: Mapping[str, Any], name: str) -> dict[str, Any]:
    own = {"filename": name, "extension": PurePosixPath(name).suffix}
    missing = {key: value for key, value in own.items() if not described.get(key)}
    return {"dify_model_identity": DIFY_FILE_IDENTITY, **described, **missing}
