"""Decoding of a package's declarations from YAML, as the daemon does it at an upload.

The daemon does not apply the validation rules then.

Source: `UnmarshalYAML` in `pkg/entities/plugin_entities/` of langgenius/dify-plugin-daemon at bdb5642a, read 2026-11.
"""

from collections.abc import Mapping
from typing import Any

from dify_plugin_packager.yaml_documents import Node, YamlError, compose

from .daemon_types import PARAMETER_TEMPLATES, TYPES
from .from_yaml import Check, ExcessiveAliasesError, YamlDecoder, join
from .scalars import TagError
from .types import TEXT, GoType, ListOf


_PLUGIN, _YAML = "plugin_entities", "yaml"
_CONFIG, _MODEL = TYPES[f"{_PLUGIN}.ProviderConfig"], TYPES[f"{_PLUGIN}.ModelDeclaration"]
_KINDS_OF_MODELS = [each.json for each in TYPES[f"{_YAML}.ModelPosition"].fields]

type Kinds = Mapping[str, tuple[str, GoType, GoType]]

MANIFEST = TYPES[f"{_YAML}.PluginDeclaration"]
"""The manifest."""

POSITIONS = ListOf(of=TEXT)
"""The file with the order of models."""

KINDS: Kinds = {
    kind: (key, TYPES[f"{_YAML}.{name}ProviderDeclaration"], TYPES[item])
    for kind, (key, name, item) in {
        "tools": ("tool", "Tool", f"{_PLUGIN}.ToolDeclaration"),
        "endpoints": ("endpoint", "Endpoint", f"{_YAML}.EndpointDeclaration"),
        "models": ("model", "Model", f"{_PLUGIN}.ModelDeclaration"),
        "agent_strategies": (
            "agent_strategy",
            "AgentStrategy",
            f"{_PLUGIN}.AgentStrategyDeclaration",
        ),
        "datasources": ("datasource", "Datasource", f"{_YAML}.DatasourceDeclaration"),
        "triggers": ("trigger", "Trigger", f"{_YAML}.EventDeclaration"),
    }.items()
}
"""By the key under `plugins`: the key of the provider in the manifest, the provider's type, and the type of a file that it names."""


class DeclarationError(ValueError):
    """A file of declarations that the daemon cannot decode.

    Attributes:
        problems: The problems, one sentence for each field.
    """

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def read_yaml_declaration(content: bytes | str, kind: GoType) -> Any:
    """Return a file as the daemon decodes it; None if it is empty.

    A provider also gets the names of its files: those of its items under `files`; for models, the patterns under `patterns` and the
    position files under `positions`, by the type of model.

    Raises:
        DeclarationError: If the daemon refuses it.
    """
    decoder = YamlDecoder(_CHECKS)
    try:
        root = compose(content)
        found = decoder.decode(root or _NOTHING, kind)
    except (YamlError, TagError, ExcessiveAliasesError) as error:
        raise DeclarationError([f"expected YAML: {error}"]) from None
    except RecursionError:
        # The daemon can go deeper than Python; a later check reports the SDK's limit.
        found = None
    if decoder.problems:
        raise DeclarationError([_sentence(*problem) for problem in decoder.problems])
    return found


_NOTHING = Node(kind="scalar", tag="!!null", line=0)


def _sentence(line: int, field: str, problem: str) -> str:
    return f"line {line}: {field!r}: {problem}" if field else f"line {line}: {problem}"


def _check_template(decoder: YamlDecoder, node: Node, where: str, rule: dict[str, Any]) -> None:
    name = rule.get("use_template")
    if name and name not in PARAMETER_TEMPLATES:
        expected = f"expected one of {', '.join(PARAMETER_TEMPLATES)}, got {name!r}"
        decoder.problems.append((node.line, join(where, "use_template"), expected))


def _naming(key: str, item: GoType | None, credentials: tuple[str, ...] = ()) -> Check:
    """Return the check of a provider that names files of its items, or contains them.

    Args:
        key: The key under which they stand.
        item: The type of an item; None if the daemon ignores items in the provider itself.
        credentials: The keys that its credentials may have, the newest first.
    """

    def check(decoder: YamlDecoder, _: Node, where: str, provider: dict[str, Any]) -> None:
        if credentials:
            # The older name counts if there is nothing under the newer one.
            has_any = [name for name in credentials if (n := provider.get(name)) and n.children]
            name = (has_any or credentials[-1:])[0]
            _decode_credentials(decoder, join(where, name), provider.get(name))
        items: Node | None = provider.get(key)
        children = items.children if items and items.kind == "sequence" else []
        provider["files"] = [child.value for child in children if child.kind == "scalar"]
        for index, child in enumerate(children):
            if child.kind == "mapping" and item:
                decoder.decode(child, item, join(join(where, key), index))

    return check


def _decode_credentials(decoder: YamlDecoder, where: str, node: Node | None) -> None:
    """Decode a list of fields, or a mapping of fields by name, whose other values are ignored."""
    if node is None:
        return
    if node.kind != "mapping":
        decoder.decode(node, ListOf(of=_CONFIG), where)
        return
    for name, value in node.pairs:
        if value.kind == "mapping":
            decoder.decode(value, _CONFIG, join(where, name.value))


def _check_models(decoder: YamlDecoder, _: Node, where: str, provider: dict[str, Any]) -> None:
    """Store the patterns and the position files that a provider names under `models`."""
    models: Node | None = provider.get("models")
    provider["patterns"], provider["positions"] = [], {}
    if models is not None and models.kind == "sequence":
        decoder.decode(models, ListOf(of=_MODEL), join(where, "models"))
    if models is None or models.kind != "mapping":
        return
    for kind, group in models.pairs:
        if kind.value in _KINDS_OF_MODELS and group.kind == "mapping":
            for key, value in group.pairs:
                if key.value == "position":
                    provider["positions"][kind.value] = value.value
                elif key.value == "predefined" and value.kind == "sequence":
                    provider["patterns"] += [item.value for item in value.children]


def _check_trigger(decoder: YamlDecoder, node: Node, where: str, provider: dict[str, Any]) -> None:
    constructor: Node | None = provider.get("subscription_constructor")
    if constructor and (constructor.target or constructor).kind == "mapping":
        kind = TYPES[f"{_YAML}.SubscriptionConstructor"]
        decoder.decode(constructor, kind, join(where, "subscription_constructor"))
    _naming("events", KINDS["triggers"][2])(decoder, node, where, provider)


_CHECKS: Mapping[str, Check] = {
    "plugin_entities.ModelParameterRule": _check_template,
    "yaml.AgentStrategyProviderDeclaration": _naming("strategies", KINDS["agent_strategies"][2]),
    "yaml.DatasourceProviderDeclaration": _naming(
        "datasources", KINDS["datasources"][2], ("credentials_schema",)
    ),
    "yaml.EndpointProviderDeclaration": _naming("endpoints", None),
    "yaml.ModelProviderDeclaration": _check_models,
    "yaml.ToolProviderDeclaration": _naming(
        "tools", KINDS["tools"][2], ("credentials_schema", "credentials_for_provider")
    ),
    "yaml.TriggerProviderDeclaration": _check_trigger,
}
