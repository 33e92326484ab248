"""The packages' errors as the five that Dify knows."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager

import openai
from dify_plugin.errors.model import (
    CredentialsValidateFailedError,
    InvokeAuthorizationError,
    InvokeBadRequestError,
    InvokeConnectionError,
    InvokeError,
    InvokeRateLimitError,
    InvokeServerUnavailableError,
)

from gpt5_messages import MessageError
from gpt5_payloads import PayloadError
from gpt5_responses import (
    AuthenticationError,
    Connection,
    ConnectionFailedError,
    PermissionDeniedError,
    RateLimitError,
    RequestRefusedError,
    ResponseFailedError,
    ResponsesError,
    ServerError,
    SettingsError,
    StreamInterruptedError,
    UnexpectedResponseError,
)


# The first entry that fits decides: narrow errors come before wide ones, and the roots last. The official client's own errors are
# mapped where they are caught; they stand here too, so that none has to be an unknown one should it ever get this far.
INVOKE_ERRORS: dict[type[InvokeError], list[type[Exception]]] = {
    InvokeAuthorizationError: [
        AuthenticationError,
        PermissionDeniedError,
        openai.AuthenticationError,
        openai.PermissionDeniedError,
    ],
    InvokeRateLimitError: [RateLimitError, openai.RateLimitError],
    InvokeConnectionError: [
        ConnectionFailedError,
        StreamInterruptedError,
        openai.APIConnectionError,
    ],
    InvokeBadRequestError: [
        RequestRefusedError,
        SettingsError,
        PayloadError,
        MessageError,
        openai.BadRequestError,
        openai.NotFoundError,
        openai.UnprocessableEntityError,
    ],
    InvokeServerUnavailableError: [
        ServerError,
        ResponseFailedError,
        UnexpectedResponseError,
        ResponsesError,
        openai.OpenAIError,
    ],
}


@contextmanager
def invoke_errors() -> Generator[None]:
    """Raise what the packages raise as what Dify understands, with the same sentence."""
    try:
        yield
    except (ResponsesError, PayloadError, MessageError) as error:
        raise _invoke_error(error)(str(error)) from error


def _invoke_error(error: Exception) -> type[InvokeError]:
    return next(kind for kind, causes in INVOKE_ERRORS.items() if isinstance(error, tuple(causes)))


@contextmanager
def validated_connection(credentials: Mapping[str, object]) -> Generator[Connection]:
    """Give out a connection to be tried, and turn every failure into one sentence for the user's form.

    Raises:
        CredentialsValidateFailedError: If the credentials are not usable, or trying them fails.
    """
    try:
        yield Connection.from_credentials(credentials)
    except (ResponsesError, PayloadError) as error:
        raise CredentialsValidateFailedError(str(error)) from error
