"""The packages' errors as the five that Dify knows."""

import logging
import re
import traceback
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
from pydantic import ValidationError

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


# The first entry that fits decides: narrow errors come before wide ones, and the root last.
INVOKE_ERRORS: dict[type[InvokeError], list[type[Exception]]] = {
    # Dify says of this one, whatever its text, that the key is wrong: what a good key may not do is told as a refused request.
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
_UNEXPECTED = "The credentials could not be checked, for a reason that nobody expected. Check API Base URL and try again."
# What the packages call the fields of Dify's form.
_FORM_NAMES = {
    "api_key": "API Key (openai_api_key)",
    "base_url": "API Base URL (openai_api_base)",
    "timeout_seconds": "request_timeout_seconds",
}
_RANGES = {"request_timeout_seconds": (30, 900), "max_retries": (0, 5)}
_PACKAGE_NAME = re.compile(rf"\b(?:{'|'.join(_FORM_NAMES)})\b")


@contextmanager
def invoke_errors(credentials: Mapping[str, object]) -> Generator[None]:
    """Raise whatever is raised as what Dify understands, without a secret.

    None is named as the cause of another, for an error's text may hold a secret. Where an unexpected one comes from goes to the plugin's log.
    """
    try:
        yield
    except (InvokeError, CredentialsValidateFailedError):
        raise
    except (ResponsesError, PayloadError, MessageError) as error:
        told = _tell(error, credentials)
        raise _invoke_error(error)(told) from None
    except Exception as error:  # noqa: BLE001  Dify knows no others
        raise InvokeServerUnavailableError(_log_unexpected(error)) from None


@contextmanager
def request_errors(request: Mapping[str, object]) -> Generator[None]:
    """Raise ours as they are, and the SDK's own of a request under their names, with a text that quotes nothing of it."""
    try:
        yield
    except (InvokeError, CredentialsValidateFailedError):
        raise
    except Exception as error:  # noqa: BLE001  whatever it is, Dify is told without its text
        if isinstance(error, ValidationError):
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            field = ".".join(map(str, first["loc"]))
            told = f"Dify's request cannot be read: {field}: {first['msg']}"
        else:
            told = _log_unexpected(error)
        redacted = find_secrets(request.get("credentials")).redact(told)
        raise type(type(error).__name__, (Exception,), {})(redacted) from None


def _tell(error: Exception, credentials: Mapping[str, object]) -> str:
    """Return what an error says in the words of the form, without a secret."""
    named = _PACKAGE_NAME.sub(lambda name: _FORM_NAMES[name[0]], str(error))
    return find_secrets(credentials).redact(named)


def _log_unexpected(error: Exception) -> str:
    """Write where an error comes from to the plugin's log, and return what is told of it: its text could hold a prompt or a key."""
    where = "".join(traceback.format_tb(error.__traceback__))
    _LOGGER.error("%s in a call:\n%s", type(error).__name__, where)
    return f"The call failed unexpectedly ({type(error).__name__}). The plugin's log says where."


def _invoke_error(error: Exception) -> type[InvokeError]:
    return next(kind for kind, causes in INVOKE_ERRORS.items() if isinstance(error, tuple(causes)))


@contextmanager
def validated_connection(credentials: Mapping[str, object]) -> Generator[Connection]:
    """Give out a connection to be tried, and turn every failure into one sentence for the user's form.

    Raises:
        CredentialsValidateFailedError: If the credentials are not usable, or trying them fails.
    """
    try:
        _validate_ranges(credentials)
        yield Connection.from_credentials(credentials)
    except (ResponsesError, PayloadError) as error:
        told = _tell(error, credentials)
        raise CredentialsValidateFailedError(told) from None
    except Exception:  # noqa: BLE001  a form shows one sentence, whatever happens
        raise CredentialsValidateFailedError(_UNEXPECTED) from None


def _validate_ranges(credentials: Mapping[str, object]) -> None:
    """Refuse a number that calls would move to the nearest limit, as long as somebody sees it.

    Raises:
        SettingsError: If one is outside, or is none.
    """
    for name, (lowest, highest) in _RANGES.items():
        text = str(credentials.get(name) or "").strip()
        try:
            is_inside = not text or lowest <= int(text) <= highest
        except ValueError:
            is_inside = False
        if not is_inside:
            told = f"{name} must be a whole number from {lowest} to {highest}."
            raise SettingsError(told, field=name)
