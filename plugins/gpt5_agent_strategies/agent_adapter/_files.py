"""Files that come with a question: fetched once at the start of a run, shown to the model, and at hand for tools."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from dify_plugin.file.constants import DIFY_FILE_IDENTITY
from dify_plugin.file.file import File

from agent_tooling import mime_type_of
from stream_text import is_list, is_object, render_omission

from ._fetch import MAX_FILE_BYTES, Fetched, fetch_all
from ._files_at_hand import FilesAtHand
from ._model import Model
from ._parts import IMAGE_TYPES, Part, file_part, is_readable, text_part, unread


_UNKNOWN_TYPE = "application/octet-stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenFile:
    """A file that came with the question.

    Attributes:
        name: Its name, which no other file of the run has.
        described: Dify's description of it, as a tool gets it.
        fetched: Its bytes, or why there are none.
    """

    name: str
    described: Mapping[str, Any]
    fetched: Fetched = field(repr=False)

    @property
    def kind(self) -> str:
        """Its kind, of Dify's kinds of files."""
        return str(self.described.get("type") or "custom")

    @property
    def mime_type(self) -> str:
        """Its MIME type, according to Dify or else to the server."""
        return str(self.described.get("mime_type") or self.fetched.media_type or _UNKNOWN_TYPE)

    def to_part(self, model: Model) -> Part:
        """Return it as a part for the model: the file, or a sentence that names it."""
        # `custom` is Dify's kind for all other files.
        if not is_readable(self.kind, model) or self.kind == "custom":
            return unread(self.kind if self.kind != "custom" else "file", self.name)
        data, problem, mime_type = self.fetched.data, self.fetched.problem, self.mime_type
        if data and self.kind == "image":
            found = mime_type_of(data)
            if found not in IMAGE_TYPES and mime_type in IMAGE_TYPES:
                # It would get the whole request refused, in each round.
                data, problem = None, "what its link leads to is no such image"
            mime_type = found if found in IMAGE_TYPES else mime_type
        if data is None:
            return text_part(render_omission(self.kind, reason=problem, name=self.name))
        return file_part(self.kind, data, mime_type=mime_type, name=self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenFiles:
    """The files of a run.

    Attributes:
        files: The files, in order.
        left_out: A line for each value that is not a file.
    """

    files: tuple[GivenFile, ...] = ()
    left_out: tuple[str, ...] = ()

    @classmethod
    def fetch(cls, raw: object, at_hand: FilesAtHand) -> Self:
        """Read the parameter, in any shape of Dify's, fetch its files, and put them at hand.

        If it is unset, it may be missing, None, a list of None, or an empty list or text.
        """
        items = raw if is_list(raw) else [raw]
        given = [item for item in items if item not in (None, "", {}, [])]
        read = [_describe(item) for item in given]
        described = [item for item in read if item is not None]
        left_out = tuple(
            f"files[{number}]: expected a file, got {type(item).__name__}"
            for number, (item, found) in enumerate(zip(given, read, strict=True))
            if found is None
        )
        fitting = [item for item in described if _size(item) <= MAX_FILE_BYTES]
        waiting = iter(fetch_all([item["url"] for item in fitting]))
        files: list[GivenFile] = []
        for item in described:
            fetched = next(waiting) if item in fitting else _too_large(_size(item))
            name = at_hand.add(item, fetched.data)
            files.append(GivenFile(name=name, described=item, fetched=fetched))
        return cls(files=tuple(files), left_out=left_out)

    def to_parts(self, model: Model) -> list[Part]:
        """Return the files as parts for the model."""
        return [file.to_part(model) for file in self.files]


def _describe(item: object) -> dict[str, Any] | None:
    """Return Dify's description of a file; None if the value is not a file."""
    if isinstance(item, File):
        return item.model_dump(mode="json")
    if not is_object(item) or not isinstance(item.get("url"), str):
        return None
    return {"dify_model_identity": DIFY_FILE_IDENTITY, **item}


def _size(described: Mapping[str, Any]) -> int:
    size = described.get("size")
    # If Dify does not say, the file is fetched, and measured then.
    return size if isinstance(size, int) else -1


def _too_large(size: int) -> Fetched:
    return Fetched(problem=f"it has {size:,} bytes, and {MAX_FILE_BYTES:,} are read at most")
