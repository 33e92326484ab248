"""Fallback requests: a request is sent whole first, and with less in it after a refusal that this would avoid."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpt5_responses._http.client import Answer, HttpClient, Steps
from gpt5_responses._http.error_answer import ErrorAnswer
from gpt5_responses._http.error_messages import to_responses_error
from gpt5_responses._http.request_body import write_body
from stream_text import KnownSecrets

from .fallbacks import Fallback, find_fallback, relax, retried_sentence


type Whole = Callable[[], Sequence[Mapping[str, Any]]]
"""Returns the input of a request without compactions."""

_PATH = "/responses"
# Refusals that belong to the organisation and will meet every later call; stale reasoning items belong to one call.
_LASTING: tuple[Fallback, ...] = ("without_summary", "without_streaming")


@dataclass(frozen=True, slots=True)
class Attempt:
    """A body to send, and what was left out of it."""

    body: dict[str, Any]
    left_out: tuple[Fallback, ...] = ()

    def without(self, name: Fallback, whole: Whole | None = None) -> "Attempt":
        """Return the attempt without one more part."""
        body = relax(self.body, name, whole=whole or list)
        return Attempt(body, (*self.left_out, name))


class Refusals:
    """The refusals of a server that hold for later requests too."""

    def __init__(self) -> None:
        self._known: tuple[Fallback, ...] = ()

    def learn(self, name: Fallback) -> None:
        """Remember a refusal that every later request would meet too."""
        if name in _LASTING and name not in self._known:
            self._known = (*self._known, name)

    def first_attempt(self, request: Mapping[str, Any]) -> Attempt:
        """Return the request without what is known to be refused."""
        attempt = Attempt(dict(request))
        for name in self._known:
            if _applies(name, attempt.body):
                attempt = attempt.without(name)
        return attempt


def post(  # noqa: PLR0913  one keyword for each way out
    client: HttpClient,
    request: Mapping[str, Any],
    refusals: Refusals,
    secrets: KnownSecrets,
    *,
    flex_fallback: bool = False,
    whole: Whole | None = None,
) -> Steps[tuple[Answer, tuple[Fallback, ...]]]:
    """Send a request, with fallbacks, until the server accepts it; return the answer and what was left out.

    What is made in the background goes on when its connection ends, so it is never sent again where the server may have it.

    Raises:
        ResponsesError: If the server cannot be reached, or refuses the request and there is nothing to leave out.
    """
    attempt = refusals.first_attempt(request)
    only_once = request.get("background") is True
    while True:
        try:
            content = write_body(attempt.body)
            answer = yield from client.post(_PATH, content, only_once=only_once)
        except Exception as error:  # noqa: BLE001  the client lets some errors of its library through
            fallback = None
            if isinstance(error, ErrorAnswer):
                fallback = find_fallback(
                    error,
                    attempt.body,
                    flex_fallback=flex_fallback,
                    has_whole=whole is not None,
                )
            if fallback is None or fallback in attempt.left_out:
                tried = retried_sentence(attempt.left_out)
                model = str(request.get("model"))
                raise to_responses_error(error, model=model, tried=tried, secrets=secrets) from None
            attempt = attempt.without(fallback, whole)
            refusals.learn(fallback)
        else:
            return answer, attempt.left_out


def resume(client: HttpClient, path: str, secrets: KnownSecrets) -> Steps[Answer]:
    """Resume a background response's stream and return the answer.

    Raises:
        ResponsesError: If the server cannot be reached, or does not stream it.
    """
    try:
        return (yield from client.get(path))
    except Exception as error:  # noqa: BLE001  the client lets some errors of its library through
        raise to_responses_error(error, model="", secrets=secrets) from None


def _applies(name: Fallback, request: Mapping[str, Any]) -> bool:
    if name == "without_streaming":
        return bool(request.get("stream"))
    return "summary" in (request.get("reasoning") or {})
