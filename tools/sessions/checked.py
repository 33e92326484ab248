"""What basedpyright has found right on this machine before, and need not read again.

It keeps nothing of a run, and reads for a minute. What it says of a member's files follows from these and those of the member's siblings,
from its settings, and from the lock, which names the checker and all that is installed: where none of them has changed, neither has that.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from .cache import FOLDER, use
from .members import MEMBERS, ROOT, siblings, sources


def find_unchecked(files: Mapping[str, Sequence[str]]) -> Mapping[str, Path]:
    """Map each member whose files, or what they stand on, have changed to the place where it is noted once they are right.

    Args:
        files: The files and folders to check of each member, and under any other name what stands on all members.
    """
    own = {name: _digest(sources(folder)) for name, folder in MEMBERS.items()}
    always = b"".join((ROOT / name).read_bytes() for name in ("uv.lock", "pyproject.toml"))
    notes: dict[str, Path] = {}
    for name, paths in files.items():
        below = siblings(name, for_tests=True) if name in MEMBERS else MEMBERS
        whole = hashlib.sha256(always + _digest(paths) + b"".join(own[each] for each in below))
        notes[name] = use(FOLDER / "types" / whole.hexdigest())
    return {name: note for name, note in notes.items() if not note.exists()}


def _digest(paths: Iterable[str]) -> bytes:
    whole = hashlib.sha256()
    for top in map(ROOT.joinpath, paths):
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.suffix in {".py", ".pyi", ".typed"}:
                whole.update(path.relative_to(ROOT).as_posix().encode())
                whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.digest()
