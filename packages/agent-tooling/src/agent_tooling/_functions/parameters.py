"""The parameters of a Python function: the schema that a model sees, and a model's arguments as the values of a call.

Only imported when the first function becomes a tool, because it imports pydantic.
"""

import inspect
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated, Any, Final, Self, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.fields import FieldInfo

from agent_tooling._arguments import AcceptedArguments, RefusedArguments, ToolArguments
from agent_tooling._context import Context
from agent_tooling._errors import DeclarationError, ToolError
from agent_tooling._inspection import applied_values, find_docstring, find_source, function_name
from agent_tooling._json_text import JsonSchema, find_path, path_text, shorten, value_text
from agent_tooling._schemas.portable_schema import is_closed, to_portable_schema
from agent_tooling._schemas.schema_writer import SchemaWriter
from agent_tooling._sentences import validation_error_text
from stream_text import is_list, is_object

from .docstrings import parse_docstring


_INTEGER_LIMIT: Final = 1e19  # Arguments of calls may not have more digits either.
_UNFIT_KINDS: Final = {
    inspect.Parameter.POSITIONAL_ONLY: "one that can be passed by name",
    inspect.Parameter.VAR_POSITIONAL: "a single parameter, such as a list",
    inspect.Parameter.VAR_KEYWORD: "a parameter with a name and a type",
}
_MAX_FINDINGS: Final = 5
_MAX_EXPECTED_CHARACTERS: Final = 300
# Pydantic says "Input should be a valid integer"; the model reads "must be a valid integer".
_SHOULD: Final = re.compile(r"^[A-Z][\w ]*? should ")
_MISSING: Final = frozenset({"missing", "missing_argument"})
_UNKNOWN: Final = frozenset({"extra_forbidden", "unexpected_keyword_argument"})

