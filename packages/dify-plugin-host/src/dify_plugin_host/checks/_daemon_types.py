"""The declarations of a package as the daemon's types: what it decodes at an upload, field by field.

The daemon's `validate` tags are not in them: an upload does not look at those.

Source: `pkg/entities/plugin_entities/` of langgenius/dify-plugin-daemon at bdb5642a, read 2026-11.
"""

from typing import Any

from dify_plugin_host._yaml import Node

from ._go_types import (
    GoDecoder,
    GoType,
    anything,
    anything_keyed,
    boolean,
    decimal,
    integer,
    join,
    list_of,
    mapping_of,
    number,
    raw,
    struct,
    text,
    time,
    unsigned,
)


_TEMPLATES = (
    *("temperature", "top_p", "top_k", "presence_penalty", "frequency_penalty"),
    *("max_tokens", "response_format", "json_schema"),
)


def _check_template(decoder: GoDecoder, node: Node, where: str, rule: dict[str, Any]) -> None:
    name = rule.get("use_template")
    if name and name not in _TEMPLATES:
        expected = f"expected one of {', '.join(_TEMPLATES)}, got {name!r}"
        decoder.problems.append((node.line, join(where, "use_template"), expected))


translated = struct(dict.fromkeys(("en_US", "ja_JP", "zh_Hans", "pt_BR"), text))
_texts = list_of(text)

# What providers and their tools, strategies, data sources and events have in common.
_identity = struct({"author": text, "name": text, "label": translated})
_datasource_identity: dict[str, GoType] = {
    **dict.fromkeys(("author", "name", "icon"), text),
    **dict.fromkeys(("description", "label"), translated),
    "tags": _texts,
}
_provider_identity = struct({**_datasource_identity, "icon_dark": text})
config = struct(
    {
        **dict.fromkeys(("name", "type", "scope", "url"), text),
        **dict.fromkeys(("required", "multiple"), boolean),
        **dict.fromkeys(("label", "help", "placeholder"), translated),
        "default": anything,
        "options": list_of(struct({"value": text, "label": translated})),
    }
)


def configs(decoder: GoDecoder, node: Node, where: str) -> Any:
    """Decode a list of fields, or a mapping of them by name."""
    if node.kind != "mapping":
        return list_of(config)(decoder, node, where)
    for name, value in node.pairs:
        if value.kind != "mapping":
            decoder.refuse(join(where, name.value), "a mapping", value)
        else:
            decoder.decode(value, config, join(where, name.value))
    return None


def _decode_credentials(
    decoder: GoDecoder, _node: Node, where: str, provider: dict[str, Any]
) -> None:
    _decode_fields(decoder, join(where, "credentials_schema"), provider.get("credentials_schema"))


def _decode_tool_credentials(
    decoder: GoDecoder, _node: Node, where: str, provider: dict[str, Any]
) -> None:
    """Decode the fields under the newer of two names, or under the older one where that is empty."""
    found: Node | None = provider.get("credentials_schema")
    key = "credentials_schema" if found and found.children else "credentials_for_provider"
    _decode_fields(decoder, join(where, key), provider.get(key))


def _decode_fields(decoder: GoDecoder, where: str, node: Node | None) -> None:
    if node is None:
        return
    if node.kind != "mapping":
        decoder.decode(node, list_of(config), where)
        return
    for name, value in node.pairs:
        if value.kind == "mapping":
            decoder.decode(value, config, join(where, name.value))


def providing(provider: GoType, key: str, item: GoType) -> GoType:
    """Return a provider's type that notes under `files` which files are named, and decodes what stands there itself."""

    def decode(decoder: GoDecoder, node: Node, where: str) -> Any:
        found = provider(decoder, node, where)
        if found is None:
            return None
        items: Node | None = found.get(key)
        children = items.children if items and items.kind == "sequence" else []
        found["files"] = [child.value for child in children if child.kind == "scalar"]
        for place, child in enumerate(children):
            if child.kind == "mapping":
                decoder.decode(child, item, join(join(where, key), place))
        return found

    return decode


