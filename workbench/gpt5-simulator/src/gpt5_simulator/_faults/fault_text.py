"""Faults as text, such as `rate_limit;retry_after=1`, for headers and command lines."""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import MISSING, fields
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from gpt5_simulator._errors import FaultError
from gpt5_simulator._faults.faults import (
    BrokenFrame,
    CloseSocket,
    CutStream,
    DuplicateEvents,
    EncryptedContentRefused,
    Fault,
    HtmlPage,
    HttpError,
    LateError,
    LateFailure,
    NoPongs,
    RefuseUpgrade,
    Silence,
    UnknownEvent,
    UnverifiedOrganization,
)


type _Reader = tuple[Callable[[str], object], str]  # with what it reads, in words

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
    "close": (CloseSocket, {}),
    "close_idle": (CloseSocket, {"after_events": None}),
    "message_too_big": (
        CloseSocket,
        {"code": 1009, "reason": "message too big", "after_events": 0},
    ),
    "refuse_upgrade": (RefuseUpgrade, {}),
    "no_pongs": (NoPongs, {}),
}

_ERROR_STATUSES = range(400, 600)


def fault_names() -> tuple[str, ...]:
    """Return the names that a fault's text may begin with."""
    return ("none", *_BY_NAME)


def parse_fault(text: str) -> Fault | None:
    """Return the fault that a text describes: its name, then settings, separated by semicolons or commas.

    Returns:
        The fault, or None for `none`: a request without a fault.

    Raises:
        FaultError: If the name is unknown, or a setting is unknown, missing, of the wrong type or out of range.

    Example:
        >>> parse_fault("silence;after_events=3;seconds=0.5")
        Silence(after_events=3, seconds=0.5, times=1)
    """
    name, *settings = (part.strip() for part in re.split(r"[;,]", text))
    if name == "none":
        return None
    if name not in _BY_NAME:
        known = ", ".join(fault_names())
        raise FaultError(f"unknown fault {name!r}; expected one of: {known}", text=text)
    kind, preset = _BY_NAME[name]
    values = preset | dict[str, Any](
        _parse_setting(kind, setting, text) for setting in settings if setting
    )
    _validate_complete(kind, values, text)
    if kind is HttpError and values["status"] not in _ERROR_STATUSES:
        reason = f"status must be a whole number from 400 to 599, got '{values['status']}'"
        raise FaultError(f"fault {text!r}: {reason}", text=text)
    return kind(**values)


def _parse_setting(kind: type[Fault], setting: str, text: str) -> tuple[str, object]:
    key, _, value = (part.strip() for part in setting.partition("="))
    declared = {field.name: field.type for field in fields(kind)}
    if key not in declared:
        known = ", ".join(declared)
        reason = f"unknown setting {key!r}; expected one of: {known}"
        raise FaultError(f"fault {text!r}: {reason}", text=text)
    readers = _readers(declared[key])
    for read, _ in readers:
        with suppress(ValueError, KeyError):
            return key, read(value)
    expected = " or ".join(words for _, words in readers)
    reason = f"{key} must be {expected}, got {value!r}"
    raise FaultError(f"fault {text!r}: {reason}", text=text)


def _readers(declared: object) -> list[_Reader]:
    """Return the readers of each alternative of a declared type, in the order in which they are tried."""
    options: tuple[Any, ...] = get_args(declared) or (declared,)
    if get_origin(declared) is Literal:
        return [({option: option for option in options}.__getitem__, " or ".join(options))]
    # In the order of the table, in which text is the last: it would take anything.
    return [reader for kind, reader in _READERS.items() if kind in options]


def _validate_complete(kind: type[Fault], values: dict[str, Any], text: str) -> None:
    for field in fields(kind):
        if field.default is MISSING and field.name not in values:
            raise FaultError(f"fault {text!r}: expected a value for {field.name}", text=text)


def _from_zero(number: float) -> float:
    if not number >= 0:  # not `number < 0`, which NaN would pass
        raise ValueError(number)
    return number


_READERS: dict[type, _Reader] = {
    bool: (lambda text: {"true": True, "false": False}[text.lower()], "true or false"),
    int: (lambda text: _from_zero(int(text)), "a whole number from 0 up"),
    float: (lambda text: _from_zero(float(text)), "a number from 0 up"),
    NoneType: ({"none": None}.__getitem__, "none"),
    str: (str, "text"),
}
