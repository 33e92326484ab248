"""Fallback requests: a request is sent whole first, and with less in it after a refusal that this avoids."""

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from gpt5_messages import without_marks
from gpt5_payloads import wire_item
from gpt5_responses._http.client import HttpAnswer, HttpClient, Steps
from gpt5_responses._http.error_answer import ErrorAnswer
from gpt5_responses._http.request_body import WrittenItems, write_body
from gpt5_responses._http.steps import Blocking, NetworkKind
from gpt5_responses._settings.connection import Connection
from stream_text import is_list

from .fallbacks import find_fallbacks, is_all_open, is_in, relax, retried_sentence, words_for
from .left_out import Fallback, LeftOut
from .unknown_parameters import read_parameters
from .unread_media import UNREAD


if TYPE_CHECKING:  # Only who has a session loads what speaks WebSocket.
    from .socket_session import SocketSession

type Whole = Callable[[], Sequence[Mapping[str, Any]]]
"""A function that returns the input of a request without compactions."""

_LOGGER = logging.getLogger("gpt5_responses")
_LOGGER.addHandler(logging.NullHandler())  # silent unless the program says where to
_PATH = "/responses"
# What one model does not take, others of the same server may.
_OF_MODEL = r"(?i)\b(?:this|the|for|with|by) (?:\S+ )?model\b|\bmodel \S+ (?:does|is|can)"


