"""The requests that were refused: counted, and logged now and then."""

import logging
from collections import Counter, defaultdict
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

from starlette.types import Scope

from agent_server._store.fault_log import OnceAMinute
from agent_server.logs import about

from .access import find_tenant_of, is_known


_logger = logging.getLogger("agent_server")

_TOLD: Final = frozenset({401, 403, 429})
_MOST_PATH: Final = 100


class Refusals:
    """The refused requests of a server since its start."""

    def __init__(self) -> None:
        self._counts = Counter[tuple[str | None, int]]()
        self._told = Counter[tuple[str | None, int]]()
        self._limits = defaultdict[tuple[str | None, int], OnceAMinute](OnceAMinute)

    def count(self, scope: Scope, status: int) -> None:
        """Count a request that was answered with an error; those that say who does something wrong are logged, too, once a minute for each tenant.

        Args:
            scope: The request.
            status: The status of the answer.
        """
        # Without a key of one it is nobody's.
        tenant = find_tenant_of(scope) if is_known(scope) else None
        which = tenant, status
        self._counts[which] += 1
        if status not in _TOLD or not self._limits[which].is_due():
            return
        number, self._told[which] = self._counts[which] - self._told[which], self._counts[which]
        path, client = quote(scope["path"][:_MOST_PATH]), (scope.get("client") or ("?",))[0]
        named = {} if tenant is None else {"tenant": tenant}
        with about(**named):
            _logger.warning(
                "requests were refused with %d %s, %d since the last line like this; the last: %s %s from %s",
                *(status, HTTPStatus(status).phrase, number, scope["method"], path, client),
            )

    def of(self, tenant: str | None) -> Mapping[str, int]:
        """Return how many requests of a tenant, or of all for None, were refused, by the status of the answer."""
        found = Counter[str]()
        for (owner, status), number in self._counts.items():
            if tenant in {None, owner}:
                found[str(status)] += number
        return found
