"""Trying credentials out, with answers that may be shown to whoever typed them."""

import json

import openai

from ._connection import Connection
from ._errors import NotFoundError, PermissionDeniedError
from ._failures import to_responses_error
from ._open import create
from ._transport import TRANSPORT, Transport


_CHEAPEST_MODEL = "gpt-5-nano"
_SMALLEST_OUTPUT = 16  # the API refuses less
_NO_SUCH_ROUTE = (403, 404, 405)


def check_server(connection: Connection, *, transport: Transport = TRANSPORT) -> None:
    """Find out whether the server is there and takes the key, without paying for an answer where that is possible.

    Lists the models. Many gateways have no such route; there a minimal call decides, and a server that only misses its model passes.

    Raises:
        ResponsesError: It is not, or does not.
    """
    try:
        with transport.lend(connection) as client:
            if _lists_models(client):
                return
    except openai.OpenAIError as error:
        raise to_responses_error(error, model=_CHEAPEST_MODEL) from None
    try:
        check_model(connection, _CHEAPEST_MODEL, transport=transport)
    except (NotFoundError, PermissionDeniedError) as error:
        if error.param != "model" and error.code != "model_not_found":
            raise


def check_model(connection: Connection, model: str, *, transport: Transport = TRANSPORT) -> None:
    """Find out whether the server answers with this model, by the smallest request it accepts.

    Raises:
        ResponsesError: It does not.
    """
    request = {
        "model": model,
        "input": "ping",
        "max_output_tokens": _SMALLEST_OUTPUT,
        "store": False,
        "stream": False,
    }
    create(connection, request, transport=transport)


def _lists_models(client: openai.OpenAI) -> bool:
    """Say whether the server has a list of models; a web page in its place is none."""
    try:
        answer = client.models.with_raw_response.list()
        return isinstance(json.loads(answer.text), dict)
    except openai.APIStatusError as error:
        if error.status_code in _NO_SUCH_ROUTE:
            return False
        raise
    except ValueError:
        return False
