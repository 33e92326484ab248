"""Advice about declarations that the platform accepts and the SDK loads, but no form can use: defaults, options, scopes, duplicate names.

Source: the `validate` tags in `pkg/entities/plugin_entities/` of langgenius/dify-plugin-daemon at bdb5642a, which hold only for remote
debugging, and `interfaces/model/large_language_model.py` of dify-plugin 0.10.2, read 2026-11.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dify_plugin_packager.json_access import JsonObject, list_at, object_at, objects_at


_MODELS = (
    *("llm", "text-embedding", "rerank", "tts", "speech2text", "moderation"),
    *("vision", "document", "tool-call"),
)
_SCOPES: Mapping[str, tuple[str, ...]] = {
    "model-selector": _MODELS,
    "app-selector": ("all", "chat", "workflow", "completion"),
    "any": (
        *("string", "number", "object"),
        *("array[number]", "array[string]", "array[object]", "array[file]"),
    ),
}
_TYPES: Mapping[str, tuple[type, ...]] = {
    "float": (int, float),
    "int": (int,),
    "string": (str,),
    "boolean": (bool,),
    "text": (str,),
}


def iter_advice(kind: str, declaration: JsonObject) -> Iterator[str]:
    """Yield our advice about one file of declarations, each with the path of the field.

    Args:
        kind: The kind of plugin that it belongs to, such as `tools`.
        declaration: Its content.
    """
    for key in ("supported_model_types", "configurate_methods"):
        if kind == "models" and declaration.get(key) == []:
            yield f"{key!r}: expected at least one"
    for key in ("provider_credential_schema", "model_credential_schema"):
        fields = objects_at(object_at(declaration, key), "credential_form_schemas")
        yield from _iter_twins(f"{key}.credential_form_schemas", fields, "variable")
    for key, check in (("parameters", _check_parameter), ("parameter_rules", _check_rule)):
        yield from _iter_twins(key, objects_at(declaration, key), "name")
        for index, parameter in enumerate(objects_at(declaration, key)):
            for field, problem in check(parameter):
                yield f"'{key}.{index}.{field}': {problem}"


def _iter_twins(where: str, items: Iterable[JsonObject], key: str) -> Iterator[str]:
    # Fields that are shown for other choices may share a name.
    names = Counter((str(item.get(key)), str(item.get("show_on"))) for item in items)
    for name in (name for (name, _), count in names.items() if count > 1):
        yield f"{where!r}: {name!r} appears more than once"


def _check_parameter(parameter: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield the fields that do not fit the type of a tool's or a strategy's parameter."""
    kind = str(parameter.get("type"))
    if kind == "select" and not parameter.get("options"):
        yield "options", "expected options for the type 'select'"
    if (scope := parameter.get("scope")) is None:
        return
    known = _SCOPES.get(kind)
    if known is None:
        yield "scope", f"expected no scope for the type {kind!r}"
    elif not set(known) & {part.strip() for part in str(scope).split("&")}:
        yield "scope", f"expected one of {', '.join(known)}, got {scope!r}"


def _check_rule(rule: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield the fields of a model's parameter with a value that its type does not allow."""
    default, kind = rule.get("default"), rule.get("type")
    if default is None:
        return
    wanted = _TYPES.get(str(kind), (str, int, float, bool))
    # Python counts a bool as an int; the platform does not.
    if not isinstance(default, wanted) or (isinstance(default, bool) and bool not in wanted):
        yield "default", f"expected one of the type {kind!r}, got {default!r}"
    elif (options := list_at(rule, "options")) and default not in options:
        yield "default", f"expected one of the options, got {default!r}"
    elif isinstance(default, int | float) and not _spans(rule, default):
        yield "default", f"expected a number between min and max, got {default!r}"


def _spans(rule: JsonObject, number: float) -> bool:
    def limit(key: str) -> Any:
        value = rule.get(key)
        return value if isinstance(value, int | float) else number

    return limit("min") <= number <= limit("max")
