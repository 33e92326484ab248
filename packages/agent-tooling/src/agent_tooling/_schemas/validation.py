"""jsonschema validators and their findings."""

import json
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from agent_tooling._errors import DeclarationError
from agent_tooling._json_text import JsonSchema, path_text, shorten

from .patterns import bound_class, bound_patterns, keep_kind, validate_patterns
from .references import validate_references
from .steps import MOST_STEPS, counting, limit_steps


_MAX_CHARACTERS: Final = 300


def find_finding(validator: Any, value: object) -> Any:
    """Return the outermost of jsonschema's findings about a value; None if there is none. It raises what `find_findings` raises."""
    return min(_iter_findings(validator, value), key=lambda error: len(error.path), default=None)


def find_findings(
    schema: JsonSchema, value: object, *, most: int | None = None, most_steps: int = MOST_STEPS
) -> list[Any]:
    """Return jsonschema's findings about a value, found in bounded time. Nothing is fetched. It needs the extra `schema`.

    Args:
        schema: The schema, which `validate_schema` takes; its draft is the one that `$schema` names, or else 2020-12.
        value: The value.
        most: How many findings to return; None for all.
        most_steps: Of how many steps, of about a microsecond each, the check may consist.

    Raises:
        RecursionError: If nothing is found in so many steps, or a reference leads to itself.
        referencing.exceptions.Unresolvable: If a reference leads out of the schema.
    """
    validator = bound_validator(find_draft(schema), schema)
    return list(_iter_findings(validator, value, most, most_steps))


def _iter_findings(
    validator: Any, value: object, most: int | None = None, most_steps: int = MOST_STEPS
) -> Iterator[Any]:
    """Yield what jsonschema finds. For a reference that leads nowhere or in a circle, or a broken pattern, it raises errors of many kinds."""
    found = False
    with limit_steps(most_steps):
        try:
            for error in islice(validator.iter_errors(value), most):
                found = True
                yield error
        except RecursionError:
            if not found:
                raise


def validate_schema(schema: JsonSchema, *, field: str, may_lead_out: bool = False) -> None:
    """Refuse what no value can be held against in bounded time.

    It needs the extra `schema`, without which only references and patterns are looked at.

    Args:
        schema: The schema.
        field: What it is the schema of, for the error.
        may_lead_out: Whether it may refer to something outside itself. To check a value by such a reference raises an error.

    Raises:
        DeclarationError: If it is not a JSON schema, refers to something outside itself, or has regular expressions that `validate_patterns` refuses.
    """
    if not may_lead_out:
        validate_references(schema, field=field)
    build_validator(schema, field=field)
    validate_patterns(schema, field=field)


def find_draft(schema: JsonSchema) -> Any:
    """Return jsonschema's validator class for the draft that a schema names, or else the newest; None if jsonschema is not installed."""
    try:
        import jsonschema  # noqa: PLC0415 - an extra, and slow to import
    except ImportError:
        return None
    library: Any = jsonschema
    is_named = isinstance(schema.get("$schema"), str)
    newest = library.Draft202012Validator
    return library.validators.validator_for(schema, default=newest) if is_named else newest


def find_faults(kind: Any, schema: JsonSchema) -> list[Any]:
    """Return what a draft has against a schema, each at its innermost place; patterns are no concern of it, for we match them by rules of our own."""
    found = list(bound_class(kind)(_meta_schema(kind)).iter_errors(schema))
    return [inner for fault in found for inner in _find_innermost(fault)]


def _find_innermost(fault: Any) -> list[Any]:
    """Return what is wrong further inside, where a fault is that a schema fits none of several forms; else the fault."""
    deeper = [one for one in fault.context if one.path and isinstance(fault.instance, dict)]
    return [inner for one in deeper for inner in _find_innermost(one)] or [fault]


# One entry for each draft that jsonschema knows.
@lru_cache(maxsize=8)
def _meta_schema(kind: Any) -> Any:
    """Return the schema of a draft's schemas in one piece: by one vocabulary after the other, to check a schema takes four times as long."""
    whole = kind.META_SCHEMA
    find = kind(whole)._resolver.lookup  # noqa: SLF001 - it has all drafts' vocabularies
    parts = [whole, *(find(one["$ref"]).contents for one in whole.get("allOf", ()))]
    for word in ("properties", "$defs") if len(parts) > 1 else ():
        whole = whole | {
            "allOf": [],
            word: {k: v for part in parts for k, v in part.get(word, {}).items()},
        }
    written = json.dumps(whole).replace('"$dynamicRef": "#meta"', '"$ref": "#"')
    return json.loads(written.replace('"$recursiveRef": "#"', '"$ref": "#"'))


def build_validator(schema: JsonSchema, *, field: str, is_checked: bool = False) -> Any:
    """Return jsonschema's validator for a schema; None if that is not installed. It never fetches references, and no pattern takes it long.

    Args:
        schema: The schema.
        field: What it is the schema of, for the error.
        is_checked: Whether it is known to be valid.

    Raises:
        DeclarationError: If it is not a valid schema.
    """
    if (kind := find_draft(schema)) is None:
        return None
    from jsonschema import ValidationError  # noqa: PLC0415 - an extra

    try:
        if not is_checked:
            _check_schema(kind, schema)
    except ValidationError as error:
        place = f"{path_text(error.path)} of {field}" if error.path else field
        found = shorten(error.message, _MAX_CHARACTERS)
        raise DeclarationError(place, "a valid JSON schema", found=found) from error
    return bound_validator(kind, schema)


def bound_validator(kind: Any, schema: JsonSchema) -> Any:
    """Return a validator of a class for a valid schema, which fetches nothing and takes no pattern long."""
    from referencing import jsonschema as drafts  # noqa: PLC0415 - an extra

    bounded, schema = bound_patterns(kind, schema)
    draft = drafts.specification_with(kind.META_SCHEMA["$schema"])
    resource = draft.create_resource(schema)
    address = resource.id() or ""
    # Else it would fetch remote references, and look for anchors in all of the schema each time.
    registry = drafts.EMPTY_REGISTRY.with_resource(address, resource).crawl()
    return _count_steps(bounded)(schema, registry=registry, _resolver=registry.resolver(address))


def _check_schema(kind: Any, schema: JsonSchema) -> None:
    """Raise the first finding of a draft about a schema, as `kind.check_schema` does, which compares each item of some lists with each other."""
    checker = bound_class(kind)(_meta_schema(kind), format_checker=kind.FORMAT_CHECKER)
    for error in checker.iter_errors(schema):
        raise error


# One entry for each draft that jsonschema knows, with and without our patterns.
@lru_cache(maxsize=16)
def _count_steps(kind: Any) -> Any:
    """Return the validator class of a draft that counts its steps."""
    import jsonschema  # noqa: PLC0415 - an extra, and slow to import

    library: Any = jsonschema
    counted = {name: counting(name, check) for name, check in kind.VALIDATORS.items()}
    return keep_kind(library.validators.extend(kind, counted))