type _Finding = Mapping[str, Any]  # one of pydantic's `ErrorDetails`


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionParameters:
    """The parameters that a model may give to a function.

    Attributes:
        description: The docstring's description of the function.
        schema: JSON schema of the arguments, as the model sees it.
        model: A pydantic model with a field for each parameter.
        parameters: The parameters, in the order of the model's fields.
        closed: Whether objects inside the arguments take only known properties.
        context: The name of the parameter that takes a `Context`; None if there is none.
        deps_type: The type of the dependencies in that `Context`.
    """

    description: str
    schema: JsonSchema
    model: type[BaseModel]
    parameters: tuple[inspect.Parameter, ...]
    closed: bool
    context: str | None = None
    deps_type: Any = None

    @classmethod
    def from_function(cls, function: Callable[..., Any], hidden: Collection[str]) -> Self:
        """Read the signature and the docstring of a function.

        Args:
            function: The function.
            hidden: Names of the parameters that the model neither sees nor sets.

        Raises:
            DeclarationError: If a parameter has no type that pydantic can check and JSON schema can express, or cannot
                be passed by name, or if a hidden value has no parameter.
        """
        context, deps_type = _find_context(function)
        own = hidden if context is None else {*hidden, context}
        parameters = _read_parameters(function, own)
        names = [item.name for item in parameters]
        docstring = parse_docstring(find_docstring(function), names)
        fields = {
            f"argument_{index}": _to_field(function, item, docstring.parameters.get(item.name))
            for index, item in enumerate(parameters)
        }
        try:
            model = _build_model(fields)
            raw = _build_schema(model)
        except Exception as error:
            raise _find_culprit(function, parameters, fields, error) from error
        closed = is_closed(raw)
        return cls(
            description=docstring.description,
            schema=to_portable_schema(raw, closed=closed),
            model=model,
            parameters=parameters,
            closed=closed,
            context=context,
            deps_type=deps_type,
        )

    def bind(self, tool_name: str, args: dict[str, Any]) -> ToolArguments:  # noqa: ARG002 - other kinds of parameters tell it
        """Check a model's arguments."""
        try:
            accepted, _ = self._validate(args)
        except Exception as error:  # noqa: BLE001 - a validator may raise anything, and the run goes on
            return RefusedArguments(error=validation_error_text(_describe_refusal(error, args)))
        return AcceptedArguments(args=accepted)

    def to_values(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values for a call with arguments that `bind` has accepted.

        Raises:
            ToolError: If they do not fit after all.
        """
        try:
            # Validated again: between `bind` and the call, arguments are plain JSON, for logs and so on.
            _, values = self._validate(dict(args))
        except Exception as error:
            raise ToolError(validation_error_text(_describe_refusal(error, args))) from error
        # What the model left out stays out, so that the function's own default counts; except for a
        # default that is a `Field()`, whose value only the pydantic model knows.
        return {
            parameter.name: getattr(values, key)
            for key, parameter in zip(self.model.model_fields, self.parameters, strict=True)
            if key in values.model_fields_set or isinstance(parameter.default, FieldInfo)
        }

    def _validate(self, args: dict[str, Any]) -> tuple[dict[str, Any], BaseModel]:
        """Return the arguments in normal form, and the model with their values."""
        try:
            return args, self._validate_json(json.dumps(args))
        except ValidationError:
            # For JSON schema 3.0 is an integer, for pydantic it is not.
            normal = {name: _with_integers(item) for name, item in args.items()}
            text = json.dumps(normal)
            if text == json.dumps(args):
                raise
            return normal, self._validate_json(text)

    def _validate_json(self, text: str) -> BaseModel:
        # As JSON, because there a date is text and a tuple a list; strict, so that nothing passes that
        # the schema forbids.
        extra = "forbid" if self.closed else None
        return self.model.model_validate_json(text, strict=True, extra=extra)


def _read_parameters(
    function: Callable[..., Any], hidden: Collection[str]
) -> tuple[inspect.Parameter, ...]:
    """Return the parameters that a model sees."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError) as error:
        raise DeclarationError("tool function", "one with a signature", function) from error
    for name in hidden:
        if name not in parameters:
            raise DeclarationError(
                _place(function, name),
                "a parameter, for its value is hidden",
                found="none of the name",
            )
    for item in parameters.values():
        if item.kind in _UNFIT_KINDS:
            raise DeclarationError(
                _place(function, item.name), _UNFIT_KINDS[item.kind], found=str(item)
            )
    own = {*hidden, *applied_values(function)}
    return tuple(item for item in parameters.values() if item.name not in own)


def _find_context(function: Callable[..., Any]) -> tuple[str | None, Any]:
    """Return the name of the first parameter and the type in its annotation where that is `Context[...]`."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
        first = parameters[0]
        annotation = _resolve(function, first)
    except (IndexError, TypeError, ValueError):  # Told of where the parameters are read.
        return None, None
    if annotation is Context:
        return first.name, object
    if get_origin(annotation) is Context:
        return first.name, annotation.__args__[0]
    return None, None


def _place(function: Callable[..., Any], name: str) -> str:
    return f"parameter {name!r} of {function_name(function)}()"


def _to_field(
    function: Callable[..., Any], parameter: inspect.Parameter, said: str | None
) -> tuple[Any, Any]:
    """Return the type and default of the model's field for a parameter. The annotation's description wins over the docstring's."""
    annotation = _resolve(function, parameter)
    known = ()
    if get_origin(annotation) is Annotated:
        annotation, known = annotation.__origin__, annotation.__metadata__
        said = next((item for item in known if isinstance(item, str)), said)
    named = Field(alias=parameter.name, description=said)
    default = ... if parameter.default is parameter.empty else parameter.default
    return Annotated[(annotation, named, *known)], default


def _resolve(function: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    """Return the type that a parameter is annotated with."""
    place = _place(function, parameter.name)
    if parameter.annotation is parameter.empty:
        raise DeclarationError(place, "annotated with a type, or hidden", found="no annotation")
    annotated = SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
    names = getattr(find_source(function), "__globals__", {})
    try:
        return get_type_hints(annotated, names, include_extras=True)[parameter.name]
    except Exception as error:
        raise DeclarationError(
            place, "annotated with a type that can be found", found=str(parameter.annotation)
        ) from error


def _build_model(fields: Mapping[str, Any]) -> type[BaseModel]:
    # The fields get names of their own, because no field may begin with `_` or have the name of one
    # of a model's methods.
    config = ConfigDict(extra="forbid", strict=True)
    model = create_model("Arguments", __config__=config, **fields)
    if len(model.model_fields) < len(fields):  # `Final` and `ClassVar` belong to the class.
        raise ValueError("a field is of the class")
    return model


def _build_schema(model: type[BaseModel]) -> JsonSchema:
    schema: JsonSchema = {"type": "object", "properties": {}, "required": []}
    schema |= model.model_json_schema(schema_generator=SchemaWriter)
    if len(schema["properties"]) < len(model.model_fields):
        raise ValueError("two fields have the same alias")
    return schema


def _find_culprit(
    function: Callable[..., Any],
    parameters: Collection[inspect.Parameter],
    fields: Mapping[str, tuple[Any, Any]],
    error: Exception,
) -> DeclarationError:
    """Return an error that names the parameter with a type that cannot be used."""
    for parameter, (key, field) in zip(parameters, fields.items(), strict=True):
        try:
            _build_schema(_build_model({key: field}))
        except Exception:  # noqa: BLE001 - pydantic refuses a type in many ways
            return DeclarationError(
                _place(function, parameter.name),
                "of a type that pydantic can check and JSON schema can say",
                found=inspect.formatannotation(parameter.annotation),
            )
    return DeclarationError(
        f"{function_name(function)}()", "a function whose parameters go together", found=str(error)
    )


def _with_integers(value: object) -> object:
    match value:
        case float() if value.is_integer() and abs(value) < _INTEGER_LIMIT:
            return int(value)
        case _ if is_list(value):
            return [_with_integers(item) for item in value]
        case _ if is_object(value):
            return {name: _with_integers(item) for name, item in value.items()}
        case _:
            return value


def _describe_refusal(error: Exception, args: Mapping[str, Any]) -> str:
    """Return why arguments were refused: which parameter, what was expected, what was given, shortened.

    The text of any unexpected exception of a validator is left out, because it may hold secrets.

    Args:
        error: The exception that validation raised.
        args: The model's arguments.
    """
    if isinstance(error, ToolError):
        return str(error)
    if not isinstance(error, ValidationError):
        return "the arguments could not be checked"
    findings = error.errors(include_url=False, include_context=False)
    sentences = [*_describe_unknown(findings, args), *_describe_others(findings, args)]
    more = len(sentences) - _MAX_FINDINGS
    return "; ".join(sentences[:_MAX_FINDINGS]) + (f"; and {more} more" if more > 0 else "")


def _describe_unknown(findings: Iterable[_Finding], args: Mapping[str, Any]) -> list[str]:
    unknown = sorted({_path(item, args) for item in findings if item["type"] in _UNKNOWN})
    return [shorten(f"unknown parameters {unknown}", _MAX_EXPECTED_CHARACTERS)] if unknown else []


def _describe_others(findings: Iterable[_Finding], args: Mapping[str, Any]) -> list[str]:
    """Describe each finding once, and join what the members of a union expect of the same value."""
    missing: dict[str, None] = {}
    expected: dict[tuple[str, str], list[str]] = {}
    for item in findings:
        path = _path(item, args)
        if item["type"] in _MISSING:
            missing[f"missing required parameter '{path}'"] = None
        elif item["type"] not in _UNKNOWN:
            expected.setdefault((path, value_text(item["input"])), []).append(_expectation(item))
    mismatches = (
        f"{f"parameter '{path}'" if path else 'the arguments'} {' or '.join(dict.fromkeys(texts))}, got {given}"
        for (path, given), texts in expected.items()
    )
    return [*missing, *mismatches]


def _expectation(finding: _Finding) -> str:
    text = finding["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    expected, count = _SHOULD.subn("must ", text)
    return shorten(expected if count else f"is refused: {text}", _MAX_EXPECTED_CHARACTERS)


def _path(finding: _Finding, args: object) -> str:
    """Return the path of a finding in the arguments."""
    is_missing = finding["type"] in _MISSING
    return path_text(find_path(finding["loc"], args, is_missing=is_missing))
