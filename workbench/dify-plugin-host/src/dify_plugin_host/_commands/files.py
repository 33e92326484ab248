"""Files on the command line: those of a question and those of an answer."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from dify_plugin_host._errors import FileInputError
from dify_plugin_host._files.local_file import LocalFile, blob_file
from dify_plugin_packager.json_access import JsonObject, object_at


_OPTION = "--file"
_LONGEST_NAME = 100
_UNSAFE = re.compile(r"[^\w.-]+")


def read_files(paths: Iterable[Path]) -> tuple[LocalFile, ...]:
    """Read the files of a question.

    Raises:
        FileInputError: If one cannot be sent as Dify would; the text names the option.
    """
    try:
        return tuple(LocalFile.read(path) for path in paths)
    except FileInputError as error:
        raise name_option(error) from None


def name_option(error: FileInputError) -> FileInputError:
    """Return an error that names the option by which a file was given."""
    return FileInputError(f"{_OPTION} {error.file}", error.problem)


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """The files of an answer.

    Attributes:
        find: Returns the file behind a link of the host; None for any other link.
        folder: The folder to save them in; None saves none.
    """

    find: Callable[[str], LocalFile | None]
    folder: Path | None = None

    def read(self, message: JsonObject) -> LocalFile | None:
        """Return the file that a strategy's message holds or links to; None if there is none."""
        match message.get("type"):
            case "blob":
                return blob_file(message)
            case "image" | "image_link" | "binary_link" | "link" | "file":
                return self.find(str(object_at(message, "message").get("text") or ""))
            case _:
                return None

    def save(self, file: LocalFile) -> Path | None:
        """Write a file under a new name, which keeps only plain characters of its own.

        Raises:
            FileInputError: If it cannot be written.
        """
        if self.folder is None:
            return None
        stem = _UNSAFE.sub("_", Path(file.name).stem)[:_LONGEST_NAME].strip("._") or "file"
        suffix = _UNSAFE.sub("_", file.extension)[:_LONGEST_NAME]
        path, number = self.folder / f"{stem}{suffix}", 1
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            while path.exists():
                number += 1
                path = self.folder / f"{stem}-{number}{suffix}"
            path.write_bytes(file.content)
        except OSError as error:
            problem = f"expected a folder to write files to: {error.strerror}"
            raise FileInputError(f"--save-files {self.folder}", problem) from None
        return path
