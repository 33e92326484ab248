"""Fallback requests: a request is sent whole first, and with less in it after a refusal that this avoids."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpt5_responses._http.client import HttpAnswer, HttpClient, Steps
from gpt5_responses._http.error_answer import ErrorAnswer
from gpt5_responses._http.error_messages import to_responses_error
from gpt5_responses._http.request_body import write_body
from gpt5_responses._http.steps import Blocking, NetworkKind
from gpt5_responses._settings.connection import Connection

from .fallbacks import Fallback, find_fallback, relax, retried_sentence


type Whole = Callable[[], Sequence[Mapping[str, Any]]]
"""A function that returns the input of a request without compactions."""

_PATH = "/responses"
# Refused to the organisation, or by the server, and so on every later call; stale reasoning items concern one call.
_LASTING: tuple[Fallback, ...] = ("without_summary", "without_streaming", "without_limit")


class FallbackClient(HttpClient):
    """The client of one connection, which remembers what its server refuses.

    Args:
        connection: Where the server is and how to reach it.
        kind: Whether it is a blocking or an asynchronous client.

    Raises:
        ResponsesError: If the machine's settings of proxies or certificates are not usable.
    """

    def __init__(self, connection: Connection, kind: NetworkKind = Blocking) -> None:
        super().__init__(connection, kind)
        # Replaced as a whole, never changed: several threads may send through one client.
        self._refused: tuple[Fallback, ...] = ()

    def post(
        self,
        request: Mapping[str, Any],
        *,
        flex_fallback: bool = False,
        whole: Whole | None = None,
    ) -> Steps[tuple[HttpAnswer, tuple[Fallback, ...]]]:
        """Send a request, with fallbacks, until the server accepts it; return the answer and what was left out.

        A background response continues when its connection ends, so its request is never sent again if the server may have received it.

        Raises:
            ResponsesError: If the server cannot be reached, or refuses the request and there is nothing to leave out.
        """
        body, left_out = dict(request), self._refused_of(request)
        for name in left_out:
            body = relax(body, name)
        only_once = request.get("background") is True
        while True:
            try:
                content = write_body(body)
                answer = yield from self.ask(b"POST", _PATH, content, only_once=only_once)
            except Exception as error:  # noqa: BLE001  the client lets some errors of its library through
                fallback = None
                if isinstance(error, ErrorAnswer):
                    has_whole = whole is not None
                    fallback = find_fallback(
                        error, body, flex_fallback=flex_fallback, has_whole=has_whole
                    )
                # What has been left out once and is refused again was not the reason.
                if fallback is None or fallback in left_out:
                    model, tried = str(request.get("model")), retried_sentence(left_out)
                    raise to_responses_error(
                        error, model=model, tried=tried, secrets=self.secrets
                    ) from None
                body = relax(body, fallback, whole=whole or list)
                left_out = (*left_out, fallback)
                if fallback in _LASTING and fallback not in self._refused:
                    self._refused = (*self._refused, fallback)
            else:
                return answer, left_out

    def resume(self, path: str) -> Steps[tuple[HttpAnswer, tuple[Fallback, ...]]]:
        """Resume a background response's stream and return the answer; nothing is left out of it.

        Raises:
            ResponsesError: If the server cannot be reached, or does not stream it.
        """
        try:
            return (yield from self.ask(b"GET", path)), ()
        except Exception as error:  # noqa: BLE001  the client lets some errors of its library through
            raise to_responses_error(error, model="", secrets=self.secrets) from None

    def _refused_of(self, request: Mapping[str, Any]) -> tuple[Fallback, ...]:
        """Return which parts of a request the server is known to refuse."""
        has = {
            "without_streaming": bool(request.get("stream")),
            "without_summary": "summary" in (request.get("reasoning") or {}),
            "without_limit": "max_output_tokens" in request,
        }
        return tuple(name for name in self._refused if has[name])
