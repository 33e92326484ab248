"""The environments that sessions run in: what the lock says, and bytecode that they share."""

import atexit
import hashlib
import os
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
    _link_bytecode(shared, own, everywhere=False)
    atexit.register(_link_bytecode, own, shared, everywhere=True)


def _link_bytecode(source: Path, target: Path, *, everywhere: bool) -> None:
    """Link the bytecode of each `__pycache__` below `source` to its place below `target`, and replace none; unless `everywhere`, only where the package is.

    Each session looks, and nearly always there is nothing to link.
    """
    for folder, inner, names in os.walk(source):  # in a third of the time that `rglob` takes
        place = Path(f"{target}{folder.removeprefix(str(source))}")
        if not folder.endswith("__pycache__"):
            if not (everywhere or place.is_dir()):
                inner.clear()  # A folder of its name alone would be a package to Python.
            continue
        there = os.listdir(place) if place.is_dir() else []  # noqa: PTH208 - all but a few names are there
        for name in set(names).difference(there):
            if name.endswith(".pyc"):  # and not one that is being written
                place.mkdir(parents=True, exist_ok=True)
                with suppress(FileExistsError):
                    (place / name).hardlink_to(Path(folder, name))
