"""The meaning of a failed model call's error text: a sentence for a person, and whether a retry is worth it.

A call passes through many hands: the plugin daemon, Dify's API, the daemon again, the model's plugin, its provider. A
call that the platform broke off may succeed the next time. One that the provider refused will not, and where the
provider itself failed, the model's plugin has already retried.

Source: langgenius/dify-plugin-daemon at bdb5642a, internal/core and pkg/utils; langgenius/dify, api/core/plugin/impl/exc.py; dify-plugin 0.10.2,
`core/runtime.py` and `errors/model.py`; recorded traffic.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from ._plain_text import MAX_CHARACTERS, find_error_types, to_plain_text


__all__ = ["CallFailure", "read_call_failure", "to_plain_text", "without_server_words"]

_MAX_WAIT_SECONDS = 60.0  # Our choice: a person waits for the answer.
_CAUSE_CHARACTERS = 200
_PAUSE_SECONDS = 2.0  # Our choice: what is not running now may be in a moment.

# Classes of the plugin SDK and of Dify's API; their names survive every wrapping.
_REFUSALS: Final = frozenset(
    {
        "InvokeBadRequestError",
        "InvokeAuthorizationError",
        "CredentialsValidateFailedError",
        "PluginPermissionDeniedError",
        "PluginDaemonBadRequestError",
        "PluginDaemonUnauthorizedError",
        "PluginUniqueIdentifierError",
    }
)
_RATE_LIMITS: Final = frozenset({"InvokeRateLimitError", "RateLimitError"})
# Python's own and pydantic's: the same request would break the plugin in the same way again.
_BUGS: Final = frozenset(
    {
        "AssertionError",
        "AttributeError",
        "ImportError",
        "IndexError",
        "KeyError",
        "ModuleNotFoundError",
        "NameError",
        "RecursionError",
        "TypeError",
        "UnboundLocalError",
        "ValidationError",
    }
)
_CONNECTIONS: Final = frozenset({"InvokeConnectionError", "InvokeServerUnavailableError"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFailure:
    """A model call that failed.

    Attributes:
        message: Why, as a clause that a person can read.
        is_transient: Whether the platform broke it off, so that it may succeed when it is made again.
        wait_seconds: How long to wait before that.
        may_pass_elsewhere: Whether another model might answer at once: after a rate limit, an overload, a content filter, or if the model is gone.
    """

    message: str
    is_transient: bool
    wait_seconds: float = 0.0
    may_pass_elsewhere: bool = False


def _rule(
    pattern: str, message: str, *, is_transient: bool = True, wait_seconds: float = 0.0
) -> tuple[re.Pattern[str], CallFailure]:
    """Return a pattern for an error text in lower case, and the failure that it stands for."""
    failure = CallFailure(message=message, is_transient=is_transient, wait_seconds=wait_seconds)
    return re.compile(pattern), failure


# The first that fits decides, so the order matters: a call that took too long also says
# `failed to read system header`, and an answer that broke off `unexpected EOF`.
_RULES: Final = (
    _rule(
        r"you need to enable [\w-]+ access in plugin manifest",
        "this plugin has no permission to call models",
        is_transient=False,
    ),
    _rule(
        r"unmarshal backwards invoke request failed|invoke request (missing|is empty)",
        "Dify's plugin daemon could not read the request",
        is_transient=False,
    ),
    _rule(
        r"use of closed network connection|read on closed response body",
        "Dify's plugin daemon ended it, because it took longer than one call may "
        "(DIFY_BACKWARDS_INVOCATION_READ_TIMEOUT, 240 seconds by default)",
    ),
    _rule(
        r"killed by timeout",
        "Dify's plugin daemon ended the model's plugin, because it took longer than it may "
        "(PLUGIN_MAX_EXECUTION_TIMEOUT, 600 seconds by default)",
    ),
    _rule(
        r"plugin .{0,200} (ended with exit code|was killed)",
        "the model's plugin died",
        wait_seconds=_PAUSE_SECONDS,
    ),
    _rule(
        r"invocation exited without response after|the read operation timed out",
        "nothing came of it for too long",
    ),
    _rule(
        r"no proper instance|runtime not found|failed to get plugin (runtime|manager)|no available node|"
        r"runtime not bound|failed to write request|(node|available ip) not found|instance (is )?dead|"
        r"request to plugin daemon service failed|plugindaemoninner(error)?\b|plugindaemonunavailableerror|"
        r"plugindaemoninternalservererror",
        "the model's plugin is not running at the moment",
        wait_seconds=_PAUSE_SECONDS,
    ),
    _rule(
        r"plugin not found|pluginnotfounderror|plugindaemonnotfounderror",
        "the model's plugin is not installed",
        is_transient=False,
    ),
    _rule(
        r"(unmarshal|invoke_dify|unknown_stream_message_type|serverless_event_not_supported)[\w ]{0,20}error|"
        r"validate request failed|failed to process data",
        "the answer could not be read",
        is_transient=False,
    ),
    _rule(
        r"magic number mismatch|header length mismatch|data length is too long|data is nil|"
        r"failed to read (system |)(header|data)",
        "the answer of Dify's API broke off or could not be read",
    ),
    _rule(
        r"connection (refused|reset|closed|aborted|timed out)|broken pipe|unexpected eof|\beof$|no such host|"
        r"no route to host|(network|host) is unreachable|i/o timeout|tls handshake|server misbehaving|"
        r"server closed idle connection|server disconnected|incomplete chunked read|"
        r"remote end closed connection|context (canceled|deadline exceeded)|name resolution",
        "a connection on the way to the model failed",
        wait_seconds=_PAUSE_SECONDS,
    ),
)
_INNER_STATUS = re.compile(r"(?:^|model failed: )request failed with status code: (\d{3})")
_UNREADABLE = re.compile(r"failed to parse response: ", re.IGNORECASE)
_TOO_SLOW = re.compile(r"request timed out|did not answer (in|within)|no answer within")
# Dify drops the name of a model plugin's error on the way to an agent, so sentences have to do,
# those of `openai_gpt5_responses` among them.
_CONNECTION_NAME = re.compile(
    r"\] (connection|server unavailable) error,|the server (failed to answer|could not be reached)"
)
_REFUSAL_NAME = re.compile(r"\] bad request error,|incorrect model credentials|error code: 4(?!29)")
_RATE_LIMIT_NAME = re.compile(r"\] rate limit error,|error code: 429|rate limit|too many requests")
# Another model may be free of it: a rate limit, an overload, a content filter, a model that is gone.
_ANOTHERS: Final = _RATE_LIMITS | {"InvokeServerUnavailableError"}
_FOR_ANOTHER = re.compile(
    r"\] rate limit error,|error code: (429|503|529)|rate.?limit|too many requests|quota|"
    r"overload|over capacity|the server failed to answer|(server|service)( is)? (temporarily )?unavailable|\b503\b.{0,20}unavailable|high demand|"
    r"content.?(filter|management|policy)|responsible ?ai|flagged|moderation|"
    r"model.{0,200}(not found|not exist|no longer|deprecated|decommissioned|retired|shut down)|has no model|has not verified|model_not_found|"
    r"plugin not found|pluginnotfounderror|plugindaemonnotfounderror"
)
_QUOTA = re.compile(r"quota|billing|credit")
_WAIT = re.compile(
    r"(?:try again|retry|wait)\D{0,20}?(?:(\d+)m(?:in\w*)? ?)?(\d+(?:\.\d+)?) ?(ms|s\b|sec)"
)


# As `openai_gpt5_responses` writes them (docs/contracts/openai-gpt5-responses.md, A39).
_SERVER_WORDS = " The server says: "
_SERVER_REASON = re.compile(
    r"((?:The server refused the request \(status \d{3}\)|The response failed)[^:]*): .*", re.DOTALL
)


def without_server_words(sentence: str) -> str:
    """Return the sentence of a failed model call without what the model's server has said, which is for logs.

    Example:
        >>> without_server_words("The server failed to answer. The server says: db-7 is down.")
        'The server failed to answer.'
        >>> without_server_words(
        ...     "The server refused the request (status 400), param 'a': db-7 lacks it."
        ... )
        "The server refused the request (status 400), param 'a'."
    """
    return _SERVER_REASON.sub(r"\1.", sentence.partition(_SERVER_WORDS)[0])


def read_call_failure(text: str, *, redact: Callable[[str], str] = str) -> CallFailure:
    """Read why a model call failed from the error text of Dify's platform, a model's plugin or its provider.

    An unknown text counts as a refusal: the call is taken to fail again, with another model too.

    Args:
        text: The text of the error, however it is wrapped.
        redact: Takes secrets out of the message.

    Example:
        >>> failure = read_call_failure('{"message": "no available node, plugin not found"}')
        >>> failure.message, failure.is_transient, failure.wait_seconds
        ("the model's plugin is not running at the moment", True, 2.0)
    """
    lowered = text[:MAX_CHARACTERS].lower()
    # A server may say anything, but how long to wait it alone knows.
    ours = lowered.partition(_SERVER_WORDS.lower())[0]
    types = find_error_types(text)
    failure = _read(ours, types, to_plain_text(text, redact), whole=lowered)
    may_pass = bool(types & _ANOTHERS or _FOR_ANOTHER.search(ours))
    return replace(failure, may_pass_elsewhere=may_pass)


def _read(lowered: str, types: frozenset[str], said: str, *, whole: str) -> CallFailure:
    # Alone, because the body that follows the status may say anything.
    if status := _INNER_STATUS.search(lowered):
        return _read_status(int(status[1]))
    if types & _RATE_LIMITS or _RATE_LIMIT_NAME.search(lowered):
        return _read_rate_limit(said, whole)
    # Before the rules, because a refusal may quote words of theirs, such as `connection refused`.
    is_refusal = types & _REFUSALS or _REFUSAL_NAME.search(lowered)
    if is_refusal or _TOO_SLOW.search(lowered):  # A slow call would be paid twice.
        return CallFailure(message=said, is_transient=False)
    if _UNREADABLE.search(lowered):
        return _read_break("the answer could not be read", _UNREADABLE.sub("", said))
    failure = next((failure for pattern, failure in _RULES if pattern.search(lowered)), None)
    return failure or _read_plugin_error(said, lowered, types)


def _read_plugin_error(said: str, lowered: str, types: frozenset[str]) -> CallFailure:
    """Read the error of the model's plugin itself: a bug of its own, or a sentence about its provider."""
    if bugs := types & _BUGS:
        return _read_break(f"the model's plugin broke ({', '.join(sorted(bugs))})", said)
    is_transient = bool(types & _CONNECTIONS or _CONNECTION_NAME.search(lowered))
    return CallFailure(message=said, is_transient=is_transient)


