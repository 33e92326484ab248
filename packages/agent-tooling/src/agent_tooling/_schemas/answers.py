"""The JSON schema for the answer of a run, and checking an answer against it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Self

from agent_tooling._errors import DeclarationError
from agent_tooling._json_text import JsonSchema, is_schema, shorten, to_json
from stream_text import InvalidJsonError, first_of_equal, parse_json

from .validation import build_validator, find_finding, validate_schema


_FIELD: Final = "answer_schema"
_MAX_CHARACTERS: Final = 300
# Models like to write three backticks, perhaps `json`, and the value from the next line on.
_FENCE: Final = re.compile(r"```\w*[ \t]*\r?\n")
_FENCE_END: Final = "```"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedAnswer:
    """An answer that was checked against a schema.

    Attributes:
        text: Its JSON, without anything around it.
        value: The parsed JSON, or a value of the schema's type; None if there is none.
        problem: Why it does not fulfil the schema, as a clause; None if it does.
    """

    text: str
    value: Any = None
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSchema:
    """The JSON schema that an answer has to fulfil.

    Attributes:
        schema: The schema, as the model gets it.
    """

    schema: JsonSchema
    _read: Callable[[Any], tuple[Any, str | None]] = field(repr=False, compare=False)
    _write: Callable[[Any], str | None] = field(default=to_json, repr=False, compare=False)

    @classmethod
    def parse(cls, raw: str | Mapping[str, Any]) -> Self:
        """Read a schema, or one in the wrapping of the APIs: `{"name": ..., "schema": {...}}`. It needs the extra `schema`.

        Raises:
            DeclarationError: If it is not a JSON schema, refers to something outside itself, has a regular expression
                that `LinearPattern` does not take, or if jsonschema is not installed.
        """
        schema = _unwrap(_parse_object(raw))
        validate_schema(schema, field=_FIELD)
        validator = build_validator(schema, field=_FIELD, is_checked=True)
        if validator is None:
            expected = "left out without jsonschema, which comes with the extra 'schema' (gpt5-agent-tooling[schema])"
            raise DeclarationError(_FIELD, expected, found="a schema")
        return cls(schema=schema, _read=partial(_hold_against, validator))

    @classmethod
    def from_type(cls, kind: Any, *, field: str = _FIELD) -> Self:
        """Make a schema from a type: a pydantic model, a dataclass, a `TypedDict`, or anything else that pydantic can check. It needs pydantic.

        The `value` of a checked answer is a value of the type. If the JSON of the type is not an object, the model is
        asked for an object that holds it.

        Raises:
            DeclarationError: If pydantic cannot check the type, or JSON schema cannot express it.
        """
        from .answer_types import read_type  # noqa: PLC0415 - imports pydantic

        schema, read, write = read_type(kind, field=field)
        return cls(schema=schema, _read=read, _write=write)

    def to_text(self, value: Any) -> str:
        """Return a value as the JSON of an answer; a value that JSON cannot express becomes its `str`."""
        return self._write(value) or str(value)

    def check(self, text: str) -> CheckedAnswer:
        """Check an answer against the schema: one JSON value, which may be in a Markdown fence; written several times over it counts once."""
        text = first_of_equal(_without_fence(text.strip()))
        try:
            value = parse_json(text)
        except InvalidJsonError as error:
            return CheckedAnswer(text=text, problem=f"it is no JSON: {error}")
        value, problem = self._read(value)
        return CheckedAnswer(text=text, value=value, problem=problem)


def _hold_against(validator: Any, value: Any) -> tuple[Any, str | None]:
    try:
        finding = find_finding(validator, value)
    except Exception:  # noqa: BLE001 - jsonschema raises many kinds
        return value, "the schema cannot be applied to it"
    return (
        value,
        finding and f"{finding.json_path}: {shorten(finding.message, _MAX_CHARACTERS)}",
    )


def _without_fence(text: str) -> str:
    """Return the content of a Markdown fence if the text is nothing else, or else the text."""
    begun = _FENCE.match(text)
    if begun is None or not text.endswith(_FENCE_END):
        return text
    inside = text[begun.end() : -len(_FENCE_END)].rstrip(" \t")
    return inside.strip() if inside.endswith("\n") else text


def _parse_object(raw: str | Mapping[str, Any]) -> JsonSchema:
    if isinstance(raw, str):
        try:
            raw = parse_json(raw)
        except InvalidJsonError as error:
            raise DeclarationError(_FIELD, "a JSON schema", found=str(error)) from None
    if not isinstance(raw, Mapping):
        raise DeclarationError(_FIELD, "a JSON schema object", raw)
    return dict(raw)


def _unwrap(schema: JsonSchema) -> JsonSchema:
    """Return the schema inside a wrapping, which would accept anything if it were used as a schema."""
    # Beside `properties`, `schema` is more likely a part of the schema than a wrapping.
    inner: object = schema.get("json_schema", schema.get("schema"))
    return _unwrap(inner) if is_schema(inner) and "properties" not in schema else schema