_oauth = struct(dict.fromkeys(("client_schema", "credentials_schema"), list_of(config)))
_parameter: dict[str, GoType] = {
    **dict.fromkeys(("name", "type", "scope"), text),
    "label": translated,
    "required": boolean,
    "auto_generate": struct({"type": text}),
    "template": struct({"enabled": boolean}),
    "default": anything,
    **dict.fromkeys(("min", "max"), number),
    "precision": integer,
    "options": list_of(struct({"value": text, "label": translated, "icon": text})),
}

_tool_parameter = struct(
    {
        **_parameter,
        "human_description": translated,
        "form": text,
        "llm_description": text,
        "multiple": boolean,
    }
)


tool = struct(
    {
        "identity": _identity,
        "description": struct({"human": translated, "llm": text}),
        "parameters": list_of(_tool_parameter),
        "output_schema": mapping_of(anything),
        "has_runtime_parameters": boolean,
    }
)
tool_provider = providing(
    struct(
        {
            "identity": _provider_identity,
            **dict.fromkeys(("credentials_schema", "credentials_for_provider", "tools"), raw),
            "oauth_schema": _oauth,
        },
        check=_decode_tool_credentials,
    ),
    "tools",
    tool,
)

strategy = struct(
    {
        "identity": _identity,
        "description": translated,
        "parameters": list_of(struct({**_parameter, "help": translated})),
        "output_schema": mapping_of(anything),
        "features": _texts,
    }
)
strategy_provider = providing(
    struct({"identity": _provider_identity, "strategies": raw}), "strategies", strategy
)

endpoint = struct({"path": text, "method": text, "hidden": boolean})
endpoint_provider = providing(
    struct(
        {
            "settings": list_of(config),
            "endpoint_declarations": list_of(endpoint),
            "endpoints": raw,
        }
    ),
    "endpoints",
    raw,  # What is no endpoint there, the daemon passes over.
)

datasource = struct(
    {
        "identity": struct({"author": text, "name": text, "label": translated, "icon": text}),
        "parameters": list_of(struct({**_parameter, "description": translated})),
        "description": translated,
        "output_schema": mapping_of(anything),
    }
)
datasource_provider = providing(
    struct(
        {
            "identity": struct(_datasource_identity),
            **dict.fromkeys(("credentials_schema", "datasources"), raw),
            "oauth_schema": _oauth,
            "provider_type": text,
        },
        check=_decode_credentials,
    ),
    "datasources",
    datasource,
)

_event_parameter = struct(
    {
        **_parameter,
        "multiple": boolean,
        "description": translated,
        "options": list_of(struct({"label": translated, "value": anything})),
    }
)
event = struct(
    {
        "identity": _identity,
        "parameters": list_of(_event_parameter),
        "description": translated,
        "output_schema": mapping_of(anything),
    }
)
_constructor = struct(
    {
        "parameters": list_of(_event_parameter),
        "credentials_schema": configs,
        "oauth_schema": _oauth,
    }
)


def _if_mapping(decoder: GoDecoder, node: Node, where: str) -> Any:
    return _constructor(decoder, node, where) if node.kind == "mapping" else None


trigger_provider = providing(
    struct(
        {
            "identity": _provider_identity,
            "subscription_schema": configs,
            "subscription_constructor": _if_mapping,
            "events": raw,
        }
    ),
    "events",
    event,
)

