"""Connection errors: the reason why no answer came, from the HTTP library's error."""

import re
import socket
import ssl
from collections.abc import Mapping

import httpcore


_CHECK = "Check the network and base_url."
_TOO_SLOW = "The server did not answer in time. Try again, or raise timeout_seconds or lower reasoning_effort."
_TOO_MUCH = "sent more than 100 KiB of informational answers (1xx) before its answer"
_NO_ANSWER = "closed the connection without an answer, or answered with something other than HTTP"
_CERTIFICATES = ("SSL_CERT_FILE", "SSLKEYLOGFILE")  # Python itself opens the second
_PROXIES = ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY")


class TooMuchAheadError(httpcore.RemoteProtocolError):
    """Informational answers (1xx) without end, in place of an answer."""


class SocketError(httpcore.RemoteProtocolError):
    """A WebSocket that has ended, or breaks the protocol.

    Attributes:
        why: What happened, as the end of a sentence.
        code: The code that the server has closed it with; None if it did not say so.
    """

    def __init__(self, why: str, code: int | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.code = code


class NoAnswerError(Exception):
    """A request without an answer; its cause is the HTTP library's error.

    Attributes:
        is_proxied: Whether it went to a proxy.
        may_be_at_work: Whether the server may have received it, and keep working on it after the connection has ended.
        own_id: Our id of the request.
        is_by_socket: Whether it went by a WebSocket.
    """

    def __init__(
        self,
        *,
        is_proxied: bool,
        may_be_at_work: bool = False,
        own_id: str | None = None,
        is_by_socket: bool = False,
    ) -> None:
        super().__init__()
        self.own_id = own_id
        self.is_by_socket = is_by_socket
        self.is_proxied = is_proxied
        self.may_be_at_work = may_be_at_work

    @property
    def is_timeout(self) -> bool:
        """Whether it took too long."""
        return find_cause(self, httpcore.TimeoutException) is not None


def connection_sentence(error: NoAnswerError) -> str:
    """Return the error message for a failed connection."""
    cause = _cause(error)
    named = f": {cause}" if cause else ""
    return f"The server could not be reached{named}. {_CHECK}"


def timeout_sentence(error: NoAnswerError) -> str:
    """Return the error message for a server that took too long to connect or to answer."""
    if find_cause(error, httpcore.ConnectTimeout) is None:
        return _TOO_SLOW
    return f"The server could not be reached: {_who(error)} did not take the connection in time. {_CHECK}"


def unusable_sentence(error: Exception, environ: Mapping[str, str]) -> str:
    """Return the error message for a client that could not be made, naming the environment variables that may be the reason."""
    # Certificate files fail with an OSError, addresses of proxies do not.
    asked = _CERTIFICATES if isinstance(error, OSError) else _PROXIES
    names = [name for upper in asked for name in (upper, upper.lower()) if environ.get(name)]
    named = f" ({', '.join(names)})" if names else ""
    return f"The connection could not be made. Check the machine's proxy and certificate settings{named}, and base_url."


def find_cause[E: BaseException](error: BaseException, kind: type[E]) -> E | None:
    """Return the first error of a kind in an error's chain of causes."""
    seen: set[int] = set()  # a chain of contexts can be a circle
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        if isinstance(cause, kind):
            return cause
        seen.add(id(cause))
        cause = cause.__cause__ or cause.__context__
    return None


def _cause(error: NoAnswerError) -> str:
    who = _who(error)
    # The most telling first: most of these are an OSError or a network error as well.
    if (tls := find_cause(error, ssl.SSLError)) is not None:
        return f"TLS with {who} failed ({_tls_reason(tls)})"
    if find_cause(error, socket.gaierror) is not None:
        return f"the name of {who} was not found"
    if find_cause(error, ConnectionRefusedError) is not None:
        return f"{who} refused the connection"
    if (proxy := find_cause(error, httpcore.ProxyError)) is not None:
        status = re.match(r"\d{3}\b", str(proxy))
        return f"the proxy did not connect to it{f' (status {status[0]})' if status else ''}"
    if (broken := find_cause(error, httpcore.RemoteProtocolError)) is not None:
        return f"{who} {_TOO_MUCH if isinstance(broken, TooMuchAheadError) else _NO_ANSWER}"
    failed = find_cause(error, OSError)
    return f"{failed.strerror}" if failed is not None and failed.errno and failed.strerror else ""


def _tls_reason(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message.rstrip(".")
    return (error.reason or "the handshake broke off").replace("_", " ").lower()


def _who(error: NoAnswerError) -> str:
    return "the proxy" if error.is_proxied else "the server"
