"""JSON text as Go's `encoding/json` reads and writes it.

A number keeps its original text, because the daemon passes some values on verbatim; apart from that it is an ordinary number.

Source: `encoding/json` of Go 1.26, read 2026-11.
"""

import json
import math
import re
from collections.abc import Callable
from json.encoder import encode_basestring
from typing import Any, Self


_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_SPACE = " \t\n\r"
# Go's encoder writes JSON that can be embedded in HTML.
_ESCAPES = {char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}
# Exponents of floats that are written out in full, in JSON and by `fmt`.
_PLAIN_IN_JSON, _PLAIN_PRINTED = range(-6, 21), range(-4, 6)


class JsonInt(int):
    """A whole number of a JSON text.

    Attributes:
        text: The number as it was written.
    """

    text: str

    def __new__(cls, text: str) -> Self:
        number = super().__new__(cls, text)
        number.text = text
        return number


class JsonFloat(float):
    """A number of a JSON text with a fraction or an exponent.

    Attributes:
        text: The number as it was written.
    """

    text: str

    def __new__(cls, text: str) -> Self:
        number = super().__new__(cls, text)
        number.text = text
        return number


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(
    parse_int=JsonInt, parse_float=JsonFloat, parse_constant=_refuse_constant
)


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text; bytes that are not UTF-8 become U+FFFD.

    Raises:
        ValueError: If it is not JSON, or nested too deeply.
    """
    return _parse(_DECODER.decode, text)


def parse_first_json(text: str | bytes) -> Any:
    """Return the first JSON value of a text, whatever follows it.

    Raises:
        ValueError: If the text does not begin with a JSON value, or if that is nested too deeply.
    """
    return _parse(lambda given: _DECODER.raw_decode(given.lstrip(_SPACE))[0], text)


def _parse(decode: Callable[[str], Any], text: str | bytes) -> Any:
    given = text.decode(errors="replace") if isinstance(text, bytes) else text
    try:
        return decode(given)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def go_text(text: str) -> str:
    """Return a text as Go stores it: a lone surrogate becomes U+FFFD."""
    return _LONE_SURROGATE.sub("\ufffd", text)


def dump_json(value: Any) -> str:
    """Return the JSON text that Go writes; objects keep their order, and numbers their original text."""
    # Joined once at the end: at each level it would copy megabytes.
    pieces: list[str] = []
    _dump(value, pieces.append)
    return "".join(pieces)


def _dump(value: Any, put: Callable[[str], None]) -> None:
    match value:
        case str():
            put(_quoted(value))
        case None:
            put("null")
        case bool():
            put("true" if value else "false")
        case JsonInt() | JsonFloat():
            put(value.text)
        case int():
            put(str(value))
        case float():
            put(float_text(value))
        case dict():
            mark = "{"
            for key, item in value.items():  # pyright: ignore[reportUnknownVariableType] - decoded JSON
                put(f"{mark}{_quoted(key)}:")  # pyright: ignore[reportUnknownArgumentType]
                _dump(item, put)
                mark = ","
            put("}" if value else "{}")
        case _:
            mark = "["
            for item in value:
                put(mark)
                _dump(item, put)
                mark = ","
            put("]" if mark == "," else "[]")


def _quoted(text: str) -> str:
    quoted = encode_basestring(text)
    # Many times faster than `translate`, which looks at each character.
    for char, escape in _ESCAPES.items():
        quoted = quoted.replace(char, escape)
    if quoted.isascii():
        return quoted
    # Only a value that is passed on verbatim has one; it stays the escape that it was.
    return _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)


def float_text(number: float) -> str:
    """Return a float as Go writes it in JSON: `128000`, `2`, `-0`, `1e-7`, `1e+21`; `null` if it is not finite."""
    return _write_float(number, _PLAIN_IN_JSON) if math.isfinite(number) else "null"


def _write_float(number: float, plain: range, exponent_digits: int = 1) -> str:
    """Return a finite float in full, or with an exponent if that of its first digit is outside of `plain`."""
    digits, exponent = _shortest(abs(number)) if number else ("0", 0)
    sign = "-" if math.copysign(1, number) < 0 else ""
    if exponent in plain:
        return sign + _plain(digits, exponent)
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{exponent:+0{exponent_digits + 1}d}"


def _shortest(number: float) -> tuple[str, int]:
    """Return the significant digits, and the exponent of the first."""
    mantissa, _, exponent = f"{number!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    leading = len(whole) if whole != "0" else len(digits) - len(fraction)
    return digits.rstrip("0"), leading - 1 + int(exponent or 0)


def _plain(digits: str, exponent: int) -> str:
    if exponent < 0:
        return f"0.{'0' * (-exponent - 1)}{digits}"
    digits = digits.ljust(exponent + 1, "0")
    fraction = digits[exponent + 1 :]
    return f"{digits[: exponent + 1]}.{fraction}" if fraction else digits


def go_print(value: Any, *, strings_only: bool = False) -> str:
    """Return decoded JSON as Go's `fmt` prints it with `%v`, or with `%s`, which marks everything but strings and containers."""
    match value:
        case str():
            return value
        case None:
            return "<nil>"
        case bool():
            text = f"bool={str(value).lower()}"
        case int() | float():
            text = f"float64={_write_float(float(value), _PLAIN_PRINTED, 2)}"
        case dict():
            return _print_map(value, strings_only=strings_only)  # pyright: ignore[reportUnknownArgumentType] - decoded JSON
        case _:
            return f"[{' '.join(go_print(item, strings_only=strings_only) for item in value)}]"
    return f"%!s({text})" if strings_only else text.partition("=")[2]


def _print_map(value: dict[str, Any], *, strings_only: bool) -> str:
    printed = (
        f"{key}:{go_print(item, strings_only=strings_only)}" for key, item in sorted(value.items())
    )
    return f"map[{' '.join(printed)}]"
