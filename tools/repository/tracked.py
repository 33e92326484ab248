"""The files of the repository as git knows them: tracked, or new and not ignored."""

import subprocess
from pathlib import Path


ROOT = Path(__file__).parents[2]


def list_files(*suffixes: str, root: Path = ROOT) -> list[Path]:
    """List the files with one of the suffixes, or all where none is given, relative to the root."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    names = (Path(name) for name in sorted(set(listed.stdout.split("\0"))) if name)
    chosen = (name for name in names if not suffixes or name.suffix in suffixes)
    return [name for name in chosen if (root / name).is_file()]
