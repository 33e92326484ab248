"""The errors of a call, from its request to its last event, by whose fault they are.

```text
ResponsesError
├── SettingsError(ValueError)     a setting is wrong; nothing was sent
├── ConnectionFailedError         the server could not be reached
│   └── ConnectionTimeoutError    it did not answer in time
│       └── StillRunningError     a background response was not done when the caller's time was over
├── RequestRefusedError           the server refused this request, and would refuse it again
│   ├── AuthenticationError       the key is wrong (401)
│   ├── PermissionDeniedError     the key may not do this (403)
│   ├── NotFoundError             no such route, item or model (404)
│   │   └── ModelNotFoundError    no such model, or not for this key
│   └── InvalidRequestError       something in the request is not accepted (400, 413, 422, ...)
├── RateLimitError                too many requests or tokens, or no quota left (429)
├── ServerError                   the server failed; the same request may pass later (408, 409, 5xx)
├── ResponseFailedError           the response began, and the server reported that it failed
├── StreamInterruptedError        the stream broke off before the response was complete
└── UnexpectedResponseError       the answer is not one of the Responses API
```

Messages are whole sentences that may be shown to people. They never contain a key, and of the server's text only the
explanation of a refusal and of a failure of a server that is not OpenAI's, shortened, behind our own words.
`explanation` has it for every error that the server explained.
"""

from typing import Final


# Source: `invalid_prompt`: openai 3.57.0, `types/responses/response_error.py`; `content_policy_violation`: litellm 1.110.2, `litellm_core_utils/exception_mapping_utils.py`;
# `content_filter`: https://learn.microsoft.com/en-us/azure/ai-services/openai/concepts/content-filter.
_FILTERED: Final = frozenset({"content_filter", "content_policy_violation", "invalid_prompt"})


class ResponsesError(Exception):
    """The root of this package's errors.

    Attributes:
        status_code: The HTTP status, where there was one.
        code: The server's error code, such as `model_not_found`.
        param: The parameter that the server names.
        request_id: The server's id of the request, for its support.
        client_request_id: Our id of it, which went out as `X-Client-Request-Id`; None where nothing was sent.
        explanation: The server's own words, on one line, without secrets and cut after 260 characters; empty if it has said nothing.
        is_transient: Whether the same call, made once more, may succeed; false where the client has tried that itself.
        may_pass_elsewhere: Whether another model may answer at once: after a rate limit, an overload, a lost server or
            a content filter, or if the model is gone or not for this key. The run of an agent reads both.
    """

    explanation: str = ""
    is_transient: bool = False
    may_pass_elsewhere: bool = False
    client_request_id: str | None = None

    def __init__(
        self,
        message: str,
        *,
        status_code: int | None = None,
        code: str | None = None,
        param: str | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.code = code
        self.param = param
        self.request_id = request_id
        if code in _FILTERED:
            self.may_pass_elsewhere = True


class SettingsError(ResponsesError, ValueError):
    """A setting that is missing or not usable.

    Attributes:
        field: The setting's name.
    """

    def __init__(self, message: str, *, field: str) -> None:
        super().__init__(message)
        self.field = field


class ConnectionFailedError(ResponsesError):
    """A server that could not be reached."""


class ConnectionTimeoutError(ConnectionFailedError):
    """A server that did not answer in time."""


class StillRunningError(ConnectionTimeoutError):
    """A background response that was not done when the caller's time was over.

    Attributes:
        response_id: The response's id.
        is_cancelled: Whether it was cancelled at the server; False if it was detached and continues.
    """

    def __init__(self, message: str, *, response_id: str, is_cancelled: bool) -> None:
        super().__init__(message)
        self.response_id = response_id
        self.is_cancelled = is_cancelled


class RequestRefusedError(ResponsesError):
    """A request that the server refused, and would refuse again."""


class AuthenticationError(RequestRefusedError):
    """A key that the server does not accept."""


class PermissionDeniedError(RequestRefusedError):
    """A key that is known but may not do this."""


class NotFoundError(RequestRefusedError):
    """A route or an item that the server does not have."""


class ModelNotFoundError(NotFoundError):
    """A model that the server does not have, or not for this key."""


class InvalidRequestError(RequestRefusedError):
    """A request with something in it that the server does not accept."""


class RateLimitError(ResponsesError):
    """Too many requests or tokens for now, or no quota left."""


class ServerError(ResponsesError):
    """A failure of the server; the same request may pass later."""


class ResponseFailedError(ResponsesError):
    """A response that had begun when the server reported that it failed."""


class StreamInterruptedError(ResponsesError):
    """A stream that broke off before the response was complete."""


class UnexpectedResponseError(ResponsesError):
    """An answer that is not one of the Responses API."""


_OF_AGENTS: Final[tuple[tuple[type[ResponsesError], bool, bool], ...]] = (
    # `is_transient`, `may_pass_elsewhere`
    (ConnectionFailedError, False, True),
    (StillRunningError, False, False),
    (PermissionDeniedError, False, True),
    (ModelNotFoundError, False, True),
    (RateLimitError, False, True),
    (ServerError, False, True),
    (ResponseFailedError, False, True),
    (StreamInterruptedError, True, False),
)
"""What the run of an agent reads of an error; one that is not here says what its base does."""

for _kind, _is_transient, _may_pass_elsewhere in _OF_AGENTS:
    _kind.is_transient, _kind.may_pass_elsewhere = _is_transient, _may_pass_elsewhere
