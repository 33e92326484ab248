"""The environments that sessions run in: what the lock says, and bytecode that they share."""

from pathlib import Path

import nox

from .cache import share_bytecode


def sync(session: nox.Session, *selection: str, also: str = "", place: Path | None = None) -> None:
    """Fill an environment, the session's own or that at `place`, with what the lock says about `selection` and nothing more.

    In its own the session may have the newest versions of others `also`, as `uv pip install` takes their names.
    """
    if place is None:
        place = Path(session.virtualenv.location)
    elif not place.exists():
        session.run_install("uv", "venv", "--quiet", str(place), external=True)
    python = f"--python={place}"
    chosen = ("--locked", "--exact", "--no-default-groups", *selection)
    env = {"UV_PROJECT_ENVIRONMENT": str(place)}
    session.run_install("uv", "sync", "--quiet", *chosen, python, env=env, external=True)
    if also:
        session.install(*also.split())
    share_bytecode(place)
