"""Validation of credentials, with errors that may be shown to the person who typed them."""

from collections.abc import Mapping
from typing import Any

from gpt5_messages import ResponseFailure
from stream_text import InvalidJsonError, is_object, parse_json

from ._calls.transport import TRANSPORT, Transport
from ._errors import (
    InvalidRequestError,
    ModelNotFoundError,
    PermissionDeniedError,
    ResponseFailedError,
    ResponsesError,
)
from ._http.client import HttpClient, play
from ._http.error_answer import ErrorAnswer
from ._http.error_messages import (
    NOT_LOADED,
    SERVER_WORDS,
    VERIFY,
    explanation,
    from_event,
    is_not_loaded,
    is_unverified,
)
from ._settings.connection import Connection
from ._shutdown_dates import read_shutdown_dates
from ._streams.reader import find_error
from ._streams.stream import create


_CHEAPEST_MODEL = "gpt-6-luna"
_SMALLEST_OUTPUT = 16  # the API refuses less
_REFUSED = (
    "The server refused the smallest request to the model {!r}. Check its name, whether the key's organisation may use it, "
    "and base_url."
)
_NO_SUCH_ROUTE = (403, 404, 405, 410, 501)  # as gateways answer without a list of models
_NOTHING_SAID = "empty_response"  # within so small a limit
_NO_MODEL = "model_not_found"  # also of a model that only a verified organisation may use


def validate_server(connection: Connection, *, transport: Transport = TRANSPORT) -> None:
    """Raise unless the server is reachable and accepts the key, without paying for an answer if possible.

    Lists the models, and remembers the days on which the server shuts them down. Many gateways have no such route;
    there a minimal call decides, and a server passes if it lacks only the model of that call.

    Raises:
        ResponsesError: If it is not reachable, or refuses the key. The message contains none of the server's text.
    """
    with transport.lend(connection) as client:
        try:
            models = _read_models(client, connection)
        except Exception as error:  # noqa: BLE001  the client lets some errors of its HTTP library through
            failure = client.explain(error, model=_CHEAPEST_MODEL)
            raise _without_server_text(failure, _CHEAPEST_MODEL) from None
    if models is not None:
        transport.learn_shutdown_dates(connection, read_shutdown_dates(models))
        return
    try:
        validate_model(connection, _CHEAPEST_MODEL, transport=transport)
    except ModelNotFoundError:
        return
    except InvalidRequestError as error:
        if not is_not_loaded(error.explanation):
            raise
    except PermissionDeniedError as error:
        # A key for other models only is a good one.
        if error.param != "model" and error.code != _NO_MODEL:
            raise


def validate_model(connection: Connection, model: str, *, transport: Transport = TRANSPORT) -> None:
    """Raise unless the server answers with this model, by the smallest request that it accepts.

    Raises:
        ResponsesError: If it does not. The message contains none of the server's text.
    """
    request = {
        "model": model,
        "input": "ping",
        "max_output_tokens": _SMALLEST_OUTPUT,
        "store": False,
        "stream": False,
    }
    try:
        try:
            create(connection, request, transport=transport)
        except InvalidRequestError as error:
            if "max_output_tokens" not in f"{error.param} {error.explanation}":
                raise
            # The limit only saves money, and nobody has asked for it.
            del request["max_output_tokens"]
            create(connection, request, transport=transport)
    except ResponsesError as error:
        if error.code != _NOTHING_SAID:
            raise _without_server_text(error, model) from None


def _without_server_text(error: ResponsesError, model: str) -> ResponsesError:
    """Return an error once its message has no text of the server's, for the person who fills in a form; `explanation` keeps it, for a log."""
    sentence = str(error).partition(SERVER_WORDS)[0]
    if isinstance(error, (InvalidRequestError, ResponseFailedError)):
        sentence = _sentence_of(error.explanation).format(model)
    error.args = (sentence,)
    return error


def _sentence_of(said: str) -> str:
    if is_unverified(said):
        return VERIFY
    return NOT_LOADED if is_not_loaded(said) else _REFUSED


def _read_models(client: HttpClient, connection: Connection) -> Mapping[str, Any] | None:
    """Return the server's list of models; None if it has none, or answers with a web page.

    Raises:
        ResponsesError: If the server reports a failure under a success status.
    """
    try:
        answer = parse_json(play(client.call(b"GET", "/models")).decode(errors="replace"))
    except ErrorAnswer as error:
        if error.status_code in _NO_SUCH_ROUTE:
            return None
        raise
    except InvalidJsonError:
        return None
    if not is_object(answer):
        return None
    error = find_error(answer)
    if error is not None:
        # Without the server's explanation, which must not be shown, but is logged.
        code = error.get("code") or error.get("type")
        failure = from_event(
            ResponseFailure(code=code, message=""),
            model=_CHEAPEST_MODEL,
            request_id=None,
            connection=connection,
        )
        failure.explanation = explanation(error.get("message", ""), connection.secrets)
        raise failure
    return answer
