"""Sample values for what a plugin declares: the parameters and the credentials of a call, and what models are asked."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dify_plugin_host._platform.scripted_peer import MODEL_VALUE
from dify_plugin_packager.json_access import JsonObject, objects_at


MODEL_CALLS: Mapping[str, JsonObject] = {
    "llm": {
        "model_parameters": {},
        "prompt_messages": [{"role": "user", "content": "hello"}],
        "stream": True,
    },
    "text-embedding": {"texts": ["hello"], "input_type": "document"},
    "rerank": {
        "query": "hello",
        "docs": ["good day", "good bye"],
        "score_threshold": None,
        "top_n": 1,
    },
    "moderation": {"text": "hello"},
    "tts": {"content_text": "hello", "voice": "alloy", "tenant_id": "local"},
}
"""The fields of a call for each type of model, besides the model itself."""

_VALUES: Mapping[str, Any] = {
    "any": "hello",
    "array": [],
    "array[tools]": [],
    "boolean": True,
    "date": "2026-01-31",
    "model-selector": MODEL_VALUE,
    "object": {},
    "secret-input": "hello",
    "string": "hello",
}


def sample_parameters(parameters: Sequence[JsonObject]) -> JsonObject | None:
    """Return a value for each required parameter; None if one of them cannot be made up.

    Args:
        parameters: Their declarations.
    """
    required = [parameter for parameter in parameters if parameter.get("required")]
    values = {str(parameter.get("name")): _value(parameter) for parameter in required}
    return None if any(value is None for value in values.values()) else values


def sample_credentials(fields: Sequence[JsonObject], missing: Callable[[str], Any]) -> JsonObject:
    """Return a value for each required credential: its default, its first option, or what `missing` returns for its name.

    Args:
        fields: Their declarations.
        missing: Returns a value for a name.
    """
    names = [str(field.get("name")) for field in fields if field.get("required")]
    given = [_default_of(field) for field in fields if field.get("required")]
    return {name: value or missing(name) for name, value in zip(names, given, strict=True)}


def _value(parameter: JsonObject) -> Any:
    value = _default_of(parameter)
    if value is None and parameter.get("type") == "number":
        return parameter.get("min") or 1
    return _VALUES.get(str(parameter.get("type"))) if value is None else value


def _default_of(declared: JsonObject) -> Any:
    """Return a declaration's default, or its first option."""
    options = objects_at(declared, "options")
    default = declared.get("default")
    return options[0].get("value") if default is None and options else default
