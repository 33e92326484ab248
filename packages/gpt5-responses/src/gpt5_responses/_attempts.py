"""One request, sent in full first, and with less in it where a refusal says that less would pass."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stream_text import KnownSecrets

from ._error_answer import ErrorAnswer
from ._failures import to_responses_error
from ._fallbacks import Fallback, find_fallback, relax, retried_sentence
from ._http import Answer, HttpClient, Steps
from ._request_body import write_body


type Whole = Callable[[], Sequence[Mapping[str, Any]]]
"""Returns the input of a request without compactions."""

_PATH = "/responses"
# Refusals that belong to the organisation and will meet every later call; stale reasoning items belong to one call.
_LASTING: tuple[Fallback, ...] = ("without_summary", "without_streaming")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One body to send, and what has been left out of it."""

    body: dict[str, Any]
    left_out: tuple[Fallback, ...] = ()

    def without(self, name: Fallback, whole: Whole | None = None) -> "Attempt":
        """Return the attempt with less in it."""
        body = relax(self.body, name, whole=whole or list)
        return Attempt(body, (*self.left_out, name))


class Refusals:
    """What a server has refused and will refuse again."""

    def __init__(self) -> None:
        self._known: tuple[Fallback, ...] = ()

    def learn(self, name: Fallback) -> None:
        """Keep a refusal that every later call would meet too."""
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
    """Send a request until a server takes it on, and return the answer and what has been left out.

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
    """Ask for the rest of a background response's stream, and return the answer.

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
