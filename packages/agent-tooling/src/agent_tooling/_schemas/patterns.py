"""Matching the regular expressions in a JSON schema in bounded time, whatever the expression and the text.

jsonschema matches them with Python's `re`, which a pattern such as `(a+)+$` can keep busy for years; meanwhile nothing else in the process runs.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, Final

from agent_tooling._errors import DeclarationError
from agent_tooling._json_text import JsonSchema, members, shorten
from stream_text import canonical_text

from .doubts import doubt, doubting_checks
from .linear_pattern import MAX_CHARACTERS, LinearPattern, count_states
from .references import iter_schemas
from .steps import limit_steps, make_once, spend


_MAX_CHARACTERS: Final = 100
# In microseconds, as measured: what is compiled is given up when it is too large, after some fifty milliseconds.
_COMPILING_STEPS: Final = 500
_STATE_STEPS: Final = 60
_MOST_STATES: Final = 1_000
_MATCHING_STEPS: Final = 5
_STATES_A_STEP: Final = 200

type _Keyword = Callable[[Any, Any, Any, Any], Iterable[Any]]


def find_patterns(schema: JsonSchema) -> list[str]:
    """Return the regular expressions in a schema, each once."""
    found: dict[str, None] = {}
    for node in iter_schemas(schema):
        if isinstance(pattern := node.get("pattern"), str):
            found[pattern] = None
        found |= dict.fromkeys(members(node.get("patternProperties")))
    return list(found)


def validate_patterns(schema: JsonSchema, *, field: str) -> None:
    """Refuse a schema with a regular expression whose matching is not bounded in time.

    Or with so many large ones that reading them would take half a second.

    Args:
        schema: The schema.
        field: What it is the schema of, for the error.

    Raises:
        DeclarationError: If it has one; the message names it.
    """
    named = {
        pattern: f"pattern {shorten(pattern, _MAX_CHARACTERS)!r} of {field}"
        for pattern in find_patterns(schema)
    }
    # All are counted before the first is read, so that none is read in vain.
    with limit_steps():
        for pattern, name in named.items():
            try:
                spend(_count_compiling(pattern))
            except RecursionError:
                expected = "one of fewer, or smaller, regular expressions"
                raise DeclarationError(
                    name, expected, found=f"{len(pattern):,} characters"
                ) from None
    for pattern, name in named.items():
        LinearPattern(pattern, field=name)
    keys = {key for node in iter_schemas(schema) for key in node}
    if {"patternProperties", "unevaluatedProperties"} <= keys:
        expected = "without patternProperties where it has unevaluatedProperties"
        raise DeclarationError(field, expected, found="a schema with both")


def bound_patterns(kind: Any, schema: JsonSchema) -> tuple[Any, JsonSchema]:
    """Return a jsonschema validator that matches the patterns of a schema in bounded time, and the schema for it.

    It does not check what `validate_patterns` refuses, and compares the items of a list that may have none twice in time linear in the list.

    Args:
        kind: The validator class for the draft of the schema.
        schema: The schema.
    """
    # Wherever it stands: a reference may lead into a value too, such as an example.
    has_named = "patternProperties" in json.dumps(schema, skipkeys=True, default=str)
    return bound_class(kind, has_named=has_named), schema


# Two entries for each draft that jsonschema knows.
@lru_cache(maxsize=16)
def bound_class(kind: Any, *, has_named: bool = True) -> Any:
    """Return the validator class of a draft with our keywords instead of its own where those may take long.

    Args:
        kind: The class.
        has_named: Whether there may be `patternProperties`; then `unevaluatedProperties`, which would match them with `re`, is not checked.
    """
    import jsonschema  # noqa: PLC0415 - an extra, and slow to import

    library: Any = jsonschema
    checks = doubting_checks(kind) | {
        "additionalProperties": partial(_check_additional, kind.VALIDATORS["additionalProperties"]),
        "pattern": partial(_check_pattern, library.ValidationError),
        "patternProperties": _check_named,
        "uniqueItems": partial(_check_unique, library.ValidationError),
    }
    if has_named and "unevaluatedProperties" in kind.VALIDATORS:
        checks["unevaluatedProperties"] = _check_nothing
    return keep_kind(library.validators.extend(kind, checks))


def keep_kind(kind: Any) -> Any:
    """Have a validator class of jsonschema's check all parts of a schema itself.

    Otherwise a part that names its draft is checked by jsonschema's own class for that, without what bounds ours.
    """
    kind.evolve = _evolve
    return kind


def _evolve(validator: Any, **changes: Any) -> Any:
    # Made anew and not copied: since 4.26 a validator of jsonschema's keeps the keywords of the schema that it was made for.
    kept = {"schema": validator.schema, "format_checker": validator.format_checker}
    return type(validator)(**kept | {"_resolver": validator._resolver} | changes)  # noqa: SLF001


# The keyword functions below have jsonschema's signature: the validator, the keyword's value, the
# value to check, and the schema that has the keyword.


def _check_pattern(
    problem: Callable[[str], Any], validator: Any, pattern: str, value: Any, _: object
) -> Iterator[Any]:
    compiled = _compile(pattern) if validator.is_type(value, "string") else None
    if compiled is None or (found := _is_in(compiled, value)):
        return
    text = "a text too long to be matched by" if found is None else f"{value!r} does not match"
    yield problem(f"{text} {pattern!r}")


def _check_named(
    validator: Any, patterns: Mapping[str, Any], value: Any, _: object
) -> Iterator[Any]:
    if not validator.is_type(value, "object"):
        return
    for pattern, schema in patterns.items():
        compiled = _compile(pattern)
        for key, member in value.items():
            if compiled and _is_in(compiled, key):
                yield from validator.descend(member, schema, path=key, schema_path=pattern)


def _check_additional(
    original: _Keyword, validator: Any, allowed: Any, value: Any, schema: Mapping[str, Any]
) -> Iterator[Any]:
    # The original would match the patterns with `re`, so the keys that ours match become properties.
    patterns = schema.get("patternProperties")
    if patterns and validator.is_type(value, "object"):
        known = [key for key in value if any(_may_match(it, key) for it in patterns)]
        properties = {**schema.get("properties", {}), **dict.fromkeys(known, True)}
        rest = {key: it for key, it in schema.items() if key != "patternProperties"}
        schema = rest | {"properties": properties}
    yield from original(validator, allowed, value, schema)


def _check_unique(
    problem: Callable[[str], Any], validator: Any, wanted: Any, value: Any, _: object
) -> Iterator[Any]:
    # The original compares each item with each other where they cannot be sorted.
    if not wanted or not validator.is_type(value, "array"):
        return
    if len({canonical_text(item) for item in value}) < len(value):
        yield problem(f"{value!r} has non-unique elements")


def _check_nothing(*_: object) -> Iterator[Any]:
    doubt()
    return iter(())


def _compile(pattern: str) -> LinearPattern | None:
    """Return the compiled expression; None if it cannot be matched in bounded time."""
    compiled = make_once(pattern, _compile_kept, _count_compiling(pattern))
    if compiled is None:
        doubt()
    return compiled


@lru_cache(maxsize=64)
def _compile_kept(pattern: str) -> LinearPattern | None:
    try:
        return LinearPattern(pattern)
    except DeclarationError:
        return None


@lru_cache(maxsize=64)
def _count_compiling(pattern: str) -> int:
    states = count_states(pattern[:MAX_CHARACTERS])
    return _COMPILING_STEPS + _STATE_STEPS * min(states, _MOST_STATES)


def _may_match(pattern: str, text: str) -> bool:
    compiled = _compile(pattern)
    # Unknown counts as a match, so that the key is not refused as an unknown property.
    return compiled is None or _is_in(compiled, text) is not False


def _is_in(compiled: LinearPattern, text: str) -> bool | None:
    found = compiled.is_in(text)
    if found is None:
        doubt()
    looked_at = 0 if found is None else len(text) * compiled.states
    spend(_MATCHING_STEPS + looked_at // _STATES_A_STEP)
    return found
