"""The environments that sessions run in: what the lock says, and bytecode that they share."""

import atexit
import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import nox

from .cache import FOLDER, use
from .members import ROOT


def sync(session: nox.Session, *selection: str, place: Path | None = None) -> None:
    """Fill an environment, the session's own or that at `place`, with what the lock says about `selection` and nothing more."""
    if place is None:
        place = Path(session.virtualenv.location)
    elif not place.exists():
        session.run_install("uv", "venv", "--quiet", str(place), external=True)
    python = f"--python={place}"
    chosen = ("--locked", "--exact", "--no-default-groups", *selection)
    env = {"UV_PROJECT_ENVIRONMENT": str(place)}
    session.run_install("uv", "sync", "--quiet", *chosen, python, env=env, external=True)
    _share_bytecode(place)


def _share_bytecode(environment: Path) -> None:
    """Bring what other sessions, or those of another clone, have compiled of the same files, and leave what this one compiles to the next.

    uv links the same files into each environment, and to compile them anew in each takes seconds.
    Python itself leaves bytecode aside whose source has another time or size.
    """
    lock = hashlib.sha256((ROOT / "uv.lock").read_bytes()).hexdigest()
    shared = use(FOLDER / "bytecode" / lock[:16])
    (own,) = environment.glob("lib/python*/site-packages")
    # Only where the package is: a folder of its name alone would be a package to Python.
    _link_bytecode(shared, own, lambda folder: folder.parent.is_dir())
    atexit.register(_link_bytecode, own, shared, lambda _: True)


def _link_bytecode(source: Path, target: Path, is_wanted: Callable[[Path], bool]) -> None:
    """Link the bytecode of each `__pycache__` below `source` to its place below `target`, and replace none."""
    for folder, _, names in os.walk(source):  # in a third of the time that `rglob` takes
        if not folder.endswith("__pycache__"):
            continue
        place = target / Path(folder).relative_to(source)
        if is_wanted(place):
            place.mkdir(parents=True, exist_ok=True)
            for name in set(names).difference(each.name for each in place.iterdir()):
                if name.endswith(".pyc"):  # and not one that is being written
                    with suppress(FileExistsError):
                        (place / name).hardlink_to(Path(folder, name))
