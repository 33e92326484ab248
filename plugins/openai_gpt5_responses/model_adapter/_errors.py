"""The packages' errors as the five that Dify knows."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager

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


# The first entry that fits decides, so the narrow ones come first.
INVOKE_ERRORS: dict[type[InvokeError], list[type[Exception]]] = {
    InvokeAuthorizationError: [AuthenticationError, PermissionDeniedError],
    InvokeRateLimitError: [RateLimitError],
    InvokeConnectionError: [ConnectionFailedError, StreamInterruptedError],
    InvokeServerUnavailableError: [ServerError, ResponseFailedError, UnexpectedResponseError],
    InvokeBadRequestError: [RequestRefusedError, SettingsError, PayloadError, MessageError],
}


@contextmanager
def invoke_errors() -> Generator[None]:
    """Raise what the packages raise as what Dify understands, with the same sentence."""
    try:
        yield
    except (ResponsesError, PayloadError, MessageError) as error:
        kind = next(
            (kind for kind, causes in INVOKE_ERRORS.items() if isinstance(error, tuple(causes))),
            InvokeError,
        )
        raise kind(str(error)) from error


@contextmanager
def validated_connection(credentials: Mapping[str, object]) -> Generator[Connection]:
    """Give out a connection to be tried, and turn every failure into one sentence for the user's form.

    Raises:
        CredentialsValidateFailedError: The credentials are not usable, or trying them failed.
    """
    try:
        yield Connection.from_credentials(credentials)
    except (ResponsesError, PayloadError) as error:
        raise CredentialsValidateFailedError(str(error)) from error
