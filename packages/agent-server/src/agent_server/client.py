"""Clients of a server, for programs that wait and for asyncio: runs and their events, also across cuts and restarts.

Every call may be made again without harm, and is: where the server cannot be reached, or asks to come back later, a call is tried some more times before
its error is raised. Errors are `ServerProblemError`, of an answer that says what is wrong, and httpx's own where there was no answer.
"""

from ._client.asynchronous import AsyncClient
from ._client.blocking import Client
from ._client.calls import ServerProblemError
from ._http.documents import (
    AgentDocument,
    ErrorDocument,
    EventDocument,
    FieldProblemDocument,
    RunDocument,
    UsageDocument,
)


__all__ = [
    "AgentDocument",
    "AsyncClient",
    "Client",
    "ErrorDocument",
    "EventDocument",
    "FieldProblemDocument",
    "RunDocument",
    "ServerProblemError",
    "UsageDocument",
]
