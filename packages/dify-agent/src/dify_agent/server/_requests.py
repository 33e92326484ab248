"""The requests of unfinished runs, kept apart so that their credentials can be forgotten."""

import time
from collections.abc import Collection
from dataclasses import dataclass

import sqlalchemy as sa
from pydantic import ValidationError

from dify_agent.protocol import CreateRunRequest

from ._errors import StorageError
from .database import requests
from .sealing import Seal


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedRequest:
    """A request that is taken up to be run.

    Attributes:
        request: The request.
        attempt: How often it has been taken up, this time included.
    """

    request: CreateRunRequest
    attempt: int


class RequestStore:
    """The requests of runs, from when they come until the runs are finished."""

    def __init__(self, engine: sa.Engine, seal: Seal) -> None:
        self._engine = engine
        self._seal = seal

    def add(self, run_id: str, request: CreateRunRequest) -> None:
        """Keep the request of a new run."""
        sealed = self._seal.close(request.model_dump_json().encode())
        row = {"run_id": run_id, "request": sealed, "attempts": 0, "created_at": time.time()}
        with self._engine.begin() as connection:
            connection.execute(sa.insert(requests).values(row))

    def claim(self, run_id: str) -> ClaimedRequest:
        """Take up a request, for the first time or after a restart.

        Raises:
            StorageError: If it is no longer stored, or cannot be read.
        """
        statement = (
            sa.update(requests)
            .where(requests.c.run_id == run_id)
            .values(attempts=requests.c.attempts + 1)
            .returning(requests.c.request, requests.c.attempts)
        )
        with self._engine.begin() as connection:
            row = connection.execute(statement).one_or_none()
        if row is None:
            raise StorageError("The request of the run is no longer stored.")
        return ClaimedRequest(request=self._parse(row.request), attempt=row.attempts)

    def _parse(self, sealed: str) -> CreateRunRequest:
        try:
            return CreateRunRequest.model_validate_json(self._seal.open(sealed))
        except ValidationError:
            # It holds the request, and DBOS would store it.
            raise StorageError("The stored request cannot be read.") from None

    def list_oldest(self, *, limit: int) -> dict[str, float]:
        """Return the runs of the oldest requests, and when each came, as a Unix time."""
        statement = (
            sa.select(requests.c.run_id, requests.c.created_at)
            .order_by(requests.c.created_at)
            .limit(limit)
        )
        with self._engine.connect() as connection:
            return {row.run_id: row.created_at for row in connection.execute(statement)}

    def forget(self, run_ids: Collection[str]) -> None:
        """Delete the requests of runs."""
        with self._engine.begin() as connection:
            connection.execute(sa.delete(requests).where(requests.c.run_id.in_(run_ids)))
