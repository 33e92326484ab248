"""Translation of the packages' errors into the five that Dify knows."""

import logging
import re
import traceback
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager

from dify_plugin.errors.model import (
    CredentialsValidateFailedError,
    InvokeAuthorizationError,
    InvokeBadRequestError,
    InvokeConnectionError,
    InvokeError,
    InvokeRateLimitError,
    InvokeServerUnavailableError,
)

from dify_plugin_kit import stdout
from dify_plugin_kit.request_errors import hide_request
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
    find_secrets,
)
from stream_text import KnownSecrets

from ._model_call import read_connection


# The first entry that fits decides, so narrow errors come before wide ones, and the root last.
INVOKE_ERRORS: dict[type[InvokeError], list[type[Exception]]] = {
    # Dify shows this one as a wrong key, whatever its text, so a permission that a valid key lacks is
    # a refused request.
    InvokeAuthorizationError: [AuthenticationError],
    InvokeRateLimitError: [RateLimitError],
    InvokeConnectionError: [ConnectionFailedError, StreamInterruptedError],
    InvokeBadRequestError: [
        PermissionDeniedError,
        RequestRefusedError,
        SettingsError,
        PayloadError,
        MessageError,
    ],
    InvokeServerUnavailableError: [
        ServerError,
        ResponseFailedError,
        UnexpectedResponseError,
        ResponsesError,
    ],
}


_LOGGER = logging.getLogger("dify_plugin.plugin.openai_gpt5_responses")
_TOO_LARGE = "The answer is larger than Dify takes in one piece. Ask for less at once."
_UNEXPECTED = "The credentials could not be checked because of an unexpected error. Check API Base URL and try again."
# The names of the packages for the fields of Dify's form.
_FORM_NAMES = {
    "api_key": "API Key (openai_api_key)",
    "base_url": "API Base URL (openai_api_base)",
    "timeout_seconds": "request_timeout_seconds",
}
_RANGES = {"request_timeout_seconds": (30, 900), "max_retries": (0, 5)}
_PACKAGE_NAME = re.compile(rf"\b(?:{'|'.join(_FORM_NAMES)})\b")


@contextmanager
def invoke_errors(credentials: Mapping[str, object]) -> Generator[None]:
    """Turn any error into one that Dify knows, without secrets in its text.

    No cause is chained, since its text may contain a secret. The traceback of an unexpected error goes to the plugin's log.
    """
    try:
        yield
    except (InvokeError, CredentialsValidateFailedError):
        raise
    except (ResponsesError, PayloadError, MessageError) as error:
        sentence = _to_sentence(error, credentials)
        told = _with_words(sentence, error, find_secrets(credentials))
        raise _invoke_error(error)(told) from None
    except Exception as error:  # noqa: BLE001  Dify knows no others
        raise InvokeServerUnavailableError(_log_unexpected(error)) from None


def request_errors(request: Mapping[str, object]) -> AbstractContextManager[None]:
    """Raise our errors unchanged, and the SDK's under their names with a text that does not quote the request."""
    return hide_request(
        (InvokeError, CredentialsValidateFailedError),
        redact=lambda text: find_secrets(request.get("credentials")).redact(text),
        explain=_log_unexpected,
    )


def shorten_line(line: bytes, limit: int) -> bytes:
    """Return a line that the daemon can read in place of one that is too long.

    Raises:
        InvokeServerUnavailableError: If the line must not be shortened, or is still too long.

    Source: docs/contracts/openai-gpt5-responses.md, A47.
    """
    return stdout.shorten_line(line, limit, _refuse_line)


def _refuse_line(_size: int, _limit: int) -> Exception:
    return InvokeServerUnavailableError(_TOO_LARGE)


def _to_sentence(error: Exception, credentials: Mapping[str, object]) -> str:
    """Return the text of an error with the field names of Dify's form, without secrets."""
    named = _PACKAGE_NAME.sub(lambda name: _FORM_NAMES[name[0]], str(error))
    return find_secrets(credentials).redact(named)


def _with_words(sentence: str, error: Exception, known: KnownSecrets) -> str:
    """Return the sentence of an error with the server's explanation behind it, which has the figures of a limit, for example."""
    said = error.explanation if isinstance(error, ResponsesError) else ""
    if not said or said in str(error):
        return sentence
    return f"{sentence} The server says: {known.redact(said)}"


def _log_unexpected(error: Exception) -> str:
    """Log the traceback of an error and return a sentence for it, since its own text could contain a prompt or a key."""
    where = "".join(traceback.format_tb(error.__traceback__))
    _LOGGER.error("%s in a call:\n%s", type(error).__name__, where)
    return f"The call failed unexpectedly ({type(error).__name__}). The plugin's log says where."


def _invoke_error(error: Exception) -> type[InvokeError]:
    return next(kind for kind, causes in INVOKE_ERRORS.items() if isinstance(error, tuple(causes)))


@contextmanager
def validated_connection(credentials: Mapping[str, object]) -> Generator[Connection]:
    """Yield a connection to try, and turn any failure into one sentence for the user's form.

    Raises:
        CredentialsValidateFailedError: If the credentials cannot be used, or the attempt fails.
    """
    address, known = "", find_secrets(credentials)
    try:
        _validate_ranges(credentials)
        connection = read_connection(credentials)
        address = known.redact(connection.address)
        yield connection
    except Exception as error:  # noqa: BLE001  a form shows one sentence, whatever happens
        is_known = isinstance(error, (ResponsesError, PayloadError))
        sentence = _to_sentence(error, credentials) if is_known else _UNEXPECTED
        sentence += address and f" Requests go to {address}."
        _LOGGER.warning("A check of credentials failed: %s", _with_words(sentence, error, known))
        raise CredentialsValidateFailedError(sentence) from None
    else:
        _LOGGER.info("A check of credentials passed. Requests go to %s.", address)


def _validate_ranges(credentials: Mapping[str, object]) -> None:
    """Refuse a number out of range while the user can still correct it; calls move it to the nearest limit.

    Raises:
        SettingsError: If a value is out of range or not a number.
    """
    for name, (lowest, highest) in _RANGES.items():
        text = str(credentials.get(name) or "").strip()
        try:
            is_inside = not text or lowest <= int(text) <= highest
        except ValueError:
            is_inside = False
        if not is_inside:
            raise SettingsError(
                f"{name} must be a whole number from {lowest} to {highest}.", field=name
            )
