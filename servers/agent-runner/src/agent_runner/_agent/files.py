"""Files that come with an input, in a folder of the run.

Source: docs/contracts/agent-runner.md, E26 to E28.
"""

import os
import shutil
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from agent_runner._errors import InputProblem, refusing_os_errors


MAX_FILES = 20
MAX_BYTES = 8 * 1024 * 1024
_MAX_NAME_BYTES = 200


def check_files(files: Mapping[str, bytes]) -> list[InputProblem]:
    """Return problems with the names, the number and the size of files."""
    problems = [
        InputProblem(field=f"files[{name!r}]", message=message)
        for name in files
        if (message := _name_problem(name))
    ]
    together: list[str] = []
    # Some file systems treat such names as one.
    if len({name.casefold() for name in files}) < len(files):
        together.append("expected names that differ by more than upper and lower case")
    if len(files) > MAX_FILES:
        together.append(f"expected at most {MAX_FILES} files, got {len(files)}")
    if (size := sum(map(len, files.values()))) > MAX_BYTES:
        together.append(f"expected at most {MAX_BYTES} bytes in all, got {size}")
    return problems + [InputProblem(field="files", message=message) for message in together]


def run_folder(attempt_id: str) -> Path:
    """Return the folder for the files of an attempt while it runs."""
    return Path(tempfile.gettempdir()) / f"agent-runner-{attempt_id}"


@contextmanager
def written_files(folder: Path, files: Mapping[str, bytes]) -> Generator[None]:
    """Write files into a new folder that only this user can enter, and delete it with everything in it at the end of the context.

    Without files no folder is made.

    Raises:
        ConfigurationError: If they cannot be written.
    """
    try:
        if files:
            _write(folder, files)
        yield
    finally:
        remove_folder(folder)


def remove_folder(folder: Path) -> None:
    """Delete a run's folder if it exists, including what its script has made inaccessible."""
    if folder.is_symlink() or not folder.is_dir():
        return
    # A script may have removed its own permissions.
    folder.chmod(0o700)
    for parent, names, _ in os.walk(folder):
        for path in (Path(parent, name) for name in names):
            if not path.is_symlink():  # It would change the mode of the link's target.
                path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    # All users share the temporary folder: `mkdir` fails if somebody else has put something there,
    # a link included, and files get their mode while they are empty.
    remove_folder(folder)  # Of an attempt that died.
    with refusing_os_errors(folder, "expected a folder to write a run's files to"):
        folder.mkdir(mode=0o700)
        folder.chmod(0o700)  # Whatever the umask.
        for name, content in files.items():
            path = folder / name
            path.touch(mode=0o600, exist_ok=False)
            path.chmod(0o600)
            path.write_bytes(content)


def _name_problem(name: str) -> str | None:
    if not name.isprintable() or "/" in name or "\\" in name:
        return "expected a file name without a folder and without control characters"
    if name in {"", ".", ".."} or len(name.encode()) > _MAX_NAME_BYTES:
        return f"expected a file name of 1 to {_MAX_NAME_BYTES} bytes"
    return None