def _read_break(what: str, cause: str) -> CallFailure:
    """Read a failure that another try would meet as well: an answer of another shape, or a bug."""
    return CallFailure(message=f"{what}: {cause[:_CAUSE_CHARACTERS]}", is_transient=False)


def _read_status(status: int) -> CallFailure:
    """Read the HTTP status with which Dify's API answered the daemon."""
    if status >= 500 or status in {408, 429}:  # noqa: PLR2004 - statuses by name say no more
        message = f"Dify's API failed (status {status})"
        return CallFailure(message=message, is_transient=True, wait_seconds=_PAUSE_SECONDS)
    message = (
        f"Dify's API refused it (status {status}). Check DIFY_INNER_API_URL and DIFY_INNER_API_KEY of "
        "the plugin daemon"
    )
    return CallFailure(message=message, is_transient=False)


def _read_rate_limit(message: str, lowered: str) -> CallFailure:
    """Read a rate limit, which is worth another try only if it names a short wait."""
    wait = _WAIT.search(lowered)
    # A quota that is used up is not back in seconds, whatever the text proposes.
    if wait is None or _QUOTA.search(lowered):
        return CallFailure(message=message, is_transient=False)
    seconds = 60 * int(wait[1] or 0) + float(wait[2]) * (0.001 if wait[3] == "ms" else 1)
    is_short = seconds <= _MAX_WAIT_SECONDS
    return CallFailure(
        message=message, is_transient=is_short, wait_seconds=seconds if is_short else 0
    )
