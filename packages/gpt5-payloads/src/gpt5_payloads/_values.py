"""Single values, read strictly; each error names the field."""

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import stream_text
from stream_text import is_object

from ._errors import PayloadError, refused


_BOOL_TEXTS = {"true": True, "1": True, "false": False, "0": False}
_QUOTED_CHARACTERS = 64
# Far beyond every range here. Converting takes time that grows with the square of the digits, and
# Python refuses more than some thousands with an error of its own.
_MOST_DIGITS = 18


def coerce_bool(value: object, *, field: str) -> bool:
    """Read a boolean, or one of the few values that plainly mean one.

    Accepted: `True`, `False`, the integers 1 and 0, and the texts `true`, `false`, `1` and `0` in any case with
    blanks around them. Nothing else is guessed: `"yes"`, `""`, `None`, `1.0` and `2` are refused.

    Args:
        value: The caller's value.
        field: Its name, for the error.

    Raises:
        PayloadError: If `value` is none of the above.
    """
    match value:
        case bool():
            return value
        case int() if value in {0, 1}:
            return value == 1
        case str() if (text := value.strip().lower()) in _BOOL_TEXTS:
            return _BOOL_TEXTS[text]
        case _:
            raise refused(field, "must be a boolean-like value")


def coerce_int(value: object, *, field: str, minimum: int, maximum: int) -> int:
    """Read a whole number between `minimum` and `maximum`, both included.

    A whole float (`8192.0`) and digits as text (`"8192"`) count, since numbers reach us through JSON and forms.

    Raises:
        PayloadError: If `value` is not a whole number, or out of range.
    """
    number = _whole_number(value)
    if number is None or not minimum <= number <= maximum:
        raise refused(field, f"must be an integer between {minimum} and {maximum}")
    return number


def coerce_float(value: object, *, field: str, maximum: float) -> float:
    """Read a number between 0 and `maximum`, both included; text with a number counts too.

    Raises:
        PayloadError: If `value` is not a number, or out of range.
    """
    number = -1.0  # out of every range, as is NaN, which `float` reads from a text
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        with suppress(ValueError, OverflowError):
            number = float(value)
    if not 0 <= number <= maximum:
        raise refused(field, f"must be a number between 0 and {maximum:g}")
    return number


def _whole_number(value: object) -> int | None:
    match value:
        case bool():
            return None
        case int():
            return value
        case float() if value.is_integer():
            return int(value)
        case str() if _is_digits(text := value.strip()):
            return int(text)
        case _:
            return None


def _is_digits(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS


def choose[T: str](value: object, *, field: str, options: Sequence[T]) -> T:
    """Return the option that `value` spells, apart from case and blanks around it.

    Raises:
        PayloadError: If `value` spells none of `options`.
    """
    text = value.strip().lower() if isinstance(value, str) else value
    for option in options:
        if option == text:
            return option
    raise PayloadError(
        f"unsupported {field}: {quote(value)}; expected {', '.join(options)}", field=field
    )


def is_blank(value: object) -> bool:
    """Return whether a form field was left empty: `None`, or a text of blanks only."""
    return value is None or (isinstance(value, str) and not value.strip())


def quote(value: object) -> str:
    """Return a refused setting as a message shows it: its text, cut short."""
    text = str(value)
    return text if len(text) <= _QUOTED_CHARACTERS else f"{text[:_QUOTED_CHARACTERS]}..."


def parse_json(text: str, *, field: str) -> Any:
    """Decode JSON text strictly: `NaN` and `Infinity`, which no server accepts, are refused too.

    Raises:
        PayloadError: If `text` is not JSON. The message says where, and quotes nothing.
    """
    try:
        return stream_text.parse_json(text)
    except stream_text.InvalidJsonError as error:
        raise refused(field, f"must be valid JSON: {error}") from None


def copy_json(value: object, *, field: str) -> Any:
    """Copy a JSON value deeply, which also proves that it is one.

    Raises:
        PayloadError: If `value` holds a value that JSON has no form for.
    """
    try:
        return json.loads(json.dumps(value, allow_nan=False, default=_plain_mapping))
    except (TypeError, ValueError, RecursionError):
        raise refused(field, "must contain only JSON values") from None


def _plain_mapping(value: object) -> dict[str, Any]:
    if is_object(value):
        return dict(value)
    raise TypeError
