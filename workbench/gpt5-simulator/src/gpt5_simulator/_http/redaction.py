"""Removes credentials from exchanges, by the names of fields, parameters and headers, before anything is written or shown."""

import re
from collections.abc import Iterable
from urllib.parse import parse_qsl, urlencode

from gpt5_simulator._json import decoded, dump, is_array, is_object


MASK = "[redacted]"

# The names that `stream_text` takes for secrets. The simulator imports no sibling (docs/decisions/0021-stream-text.md), so the rule is repeated here.
_SECRET_NAME = re.compile(
    r"token|secret|passw|passphrase|passcode|credential|cookie|webhook|jwt|session[-_ ]?id"
    r"|(?:api|access|private)[-_ ]?key|auth(?!or(?!iz))"
    r"|(?<=[a-z0-9][-_])(?:key|pass|pwd|dsn|private|session)(?![a-z])"
    r"|(?<=[a-z0-9])(?-i:(?:Key|Pass|Pwd|Dsn|Private|Session)(?![a-z]))",
    re.IGNORECASE,
)
_COUNT_NAME = re.compile(
    r"(?:total|input|output|prompt|completion|reasoning|thinking|budget|cached|cache[-_ ]?(?:read|write|creation)|prediction|text|audio|image"
    r"|context|remaining|maximum|minimum|number[-_ ]of|(?<![a-z])(?:max|min|n|num|max[-_ ]?new))[-_ ]?tokens"
    r"|tokens?[-_ ]?(?:count|limit|budget|usage|estimate|price|cost)"
    r"|tokens[-_ ]?(?:used|left|remaining|before|after|(?:in|out)(?![a-z])|per[-_ ]?(?:sec|min|hour|day|request))",
    re.IGNORECASE,
)
_OPEN_NAMES = frozenset({"prompt_cache_key"})  # names of the API that look like secrets and are not
_SCHEMAS = frozenset({"parameters", "schema", "input_schema", "output_schema"})
_ADDRESSES = frozenset({"server_url", "image_url", "file_url"})
_ADDRESS_SECRETS = re.compile(r"(?<=://)[^/?#]*(?=@)|(?<=\?).*", re.DOTALL)  # user and query
_DATA = re.compile(rb"(?:^|(?<=[\r\n]))data: ?([^\r\n]*)")
_LEAST_CHARACTERS = 8  # a shorter credential would be found in ordinary words

type Headers = Iterable[tuple[bytes, bytes]]


def find_credentials(headers: Headers) -> list[bytes]:
    """Return the credentials that the headers of a request hold, longest first."""
    found = {
        part
        for name, value in headers
        if _is_secret(name.decode("latin-1"))
        for part in re.split(rb"[ ;,=]+", value)
        if len(part) >= _LEAST_CHARACTERS
    }
    return sorted(found, key=len, reverse=True)


def redact_target(path: str, query: str, credentials: Iterable[bytes]) -> str:
    """Return the path and the query of a request, without its secrets."""
    pairs = parse_qsl(query, keep_blank_values=True)
    shown = [(name, MASK if _is_secret(name) else value) for name, value in pairs]
    target = f"{path}?{urlencode(shown, safe='[]')}" if shown else path
    return _without(target.encode(), credentials).decode()


def redact_request(body: bytes, credentials: Iterable[bytes]) -> object:
    """Return the value of a request's body without secrets; None for what is no JSON."""
    return _without_secrets(decoded(_without(body, credentials)))


def redact_answer(body: bytes, credentials: Iterable[bytes], *, is_stream: bool) -> bytes:
    """Return the body of an answer without secrets; one that has none stays the same to the byte."""
    body = _without(body, credentials)
    if is_stream:
        return _DATA.sub(lambda found: b"data: " + _redact_json(found[1]), body)
    return _redact_json(body)


def _without(text: bytes, credentials: Iterable[bytes]) -> bytes:
    for credential in credentials:
        text = text.replace(credential, MASK.encode())
    return text


def _redact_json(text: bytes) -> bytes:
    value = decoded(text)
    redacted = _without_secrets(value)
    return text if redacted == value else dump(redacted).encode(errors="backslashreplace")


def _without_secrets(value: object, masked: tuple[type, ...] = ()) -> object:
    """Return a value in which everything with a secret's name is masked, and every value of the types `masked`."""
    if is_array(value):
        return [_without_secrets(entry, masked) for entry in value]
    if is_object(value):
        if "logprob" in value:  # its `token` is a piece of the answer
            return value
        is_pair = "value" in value and _is_secret(f"{value.get('name')} {value.get('key')}")
        return {
            name: _redact_member(name, member, masked or _masked_types(name, is_pair=is_pair))
            for name, member in value.items()
        }
    return MASK if isinstance(value, masked) and not isinstance(value, bool) else value


def _redact_member(name: str, value: object, masked: tuple[type, ...]) -> object:
    if name in _ADDRESSES and isinstance(value, str):
        return _ADDRESS_SECRETS.sub(MASK, value)
    return value if name in _SCHEMAS else _without_secrets(value, masked)


def _masked_types(name: str, *, is_pair: bool) -> tuple[type, ...]:
    if name == "headers" or (name == "value" and is_pair):
        return (str, int, float)
    if not _is_secret(name):
        return ()
    return (
        (str,) if "token" in name.lower() else (str, int, float)
    )  # a number of tokens is no secret


def _is_secret(name: str) -> bool:
    # A count of tokens is no secret, whatever stands there.
    return name not in _OPEN_NAMES and bool(_SECRET_NAME.search(_COUNT_NAME.sub("n", name)))
