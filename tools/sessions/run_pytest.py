"""Run pytest as its own command does, but spare it what takes much of the CPU of most sessions: `python -P run_pytest.py ARGUMENTS`.

- It looks for garbage only among what the tests make. What is imported and collected before stays to the end, and to look through it
  again and again takes a tenth.
- What SQLAlchemy has compiled of a statement serves all databases of a process. Nearly each test opens its own, and to compile the same
  statements for each takes a sixth.
- SQLite does not wait for the disk: what is written survives the end of a process, if no power cut, which no test makes.
"""

import gc
import os
import sys
from pathlib import Path
from typing import Any


gc.disable()

import pytest  # noqa: E402 - now that nobody looks for garbage


class _Sparing:
    @staticmethod
    def pytest_collection_finish() -> None:
        """Leave all that there is so far out of account, and spare databases what they can where the tests have any."""
        gc.freeze()
        gc.enable()
        if "sqlalchemy" in sys.modules:
            _spare_databases()


def _spare_databases() -> None:
    from sqlalchemy import Connection, Engine, event  # noqa: PLC0415 - only where it is there

    compiled: dict[type, tuple[Any, dict[Any, Any]]] = {}

    @event.listens_for(Engine, "engine_connect")
    def share(connection: Connection) -> None:  # pyright: ignore[reportUnusedFunction]
        # A statement is compiled for a dialect, of which each engine has its own.
        kind = type(connection.dialect)
        connection.dialect, statements = compiled.setdefault(kind, (connection.dialect, {}))
        connection.execution_options(compiled_cache=statements)
        if connection.dialect.name == "sqlite" and "hurries" not in connection.info:
            connection.info["hurries"] = True
            connection.connection.cursor().execute("PRAGMA synchronous = OFF")


if __name__ == "__main__":
    if "STRAIN_LATE" in os.environ:
        sys.path.append(str(Path(__file__).parents[1]))
        from sessions import late

        late.install()
    sys.exit(pytest.main(plugins=[_Sparing()]))
