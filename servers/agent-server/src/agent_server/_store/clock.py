"""The database's clock, which dates runs, because the clocks of servers may differ or be wrong.

PostgreSQL has one for all servers. SQLite's is the clock of the machine that all of them run on.
"""

import sqlite3
import time
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import GenericFunction


class clock(GenericFunction[int]):  # noqa: N801 - a function
    """The time in microseconds since 1970, or the latest of its arguments if the clock was set back behind them."""

    name = "agent_server_clock"
    type = sa.BigInteger()
    inherit_cache = True


@compiles(clock, "postgresql")
def _compile_for_postgresql(
    element: clock, compiler: SQLCompiler, **options: Any
) -> str:  # pragma: no cover - nox -s postgresql
    now = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)"
    others = [compiler.process(one, **options) for one in element.clauses]
    return f"GREATEST({', '.join([now, *others])})"


def add_clock(connection: sqlite3.Connection) -> None:
    """Give SQLite a clock that counts microseconds; its own counts milliseconds."""
    connection.create_function("agent_server_clock", -1, _read_clock)


def _read_clock(*least: int) -> int:
    return max((time.time_ns() // 1000, *least))
