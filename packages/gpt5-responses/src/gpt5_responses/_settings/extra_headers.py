"""Extra headers for every request, for gateways: validated, and refused by name.

Their values are secrets. Names are not, but an invalid name may be a value in the wrong position, and is never shown.

Source: RFC 9110, sections 5.1, 5.5 and 5.6.2, for what a name and a value may hold; how many there may be and which are refused is our choice.
"""

import re
from collections.abc import Mapping

from gpt5_responses._errors import SettingsError

from .header_settings import SecretTexts, read_members


_FIELD = "extra_headers"
_EXAMPLE = '{"X-Team": "blue"}'
_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(r"[\t -~]*")
_NAME_CHARACTERS = 60  # of a name in an error
# Far beyond what servers take, which is often 100 headers and 8 to 64 KB of them.
_MOST_HEADERS = 100
_MOST_CHARACTERS = 65_536  # of all names and values
_CLIENT_PREFIX = "x-stainless-"
# Headers that frame a message, say how it is packed, or are for a proxy; and cookies, none of
# which are kept.
_CONNECTION_HEADERS = frozenset(
    {
        *("accept", "accept-encoding", "connection", "content-encoding", "content-length"),
        *("content-type", "cookie", "cookie2", "expect", "host", "http2-settings", "keep-alive"),
        *("proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding"),
        "upgrade",
    }
)


def read_extra_headers(value: object, own: Mapping[str, str]) -> SecretTexts[str]:
    """Return a setting's headers, with white space around values removed.

    Args:
        value: JSON text or a mapping; None, an empty mapping or a blank text for no headers.
        own: The settings that have a header of their own, by its name in lower case.

    Raises:
        SettingsError: If it is neither; if there are more than 100, or they are longer than 65,536 characters together; if a name is
            invalid, occurs twice or belongs to the connection; or if a value is not a text that a header can hold.
    """
    given = read_members(value, _FIELD, what="header names and values", example=_EXAMPLE)
    if len(given) > _MOST_HEADERS:
        raise _refused(f"must hold at most {_MOST_HEADERS} headers, got {len(given)}")
    headers: dict[str, str] = {}
    for number, (key, text) in enumerate(given, 1):
        name = _validated_name(key, number, own)
        if name.lower() in map(str.lower, headers):
            raise _refused(f"names {_shown(name)} twice: upper and lower case are the same")
        headers[name] = _validated_value(text, name)
    if sum(len(name) + len(text) for name, text in headers.items()) > _MOST_CHARACTERS:
        raise _refused(f"must hold at most {_MOST_CHARACTERS} characters")
    return SecretTexts(headers)


def _refused(reason: str) -> SettingsError:
    return SettingsError(f"{_FIELD} {reason}.", field=_FIELD)


def _validated_name(name: object, number: int, own: Mapping[str, str]) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        reason = f"has a name that is not a header's (header {number}). It may hold letters, digits and -, and no spaces"
        raise _refused(reason)
    lower = name.lower().replace("_", "-")  # many gateways do not distinguish them
    if lower in own:
        raise _refused(f"must not set {_shown(name)}. Use {own[lower]} for it")
    if lower in _CONNECTION_HEADERS or lower.startswith(_CLIENT_PREFIX):
        raise _refused(f"must not set {_shown(name)}, which the connection sets by itself")
    return name


def _validated_value(text: object, name: str) -> str:
    if not isinstance(text, str):
        reason = f"has a value that is no text for {_shown(name)}. Put it in quotation marks"
        raise _refused(reason)
    if not _VALUE.fullmatch(text):
        reason = f"has a value for {_shown(name)} that no header can hold. It may hold ASCII characters only, and no line breaks"
        raise _refused(reason)
    return text.strip()


def _shown(name: str) -> str:
    return name[:_NAME_CHARACTERS]
