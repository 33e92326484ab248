"""What is asked of a server, what its answers mean, and when to ask again: the same for both clients."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

import httpx
from pydantic import ValidationError

from agent_server._http.documents import FieldProblemDocument, ProblemDocument
from agent_server.runs import RunStatus


_PAGE: Final = 100
_FIRST_PAUSE_SECONDS: Final = 0.2
_LONGEST_PAUSE_SECONDS: Final = 30.0
_LATER: Final = frozenset(
    {
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)


class ServerProblemError(Exception):
    """An answer that says what is wrong with a request, or with the server.

    Attributes:
        status: The HTTP status.
        detail: What is wrong.
        errors: The same, field by field; empty where no field is wrong.
        retry_after_seconds: When the server wants to be asked again; None if it does not say.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        errors: Sequence[FieldProblemDocument] = (),
        retry_after_seconds: float | None = None,
    ) -> None:
        fields = "; ".join(f"{one.field}: {one.message}" for one in errors)
        super().__init__(f"{status}: {detail}" + (f" ({fields})" if fields else ""))
        self.status = status
        self.detail = detail
        self.errors = tuple(errors)
        self.retry_after_seconds = retry_after_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request.

    Attributes:
        method: Its method.
        path: Its path.
        params: Its query.
        json: Its body; None for none.
        headers: More headers.
    """

    method: str
    path: str
    params: Sequence[tuple[str, str]] = ()
    json: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def arguments(self) -> dict[str, Any]:
        """What httpx takes."""
        return {
            "method": self.method,
            "url": self.path,
            "params": list(self.params),
            "json": self.json,
            "headers": self.headers,
        }

    def with_cursor(self, cursor: str) -> "Call":
        """Return the request for the next page."""
        kept = [pair for pair in self.params if pair[0] != "cursor"]
        return replace(self, params=[*kept, ("cursor", cursor)])


class Retries:
    """The tries of a call that fails.

    Args:
        most: How often.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._made = 0

    def reset(self) -> None:
        """Begin to count anew: it works."""
        self._made = 0

    def next_pause(self, error: Exception | None = None, *, at_least: float = 0) -> float:
        """Return how many seconds to wait before the next try.

        Raises:
            ServerProblemError: If there were enough tries, and the last was answered with it.
            httpx.TransportError: If there were enough tries, and the last had no answer.
        """
        if self._made >= self._most:
            raise error or httpx.RemoteProtocolError("the stream ended before the run did")
        pause = max(_FIRST_PAUSE_SECONDS * 2**self._made, at_least)
        self._made += 1
        return min(pause, _LONGEST_PAUSE_SECONDS)


def find_pause(error: httpx.TransportError | ServerProblemError, tries: Retries) -> float:
    """Return how many seconds to wait before a call is tried again.

    Raises:
        ServerProblemError: If another try would be answered the same, or there were enough.
        httpx.TransportError: If there were enough tries.
    """
    if isinstance(error, ServerProblemError):
        if error.status not in _LATER:
            raise error
        return tries.next_pause(error, at_least=error.retry_after_seconds or 0)
    return tries.next_pause(error)


def check_answer(answer: httpx.Response) -> httpx.Response:
    """Return an answer that is none of an error.

    Raises:
        ServerProblemError: If it is one.
    """
    if not answer.is_error:
        return answer
    after = answer.headers.get("retry-after", "")
    seconds = float(after) if after.isdecimal() else None
    try:
        problem = ProblemDocument.model_validate_json(answer.content)
    except ValidationError:  # of a proxy, perhaps
        raise ServerProblemError(answer.status_code, answer.reason_phrase, (), seconds) from None
    raise ServerProblemError(answer.status_code, problem.detail, problem.errors or (), seconds)


def build_create(
    agent: str | None, request: Mapping[str, Any], metadata: Mapping[str, str] | None, key: str
) -> Call:
    """Return the request for a new run."""
    own = {} if agent is None else {"agent": agent}
    told = {} if metadata is None else {"metadata": dict(metadata)}
    body = {**request, **own, **told}
    return Call(method="POST", path="/v1/runs", json=body, headers={"Idempotency-Key": key})


def build_get(run_id: str) -> Call:
    """Return the request for a run."""
    return Call(method="GET", path=f"/v1/runs/{quote(run_id, safe='')}")


def build_cancel(run_id: str, reason: str | None) -> Call:
    """Return the request for a run's end."""
    path = f"/v1/runs/{quote(run_id, safe='')}/cancel"
    return Call(method="POST", path=path, json={} if reason is None else {"reason": reason})


def build_list(
    agent: str | None,
    status: Sequence[RunStatus],
    metadata: Mapping[str, str] | None,
    created_after: datetime | None,
    created_before: datetime | None,
) -> Call:
    """Return the request for a first page of runs.

    Raises:
        ValueError: If a time has no zone.
    """
    params = [("limit", str(_PAGE))]
    params += [("agent", agent)] if agent is not None else []
    params += [("status", one) for one in status]
    params += [(f"metadata[{name}]", text) for name, text in (metadata or {}).items()]
    for name, time in (("created_after", created_after), ("created_before", created_before)):
        if time is not None:
            if time.tzinfo is None:
                raise ValueError(f"{name}: expected a time with its zone")
            params.append((name, time.isoformat()))
    return Call(method="GET", path="/v1/runs", params=params)


def build_events(run_id: str, after: int, timeout: httpx.Timeout) -> dict[str, Any]:
    """Return what httpx takes to follow a run's events."""
    headers = {"Accept": "text/event-stream"}
    if after:
        headers["Last-Event-ID"] = str(after)
    path = f"/v1/runs/{quote(run_id, safe='')}/events"
    return {"method": "GET", "url": path, "headers": headers, "timeout": timeout}
