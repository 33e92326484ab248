"""Clients of a server, a blocking one and one for asyncio: runs and their events, even across broken connections and restarts.

Every call can be repeated without harm, and is: if the server cannot be reached, or asks the client to come back later,
a call is retried several times before its error is raised. Errors are `ServerProblemError` for an answer that reports a
problem, and httpx's own if there was no answer.
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
