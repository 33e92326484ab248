"""Keywords that turn what is inside of them round, where a part of that cannot be read.

Such a part says nothing, so that values count as valid that may not be: under `not`, say, nothing must be refused for that.
"""

from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from functools import partial
from typing import Any, Final

from .references import UNREAD


_doubts: ContextVar[int] = ContextVar("doubts", default=0)
_TURNING: Final = ("contains", "not", "oneOf", "unevaluatedItems", "unevaluatedProperties")


def doubt() -> None:
    """Note that a check takes a value for valid because it cannot tell."""
    _doubts.set(_doubts.get() + 1)


def doubting_checks(kind: Any) -> dict[str, Any]:
    """Return functions for keywords of a validator class of jsonschema's that refuse nothing for a part that cannot be read."""
    checks: dict[str, Any] = {UNREAD: _check_unread}
    for word in _TURNING:
        if word in kind.VALIDATORS:
            checks[word] = partial(_check_turning, word, kind.VALIDATORS[word])
    if "if" in kind.VALIDATORS:
        checks["if"] = _check_condition
    return checks


# With jsonschema's signature: the validator, the keyword's value, the value to check, and the schema that has the keyword.


def _check_unread(*_: object) -> Iterator[Any]:
    doubt()
    return iter(())


def _check_turning(  # noqa: PLR0913, PLR0917 - jsonschema's signature
    word: str,
    original: Any,
    validator: Any,
    wanted: Any,
    value: Any,
    schema: Mapping[str, Any],
) -> Iterator[Any]:
    before = _doubts.get()
    errors = list(original(validator, wanted, value, schema) or ())
    is_sure = _doubts.get() == before
    for error in errors:
        # That none, or too few, fit is sure all the same.
        is_none = word == "oneOf" and bool(error.context)
        if is_sure or is_none or (word == "contains" and error.validator != "maxContains"):
            yield error


def _check_condition(
    validator: Any, wanted: Any, value: Any, schema: Mapping[str, Any]
) -> Iterator[Any]:
    before = _doubts.get()
    holds = validator.evolve(schema=wanted).is_valid(value)
    word = "then" if holds else "else"
    if word in schema and not (holds and _doubts.get() > before):
        yield from validator.descend(value, schema[word], schema_path=word)
