"""Strict JSON: no NaN, no value that cannot be written again, no nesting that breaks a reader."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import batched, chain
from json import decoder, scanner
from typing import Any, Final, NoReturn

from ._errors import InvalidJsonError
from ._shapes import is_list, is_object


MAX_DEPTH: Final = 200
"""How deep a text may nest: far beyond honest data, far below every recursion limit; our choice."""

TRUSTED_DEPTH: Final = 10_000
"""How deep a text may nest that was checked before, or written by us."""

LARGE_TEXT: Final = 128 * 1024
"""From how many characters on reading JSON takes so long that other threads should run meanwhile."""

_MANY_VALUES: Final = 10_000
_TOGETHER: Final = 500


def parse_json(text: str, *, max_depth: int = MAX_DEPTH, yields: bool = False) -> Any:
    """Return the value of a JSON text.

    If a key occurs twice in an object, the later value counts.

    Args:
        text: The text.
        max_depth: How many levels of objects and lists may stand inside each other.
        yields: Whether other threads may run while a large text is read, which then takes several times as long.

    Raises:
        InvalidJsonError: If the text is not JSON, holds a number that Python cannot write back, or nests deeper than `max_depth`.
            The message says where, and quotes nothing of the text except a misplaced `NaN` or `Infinity`.

    Example:
        >>> parse_json('{"a": [1, 2.5]}')
        {'a': [1, 2.5]}
    """
    try:
        is_patient = yields and len(text) > LARGE_TEXT
        value = (_PATIENT_DECODER if is_patient else _DECODER).decode(text)
    except RecursionError:
        raise _too_deep(max_depth) from None
    except InvalidJsonError:
        raise
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        # Some of its messages end with the word themselves.
        raise InvalidJsonError(f"{error.msg.removesuffix(' at')} at {where}") from None
    except ValueError:  # of `int`, whose limit guards against endless conversions
        raise InvalidJsonError("expected a number with fewer digits") from None
    # Only a text with this many brackets can nest so deep; hardly any is walked through.
    if text.count("[") + text.count("{") > max_depth and _is_deeper_than(value, max_depth):
        raise _too_deep(max_depth)
    return value


def dump_json(value: Any) -> str:
    """Return a value as JSON in ASCII without spaces; while a value of many parts is written, other threads may run.

    Raises:
        ValueError: If JSON has no form for it, as for NaN.
        TypeError: If it is of a type that JSON does not know.

    Example:
        >>> dump_json({"a": [1, 2.5]})
        '{"a":[1,2.5]}'
    """
    return "".join(iter_json(value)) if has_many_values(value) else _ENCODER.encode(value)


def iter_json(value: Any) -> Iterator[str]:
    """Yield the text of `dump_json` in pieces, for a caller that has no room for a large one twice.

    Raises:
        ValueError: If JSON has no form for it, as for NaN.
        TypeError: If it is of a type that JSON does not know.

    Example:
        >>> "".join(iter_json({"a": [1, 2.5]}))
        '{"a":[1,2.5]}'
    """
    # `encode` writes in C, and no other thread can run until it returns, so it gets what is small.
    if not has_many_values(value):
        yield _ENCODER.encode(value)
        return
    kind, members = (dict, value.items()) if is_object(value) else (list, value)
    parts: Iterable[Iterable[str]]
    if len(value) > _TOGETHER:
        parts = ((dump_json(kind(few))[1:-1],) for few in batched(members, _TOGETHER))
    elif kind is dict:
        parts = (chain((_dump_name(name), ":"), iter_json(one)) for name, one in members)
    else:
        parts = map(iter_json, members)
    mark = "{" if kind is dict else "["
    for part in parts:
        yield mark
        yield from part
        mark = ","
    yield "}" if kind is dict else "]"


def _dump_name(name: Any) -> str:
    return _ENCODER.encode({name: 0})[1:-3]


def has_many_values(value: Any, *, most: int = _MANY_VALUES) -> bool:
    """Return whether JSON has more than `most` values, by default 10,000: from there on a walk through them should let other threads run."""
    # It stops at the limit: the point is to be cheap where there are millions.
    waiting, seen = [value], 0
    while waiting and seen <= most:
        inner = waiting.pop()
        if isinstance(inner, dict | list | tuple):
            seen += len(inner)  # pyright: ignore[reportUnknownArgumentType] - any JSON
            if seen <= most:
                waiting += _inner_values(inner)
    return seen > most


def find_repeated_key(text: str) -> str | None:
    """Return a key that occurs twice in one object of a JSON text; None if there is none, or if the text cannot be read.

    Most readers take the last value of such a key, and some the first.

    Example:
        >>> find_repeated_key('{"a": {"b": 1, "b": 2}}')
        'b'
    """
    repeated: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> None:
        counts = Counter(key for key, _ in pairs)
        repeated.extend(key for key, count in counts.items() if count > 1)

    with suppress(ValueError, RecursionError):
        json.loads(text, object_pairs_hook=note)
    return repeated[0] if repeated else None


def first_of_equal(text: str) -> str:
    """Return the first of several equal JSON values that a text holds in a row, as models send an answer twice; any other text as it is.

    Example:
        >>> first_of_equal('{"a": 1} {"a": 1.0}')
        '{"a": 1}'
    """
    rest, first, values = text.strip(), "", set[str]()
    with suppress(ValueError, RecursionError):
        while rest:
            value, end = _DECODER.raw_decode(rest)
            values.add(canonical_text(value))
            first, rest = first or rest[:end], rest[end:].lstrip()
    return text if rest or len(values) != 1 or first == text.strip() else first


def canonical_text(value: object) -> str:
    """Return a text for a value, the same for values that are equal in JSON, where 1 equals 1.0."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if is_object(value):
        items = (f"{canonical_text(str(k))}: {canonical_text(v)}" for k, v in value.items())
        return f"{{{', '.join(sorted(items))}}}"
    if is_list(value):
        return f"[{', '.join(map(canonical_text, value))}]"
    return json.dumps(value, ensure_ascii=False, default=str)


def _refuse_constant(name: str) -> NoReturn:
    raise InvalidJsonError(f"{name} is not JSON")


def _parse_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise InvalidJsonError("expected a number within the range of a float")
    return number


class _PatientDecoder(json.JSONDecoder):
    """A decoder in pure Python; the one in C reads a text as a whole, and no other thread runs until it is done."""

    def __init__(self) -> None:
        super().__init__(
            parse_constant=_refuse_constant,
            parse_float=_parse_float,
            object_pairs_hook=lambda pairs: {name: value for name, value in pairs},  # noqa: C416 - `dict` would do it at once, in C
        )
        self.parse_object = decoder.JSONObject  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - where the scanner looks
        self.parse_array = decoder.JSONArray  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - likewise
        self.scan_once = scanner.py_make_scanner(self)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - likewise


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_parse_float)
_PATIENT_DECODER: Final = _PatientDecoder()
_ENCODER: Final = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


def _too_deep(max_depth: int) -> InvalidJsonError:
    return InvalidJsonError(f"expected at most {max_depth} levels of nesting")


def _is_deeper_than(value: Any, limit: int) -> bool:
    """Return whether objects and lists nest deeper than `limit` levels, without recursion."""
    level = _containers([value])
    for _ in range(limit):
        level = _containers(inner for container in level for inner in _inner_values(container))
    return bool(level)


def _containers(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if type(value) in {dict, list}]


def _inner_values(container: Any) -> Iterable[Any]:
    return container.values() if isinstance(container, dict) else container  # pyright: ignore[reportUnknownVariableType] - any JSON
