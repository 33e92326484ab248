"""Sample values for what a plugin declares: the parameters and the credentials of a call, and what models are asked."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

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

_QUESTION = "What is 17 * 23?"
_FREE_VALUES: Mapping[str, Any] = {
    "any": "hello",
    "array": [],
    "array[tools]": [],
    "boolean": True,
    "date": "2026-01-31",
    "object": {},
    "secret-input": "hello",
    "string": "hello",
}


def sample_parameters(
    parameters: Sequence[JsonObject], model: Callable[[], JsonObject]
) -> JsonObject | None:
    """Return a value for each required parameter, and for the question; None if one of them cannot be made up.

    Args:
        parameters: Their declarations.
        model: Returns the value of a parameter that chooses a model.
    """
    values: JsonObject = {}
    for parameter in parameters:
        name = str(parameter.get("name"))
        if name == "query":
            values[name] = _QUESTION
        elif parameter.get("required"):
            values[name] = _value(parameter, model)
    return None if any(value is None for value in values.values()) else values


def sample_credentials(
    fields: Sequence[JsonObject], key: str, missing: Callable[[str], Any]
) -> JsonObject:
    """Return a value for each required credential: its default, its first option, or what `missing` returns for its name.

    Args:
        fields: Their declarations.
        key: The key that holds a declaration's name.
        missing: Returns a value for a name.
    """
    return {
        str(field.get(key)): _default_of(field) or missing(str(field.get(key)))
        for field in fields
        if field.get("required")
    }


def _value(parameter: JsonObject, model: Callable[[], JsonObject]) -> Any:
    if parameter.get("default") is not None:
        return parameter["default"]
    match str(parameter.get("type")):
        case "select":
            return next((option.get("value") for option in objects_at(parameter, "options")), None)
        case "number":
            return parameter.get("min") or 1
        case "model-selector":
            return model()
        case kind:
            return _FREE_VALUES.get(kind)


def _default_of(field: JsonObject) -> Any:
    options = objects_at(field, "options")
    return field.get("default") or (options[0].get("value") if options else None)