_show_on = list_of(struct({"variable": text, "value": text}))
_form_option = struct({"label": translated, "value": text, "show_on": _show_on})
_form_fields = list_of(
    struct(
        {
            **dict.fromkeys(("variable", "type", "default", "url"), text),
            **dict.fromkeys(("label", "help", "placeholder"), translated),
            "required": boolean,
            "options": list_of(_form_option),
            "max_length": integer,
            "show_on": _show_on,
        }
    )
)
_rule = struct(
    {
        **dict.fromkeys(("name", "use_template", "type"), text),
        **dict.fromkeys(("label", "help"), translated),
        "required": boolean,
        "default": anything,
        **dict.fromkeys(("min", "max"), number),
        "precision": integer,
        "options": _texts,
    },
    check=_check_template,
)


model = struct(
    {
        **dict.fromkeys(("model", "model_type", "fetch_from"), text),
        "label": translated,
        "features": _texts,
        "model_properties": mapping_of(anything_keyed),
        "deprecated": boolean,
        "parameter_rules": list_of(_rule),
        "pricing": struct(
            {**dict.fromkeys(("input", "output", "unit"), decimal), "currency": text}
        ),
    }
)


def _read_models(decoder: GoDecoder, _node: Node, where: str, provider: dict[str, Any]) -> None:
    """Note the patterns and the position files that the key `models` of a provider names."""
    models: Node | None = provider.get("models")
    provider["patterns"], provider["positions"] = [], {}
    if models is not None and models.kind == "sequence":
        decoder.decode(models, list_of(model), join(where, "models"))
    if models is None or models.kind != "mapping":
        return
    for kind, group in models.pairs:
        if kind.value in _KINDS_OF_MODELS and group.kind == "mapping":
            for key, value in group.pairs:
                if key.value == "position":
                    provider["positions"][kind.value] = value.value
                elif key.value == "predefined" and value.kind == "sequence":
                    provider["patterns"] += [item.value for item in value.children]


_KINDS_OF_MODELS = ("llm", "text_embedding", "rerank", "tts", "speech2text", "moderation")
_ICONS = ("icon_small", "icon_large", "icon_small_dark", "icon_large_dark")
model_provider = struct(
    {
        **dict.fromkeys(("provider", "background"), text),
        **dict.fromkeys(("label", "description", *_ICONS), translated),
        "help": struct({"title": translated, "url": translated}),
        **dict.fromkeys(("supported_model_types", "configurate_methods"), _texts),
        "provider_credential_schema": struct({"credential_form_schemas": _form_fields}),
        "model_credential_schema": struct(
            {
                "model": struct({"label": translated, "placeholder": translated}),
                "credential_form_schemas": _form_fields,
            }
        ),
        "position": struct(dict.fromkeys(_KINDS_OF_MODELS, _texts)),
        "models": raw,
        "model_declarations": list_of(model),
    },
    check=_read_models,
)

_toggle: dict[str, GoType] = {"enabled": boolean}
_permission = struct(
    {
        **dict.fromkeys(("tool", "node", "endpoint", "app"), struct(_toggle)),
        "model": struct({**_toggle, **dict.fromkeys(_KINDS_OF_MODELS, boolean)}),
        "storage": struct({**_toggle, "size": unsigned}),
    }
)
KINDS = ("tools", "endpoints", "models", "agent_strategies", "datasources", "triggers")
manifest = struct(
    {
        **dict.fromkeys(("version", "type", "author", "name"), text),
        **dict.fromkeys(("icon", "icon_dark", "privacy", "repo"), text),
        **dict.fromkeys(("label", "description"), translated),
        "resource": struct({"memory": integer, "permission": _permission}),
        "plugins": struct(dict.fromkeys(KINDS, _texts)),
        "meta": struct(
            {
                **dict.fromkeys(("version", "minimum_dify_version"), text),
                "arch": _texts,
                "runner": struct(dict.fromkeys(("language", "version", "entrypoint"), text)),
            }
        ),
        "tags": _texts,
        "created_at": time,
        "verified": boolean,
        "tool": tool_provider,
        "endpoint": endpoint_provider,
        "model": model_provider,
        "agent_strategy": strategy_provider,
        "datasource": datasource_provider,
        "trigger": trigger_provider,
    }
)
