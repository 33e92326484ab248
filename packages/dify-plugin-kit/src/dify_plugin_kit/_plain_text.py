"""Error texts of Dify's platform as a person can read them: no nested JSON, no HTML, no addresses.

On its way to an agent an error is wrapped again and again, as JSON in JSON, as the printed form of a Python mapping, behind prefixes that only
a developer knows. The innermost message, which was there first, is the one that a person can use.

Source: recorded traffic; langgenius/dify-plugin-daemon at bdb5642a, internal/core/io_tunnel; langgenius/dify, api/core/plugin/impl/exc.py;
dify-plugin 0.10.2, `interfaces/model/ai_model.py`.
"""

import ast
import json
import re
from collections.abc import Callable
from typing import Any


MAX_CHARACTERS = 20_000
"""How much of an error text is looked at; our choice."""

_MAX_SENTENCE = 500
# Of the innermost message: the rest would be cut off anyhow, whatever is taken out before.
_MAX_PLAIN = 4_000
_MAX_DEPTH = 8  # of wrapping in wrapping; our choice
_NO_TEXT = "no reason was given"
# In the order in which they are looked at: the first that holds a text says why.
_KEYS = ("message", "error", "detail", "description", "error_msg", "msg", "errors", "args")
# What the daemon, Dify's API, its SDK and Go's HTTP client write in front of a message.
_PREFIX = re.compile(
    r"(\(address\) )*("
    r"(invoke|read) \w+( model)? failed: |request failed: |req_id: \w* |run failed: |error: |"
    r"\[[\w ./-]*\] (error: |(connection|server unavailable|rate limit|bad request) error, )?|"
    r'post "\(address\)": |(dial|read) tcp \(address\)(->\(address\))?: |'
    r"plugin daemon: |[a-z]\w*(error|exception): )",
    re.IGNORECASE,
)
# In front of a provider's JSON: `Error code: 400 - {...}`.
_CODE = re.compile(r"\b(error|status) code: \d{3} - $", re.IGNORECASE)
_VALIDATION = re.compile(
    r"\d+ validation errors? for [\w.]+\s+([\w.]+)\s+([^\[\n]{1,200}?)\s*(\[type=.*|\n.*|$)",
    re.DOTALL,
)
_TYPE = re.compile(r"\b([A-Z]\w*(?:Error|Exception|Timeout))\b")
_MARKUP = re.compile(r"<[!/?a-zA-Z].*|Traceback \(most recent call last\).*", re.DOTALL)
# The quotation marks are escaped as often as the JSON is wrapped.
_MESSAGE = re.compile(r'"message\\*"\s*:\s*\\*"([^"\\]+)')
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
# Repetitions are bounded here and below: anybody may have written the text, and none may take long.
_FILE = re.compile(r"(?<![\w/:.])/(?:[\w.@+-]{1,100}/){1,30}[\w.@+-]{1,100}\.\w{1,5}\b")
_ADDRESS = re.compile(
    r"[a-z][a-z0-9+.-]{0,20}://[^\s\"'<>]+|"  # a URL
    r"\[[0-9a-f:]{0,39}:[0-9a-f:.]{0,45}\](:\d+)?|"  # IPv6
    r"\b\d{1,3}(\.\d{1,3}){3}(:\d+)?\b|"  # IPv4
    r"\b(?=[\w.-]{0,99}[a-z])[a-z0-9][\w.-]{0,99}:\d{2,5}\b",  # a host with a port
    re.IGNORECASE,
)


def find_error_types(text: str) -> frozenset[str]:
    """Return the names of error classes anywhere in a text, however it is wrapped."""
    return frozenset(_TYPE.findall(text[:MAX_CHARACTERS]))


def to_plain_text(text: str, redact: Callable[[str], str]) -> str:
    """Return the innermost message of an error text, in at most 500 characters, or a fixed phrase if nothing is left of it.

    Args:
        text: The text, however it is wrapped: JSON in JSON, HTML, a traceback. Addresses are left out.
        redact: Takes secrets out of the message before it is cut.
    """
    plain = _MARKUP.sub("", _unwrap(text[:MAX_CHARACTERS], _MAX_DEPTH))
    # Ends in a space, so that a prefix goes even where nothing follows it.
    plain = _FILE.sub("(file)", f"{' '.join(plain[:_MAX_PLAIN].split())} ")
    plain = _without_prefixes(_ADDRESS.sub("(address)", plain))
    plain = redact(plain)[:_MAX_SENTENCE].strip(" ,:;-")
    return (plain[1:-1] if _QUOTED.fullmatch(plain) else plain) or _NO_TEXT


def _without_prefixes(text: str) -> str:
    while found := _PREFIX.match(text):
        text = text[found.end() :]
    return text


def _unwrap(text: str, depth: int) -> str:
    """Return the innermost message of a text; the text before a wrapping that holds no message or cannot be read."""
    # The input that pydantic quotes would be taken for a wrapping, and a field before a colon for
    # the name of a secret.
    text = _VALIDATION.sub(r"\2 (\1)", text)
    start = text.find("{")
    if start == -1:
        return text
    before = _CODE.sub("", text[:start])
    said = _find_message(_parse(text[start:]), depth) or _salvage(text[start:])
    return _unwrap(said, depth - 1) if said and depth else before


def _parse(text: str) -> Any:
    """Return the mapping that a text begins with, in JSON or as Python prints it; None if there is none."""
    # The second form is JSON from inside a JSON string, where each quotation mark is escaped.
    for form in (text, text.replace('\\"', '"').replace("\\\\", "\\")):
        try:
            # Not strict: a message may hold line breaks that nobody has escaped.
            return json.JSONDecoder(strict=False).raw_decode(form)[0]
        except (ValueError, RecursionError):
            continue
    try:
        return ast.literal_eval(text[: text.rfind("}") + 1])
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _salvage(text: str) -> str:
    """Return the last message of a wrapping that is cut off or otherwise malformed."""
    return next(iter(reversed(_MESSAGE.findall(text))), "")


def _find_message(value: str | list[Any] | dict[str, Any] | None, depth: int) -> str:
    """Return the text under the first key that gives a reason; an empty one if none does."""
    match value:
        case str():
            return value.strip()
        case list() if depth:
            return _find_message(next(iter(value), ""), depth - 1)
        case dict() if depth:
            found = (_find_message(value.get(key), depth - 1) for key in _KEYS)
            return next((text for text in found if text), "")
        case _:
            return ""