class FallbackClient(HttpClient):
    """The client of one connection, which remembers what its server refuses.

    Args:
        connection: Where the server is and how to reach it.
        kind: Whether it is a blocking or an asynchronous client.

    Raises:
        ResponsesError: If the machine's settings of proxies or certificates are not usable.

    Attributes:
        no_socket_until: Until when no session asks the server for a WebSocket, by `time.monotonic`.
    """

    def __init__(self, connection: Connection, kind: NetworkKind = Blocking) -> None:
        super().__init__(connection, kind)
        # Each with the model that it is about; None for all. Replaced as a whole, never changed: several threads may send through one client.
        self._refused: tuple[tuple[LeftOut, str | None], ...] = ()
        self.no_socket_until = 0.0

    def post(
        self,
        request: Mapping[str, Any],
        *,
        flex_fallback: bool = False,
        whole: Whole | None = None,
        session: "SocketSession | None" = None,
    ) -> Steps[tuple[HttpAnswer, tuple[Fallback, ...]]]:
        """Send a request, with fallbacks, until the server accepts it; return the answer and what was left out.

        It goes by the socket of a session, if there is one. A background response continues when its connection ends,
        so its request is never sent again if the server may have received it.

        Raises:
            ResponsesError: If the server cannot be reached, or refuses the request and there is nothing to leave out.
        """
        only_once = request.get("background") is True

        def send(body: Mapping[str, Any]) -> Steps[HttpAnswer]:
            def by_http() -> Steps[HttpAnswer]:
                return self.ask(b"POST", _PATH, write_body(body), only_once=only_once)

            return by_http() if session is None else session.send(self, body, by_http)

        return (
            yield from self._send(
                request,
                send,
                flex_fallback=flex_fallback,
                whole=whole,
            )
        )

    def call_with(
        self, path: str, body: Mapping[str, Any], *, only_once: bool = False
    ) -> Steps[bytes]:
        """Make a call with a body, with fallbacks, and return the body of the answer.

        Raises:
            ResponsesError: If the server cannot be reached, or refuses the request and there is nothing to leave out.
        """
        answer, _ = yield from self._send(
            body,
            lambda body: self.call(b"POST", path, write_body(body), only_once=only_once),
        )
        return answer

    def _send[T](
        self,
        request: Mapping[str, Any],
        send: Callable[[Mapping[str, Any]], Steps[T]],
        *,
        flex_fallback: bool = False,
        whole: Whole | None = None,
    ) -> Steps[tuple[T, tuple[Fallback, ...]]]:
        """Send a request by a function, with fallbacks; return what that returns, and what was left out."""
        model = str(request.get("model"))
        request = self.readable(request, model)
        body, left_out, again = dict(request), list[LeftOut](), list[LeftOut]()
        known = [part for part, of in self._refused if of in (None, model)]
        if self.connection.compatibility == "compatible":
            # What only OpenAI's own servers are sure to take.
            found = read_parameters().items()
            known = [*(LeftOut(name) for name, one in found if not one.is_common), *known]
        for part in known:
            if is_in(body, part):
                body = relax(body, part)
                left_out.append(part)
        while True:
            try:
                answer = yield from send(body)
            except ErrorAnswer as error:
                found = find_fallbacks(
                    error,
                    body,
                    compatibility=self.connection.compatibility,
                    flex_fallback=flex_fallback,
                    has_whole=whole is not None,
                )
                # What has been left out once and is refused again was not the reason.
                if not found or any(part in again for part in found):
                    tried = retried_sentence(again)
                    raise self.explain(error, model=model, tried=tried) from None
                for part in found:
                    body = relax(body, part, whole=whole or list)
                again += found
                self._remember(found, model if re.search(_OF_MODEL, error.message) else None)
            except Exception as error:  # noqa: BLE001  the client lets some errors of its library through
                raise self.explain(error, model=model) from None
            else:
                self._learn(request, again, model)
                names: list[Fallback] = [part.name for part in (*left_out, *again)]
                return answer, tuple(dict.fromkeys(names))

    def resume(self, path: str) -> Steps[tuple[HttpAnswer, tuple[Fallback, ...]]]:
        """Resume a background response's stream and return the answer; nothing is left out of it.

        Raises:
            ResponsesError: If the server cannot be reached, or does not stream it.
        """
        try:
            return (yield from self.ask(b"GET", path)), ()
        except Exception as error:  # noqa: BLE001  the client lets some errors of its library through
            raise self.explain(error, model="") from None

    def readable(self, request: Mapping[str, Any], model: str) -> Mapping[str, Any]:
        """Return a request as its server reads it.

        Without marks of open reasoning, which items of an earlier response may have, without what others made, and,
        except for OpenAI, without refusals among the parts.
        """
        items = request.get("input")
        if not is_list(items):
            return request
        held = items if isinstance(items, WrittenItems) else WrittenItems(items)
        made_by = self.connection.reasoning_mark(model)
        read = held.readable.map(partial(_read, made_by=made_by), held, by=made_by)
        return {**request, "input": WrittenItems(chain.from_iterable(read), held)}

    def _learn(self, request: Mapping[str, Any], parts: Sequence[LeftOut], model: str) -> None:
        """Remember parts that can have had other reasons to be refused: that the server takes the rest shows that they were it."""
        for part in parts:
            if part is not parts[-1] and (part.is_guess or parts[-1].is_guess):
                continue  # What was left out last is known to be meant, and nothing else.
            if part.name in UNREAD:
                self._remember([LeftOut(part.name)], model if part.is_of_model else None)
            elif part.name == "without_reasoning_items" and is_all_open(request):
                self._remember([LeftOut(part.name)], model)

    def _remember(self, parts: Sequence[LeftOut], model: str | None) -> None:
        """Remember the lasting ones of some refused parts, and log them."""
        new = tuple((part, model) for part in parts if part.is_lasting)
        self._refused = tuple(dict.fromkeys((*self._refused, *new)))
        if new:
            told = words_for([part for part, _ in new])
            _LOGGER.warning(
                "%s refused a request, which is sent again without %s.", self.connection.host, told
            )


def _read(item: object, made_by: str | None) -> list[Any]:
    """Return an item as its server reads it; nothing if that gets none of it."""
    readable = without_marks([item], made_by)
    return readable if made_by is None else list(map(_said, readable))


def _said(item: Any) -> Any:
    """Return an answer that ends in a refusal as a plain text, since ogx and Ollama refuse its part; anything else as it is."""
    match item:
        case {"role": "assistant", "content": [*_, {"type": "refusal"}]}:
            return wire_item({key: value for key, value in item.items() if key != "id"})
        case _:
            return item
