"""The files of the repository as git knows them: tracked, or new and not ignored."""

import subprocess
from pathlib import Path


ROOT = Path(__file__).parents[2]


def list_files(*suffixes: str) -> list[Path]:
    """List the files with one of the suffixes, relative to the root."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    names = (Path(name) for name in sorted(set(listed.stdout.split("\0"))) if name)
    return [name for name in names if name.suffix in suffixes and (ROOT / name).is_file()]
