"""jsonschema validators and their findings."""

from collections.abc import Iterator
from contextvars import ContextVar
from functools import lru_cache, partial
from itertools import count
from typing import Any, Final

from agent_tooling._errors import DeclarationError
from agent_tooling._json_text import JsonSchema, path_text, shorten

from .patterns import bound_class, bound_patterns, keep_kind
from .references import REFERENCES


_MAX_CHARACTERS: Final = 300
# Our choice, far above what a schema for people needs: 30 references that each follow two others are two thousand million steps.
_MAX_FOLLOWED: Final = 10_000
# Each checks anew what stands beside it, so nested ones multiply as references do.
_MULTIPLYING: Final = (*REFERENCES, "unevaluatedItems", "unevaluatedProperties")
_followed: ContextVar[Iterator[int]] = ContextVar("followed references")


def find_finding(validator: Any, value: object) -> Any:
    """Return the outermost of jsonschema's findings about a value; None if there is none.

    For a reference that leads nowhere or in a circle, or a broken pattern, jsonschema raises errors of many kinds; for references that would be followed more than 10,000 times
    this raises a `RecursionError`.
    """
    before = _followed.set(count(1))
    try:
        return min(validator.iter_errors(value), key=lambda item: len(item.path), default=None)
    finally:
        _followed.reset(before)


def find_findings(kind: Any, schema: JsonSchema, value: object) -> list[Any]:
    """Return all of jsonschema's findings about a value, found in bounded time. Nothing is fetched.

    Args:
        kind: The validator class for the draft of the schema.
        schema: The schema, which is valid.
        value: The value.

    Raises:
        RecursionError: If references and `unevaluated…` multiply to more than 10,000.
    """
    validator = _build_bounded(kind, schema)
    before = _followed.set(count(1))
    try:
        return list(validator.iter_errors(value))
    finally:
        _followed.reset(before)


def build_validator(schema: JsonSchema, *, field: str, is_checked: bool = False) -> Any:
    """Return jsonschema's validator for a schema; None if that is not installed. It never fetches references, and no pattern takes it long.

    Args:
        schema: The schema.
        field: What it is the schema of, for the error.
        is_checked: Whether it is known to be valid.

    Raises:
        DeclarationError: If it is not a valid schema.
    """
    try:
        import jsonschema  # noqa: PLC0415 - an extra, and slow to import
    except ImportError:
        return None
    library: Any = jsonschema
    kind = library.validators.validator_for(schema, default=library.Draft202012Validator)
    try:
        if not is_checked:
            _check_schema(kind, schema)
    except library.ValidationError as error:
        place = f"{path_text(error.path)} of {field}" if error.path else field
        found = shorten(error.message, _MAX_CHARACTERS)
        raise DeclarationError(place, "a valid JSON schema", found=found) from error
    return _build_bounded(kind, schema)


def _build_bounded(kind: Any, schema: JsonSchema) -> Any:
    """Return a validator of a class for a valid schema, which fetches nothing and takes no pattern or reference long."""
    from referencing.jsonschema import EMPTY_REGISTRY  # noqa: PLC0415 - an extra

    bounded, schema = bound_patterns(kind, schema)
    # Else it would fetch remote references.
    return _bound_references(bounded)(schema, registry=EMPTY_REGISTRY)


def _check_schema(kind: Any, schema: JsonSchema) -> None:
    """Raise the first finding of a draft about a schema, as `kind.check_schema` does, which compares each item of some lists with each other."""
    checker = bound_class(kind)(kind.META_SCHEMA, format_checker=kind.FORMAT_CHECKER)
    for error in checker.iter_errors(schema):
        raise error


# One entry for each draft that jsonschema knows, with and without our patterns.
@lru_cache(maxsize=16)
def _bound_references(kind: Any) -> Any:
    """Return the validator class of a draft that follows so many references and no more."""
    import jsonschema  # noqa: PLC0415 - an extra, and slow to import

    library: Any = jsonschema
    known = [name for name in _MULTIPLYING if name in kind.VALIDATORS]
    follow = {name: partial(_follow, kind.VALIDATORS[name]) for name in known}
    return keep_kind(library.validators.extend(kind, follow))


def _follow(original: Any, validator: Any, reference: Any, value: Any, schema: Any) -> Any:
    if next(_followed.get()) > _MAX_FOLLOWED:
        raise RecursionError(f"more than {_MAX_FOLLOWED} references")
    return original(validator, reference, value, schema)
