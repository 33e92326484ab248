"""The parts that both clients share: requests, their answers, and retries."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

import httpx
from pydantic import ValidationError

from agent_server._http.documents import FieldProblemDocument, ProblemDocument


SILENCE_SECONDS: Final = 60.0
"""The default silence of a stream: longer than a living one is ever silent, since it carries comments."""

_FIRST_PAUSE_SECONDS: Final = 0.2
_LONGEST_PAUSE_SECONDS: Final = 30.0
# Answers after which the same call may succeed later.
_LATER: Final = frozenset(
    {
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)


class ServerProblemError(Exception):
    """An answer that reports a problem with a request or with the server.

    Attributes:
        status: The HTTP status.
        detail: What is wrong.
        errors: The same, field by field; empty if no field is wrong.
        retry_after_seconds: How long the server wants the client to wait before it asks again; None if it does not say.
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


type Call = dict[str, Any]
"""The arguments of httpx for a request."""


class Retries:
    """The retries of a call.

    Args:
        maximum: How often it may be retried.
    """

    def __init__(self, maximum: int) -> None:
        self._maximum = maximum
        self._made = 0

    def reset(self) -> None:
        """Count from the start again, after a success."""
        self._made = 0

    def next_pause(self, error: httpx.TransportError | ServerProblemError | None = None) -> float:
        """Return how many seconds to wait before the next try.

        Raises:
            ServerProblemError: If another try would get the same answer, or there were enough tries.
            httpx.TransportError: If there were enough tries.
        """
        at_least = 0.0
        if isinstance(error, ServerProblemError):
            if error.status not in _LATER:
                raise error
            at_least = error.retry_after_seconds or 0
        if self._made >= self._maximum:
            raise error or httpx.RemoteProtocolError("the stream ended before the run did")
        pause = max(_FIRST_PAUSE_SECONDS * 2**self._made, at_least)
        self._made += 1
        return min(pause, _LONGEST_PAUSE_SECONDS)


def check_answer(answer: httpx.Response) -> httpx.Response:
    """Return an answer unless it is an error.

    Raises:
        ServerProblemError: If it is one.
    """
    if not answer.is_error:
        return answer
    after = answer.headers.get("retry-after", "")
    seconds = float(after) if after.isdecimal() else None
    try:
        problem = ProblemDocument.model_validate_json(answer.content)
    except ValidationError:  # The answer of a proxy, perhaps.
        raise ServerProblemError(answer.status_code, answer.reason_phrase, (), seconds) from None
    raise ServerProblemError(answer.status_code, problem.detail, problem.errors or (), seconds)


def build_call(method: str, *path: str, **more: Any) -> Call:
    """Return a request for a path below `/v1`. Each part of the path may be any text."""
    parts = [quote(part, safe="") for part in path]
    return {"method": method, "url": "/".join(["/v1", *parts]), **more}
