"""Faults written as text, `rate_limit;retry_after=1`, for headers and command lines."""

import re
from dataclasses import MISSING, fields
from typing import Any

from gpt5_simulator._errors import FaultError
from gpt5_simulator._faults import (
    BrokenFrame,
    CutStream,
    DuplicateEvents,
    EncryptedContentRefused,
    Fault,
    HtmlPage,
    HttpError,
    LateError,
    LateFailure,
    Silence,
    UnknownEvent,
    UnverifiedOrganization,
)


_BY_NAME: dict[str, tuple[type[Fault], dict[str, Any]]] = {
    "http": (HttpError, {}),
    "bad_request": (HttpError, {"status": 400}),
    "unauthorized": (HttpError, {"status": 401}),
    "forbidden": (HttpError, {"status": 403}),
    "not_found": (HttpError, {"status": 404}),
    "rate_limit": (HttpError, {"status": 429}),
    "quota": (HttpError, {"status": 429, "code": "insufficient_quota"}),
    "server_error": (HttpError, {"status": 500}),
    "overloaded": (HttpError, {"status": 503}),
    "cut": (CutStream, {}),
    "late_error": (LateError, {}),
    "late_failure": (LateFailure, {}),
    "silence": (Silence, {}),
    "html": (HtmlPage, {}),
    "broken_frame": (BrokenFrame, {}),
    "unknown_event": (UnknownEvent, {}),
    "duplicate_events": (DuplicateEvents, {}),
    "unverified_organization": (UnverifiedOrganization, {}),
    "encrypted_content_refused": (EncryptedContentRefused, {}),
}
_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def fault_names() -> tuple[str, ...]:
    """Return the names that a fault's text may begin with."""
    return tuple(_BY_NAME)


def parse_fault(text: str) -> Fault | None:
    """Read a fault from text: its name, then settings, separated by semicolons or commas.

    Returns:
        The fault, or None for `none`: a request that goes well.

    Raises:
        FaultError: The name is unknown, or a setting is unknown, missing or of the wrong type.
    """
    name, *settings = (part.strip() for part in re.split(r"[;,]", text))
    if name == "none":
        return None
    if name not in _BY_NAME:
        raise FaultError(
            f"fault: expected one of {', '.join(('none', *_BY_NAME))}, got {name!r}", text=text
        )
    kind, preset = _BY_NAME[name]
    values = preset | dict(_setting(kind, setting, text) for setting in settings if setting)
    _require_all(kind, values, text)
    return kind(**values)


def _setting(kind: type[Fault], setting: str, text: str) -> tuple[str, Any]:
    key, equals, value = (part.strip() for part in setting.partition("="))
    known = {field.name: str(field.type) for field in fields(kind)}
    if key not in known or not equals:
        raise FaultError(
            f"fault {text!r}: expected settings among {', '.join(known)}, each as name=value, got {setting!r}",
            text=text,
        )
    try:
        return key, _read(value, known[key])
    except ValueError:
        raise FaultError(f"fault {text!r}: {key} does not take {value!r}", text=text) from None


def _read(value: str, declared: str) -> object:
    if value in {"", "none", "always"} and "None" in declared:
        return None
    if "bool" in declared:
        return _truth(value)
    if "Literal" in declared:
        return _choice(value, declared)
    for kind in (int, float):
        if kind.__name__ in declared and _is_number(value, kind):
            return kind(value)
    if "str" in declared:
        return value
    raise ValueError(value)


def _truth(value: str) -> bool:
    if value.lower() not in _TRUTH:
        raise ValueError(value)
    return _TRUTH[value.lower()]


def _choice(value: str, declared: str) -> str:
    if value not in re.findall(r"'(\w+)'", declared):
        raise ValueError(value)
    return value


def _is_number(value: str, kind: type[int] | type[float]) -> bool:
    try:
        return kind(value) >= 0
    except ValueError:
        return False


def _require_all(kind: type[Fault], values: dict[str, Any], text: str) -> None:
    for field in fields(kind):
        if field.default is MISSING and field.name not in values:
            raise FaultError(f"fault {text!r}: expected a value for {field.name}", text=text)
