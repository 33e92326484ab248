"""Resolution of YAML scalars to types, times and numbers, as Go does it.

Source: https://github.com/go-yaml/yaml/blob/v3.0.1/resolve.go, which langgenius/dify-plugin-daemon uses at bdb5642a, read 2026-11.
"""

import datetime as dt
import functools
import math
import re
from typing import Any

from dify_plugin_packager.yaml_documents import Node


BINARY, BOOL, FLOAT, INT, NULL, TEXT, TIME = (
    *("!!binary", "!!bool", "!!float", "!!int"),
    *("!!null", "!!str", "!!timestamp"),
)
_NAMED: dict[str, tuple[str, Any]] = {
    **dict.fromkeys(("true", "True", "TRUE"), (BOOL, True)),
    **dict.fromkeys(("false", "False", "FALSE"), (BOOL, False)),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), (NULL, None)),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), (FLOAT, math.nan)),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), (FLOAT, math.inf)),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), (FLOAT, -math.inf)),
}
_RESOLVED = {"", BOOL, FLOAT, INT, NULL, TEXT, TIME}
_INTEGER = re.compile(
    r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))", re.ASCII
)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_CLOCK = r"(?P<H>\d\d?):(?P<M>\d\d?):(?P<S>\d\d?)([.,]\d+)?"
_ZONE = r"(Z|[+-](?P<h>\d\d):(?P<m>\d\d))"
_DAY = r"(?P<Y>\d{4})-(?P<mo>\d\d?)-(?P<D>\d\d?)"
_TIMES = re.compile(rf"{_DAY}([Tt]{_CLOCK}{_ZONE}| +(?P<H2>\d\d?):(?P<M2>\d\d?):(?P<S2>\d\d?)([.,]\d+)?)?", re.ASCII)  # fmt: skip
_RFC3339 = re.compile(
    rf"(?P<Y>\d{{4}})-(?P<mo>\d\d)-(?P<D>\d\d)T(?P<H>\d\d):(?P<M>\d\d):(?P<S>\d\d)(\.\d+)?{_ZONE}",
    re.ASCII,
)
_DECIMAL = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,9})?", re.ASCII)


class TagError(ValueError):
    """A scalar that does not fit its tag."""


def resolve(node: Node) -> tuple[str, Any]:
    """Return the type and the value of a scalar; the value of a time is its text.

    Raises:
        TagError: If its tag asks for another type.
    """
    if node.tag == TEXT or (node.tag in {"", "!"} and not node.is_plain):
        return TEXT, node.value
    tag = "" if node.tag == "!" else node.tag
    if tag not in _RESOLVED:
        return tag, node.value
    found, value = _resolve_plain(node.value, may_be_time=tag in {"", TIME})
    if tag in {"", found}:
        return found, value
    if (tag, found) == (FLOAT, INT):
        return FLOAT, float(value)
    raise TagError(f"expected what {tag!r} says, got {node.value!r:.80}")


# Aliases bring back the same scalars, up to hundreds of thousands of times.
@functools.lru_cache(maxsize=256)
def _resolve_plain(text: str, *, may_be_time: bool) -> tuple[str, Any]:
    if text in _NAMED:
        return _NAMED[text]
    if may_be_time and _is_time(_TIMES, text):
        return TIME, text
    if not text[0].isdecimal() and text[0] not in "+-.":
        return TEXT, text
    # Digits may be grouped by underscores.
    plain = text.replace("_", "")
    if match := _INTEGER.fullmatch(plain):
        sign, *digits = match.groups()
        bases = zip(digits, (16, 2, 8, 10), strict=True)
        number = next(int(found, base) for found, base in bases if found)
        number = -number if sign == "-" else number
        # Go's int64 and, without a sign, uint64; anything larger becomes a float.
        if -(2**63) <= number < (2**63 if sign else 2**64):
            return INT, number
    if _FLOAT.fullmatch(plain):
        number = float(plain)
        if not math.isinf(number):
            return FLOAT, number
    return TEXT, text


def holds_time(node: Node) -> bool:
    """Tell whether Go's `time.Time` accepts a scalar: unquoted in one of four forms, in quotes only as RFC 3339."""
    return resolve(node)[0] == TIME or _is_time(_RFC3339, node.value)


def _is_time(form: re.Pattern[str], text: str) -> bool:
    match = form.fullmatch(text)
    return match is not None and _exists(match.groupdict())


def is_decimal(text: str) -> bool:
    """Tell whether the daemon's decimals accept a text."""
    return _DECIMAL.fullmatch(text) is not None


def _exists(parts: dict[str, str | None]) -> bool:
    """Tell whether the date, the time of day and the zone exist."""
    number = {name: int(text) for name, text in parts.items() if text is not None}
    hour, minute, second = (number.get(key, number.get(f"{key}2", 0)) for key in ("H", "M", "S"))
    try:
        # Go has a year 0, which is a leap year like 4.
        dt.datetime(number["Y"] or 4, number["mo"], number["D"], hour, minute, second)  # noqa: DTZ001 - only whether it exists
    except ValueError:
        return False
    return number.get("h", 0) < 24 and number.get("m", 0) < 60  # noqa: PLR2004 - hours and minutes
