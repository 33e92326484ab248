"""The allow-list: which fields a log line may have, and what each may hold.

Values reach a line only through `build_line`, which knows three events, their fields and one shape for each field. A value that does
not have its field's shape is left out; it is never cut, masked or quoted, because a part of a secret is a secret too.
"""

import json
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Literal

from ._words import (
    CODES,
    ERROR_TYPES,
    EVENT_TYPES,
    FALLBACKS,
    OTHER,
    PARAMETER_WORDS,
    RESPONSE_FORMATS,
    SERVICE_TIERS,
    STATUSES,
)


type Event = Literal["responses_api_request", "responses_api_success", "responses_api_error"]
type Scalar = str | float | bool
type Shape = Callable[[object], Scalar | None]

PREFIX = "openai_gpt5_audit"
OPENAI_HOST = "api.openai.com"

_MOST = 1_000_000_000  # our choice, far above any count or limit of the API
_LONGEST_MODEL = 96
_LONGEST_HOST = 253  # RFC 1035, as for the 63 characters of a label below
_LONGEST_PARAMETER = 96

# Runs of letters and digits stay short and `sk-` begins none of them, so that a key typed into the field of the
# model's name is not taken for one.
_MODEL = re.compile(r"(?!.*\bsk-)[A-Za-z0-9]{1,24}(?:[._:/@-]{1,2}[A-Za-z0-9]{1,24})*", re.ASCII)
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_REQUEST_ID = re.compile(rf"req_[A-Za-z0-9]{{8,64}}|{_UUID}", re.ASCII)
_AUDIT_ID = re.compile(r"[0-9a-f]{12}", re.ASCII)
_CURRENCY = re.compile(r"[A-Z]{3}", re.ASCII)
_CLASS_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]{0,63}", re.ASCII)
# A key pasted into the field of the base URL would parse as the host of a URL.
_LABEL = r"(?!sk-)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*|\[[0-9a-f:.]{{2,45}}\]", re.ASCII)
_URL = re.compile(r"https?://([^/?#]+?)(?::\d{1,5})?(?:[/?#].*)?", re.ASCII | re.DOTALL)
_PATH_PART = re.compile(r"([a-z_]{1,32})(?:\[\d{1,4}\])?", re.ASCII)


def _matching(pattern: re.Pattern[str], *, longest: int) -> Shape:
    def shape(value: object) -> str | None:
        if not isinstance(value, str) or len(value) > longest:
            return None
        return value if pattern.fullmatch(value) else None

    return shape


def _word_of(words: frozenset[str]) -> Shape:
    def shape(value: object) -> str | None:
        if not isinstance(value, str) or not value:
            return None
        # Said to be there, since an unknown code is a fact worth a line; its text may be anything.
        return value if value in words else OTHER

    return shape


def _whole(least: int, most: int) -> Shape:
    def shape(value: object) -> int | None:
        if not isinstance(value, int) or isinstance(value, bool):  # True is an int as well
            return None
        return value if least <= value <= most else None

    return shape


def _number(*, decimals: int) -> Shape:
    def shape(value: object) -> float | None:
        if isinstance(value, Decimal):
            value = float(value) if value.is_finite() else None
        if not isinstance(value, int | float) or isinstance(value, bool):
            return None
        return round(float(value), decimals) if 0 <= value <= _MOST else None

    return shape


def _boolean(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _parameter(value: object) -> str | None:
    """Accept a path of known words: `reasoning.summary`, `tools[0].name`."""
    if not isinstance(value, str) or not value:
        return None
    # Cut before it is split: a server may send megabytes here, and each part costs a match.
    parts = [_PATH_PART.fullmatch(part) for part in value[:_LONGEST_PARAMETER].split(".")]
    known = all(part is not None and part[1] in PARAMETER_WORDS for part in parts)
    return value if known and len(value) <= _LONGEST_PARAMETER else OTHER


def _left_out(value: object) -> str | None:
    """Accept known words separated by commas."""
    if not isinstance(value, str) or not value:
        return None
    return value if FALLBACKS.issuperset(value.split(",")) else OTHER


_count = _whole(0, _MOST)

_TOKENS = ("cached_tokens", "input_tokens", "output_tokens", "reasoning_tokens")

_SHAPES: Mapping[str, Shape] = {
    "api_error_type": _word_of(ERROR_TYPES),
    "audit_id": _matching(_AUDIT_ID, longest=12),
    "base_url_host": _matching(_HOST, longest=_LONGEST_HOST),
    "code": _word_of(CODES),
    "cost": _number(decimals=9),
    "currency": _matching(_CURRENCY, longest=3),
    "duration_seconds": _number(decimals=3),
    "enable_stream": _boolean,
    "error_type": _matching(_CLASS_NAME, longest=64),
    "event_type": _word_of(EVENT_TYPES),
    "has_stop": _boolean,
    "has_user": _boolean,
    "input_message_count": _count,
    "left_out": _left_out,
    "max_output_tokens": _count,
    "model": _matching(_MODEL, longest=_LONGEST_MODEL),
    "param": _parameter,
    "request_id": _matching(_REQUEST_ID, longest=68),
    "response_format": _word_of(RESPONSE_FORMATS),
    "response_model": _matching(_MODEL, longest=_LONGEST_MODEL),
    "response_status": _word_of(STATUSES),
    "service_tier": _word_of(SERVICE_TIERS),
    "status_code": _whole(100, 599),
    "stream": _boolean,
    "stream_event_count": _count,
    "stream_event_type": _word_of(EVENT_TYPES),
    "tool_count": _count,
    "use_custom_base_url": _boolean,
    **dict.fromkeys(_TOKENS, _count),
}

_FIELDS: Mapping[Event, tuple[str, ...]] = {
    "responses_api_request": (
        "audit_id",
        "base_url_host",
        "enable_stream",
        "has_stop",
        "has_user",
        "input_message_count",
        "max_output_tokens",
        "model",
        "response_format",
        "service_tier",
        "stream",
        "tool_count",
        "use_custom_base_url",
    ),
    "responses_api_success": (
        "audit_id",
        "cost",
        "currency",
        "duration_seconds",
        "left_out",
        "model",
        "request_id",
        "response_model",
        "service_tier",
        "stream",
        "stream_event_count",
        *_TOKENS,
    ),
    "responses_api_error": (
        "api_error_type",
        "audit_id",
        "code",
        "duration_seconds",
        "error_type",
        "event_type",
        "model",
        "param",
        "request_id",
        "response_status",
        "status_code",
        "stream",
        "stream_event_type",
        *_TOKENS,
    ),
}


def build_line(event: Event, values: Mapping[str, object]) -> str:
    """Return the JSON object of `event`, its keys sorted, with those of `values` that it may hold."""
    fields = {name: _SHAPES[name](values.get(name)) for name in _FIELDS[event]}
    known = {name: value for name, value in fields.items() if value is not None}
    return json.dumps({"event": event} | known, sort_keys=True)


def host_of(base_url: str | None) -> str | None:
    """Return the host that `base_url` names; OpenAI's where it is blank.

    None for a URL with user information, wherever its `@` stands, and for a text that is no http URL: either may hold a secret
    where a host would be.
    """
    text = (base_url or "").strip().lower()
    if not text:
        return OPENAI_HOST
    found = None if "@" in text else _URL.fullmatch(text)
    return found[1] if found else None
