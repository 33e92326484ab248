"""The bodies to try for one request: first all of it, then less where a refusal says that less would pass."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any

import openai

from stream_text import KnownSecrets

from ._failures import to_responses_error
from ._fallbacks import Fallback, find_fallback, relax, retried_sentence


# Refusals that belong to the organisation and will meet every later call; stale reasoning items belong to one call.
_LASTING: tuple[Fallback, ...] = ("without_summary", "without_streaming")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One body to send, and what has been left out of it."""

    body: dict[str, Any]
    left_out: tuple[Fallback, ...] = ()

    def without(self, name: Fallback) -> "Attempt":
        """Return the attempt with less in it."""
        return Attempt(relax(self.body, name), (*self.left_out, name))


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


def iter_attempts(
    request: Mapping[str, Any], refusals: Refusals, secrets: KnownSecrets
) -> Generator[Attempt, Exception]:
    """Yield what to send; send in the error that it met to get the next attempt.

    The sending itself is the caller's, so that one logic serves blocking and asynchronous clients.

    Raises:
        ResponsesError: If there is nothing left to leave out.
    """
    attempt = refusals.first_attempt(request)
    while True:
        error = yield attempt
        name = (
            find_fallback(error, attempt.body) if isinstance(error, openai.APIStatusError) else None
        )
        if name is None or name in attempt.left_out:
            tried = retried_sentence(attempt.left_out)
            model = str(request.get("model"))
            raise to_responses_error(error, model=model, tried=tried, secrets=secrets) from None
        attempt = attempt.without(name)
        refusals.learn(name)


def _applies(name: Fallback, request: Mapping[str, Any]) -> bool:
    if name == "without_streaming":
        return bool(request.get("stream"))
    return "summary" in (request.get("reasoning") or {})
