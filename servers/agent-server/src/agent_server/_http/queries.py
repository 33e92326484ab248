"""The queries of requests, as models."""

import re
from datetime import UTC, datetime
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, field_validator
from starlette.datastructures import QueryParams
from starlette.requests import Request

from agent_server.executor import JsonObject, Problem, RequestRefusedError
from agent_server.runs import RunFilter, RunStatus

from .bodies import build_model
from .documents import EventsQuery, Metadata, QueryNumber
from .problems import refuse_field


_METADATA: Final = re.compile(r"metadata\[(.*)\]", re.DOTALL)
# Source: https://www.rfc-editor.org/rfc/rfc3339, section 5.6, without leap seconds, which Python does not know.
_TIME: Final = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
_EVENT_NUMBER: Final = re.compile(r"[0-9]{1,15}", re.ASCII)


class RunsQuery(BaseModel):
    """A selection of runs.

    Attributes:
        agent: Only runs of this agent.
        status: Only runs in one of these states.
        metadata: Only runs with these names and texts, as `metadata[name]=text`.
        created_after: Only runs that were created later.
        created_before: Only runs that were created earlier.
        limit: The maximum number of runs.
        cursor: The `next_cursor` of the previous page.
    """

    model_config = ConfigDict(extra="forbid")

    agent: str | None = Field(default=None, max_length=200)
    status: list[RunStatus] = Field(default_factory=list[RunStatus])
    metadata: Metadata = Field(default_factory=dict)
    created_after: datetime | None = None
    created_before: datetime | None = None
    limit: QueryNumber = Field(default=20, ge=1, le=100)
    cursor: str | None = Field(default=None, max_length=200)

    @field_validator("created_after", "created_before", mode="before")
    @classmethod
    def _parse_time(cls, value: str) -> datetime:
        # An unescaped plus sign arrives as a space.
        text = value.replace(" ", "+")
        if _TIME.fullmatch(text):
            try:
                return datetime.fromisoformat(text.upper()).astimezone(UTC)
            except (ValueError, OverflowError):
                pass
        raise ValueError("expected a time with its zone, such as 2026-11-23T06:00:00Z")

    def to_filter(self) -> RunFilter:
        """Return the query as a filter."""
        return RunFilter(
            agent=self.agent,
            status=frozenset(self.status),
            metadata=self.metadata,
            created_after=self.created_after,
            created_before=self.created_before,
        )


def read_runs_query(request: Request) -> RunsQuery:
    """Return the query of a request for a page of runs.

    Raises:
        RequestRefusedError: If a parameter is unknown or wrong.
    """
    query = request.query_params
    fields: JsonObject = {}
    for name in dict.fromkeys(query.keys()):
        if (match := _METADATA.fullmatch(name)) is not None:
            fields.setdefault("metadata", {})[match[1]] = _read_one(query, name)
        elif name == "status":
            fields[name] = query.getlist(name)
        else:
            fields[name] = _read_one(query, name)
    return build_model(RunsQuery, fields)


def read_events_query(request: Request) -> EventsQuery:
    """Return the query of a request for events; the header `Last-Event-ID`, which browsers send by themselves, overrides `after`.

    Raises:
        ProblemError: If the header is not an event's number.
        RequestRefusedError: If a parameter is unknown or wrong.
    """
    query = request.query_params
    fields: dict[str, Any] = {name: _read_one(query, name) for name in query}
    if (header := request.headers.get("last-event-id")) is not None:
        if not _EVENT_NUMBER.fullmatch(header):
            raise refuse_field("Last-Event-ID", "expected the number of an event")
        fields["after"] = header
    return build_model(EventsQuery, fields)


def wants_stream(request: Request) -> bool:
    """Return whether a client accepts server-sent events by name; `*/*` is not enough."""
    types = request.headers.get("accept", "").lower().split(",")
    return any(part.partition(";")[0].strip() == "text/event-stream" for part in types)


def _read_one(query: QueryParams, name: str) -> str:
    values = query.getlist(name)
    if len(values) > 1:
        raise RequestRefusedError(Problem(field=name, message="expected it once"))
    return values[0]
