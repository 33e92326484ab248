"""Trying credentials out, with answers that may be shown to whoever typed them."""

import json

import openai

from ._connection import Connection
from ._errors import (
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    ResponseFailedError,
    ResponsesError,
)
from ._failures import to_responses_error
from ._stream import create
from ._transport import TRANSPORT, Transport


_CHEAPEST_MODEL = "gpt-5-nano"
_SMALLEST_OUTPUT = 16  # the API refuses less
_REFUSED = (
    "The server refused the smallest request to the model {!r}. Check its name, whether the key's organisation may use it, "
    "and openai_api_base."
)
_NO_SUCH_ROUTE = (403, 404, 405)


def validate_server(connection: Connection, *, transport: Transport = TRANSPORT) -> None:
    """Make sure that the server is there and takes the key, without paying for an answer where that is possible.

    Lists the models. Many gateways have no such route; there a minimal call decides, and a server that only misses its model passes.

    Raises:
        ResponsesError: If it is not, or does not. The message holds nothing of what the server wrote.
    """
    try:
        with transport.lend(connection) as client:
            if _lists_models(client):
                return
    except openai.OpenAIError as error:
        told = to_responses_error(error, model=_CHEAPEST_MODEL)
        raise _without_server_text(told, _CHEAPEST_MODEL) from None
    try:
        validate_model(connection, _CHEAPEST_MODEL, transport=transport)
    except (NotFoundError, PermissionDeniedError) as error:
        if error.param != "model" and error.code != "model_not_found":
            raise


def validate_model(connection: Connection, model: str, *, transport: Transport = TRANSPORT) -> None:
    """Make sure that the server answers with this model, by the smallest request it accepts.

    Raises:
        ResponsesError: If it does not. The message holds nothing of what the server wrote.
    """
    request = {
        "model": model,
        "input": "ping",
        "max_output_tokens": _SMALLEST_OUTPUT,
        "store": False,
        "stream": False,
    }
    try:
        create(connection, request, transport=transport)
    except ResponsesError as error:
        raise _without_server_text(error, model) from None


def _without_server_text(error: ResponsesError, model: str) -> ResponsesError:
    """Return the error as whoever fills in a form may read it: only refusals and failures quote the server."""
    if not isinstance(error, (InvalidRequestError, ResponseFailedError)):
        return error
    return type(error)(
        _REFUSED.format(model),
        status_code=error.status_code,
        code=error.code,
        param=error.param,
        request_id=error.request_id,
    )


def _lists_models(client: openai.OpenAI) -> bool:
    """Return whether the server has a list of models; a web page instead of it is none."""
    try:
        answer = client.models.with_raw_response.list()
        return isinstance(json.loads(answer.text), dict)
    except openai.APIStatusError as error:
        if error.status_code in _NO_SUCH_ROUTE:
            return False
        raise
    except ValueError:
        return False
